"""Poses for weighing by droop, and how many: where a kilogram moves the reading most, among those that servos can bear.

The poses with the most |s| / sd are taken, a little apart from each other.  Each is visited once without and once with the
payload, from the same side, every other one from above: what friction holds back at one pose does not average out there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.validator import MotionValidator

from ..calibration.instruments import Inclinometer
from ..calibration.measured import NORMAL_95
from ..calibration.poses import SIDES, can_be_visited, drawn, least_height, passes
from .droop import DroopScale, Measurement

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
    stiff = f"{count} poses tell the mass to ± {1e3 * half:.1f} g (95 %), which says nothing: such stiff servos hardly sag by"
    more = "more --visits, or a heavier payload (--heaviest)"
    refuse_if(half > blind, f"{stiff} {1e3 * heaviest:g} g; {more}", "payload", half, blind)
    return Plan(visits(where[:count], sensor), half, borne_kg)
