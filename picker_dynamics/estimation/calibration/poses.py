"""Design of the droop experiment: which poses tell most, chosen one by one among random ones; and ways between poses.

    information = Σ J_kᵀ R_k⁻¹ J_k + prior
    next        = argmin trace(aim · (information with it)⁻¹)                    (L-optimal, greedy)

The aim is what the figures are for, the variance of the tip at rest, summed over all poses that may be chosen: the tip rests off
by A (estimate - truth), A = (Jacobian of the tip) · dq/d(unknowns), as the set-points of a calibrated arm are those of its
estimate; what hops leave of it, and friction by chance, which comes anew each time, does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.execution.validator import MotionValidator, torque_validator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import tool_pose
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.trajectory.profiles import joint_move
from picker_dynamics.trajectory.trajectory import Trajectory

from .droop_fit import DroopFit, whitening
from .droop_model import DroopModel, Reading, Weight
from .instruments import Inclinometer, Sensor, inclinometer_on

TRAVEL_SPEED, TRAVEL_ACCELERATION = 0.8, 1.0
"""Largest of a servo between poses [rad/s], [rad/s²]: so slow that inertia hardly counts."""

STAND_OFF, SOFT_STAND_OFF = 0.12, 0.25
"""How far servos turn away before the arm comes back to a pose from one side [rad]; those on a bus, which are softer."""

SIDES = (-1.0, 1.0)
"""Each station is come to from above and from below: friction is half of what differs."""

HOLD_SHARE, PEAK_SHARE = 0.4, 0.6
"""Of stall torque while calibrating: the arm may weigh more, sag more and swing more than is believed yet."""

LOADED_HOLD_SHARE, LOADED_PEAK_SHARE = 0.5, 0.7
"""The same when bare poses have told the zeros."""

BY_HAND, CANDIDATES = 4, 200
"""Stations that a person reads, chosen among half as many random poses; those among which stations are chosen otherwise."""

VIAS = 6
"""Poses on the line from home to rest by which a way may lead."""

TIPPING = 1.5
"""Where a joint would turn more than so many times its servo's zero if that shifted, it is about to tip over."""

HEIGHT_MIN = 0.03
"""Of the tool above the plane on which an arm stands [m]."""


def least_height(description: ArmDescription, servos: ServoMap) -> float:
    """Height from which on the tool is clear of what the arm stands on, in the root's frame [m]; -inf for one that hangs.

    An arm hangs whose tool rests clearly below its root.
    """
    return -math.inf if tool_pose(description, servos.rest).position[2] < -HEIGHT_MIN else HEIGHT_MIN


@dataclass(frozen=True)
class Station:
    """A pose to be looked at, as pulses (n,) [us] that the board can make; what hangs there; what is read there."""

    pulses_us: np.ndarray
    weight: Weight
    sensors: tuple[Sensor, ...]

    def readings(
        self, values: Sequence[float] | None = None, visit: int = 0, side: float = 0.0, supply: float = 1.0
    ) -> list[Reading]:
        """Readings at one visit from one side, sensor by sensor; values 0 while they are not known."""
        values = [0.0] * len(self.sensors) if values is None else values
        return [
            Reading(self.pulses_us, sensor, float(value), visit, self.weight, side, supply)
            for sensor, value in zip(self.sensors, values)
        ]


def cautious_validator(
    model: DynamicsModel, servos: ServoMap, hold: float = HOLD_SHARE, peak: float = PEAK_SHARE
) -> MotionValidator:
    """The validator for an arm whose numbers are not known well yet; shares of stall torque.

    A joint that slides keeps the servo map's: what it lifts is about the same all along, and borne since it was switched on.
    """
    wary = tuple(
        servo if servo.slides else replace(servo, hold_share=min(hold, servo.hold_share), peak_share=min(peak, servo.peak_share))
        for servo in servos.servos
    )
    return torque_validator(model, replace(servos, servos=wary))


