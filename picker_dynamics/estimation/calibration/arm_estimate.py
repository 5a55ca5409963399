"""Estimate of an arm during a calibration: URDF and servo map as given at first, then with what each step has told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.servo_map import LIMIT_TOLERANCE, ServoMap

from .droop_fit import DroopFit
from .joint_map import resting_at
from .mass_properties import LinkProperties
from .poses import cautious_validator
from .procedure import gravity_joints
from .servo_figures import ServoFigures, calibrated_servos, figures_from
from .write_back import rewritten

LIMIT_MARGIN, LIMIT_MARGIN_M = 0.035, 1e-3
"""Between where a person said stop and the limit that is written [rad]: 2 degrees; of a sliding joint [m]."""


@dataclass(frozen=True)
class ArmEstimate:
    """The arm, as far as known.

    Args:
        description: with the masses that were measured.
        servos: with map and rest pose, but without ``angles`` and ``fit``.
        links: measured properties, by link.
        angles: zero and scale of joints that bear nothing, relative to ``servos``.
        fit: of the droop.
        ends_us: where a person said stop, by joint: two pulses [us]; None for an end whose limit stays.
        rest_us: pulses of the rest pose [us], None: as it was.
        home: home pose moved into the limits [rad], None: as it was.
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
        """Servo figures that angles and droop have told."""
        return dict(self.angles) if self.fit is None else figures_from(self.fit, self.angles)

    @property
    def known_servos(self) -> ServoMap:
        """The servo map with all that is known of it."""
        made = []
        for column, servo in enumerate(calibrated_servos(self.servos, self.figures).servos):
            rest = servo.rest if self.rest_us is None else float(servo.to_angle(self.rest_us[column]))
            made.append(replace(servo, rest=rest, home=servo.home if self.home is None else self.home[column]))
        return replace(self.servos, servos=tuple(made))

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Limits [rad or m], by joint, that differ from the URDF's: where a person said stop, or where the pulses now end."""
        found = {}
        for joint in self.description.movable:
            limits = self.limits_of(joint.name, self.ends_us.get(joint.name, (None, None)))
            if joint.type != "continuous" and np.abs(np.subtract(limits, (joint.lower, joint.upper))).max() > LIMIT_TOLERANCE:
                found[joint.name] = limits
        return found

    def limits_of(self, name: str, ends_us: Sequence[float | None]) -> tuple[float, float]:
        """Limits of a joint [rad or m], lower and upper: within its pulses, and a margin inside the ends [us] where a person said
        stop; an end that is None keeps its limit.

        The arm was jogged there from its rest pose, and had sagged: counted is where the joint stood, not its set-point.
        """
        joint, servos = self.description.joint(name), self.known_servos
        column, found = servos.joint_names.index(name), [joint.lower, joint.upper]
        servo = servos.servos[column]
        margin, reach = LIMIT_MARGIN_M if servo.slides else LIMIT_MARGIN, servo.pulse_range
        for end, (side, pulse) in enumerate(zip((-1.0, 1.0), ends_us)):
            if pulse is not None:
                setpoints = np.array(servos.clamp(servos.rest))
                setpoints[column] = servo.to_angle(pulse)
                found[end] = float(resting_at(self.validator(), setpoints, side)[column]) - side * margin
        return max(found[0], reach[0]), min(found[1], reach[1])

    @property
    def known_description(self) -> descriptions.ArmDescription:
        """The arm with the limits that were found."""
        return rewritten(self.description, {}, limits=self.limits)

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
