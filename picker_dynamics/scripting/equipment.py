"""Equipment of an arm: its URDF, what moves its joints, what that allows, and what its motions are kept clear of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot import arm_text, servo_arm
from picker_dynamics.robot import arms as registry
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.arms import Arm as TorqueArm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.scene import Scene, read_scene, scene_shape
from picker_dynamics.robot.servo_map import ServoMap

if TYPE_CHECKING:  # what takes a while to load is loaded by who asks for it
    from picker_dynamics.execution.checks import Check, TorqueLimits
    from picker_dynamics.execution.validator import MotionValidator
    from picker_dynamics.recording.reader import ArmRecording


MODELS = 8
"""So many loads are remembered with their models; making one takes three hundred times as long as asking it."""


@dataclass(frozen=True, eq=False)
class Equipment:
    """An arm with servos, or one whose joints take efforts.

    Attributes:
        description: what the URDF says.
        servos: the servo map; None: the joints take efforts.
        torque: the entry of config/arms.yaml where they do.
        scene: what stands about it; None: collisions are not looked at, the floor alone.
        droops: nothing makes up for the servos' springs.
        floor_z: height of the floor [m]; None: that on which the arm stands.
        margin_m: that motions keep [m]; None: the default.
    """

    description: ArmDescription
    servos: ServoMap | None = None
    torque: TorqueArm | None = None
    scene: Scene | None = None
    droops: bool = False
    floor_z: float | None = None
    margin_m: float | None = None

    @property
    def known(self) -> Known:
        """The arm alone."""
        return Known(self.description, self.servos, self.torque)

    @property
    def home(self) -> Array:
        """Home pose, (n,), where work starts [rad or m]."""
        return self.known.poses[1]

    @property
    def rest(self) -> Array:
        """Rest pose, (n,), where the arm may be switched off [rad or m]; home, where joints are measured."""
        return self.known.poses[0]

    @cached_property
    def gripper(self) -> int | None:
        """Index of the joint that grips (``servo_arm.gripper_of``); None: none."""
        return servo_arm.gripper_of(self.description, self.servos)

    def require_gripper(self) -> int:
        """Index of the gripper's joint, which has to be there.

        Raises:
            InputError: there is none.
        """
        if self.gripper is not None:
            return self.gripper
        arm = self.description
        raise InputError(
            f"{arm.name} has no gripper: each joint moves the tool ({arm.tool}); give the gripper's servo a `grip`", "gripper"
        )

    def grips(self) -> tuple[float, float]:
        """Where the gripper is open, and where it touches what it holds, or itself [rad or m]; errors as ``require_gripper``."""
        j = self.require_gripper()
        lower, upper = float(self.description.lower[j]), float(self.description.upper[j])
        grip = None if self.servos is None else self.servos.servos[j].grip
        return upper, lower if grip is None else min(max(grip.contact, lower), upper)

    @cached_property
    def limits(self) -> TorqueLimits:
        """Torques that the joints may give."""
        from picker_dynamics.execution.checks import TorqueLimits

        if self.servos is not None:
            return TorqueLimits.of_servos(self.servos)
        assert self.torque is not None
        return TorqueLimits.of_arm(self.torque)

    @cached_property
    def model(self) -> Callable[..., DynamicsModel]:
        """Makes, and remembers, the arm carrying a point mass [kg] at the tool."""

        def carrying(payload: float = 0.0) -> DynamicsModel:
            from picker_dynamics.dynamics import lagrangian

            return lagrangian.analytic_model(self.description, self.known.armature, payload)

        return lru_cache(MODELS)(carrying)

    @cached_property
    def surroundings(self) -> Check:
        """Surroundings that no motion may come too near to: everything there is, or the floor.

        Raises:
            MissingDependencyError: coal is not installed.
        """
        from picker_dynamics.execution.collision import FloorCheck, collision_check, standing_floor

        floor_z = standing_floor(self.description, self.rest)[0] if self.floor_z is None else self.floor_z
        if self.scene is None:
            return FloorCheck(self.description, floor_z)
        how: dict[str, Any] = {} if self.margin_m is None else {"margin_m": self.margin_m}
        poses = [self.home, self.rest]
        return collision_check(self.description, self.scene, floor_z, poses, servos=self.servos, droops=self.droops, **how)

    def validator(self, payload: float = 0.0, tip_speed: float | None = None) -> MotionValidator:
        """Checks motions as the controller would; ``tip_speed``: what it allows [m/s], where it is not the default."""
        from picker_dynamics.execution.validator import TIP_SPEED, MotionValidator

        usual = TIP_SPEED if self.torque is None or self.torque.tip_speed is None else self.torque.tip_speed
        return MotionValidator(self.model(payload), self.limits, self.description, tip_speed or usual, (self.surroundings,))


def equipment(
    arm: str | Path = "",
    servos: str | Path = "",
    overlay: str | Path = "",
    arms: str | Path = "",
    scene: str | Path | None = None,
) -> Equipment:
    """The arm of a URDF with a servo map, or a named one of config/arms.yaml; empty: the picker.

    Args:
        arm: path of a URDF, or a name.
        servos, overlay: servo map and differences from it.
        arms: a file like config/arms.yaml, of one's own, that has the arm.
        scene: a file like config/scene.yaml, or empty: collisions are looked at; None: they are not.

    Raises:
        DescriptionError, ConfigurationError: a file that cannot be used, or a name that there is not.
    """
    is_file = bool(Path(arm).suffix) or Path(arm).is_file()
    entry = None
    if arms or (arm and not is_file):
        entry = registry.load("" if is_file else str(arm), arms or None, arm if is_file else "")
        arm = entry.description.source
    if entry is not None and entry.control == "torque":
        known = Equipment(entry.description, torque=entry)
    else:
        known = Equipment(*servo_arm.load(arm, servos, overlay))
    return known if scene is None else replace(known, scene=read_scene(scene, known.description.root) if scene else {})


def recorded_arm(recording: ArmRecording, arm: str | Path = "", servos: str | Path = "") -> Equipment:
    """The arm of a recording: as it tells, or the one that is named, or that has its name; else the picker."""
    if recording.told and not (arm or servos):
        return Equipment(*arm_text.read(recording.told))
    return equipment(arm or (recording.arm if recording.arm in registry.names() else registry.DEFAULT), servos)


def surroundings(known: Equipment, told: Mapping[str, Any]) -> Equipment:
    """The arm ``known`` with what the running arm's motions are kept clear of, as its session says."""
    held = {"floor_z": told["floor_z"], "margin_m": told["margin_m"], "scene": None}
    if told["scene"] is not None:
        held["scene"] = {
            one["name"]: scene_shape(one["name"], one["kind"], one["size"], one["at"], np.array(one["rotation"]), "scene")
            for one in told["scene"]
        }
        held["droops"] = told["droops"]
    return replace(known, **held)
