"""Payload from droop: the mass in the tool from how much further the arm sags with it, by inclinometer.

Each pose is read without and with the payload.  The droop model of the calibration (``calibration.droop_model``) says what each
reading y_k should be for a mass m; about a mass that is near,

    y_k = y_k(m_0) + s_k (m - m_0) + e_k,          V = sd² 1 + Σ chance² + offset² (1 + P) + N Nᵀ

s_k is 0 without the payload.  e_k has the instrument's noise, what friction happens to hold back at the visit, an offset alike
at all poses and one of each pose (P: 1 where two readings are of one pose), which zeros, scales and pulse maps leave, and N: how
well stiffness K, friction and the links' masses are known.  What is alike in both readings of a pose cancels; that the arm sags
without the payload too tells K where that is known badly; and

    m = m_0 + (sᵀ V⁻¹ y) / (sᵀ V⁻¹ s)            sd² = 1 / (sᵀ V⁻¹ s)                      (generalised least squares)

How much one pose tells:  with K = 10 N·m/rad, 25 g at 0.29 m lower the forearm by 0.7°; an inclinometer (0.1°) is then good for
3.5 g, and friction (1 % of stall at two joints) for 2.8 g, each twice.  So weighing to 3 g takes two dozen poses.

The poses that servos can bear with the most |s| / sd are taken, a little apart from each other.  Each is visited once without
and once with the payload, from the same side, every other one from above: what friction holds back at one pose does not average
out there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.servo_map import Servo, ServoMap

from .calibration.droop_model import DroopModel, Reading, Weight, believed, wrapped
from .calibration.instruments import INCLINOMETER_SD, Inclinometer
from .calibration.poses import SIDES, can_be_visited, drawn, least_height, passes
from .calibration.readings import NORMAL_95, Measured

LIGHTEST_KG, HEAVIEST_KG = 1e-3, 1.0
"""Less is nothing to weigh, and more no gripper of these servos holds: slips of unit."""

USUAL_KG, BLIND_SHARE = 0.1, 0.25
"""What a payload weighs at the most, unless somebody says otherwise, and the standard deviation of the mass, as a share of that,
above which the readings say nothing: a strawberry or none looks the same."""

STIFFNESS_SD, ROUGHEST_SD = 0.04, 0.5
"""No K is known better than to the first share, nor is it where the servo map does not say; what is known to less than the second
is of no use."""

LOAD_FRICTION_SD, ASSUMED_SD, COULOMB_SD = 0.03, 0.12, 0.05
"""Of x: what a calibration leaves, and where nobody has measured it; of tau_c, as a share of stall torque, where the joint's own
friction (that of the URDF) is not in it: each pose is come to from the same side again, so that this cancels."""

OFFSET_SD, LINKS_SD = math.radians(0.3), 0.1
"""What a calibration leaves of a reading at rest [rad], and of the links' masses, as a share, where they were not weighed: no
better than that does the sag without payload tell K."""

SLIP = 0.12
"""Distance of a reading from anything that a payload explains, which is a slip [rad]."""

MISREAD, NEGATIVE = 5.0, 3.0
"""Standard deviations from what the other poses say beyond which one was misread, and below nothing beyond which readings without
and with the payload were exchanged."""

ROUNDS, STEP_KG = 6, 1e-3
"""In which the mass, and the readings linearised about it, are found in turn; step of differences."""


@dataclass(frozen=True)
class Measurement:
    """Reading of the arm at rest, or a visit at which it will be read.

    Args:
        pulses_us: (n,) on the servos' inputs.
        sensor: what is read.
        pose: number of the pose, which is visited without and with the payload.
        loaded: whether the payload is in the tool.
        side: from which the arm comes: +1 from below, -1 from above.
        value: the reading [rad].
    """

    pulses_us: np.ndarray
    sensor: Inclinometer
    pose: int
    loaded: bool
    side: float
    value: float = 0.0


@dataclass(frozen=True)
class Weighed:
    """Weighed payload: mass [kg], its uncertainty as much larger as the poses disagree; misfit, root mean square of the residuals
    in standard deviations, about 1 where the model fits; number of readings."""

    mass: Measured
    misfit: float
    readings: int


@dataclass(frozen=True, eq=False)
class DroopScale:
    """The arm as a scale.

    Args:
        description, servos: as calibrated.
        heaviest_kg: that the payload may be.

    Raises:
        ConfigurationError: nobody has measured the stiffness of a joint that bears the payload, or says how well it is known.
        InputError: a heaviest payload that cannot be, or a stiffness that is known too roughly.
    """

    description: ArmDescription
    servos: ServoMap
    heaviest_kg: float = USUAL_KG

    def __post_init__(self) -> None:
        most = f"a payload of {1e3 * self.heaviest_kg:g} g at the most, must be {1e3 * LIGHTEST_KG:g} to {1e3 * HEAVIEST_KG:g} g"
        refuse_if(not LIGHTEST_KG <= self.heaviest_kg <= HEAVIEST_KG, most, "heaviest", self.heaviest_kg, HEAVIEST_KG)
        for servo in (self.servos.servos[column] for column in self.columns):
            known, last = stiffness_sd(servo), "picker calibrate first, best by camera"
            rough = f"the stiffness of {servo.joint} is known to {known:.0%} only, at most {ROUGHEST_SD:.0%} is of use: {last}"
            refuse_if(known > ROUGHEST_SD, rough, servo.joint, known, ROUGHEST_SD)
            if "stiffness_nm_rad" in servo.unmeasured and servo.stiffness_sd is None:
                why = f"the stiffness of {servo.joint} was never measured, so its droop tells no mass: {last}"
                raise ConfigurationError(why, servo.joint, servo.stiffness)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Of the joints that turn and bear the payload."""
        q, body = sample_poses(self.description, 32), RigidBody(self.description)
        bears = np.abs(body.with_payload(1.0).gravity(q) - body.gravity(q)).max(axis=0) > 1e-3
        return tuple(i for i, joint in enumerate(self.description.movable) if bears[i] and not joint.slides)

    @cached_property
    def _model(self) -> tuple[DroopModel, np.ndarray, np.ndarray]:
        """Droop model of those joints, its unknowns (u,) as believed, and how well they are known besides offsets (u,)."""
        servos = [self.servos.servos[column] for column in self.columns]
        model = DroopModel(self.description, self.servos, tuple(servo.joint for servo in servos))
        unknowns, sd = believed(self.servos)[list(self.columns)].ravel(), np.zeros(len(model.names))
        sd[model.places("compliance")] = [stiffness_sd(servo) / servo.stiffness for servo in servos]
        sd[model.places("coulomb")] = [COULOMB_SD * servo.stall_torque for servo in servos]
        sd[model.places("load_friction")] = [
            (ASSUMED_SD if "load_friction" in servo.unmeasured else LOAD_FRICTION_SD) * (servo.load_friction > 0.0)
            for servo in servos
        ]
        return model, unknowns, sd

    @property
    def blind_kg(self) -> float:
        """Standard deviation of the mass above which readings say nothing."""
        return BLIND_SHARE * self.heaviest_kg

    def expected(self, readings: Sequence[Measurement], mass: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The readings (r,) [rad] with ``mass`` [kg] in the tool at those with payload; how much a standard deviation of what is
        known of servos and, last, of what is borne moves them, (r, u + 1), and of what friction holds back by chance, (r, c)."""
        model, unknowns, sd = self._model
        looks = [
            Reading(one.pulses_us, one.sensor, 0.0, row, Weight(mass * one.loaded), one.side) for row, one in enumerate(readings)
        ]
        values, by_unknowns, by_chance = model.linearised(unknowns, looks)
        compliances = model.places("compliance")  # a load turns joints as much further as springs that are softer
        borne = LINKS_SD * by_unknowns[:, compliances] @ unknowns[compliances]
        return values, np.column_stack([by_unknowns * sd, borne]), by_chance

    def linearised(self, readings: Sequence[Measurement], mass: float) -> tuple[np.ndarray, ...]:
        """The readings (r,) [rad] with ``mass`` [kg] in the tool at those with payload; what a kilogram does to them, (r,)
        [rad/kg]; a standard deviation of noise and friction, (r,) [rad]; and one of what is known of the arm, (r, u + 1)."""
        values, known, chance = self.expected(readings, mass)
        slope = (self.expected(readings, mass + STEP_KG)[0] - values) / STEP_KG
        return values, slope, np.sqrt(INCLINOMETER_SD**2 + (chance**2).sum(axis=1)), known

    def estimate(self, readings: Sequence[Measurement], mass: float) -> tuple[Measured, float, np.ndarray]:
        """The mass, about ``mass`` [kg]; the misfit; and each reading as the others see it, (r,) in standard deviations.

        Args:
            readings: the poses' without the payload, then, in the same order, with it.
        """
        values, slope, sd, known = self.linearised(readings, mass)
        empty, loaded = np.split(np.arange(len(readings)), 2)
        known[loaded, -1] = known[empty, -1]  # the links weigh the same
        alike = np.tile(1.0 + np.eye(len(empty)), (2, 2))
        weights = np.linalg.inv(np.diag(sd**2) + OFFSET_SD**2 * alike + known @ known.T)
        off = wrapped(np.array([one.value for one in readings]) - values)
        information = max(float(slope @ weights @ slope), 1e-300)
        change = float(slope @ weights @ off) / information
        residual = off - change * slope
        weighted = weights @ residual
        misfit = float(np.sqrt(max(0.0, float(residual @ weighted)) / max(1, len(off) - 1)))
        return Measured(mass + change, information**-0.5), misfit, weighted / np.sqrt(np.diag(weights))

    def weigh(self, readings: Sequence[Measurement]) -> Weighed:
        """Find the mass in the tool.

        Raises:
            InputError: poses that were not read without and with the payload, readings that cannot be or that say nothing.
        """
        pairs = sorted(readings, key=lambda one: (one.loaded, one.pose))
        poses = [[one.pose for one in pairs if one.loaded is loaded] for loaded in (False, True)]
        refuse_if(not pairs or poses[0] != poses[1], "each pose has to be read without and with the payload", "readings")
        self.require_plausible(pairs)
        mass = self.blind_kg
        for _ in range(ROUNDS):
            found, misfit, apart = self.estimate(pairs, mass)
            mass = min(max(found.value, 0.0), HEAVIEST_KG - STEP_KG)
        said = f"the readings say {1e3 * found.value:.1f} ± {1e3 * found.sd:.1f} g"
        refuse_if(found.sd > self.blind_kg, f"{said}, too uncertain: stretch the arm further out", "pose", found.sd)
        worst, count = int(np.abs(apart).argmax()), len(apart)
        others = float(np.sqrt(max(0.0, (count - 1) * misfit**2 - apart[worst] ** 2) / max(1, count - 2)))  # their misfit alone
        pose = f"pose {worst % len(poses[0]) + 1}"
        slip = f"{pose} is {abs(apart[worst]):.0f} standard deviations from what the others say: read it again"
        refuse_if(abs(apart[worst]) > MISREAD * max(1.0, others), slip, pose, float(apart[worst]))
        found = replace(found, sd=found.sd * max(1.0, misfit))
        low, high = (found.value + sign * NEGATIVE * found.sd for sign in (-1.0, 1.0))
        refuse_if(
            high < 0.0, f"{said}, less than nothing: readings with and without payload exchanged?", "payload", found.value, 0.0
        )
        refuse_if(
            low > HEAVIEST_KG, f"{said}, more than the tool could hold: unit mixed up?", "payload", found.value, HEAVIEST_KG
        )
        return Weighed(found, misfit, len(readings))

    def require_plausible(self, readings: Sequence[Measurement]) -> None:
        """Refuse a reading that is neither where the arm is without payload, nor below, as far as half a kilogram goes."""
        light, heavy = (self.expected(readings, mass)[0] for mass in (0.0, 0.5))
        for number, (one, *ends) in enumerate(zip(readings, light, heavy), start=1):
            off = wrapped(one.value - np.clip(one.value, min(ends), max(ends)))
            said = f"reading {number}, elevation of {one.sensor.link}, is {math.degrees(one.value):.1f} deg, expected about"
            why = f"{said} {math.degrees(ends[0]):.1f} deg: another link, unit or sign, or not at rest yet?"
            refuse_if(not abs(off) <= SLIP, why, one.sensor.link, one.value, float(ends[0]))


def stiffness_sd(servo: Servo) -> float:
    """How well a servo's K is known, as a share (one standard deviation)."""
    return STIFFNESS_SD if servo.stiffness_sd is None else max(servo.stiffness_sd / servo.stiffness, STIFFNESS_SD)


# -- poses, and how many ---------------------------------------------------------------------------------------------------

APART = 0.03
"""How far some servo at least is turned from where it is in the other poses [rad]: four steps of a PCA9685."""

CANDIDATES, NEAR = 400, 0.9
"""Random poses that are looked at, and how far from the present one servos turn [rad]."""

WITHIN_KG, MOST_POSES = 0.003, 40
"""What a weighing is planned for (95 %), and how many poses a person is asked to read, twice each, at the most."""

BORNE = 1.0, 0.5, 0.25, 0.1
"""Shares of the heaviest payload that poses are to bear, the largest that finds some."""


def poses(
    scale: DroopScale, validator: MotionValidator, sensor: Inclinometer, near: np.ndarray, count: int, heaviest_kg: float
) -> list[np.ndarray]:
    """Pulses (n,) [us] of the poses that tell most, the best first; at most ``count``.

    Args:
        validator: of the arm without payload.
        near: (n,) set-points now [rad or m]; joints that do not bear the payload stay there.
        heaviest_kg: that may be in the tool: each pose and the way to it must be bearable with it.
    """
    servos, arm = scale.servos, scale.description
    loaded = replace(validator, model=validator.model.with_payload(heaviest_kg))
    some = drawn(arm, servos, scale.columns, np.random.default_rng(0), CANDIDATES, near, NEAR)
    pulses = servos.quantise_us(servos.to_pulse_us(some))
    _, slope, sd, _ = scale.linearised([Measurement(row, sensor, 0, True, 1.0) for row in pulses], scale.blind_kg)
    lowest, found = least_height(arm, servos), list[np.ndarray]()
    for row in np.argsort(-np.abs(slope) / sd):
        there = servos.to_angle(pulses[row])
        if (
            abs(slope[row]) > 0.0
            and all(np.abs(there - servos.to_angle(one)).max() > APART for one in found)
            and passes(loaded, there)
            and can_be_visited(near, there, scale.columns, loaded, loaded)
            and float(loaded.model.forward_kinematics(there)[2]) > lowest
        ):
            found.append(pulses[row])
        if len(found) == count:
            break
    return found


def visits(where: Sequence[np.ndarray], sensor: Inclinometer) -> list[Measurement]:
    """Visits to every pose without payload, then to every pose with it, each from the same side whenever it is visited."""
    return [
        Measurement(pulses, sensor, number, loaded, SIDES[number % 2])
        for loaded in (False, True)
        for number, pulses in enumerate(where)
    ]


class Plan(NamedTuple):
    """Visits, first without payload, then with; half-width of the 95 % interval that they will give, and what they bear [kg]."""

    visits: list[Measurement]
    half_kg: float
    borne_kg: float


def plan(scale: DroopScale, validator: MotionValidator, sensor: Inclinometer, near: np.ndarray, count: int = 0) -> Plan:
    """Choose poses, as few as reach ``WITHIN_KG``, or as many as a person can be asked for; ``count``: so many.

    Other arguments as for ``poses``.

    Raises:
        InputError: no pose near here bears a tenth of the heaviest payload, or what they promise says nothing.
    """
    heaviest, where = scale.heaviest_kg, []
    for borne_kg in (share * heaviest for share in BORNE):
        if where := poses(scale, validator, sensor, near, count or MOST_POSES, borne_kg):
            break
    none = f"no pose near this one can be held with {1e3 * borne_kg:.0f} g: start from home, or weigh less (--heaviest)"
    refuse_if(not where, none, "pose", borne_kg)

    def half_width(number: int) -> float:
        return NORMAL_95 * scale.estimate(visits(where[:number], sensor), scale.blind_kg)[0].sd

    few = range(2, len(where), 2) if not count else ()
    count = next((number for number in few if half_width(number) <= WITHIN_KG), len(where))
    half, blind = half_width(count), NORMAL_95 * scale.blind_kg
    stiff = f"{count} poses tell the mass to ± {1e3 * half:.1f} g (95 %), too uncertain: such stiff servos hardly sag by"
    more = "more --visits, or a heavier payload (--heaviest)"
    refuse_if(half > blind, f"{stiff} {1e3 * heaviest:g} g; {more}", "payload", half, blind)
    return Plan(visits(where[:count], sensor), half, borne_kg)
