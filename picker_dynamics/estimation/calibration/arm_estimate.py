"""Estimate of an arm during a calibration: URDF and servo map as given at first, then with what each step has told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.servo_map import LIMIT_TOLERANCE, Servo, ServoMap

from .droop_fit import DroopFit
from .poses import cautious_validator
from .procedure import gravity_joints
from .readings import Measured
from .servo_figures import ServoFigures, calibrated_servos, figures_from


@dataclass(frozen=True)
class LinkProperties:
    """Mass [kg], distance of the centre of mass from the joint axis [m], and inertia about the parallel to that axis through the
    centre of mass [kg·m²], None where it goes with the mass."""

    mass: Measured
    distance: Measured
    inertia: Measured | None = None


@dataclass(frozen=True)
class ArmEstimate:
    """The arm, as far as known.

    Args:
        description: with the masses that were measured.
        servos: with map, but without ``angles`` and ``fit``.
        links: measured properties, by link.
        angles: zero and scale of joints that bear nothing, relative to ``servos``.
        fit: of the droop.
        given: the servo map before any step, default ``servos``.
    """

    description: descriptions.ArmDescription
    servos: ServoMap
    links: Mapping[str, LinkProperties] = field(default_factory=dict)
    angles: Mapping[str, ServoFigures] = field(default_factory=dict)
    fit: DroopFit | None = None
    given: ServoMap | None = None

    def __post_init__(self) -> None:
        if self.given is None:
            object.__setattr__(self, "given", self.servos)

    @property
    def loaded(self) -> tuple[str, ...]:
        """Joints whose servos bear weight somewhere."""
        return gravity_joints(self.description, self.servos)

    @property
    def figures(self) -> Mapping[str, ServoFigures]:
        """Servo figures that angles and droop have told."""
        return dict(self.angles) if self.fit is None else figures_from(self.fit, self.angles)

    @property
    def known_servos(self) -> ServoMap:
        """The servo map with all that is known of it; rest and home within the limits that its pulses reach."""
        servos, made = calibrated_servos(self.servos, self.figures), []
        for servo, joint in zip(servos.servos, self.description.movable):
            lower, upper = reached(servo, joint.lower, joint.upper)
            rest, home = (float(np.clip(one, lower, upper)) for one in (servo.rest, servo.home))
            made.append(replace(servo, rest=rest, home=home))
        return replace(servos, servos=tuple(made))

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Limits [rad or m], by joint, that differ from the URDF's: where the pulses now end."""
        found = {}
        for servo, joint in zip(self.known_servos.servos, self.description.movable):
            limits = reached(servo, joint.lower, joint.upper)
            if joint.type != "continuous" and np.abs(np.subtract(limits, (joint.lower, joint.upper))).max() > LIMIT_TOLERANCE:
                found[joint.name] = limits
        return found

    def with_servo(self, servo: Servo) -> ArmEstimate:
        """The estimate with another servo of its joint."""
        servos = tuple(servo if one.joint == servo.joint else one for one in self.servos.servos)
        return replace(self, servos=replace(self.servos, servos=servos))

    def validator(self) -> MotionValidator:
        """The cautious validator with all that is known."""
        servos = self.known_servos
        return cautious_validator(RigidBody(self.description, servos.armature), servos)


def reached(servo: Servo, lower: float, upper: float) -> tuple[float, float]:
    """Limits of a joint [rad or m], lower and upper, as far as its pulses reach."""
    return max(lower, servo.pulse_range[0]), min(upper, servo.pulse_range[1])


def given(
    urdf: str | Path = "", servos: str | Path = "", overlay: str | Path | None = None, *, simulated: bool = False
) -> tuple[descriptions.ArmDescription, ServoMap]:
    """The arm as its files say, the picker's where none is named; ``simulated``: as it is simulated then.

    Raises:
        ConfigurationError, DescriptionError: a file that is missing or wrong.
    """
    if simulated and not overlay:
        overlay = servo_arm.overlay_of(servo_arm.read_arm(urdf), servos, "typical")
    return servo_arm.load(urdf, servos, overlay or "")
