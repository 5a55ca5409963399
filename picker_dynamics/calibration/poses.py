"""Which poses and weights tell most: chosen one by one so that the determinant of the information grows most.

    information = Σ J_kᵀ R_k⁻¹ J_k + prior,      next = argmax log det(information with it)      (D-optimal, greedy)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.calibration.droop import FIGURES, DroopModel, Reading, Sight, whitening
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.feasibility import Gate
from picker_dynamics.model import DynamicsModel
from picker_dynamics.profiles import joint_move
from picker_dynamics.servo_map import ServoMap

TRAVEL_SPEED, TRAVEL_ACCELERATION = 0.8, 1.0
"""Largest between poses [rad/s], [rad/s²]: so slow that inertia hardly counts."""

STAND_OFF = 0.12
"""How far the arm moves away before it comes back to a pose from one side [rad]."""

SIDES = (-1.0, 1.0)
"""Each station is visited from above and from below, so that what friction holds back differs."""

HOLD_SHARE, PEAK_SHARE = 0.4, 0.6
"""Of stall torque while calibrating: the arm may weigh more, sag more and swing more than is believed yet."""

HEIGHT_MIN = 0.03
"""Of the tool above the mounting plane [m]."""


@dataclass(frozen=True)
class Weight:
    """A mass [kg] that a person can hang at ``point`` (3,) [m] of the tool frame; 0: none."""

    mass: float = 0.0
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Station:
    """A pose to be looked at, as pulses (n,) [us] that the board can make; what hangs there; what is read there."""

    pulses_us: np.ndarray
    weight: Weight
    sights: tuple[Sight, ...]

    def readings(self, tool: str, values: Sequence[float] | None = None, visit: int = 0) -> list[Reading]:
        """What is read at one visit, sight by sight; values 0 while they are not known."""
        values = np.zeros(len(self.sights)) if values is None else values
        return [Reading(self.pulses_us, sight, float(value), visit, self.weight.mass, tool, self.weight.point)
                for sight, value in zip(self.sights, values)]


def cautious_gate(model: DynamicsModel, servos: ServoMap) -> Gate:
    """The gate for an arm whose numbers are not known well yet."""
    wary = tuple(replace(servo, hold_share=min(HOLD_SHARE, servo.hold_share), peak_share=min(PEAK_SHARE, servo.peak_share))
                 for servo in servos.servos)
    return Gate(model, replace(servos, servos=wary))


def candidates(model: DroopModel, gate: Gate, weights: Sequence[Weight], sights: tuple[Sight, ...], *, count: int,
               seed: int) -> list[Station]:
    """Random poses, each with one of the weights, that the servos can hold and that keep off the table.

    Args:
        gate: with what is believed of masses and servos now.

    Raises:
        InputError: hardly any pose can be held.
    """
    rng, servos, description = np.random.default_rng(seed), gate.servo_map, model.description
    columns, found, still = list(model.columns), [], np.zeros(description.n)
    margin = 2.0 * STAND_OFF
    lower = np.maximum(description.lower, servos.setpoint_lower) + margin
    upper = np.minimum(description.upper, servos.setpoint_upper) - margin
    for _ in range(50 * count):
        if len(found) == count:
            return found
        q = np.array(servos.home)
        q[columns] = rng.uniform(lower[columns], upper[columns])
        weight = weights[int(rng.integers(len(weights)))]
        pulses = servos.quantise_us(servos.to_pulse_us(q))
        try:
            _loaded(gate, weight).check_point(servos.to_angle(pulses), still, still)
        except PickerError:
            continue
        if gate.model.forward_kinematics(q)[2] > HEIGHT_MIN:
            found.append(Station(pulses, weight, sights))
    raise InputError(f"only {len(found)} of {50 * count} random poses can be held", joint="poses", value=len(found), limit=count)


def choose(model: DroopModel, gate: Gate, stations: Sequence[Station], count: int, unknowns=None,
           information=None) -> list[Station]:
    """The ``count`` stations that together tell most about the servo figures, the best first; all can be visited.

    Masses are known from weighing: what counts is the information about the figures with the masses left free.

    Args:
        unknowns: (u,) estimate about which to look; default: the prior.
        information: (u, u) that there is already, the prior's included; default: the prior's.
    """
    mean, prior_sd = model.prior()
    unknowns = mean if unknowns is None else unknowns
    information = np.eye(len(mean)) if information is None else information * np.outer(prior_sd, prior_sd)
    figures, chosen = len(model.joints) * len(FIGURES), []
    gains = dict(enumerate(_gains(model, unknowns, stations, prior_sd)))
    while gains and len(chosen) < count:
        best = max(gains, key=lambda i: _about(information + gains[i], figures))
        gain = gains.pop(best)
        if can_be_visited(stations[best], gate, model.columns):
            chosen.append(stations[best])
            information = information + gain
    return chosen


def _gains(model: DroopModel, unknowns, stations: Sequence[Station], prior_sd) -> list[np.ndarray]:
    """(u, u) information of each station, visited from both sides, in units of the prior."""
    visits = [station.readings(model.description.tool, visit=number) for number, station in enumerate(stations)]
    sensitivity, row, gains = model.sensitivity(unknowns, [one for readings in visits for one in readings]), 0, []
    for readings in visits:
        rows = sensitivity[row : row + len(readings)]
        scaled = whitening(model, unknowns, rows, readings) @ rows * prior_sd
        gains.append(len(SIDES) * scaled.T @ scaled)
        row += len(readings)
    return gains


def stand_off(gate: Gate, station: Station, side: float, columns: Sequence[int]) -> np.ndarray:
    """Set-points (n,) [rad] where the arm waits before it comes to the station: side +1 from below, -1 from above."""
    away = np.array(gate.servo_map.to_angle(station.pulses_us))
    away[list(columns)] -= side * STAND_OFF
    return away


def way(gate: Gate, start, end) -> list[np.ndarray]:
    """Set-points to pass on the way, the end among them: straight where the servos can bear it, else by the home pose.

    Raises:
        PickerError: neither can be borne.
    """
    home = gate.servo_map.home
    try:
        _require_bearable(gate, start, end)
        return [np.asarray(end)]
    except PickerError:
        _require_bearable(gate, home, end)
        return [home, np.asarray(end)]


def can_be_visited(station: Station, gate: Gate, columns: Sequence[int]) -> bool:
    """From home, without the weight, to both sides of it; and from there, with the weight, into it."""
    loaded, there = _loaded(gate, station.weight), gate.servo_map.to_angle(station.pulses_us)
    try:
        for side in SIDES:
            away = stand_off(gate, station, side, columns)
            _require_bearable(gate, gate.servo_map.home, away)
            _require_bearable(loaded, away, there)
    except PickerError:
        return False
    return True


def _loaded(gate: Gate, weight: Weight) -> Gate:
    return replace(gate, model=gate.model.with_payload(weight.mass, weight.point)) if weight.mass else gate


def _require_bearable(gate: Gate, start, end) -> None:
    if np.abs(np.subtract(end, start)).max() > 1e-9:
        gate.check(joint_move(start, end, TRAVEL_SPEED, TRAVEL_ACCELERATION, joint_names=gate.model.joint_names))


def _about(information: np.ndarray, figures: int) -> float:
    """log det of the information about the first unknowns, the others being unknown too (Schur complement)."""
    return float(np.linalg.slogdet(information)[1] - np.linalg.slogdet(information[figures:, figures:])[1])