def sensors(description: ArmDescription, joints: Sequence[str]) -> tuple[Inclinometer, ...]:
    """Inclinometers that are read at a station of an arm whose sought joints, from the base outwards, are ``joints``."""
    return tuple(inclinometer_on(description, description.joint(name).child) for name in joints)


def stations(
    model: DroopModel, servos: ServoMap, seen: tuple[Inclinometer, ...], seed: int
) -> tuple[MotionValidator, list[Station]]:
    """The stations that a person looks at, and the validator to go there by.

    Args:
        servos: as believed now.
    """
    validator = cautious_validator(RigidBody(model.description), servos)
    found = candidates(model, validator, seen, count=CANDIDATES // 2, seed=seed)
    return validator, choose(model, validator, found, BY_HAND)


def candidates(
    model: DroopModel, validator: MotionValidator, seen: tuple[Inclinometer, ...], *, count: int, seed: int
) -> list[Station]:
    """Random poses that the servos can hold and that keep off the table.

    Args:
        validator: with what is believed of masses and servos now.

    Raises:
        InputError: hardly any pose can be held.
    """
    rng, servos, found = np.random.default_rng(seed), validator.servos, list[Station]()
    tries, least = 100 * count, least_height(model.description, servos)
    for _ in range(tries):
        (q,) = drawn(model.description, servos, model.columns, rng, 1)
        pulses = servos.quantise_us(servos.to_pulse_us(q))
        if validator.model.forward_kinematics(q)[2] > least and passes(validator, servos.to_angle(pulses)):
            found.append(Station(pulses, Weight(), seen))
            if len(found) == count:
                return found
    raise InputError(f"hardly any of {tries} random poses can be held", "poses", len(found), count)


def drawn(
    arm: ArmDescription,
    servos: ServoMap,
    columns: Sequence[int],
    rng: np.random.Generator,
    count: int,
    about: np.ndarray | None = None,
    reach: float = math.inf,
) -> np.ndarray:
    """Random poses (count, n) [rad or m]: the arm can stand off from them on both sides.

    Args:
        columns: of the joints that move; the others stay.
        about: (n,) where they stay, and from where joints move by ``reach`` at the most [rad]; default home.
    """
    some, about, off = list(columns), np.array(servos.home if about is None else about, dtype=float), turn_off(servos)
    lower = np.maximum(np.maximum(arm.lower, servos.setpoint_lower) + 2.0 * off, about - reach)
    upper = np.minimum(np.minimum(arm.upper, servos.setpoint_upper) - 2.0 * off, about + reach)
    q = np.tile(about, (count, 1))
    q[:, some] = rng.uniform(lower[some], np.maximum(lower, upper)[some], (count, len(some)))
    return q


def choose(
    model: DroopModel, validator: MotionValidator, stations: Sequence[Station], count: int, first: DroopFit | None = None
) -> list[Station]:
    """The ``count`` stations that together leave the tip least uncertain, the best first; all can be visited.

    Args:
        first: what is known already; None: the prior.

    Raises:
        InputError: none of them can be visited.
    """
    (mean, prior_sd), servos, chosen = model.prior, validator.servos, list[Station]()
    unknowns, covariance = (mean, np.diag(prior_sd**2)) if first is None else (first.unknowns, first.covariance)
    information = np.linalg.inv(covariance) * np.outer(prior_sd, prior_sd)
    visits = [station.readings(None, number, side) for number, (station, side) in enumerate(product(stations, SIDES))]
    readings = [one for visit in visits for one in visit]
    _, jacobian, chance = model.linearised(unknowns, readings)
    gains, size = np.zeros((len(stations), len(mean), len(mean))), len(stations[0].sensors)
    for row in range(0, len(readings), size):
        rows = slice(row, row + size)
        scaled = whitening(chance[rows], readings[rows]) @ jacobian[rows] * prior_sd
        gains[row // (size * len(SIDES))] += scaled.T @ scaled
    rest = model.rest(unknowns, [visit[0] for visit in visits])  # where it is about to tip over within a deadband it is not read
    steady = np.abs(rest.by_unknowns[:, :, model.places("zero")]).reshape(len(stations), -1).max(axis=1) < TIPPING
    off = model.tip_rates(unknowns, [visit[0] for visit in visits]) * prior_sd
    off[:, :, model.places("hop")] = 0.0
    aim = np.einsum("vxi,vxj->ij", off, off)
    left = np.flatnonzero(steady).tolist()
    while left and len(chosen) < count:
        cost = np.einsum("sij,ij->s", np.linalg.inv(information + gains[left]), aim)
        for best in [left[i] for i in np.argsort(cost, kind="stable")]:
            left.remove(best)
            one, there = stations[best], servos.to_angle(stations[best].pulses_us)
            if can_be_visited(servos.home, there, model.columns, validator, with_weight(validator, one.weight)):
                chosen.append(one)
                information = information + gains[best]
                break
    why = f"none of {len(stations)} poses can be reached from home and come to from both sides"
    refuse_if(not chosen, why, "poses", 0, count)
    return chosen


# -- ways -------------------------------------------------------------------------------------------------------------


def passes(validator: MotionValidator, q: np.ndarray) -> bool:
    """Whether servos bear a pose at rest."""
    try:
        validator.require_holdable(q)
    except PickerError:
        return False
    return True


def turn_off(servos: ServoMap) -> float:
    """How far these servos turn away [rad]."""
    return STAND_OFF if servos.bus is None else SOFT_STAND_OFF


def stand_off(servos: ServoMap, there: np.ndarray, side: float, columns: Sequence[int]) -> np.ndarray:
    """Set-points (n,) [rad or m] where the arm waits before it comes to ``there`` (n,): side +1 from below, -1 from above."""
    away, some = np.array(there), list(columns)
    away[some] -= side * turn_off(servos) * servos.per_turn[some]
    return away


def way(validator: MotionValidator, start: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
    """Set-points to pass on the way, the end among them: straight where the servos can bear it, else by home, or on towards rest.

    Raises:
        PickerError: none of them can be borne.
    """
    servos, refused = validator.servos, list[PickerError]()
    for via in (None, *np.linspace(servos.home, servos.rest, VIAS)):
        if via is not None and not passes(validator, via):
            continue
        stops = [np.asarray(end)] if via is None else [via, np.asarray(end)]
        try:
            for one, other in pairwise([start, *stops]):
                _require_bearable(validator, one, other)
            return stops
        except PickerError as error:
            refused.append(error)
    raise refused[0]


def can_be_visited(
    start: np.ndarray, there: np.ndarray, columns: Sequence[int], validator: MotionValidator, loaded: MotionValidator
) -> bool:
    """Whether servos bear the way from ``start`` (n,) [rad] to one side of ``there``, and from there, ``loaded``, into it, to its
    other side, and into it again."""
    try:
        for side in SIDES:
            away = stand_off(validator.servos, there, side, columns)
            _require_bearable(validator, start, away)
            _require_bearable(loaded, away, there)
            start, validator = there, loaded
    except PickerError:
        return False
    return True


def with_weight(validator: MotionValidator, weight: Weight | None) -> MotionValidator:
    """The validator for an arm on which a weight hangs."""
    return (
        replace(validator, model=validator.model.with_payload(weight.mass, weight.point)) if weight and weight.mass else validator
    )


def _require_bearable(validator: MotionValidator, start: np.ndarray, end: np.ndarray) -> None:
    if np.abs(np.subtract(end, start)).max() > 1e-9:
        validator.validate(turned(validator, start, end, TRAVEL_SPEED))


def turned(validator: MotionValidator, start: np.ndarray, end: np.ndarray, speed: float) -> Trajectory:
    """Motion between set-points (n,) in which no servo turns faster than ``speed`` [rad/s]."""
    paces = validator.servos.per_turn
    return joint_move(start, end, speed * paces, TRAVEL_ACCELERATION * paces, joint_names=validator.model.joint_names)
