"""The parameters that every node shares: which arm, which servos, and the models made from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.execution.tolerances import Tolerances
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

from .runtime import declare


def load_arm(node) -> tuple[ArmDescription, ServoMap]:
    """Declare ``urdf``, ``servos`` and ``servo_overlay``, and read what they name.

    Raises:
        DescriptionError, ConfigurationError: a file that is missing or wrong.
    """
    urdf = declare(node, "urdf", "", "URDF file of the arm; empty: the picker's", read_only=True)
    servos = declare(
        node, "servos", "", "servo map file; empty: config/servos.yaml, or servos that fit another arm", read_only=True
    )
    overlay = declare(
        node,
        "servo_overlay",
        "",
        "file with differences from the servo map (a simulation, a calibration); or typical or ideal: what the map leaves open",
        read_only=True,
    )
    return servo_arm.load(urdf, servos, overlay)


def load_torque_arm(node) -> Arm:
    """Declare ``arm``, ``urdf`` and ``arms``, and read what they name.

    Raises:
        ConfigurationError: no such arm, or one whose joints are servos.
    """
    name = declare(node, "arm", "rrp", "name of a torque-controlled arm in config/arms.yaml", read_only=True)
    urdf = declare(node, "urdf", "", "URDF file of the arm; empty: that of the named one", read_only=True)
    path = declare(
        node, "arms", "", "file like config/arms.yaml that has the arm, by the name in urdf where that is given", read_only=True
    )
    arm = arms.load("" if urdf else name, path or None, urdf)
    if arm.control != "torque":
        raise ConfigurationError(
            f"arm {arm.name} has {arm.control} joints, this node is for torque-controlled ones", subject="arm", value=arm.name
        )
    return arm


@dataclass(frozen=True)
class ControlledArm:
    """Arm as the controller has to know it, whatever moves its joints.

    Attributes:
        description: the arm.
        armature: (n,) rotor inertias [kg·m²], None for none.
        limits: torques of its joints.
        gripper: index of the joint that grips; None: none.
        grips: with which torque joints press at the most [N·m], where the servo map says so.
        rest: (n,) where it rests: the servo map's pose, or home [rad or m].
        home: (n,) where work starts [rad or m].
        tolerances: of motions, where nobody says others.
        known: the same for whoever asks the graph which arm it has.
    """

    description: ArmDescription
    armature: np.ndarray | None
    limits: TorqueLimits
    gripper: int | None
    grips: dict[str, float]
    rest: np.ndarray
    home: np.ndarray
    tolerances: Tolerances
    known: Known


def load_controlled_arm(node) -> ControlledArm:
    """Declare ``control`` and what belongs to it, and read it; errors as the others here."""
    control = declare(node, "control", "servo", "what moves the joints: servo (urdf, servos) or torque (arm)", read_only=True)
    if control not in arms.CONTROLS:
        raise ConfigurationError(
            f"control is {control!r}, must be one of {', '.join(arms.CONTROLS)}", subject="control", value=control
        )
    if control == "torque":
        arm = load_torque_arm(node)
        known, gripper = Known(arm.description, torque=arm), servo_arm.gripper_of(arm.description, None)
        limits, tolerances = TorqueLimits.of_arm(arm), Tolerances.of_arm(arm)
        return ControlledArm(arm.description, None, limits, gripper, {}, arm.home, arm.home, tolerances, known)
    described, servos = load_arm(node)
    grips = {servo.joint: servo.grip.torque for servo in servos.servos if servo.grip is not None}
    limits, tolerances = TorqueLimits.of_servos(servos), Tolerances.of_servos(servos)
    known, gripper = Known(described, servos), servo_arm.gripper_of(described, servos)
    return ControlledArm(described, servos.armature, limits, gripper, grips, servos.rest, servos.home, tolerances, known)
