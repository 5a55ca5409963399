"""Estimate of an arm during a calibration: URDF and servo map as given at first, then with what each step has told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.servo_map import LIMIT_TOLERANCE, ServoMap

from .droop_fit import DroopFit
from .mass_properties import LinkProperties
from .poses import cautious_validator
from .procedure import gravity_joints
from .servo_figures import ServoFigures, calibrated_servos, figures_from, with_sweeps
from .sweep import Sweep
from .write_back import rewritten

LIMIT_MARGIN = 0.035
"""Between where a person said stop and the limit that is written [rad]: 2 degrees."""


@dataclass(frozen=True)
class ArmEstimate:
    """The arm, as far as known.

    Args:
        description: with the masses that were measured.
        servos: with trim, map and rest pose, but without ``angles`` and ``fit``.
        links: measured properties, by link.
        angles: zero and scale of joints that bear nothing, relative to ``servos``.
        fit: of the droop.
        ends_us: where a person said stop, by joint: two pulses [us]; None for an end whose limit stays.
        rest_us: pulses of the rest pose [us], None: as it was.
        home: home pose moved into the limits [rad], None: as it was.
        sweeps: timed moves, by joint.
        remarks: lines for the servo-map overlay's comments, by joint and key.
        given: the servo map before any step, default ``servos``.
    """

    description: descriptions.ArmDescription
    servos: ServoMap
    links: Mapping[str, LinkProperties] = field(default_factory=dict)
    angles: Mapping[str, ServoFigures] = field(default_factory=dict)
    fit: DroopFit | None = None
    ends_us: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    rest_us: tuple[float, ...] | None = None
    home: tuple[float, ...] | None = None
    sweeps: Mapping[str, Sweep] = field(default_factory=dict)
    remarks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    given: ServoMap | None = None

    def __post_init__(self):
        if self.given is None:
            object.__setattr__(self, "given", self.servos)

    @property
    def loaded(self) -> tuple[str, ...]:
        """Joints whose servos bear weight somewhere."""
        return gravity_joints(self.description, self.servos)

    @property
    def figures(self) -> Mapping[str, ServoFigures]:
        """What angles, droop and sweeps have told of the servos."""
        found = dict(self.angles) if self.fit is None else figures_from(self.fit, self.angles)
        return with_sweeps(found, self.sweeps)

    @property
    def known_servos(self) -> ServoMap:
        """The servo map with all that is known of it."""
        made = calibrated_servos(self.servos, self.figures)
        if self.rest_us is not None:
            rest = [servo.to_angle(pulse) for servo, pulse in zip(made.servos, self.rest_us)]
            made = replace(made, servos=tuple(replace(servo, rest=float(angle)) for servo, angle in zip(made.servos, rest)))
        return (
            made
            if self.home is None
            else replace(made, servos=tuple(replace(servo, home=float(angle)) for servo, angle in zip(made.servos, self.home)))
        )

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Limits [rad], by joint, that differ from the URDF's: where a person said stop, or where the pulses now end."""
        servos, found = self.known_servos, {}
        for joint, servo in zip(self.description.movable, servos.servos):
            if joint.type != "revolute":
                continue
            limits = limits_from(self.ends_us.get(joint.name, (None, None)), servo, joint.lower, joint.upper)
            if max(abs(limits[0] - joint.lower), abs(limits[1] - joint.upper)) > LIMIT_TOLERANCE:
                found[joint.name] = limits
        return found

    @property
    def known_description(self) -> descriptions.ArmDescription:
        """The arm with the limits that were found."""
        return rewritten(self.description, {}, "", limits=self.limits)

    def validator(self) -> MotionValidator:
        """The cautious validator with all that is known."""
        servos = self.known_servos
        return cautious_validator(RigidBody(self.description, servos.armature), servos)


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


def limits_from(ends_us, servo, lower: float, upper: float) -> tuple[float, float]:
    """Limits [rad] a margin inside the ends [us] of a joint, in the order of angles; an end that is None keeps its limit."""
    low, high = lower, upper
    first, last = servo.pulse_range
    if ends_us[0] is not None:
        low = float(servo.to_angle(ends_us[0])) + LIMIT_MARGIN
    if ends_us[1] is not None:
        high = float(servo.to_angle(ends_us[1])) - LIMIT_MARGIN
    return max(low, first), min(high, last)
