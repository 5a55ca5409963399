"""Poses for weighing by droop, and how many: where a kilogram moves the reading most, among those that servos can bear.

A reading's own share of the mass's uncertainty is  sqrt(sd² + Σ_j (c_j f_sd)²) / |s|  (``DroopScale.alone``); the poses with the
least of it are taken, a little apart from each other.  Each is visited once without and once with the payload, from the same
side, every other one from above: an arm that comes to a pose again in the same way stops where it stopped before, so that what
friction holds back there is the same again and does not average out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.validator import MotionValidator

from ..calibration.instruments import SensorModel
from ..calibration.measured import NORMAL_95
from ..calibration.poses import SIDES, STAND_OFF, can_be_visited, least_height, passes, stand_off
from .droop import DroopScale, Measurement, Potentiometer
from .mass import USUAL_KG

GOLDEN = 0.618034
"""Its multiples spread evenly over the unit interval, whatever their number."""

APART = 0.03
"""How far some servo at least is turned from where it is in the other poses [rad]: four steps of a PCA9685."""

CANDIDATES, NEAR = 400, 0.9
"""Random poses that are looked at, and how far from the present one servos turn [rad]."""

WITHIN_KG, MOST_POSES = 0.003, 40
"""What a weighing is planned for (95 %), and how many poses a person is asked to read, twice each, at the most."""


@dataclass(frozen=True)
class Visit:
    """Come to a pose from one side and read it.

    Args:
        pulses_us: (n,) there.
        side: -1 from above, +1 from below.
        number: of the visit.
        loaded: with the payload in the tool.
    """

    pulses_us: np.ndarray
    side: float
    number: int
    loaded: bool

    def measurements(
        self, sensors: Sequence[SensorModel | Potentiometer], values: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Measurements of the visit; 0 while they are not known."""
        values = np.zeros(len(sensors)) if values is None else values
        return [
            Measurement(self.pulses_us, sensor, float(value), self.number, self.loaded, self.side)
            for sensor, value in zip(sensors, values)
        ]


def before(scale: DroopScale, visit: Visit) -> np.ndarray:
    """Set-points (n,) [rad or m] from which the arm comes: ``STAND_OFF`` away at most, another distance at each visit; always
    further than friction reaches, so that the side is sure."""
    share = 0.75 + 0.25 * (GOLDEN * visit.number % 1.0)
    return stand_off(scale.servos, scale.servos.to_angle(visit.pulses_us), visit.side, scale.columns, share)


def poses(
    scale: DroopScale,
    validator: MotionValidator,
    sensors: Sequence[SensorModel | Potentiometer],
    near,
    count: int,
    *,
    heaviest_kg: float = USUAL_KG,
    seed: int = 0,
) -> list[np.ndarray]:
    """Pulses (n,) [us] of the poses that tell most, the best first; at most ``count``.

    Args:
        validator: of the arm without payload.
        near: (n,) set-points now [rad or m]; joints that do not bear the payload stay there.
        heaviest_kg: that may be in the tool: each pose and the way to it must be bearable with it.

    Raises:
        InputError: no pose near here can be borne.
    """
    rng, servos, columns = np.random.default_rng(seed), scale.servos, list(scale.columns)
    loaded = replace(validator, model=validator.model.with_payload(heaviest_kg, scale.com))
    margin, reach = 2.0 * STAND_OFF * servos.per_turn, NEAR * servos.per_turn
    lower = np.maximum(np.maximum(scale.description.lower, servos.setpoint_lower) + margin, np.subtract(near, reach))
    upper = np.minimum(np.minimum(scale.description.upper, servos.setpoint_upper) - margin, np.add(near, reach))
    drawn = np.tile(np.asarray(near, dtype=float), (CANDIDATES, 1))
    drawn[:, columns] = rng.uniform(lower[columns], np.maximum(lower, upper)[columns], (CANDIDATES, len(columns)))
    pulses = servos.quantise_us(servos.to_pulse_us(drawn))
    readings = [Measurement(row, sensor, 0.0, 0, True, 1.0) for row in pulses for sensor in sensors]
    blind = scale.alone(readings).reshape(CANDIDATES, -1).min(axis=1)
    found: list[np.ndarray] = []
    for row in np.argsort(blind):
        if len(found) == count:
            break
        ways = [(servos.to_angle(pulses[row]) - servos.to_angle(one)) / servos.per_turn for one in found]
        if (
            all(np.abs(way).max() > APART for way in ways)
            and np.isfinite(blind[row])
            and _held(scale, loaded, servos.to_angle(pulses[row]), near)
        ):
            found.append(pulses[row])
    refuse_if(
        not found,
        f"no pose within {np.degrees(NEAR):.0f} deg of the servos' turn can be held with {1e3 * heaviest_kg:.0f} g: start from "
        "home, or weigh something lighter (--heaviest)",
        "pose",
        heaviest_kg,
    )
    return found


def visits(where: Sequence[np.ndarray], loaded: bool) -> list[Visit]:
    """Visits to every pose once, each from the same side whenever it is visited."""
    first = len(where) if loaded else 0
    return [Visit(pulses, SIDES[number % 2], first + number, loaded) for number, pulses in enumerate(where)]


def plan(
    scale: DroopScale,
    validator: MotionValidator,
    sensors: Sequence[SensorModel | Potentiometer],
    near,
    within_kg: float = WITHIN_KG,
    *,
    heaviest_kg: float = USUAL_KG,
    seed: int = 0,
    count: int = 0,
) -> tuple[list[Visit], float]:
    """Visits, first without payload, then with, and the half-width of the 95 % interval that they will give [kg].

    As few poses as reach ``within_kg``, or as many as a person can be asked for; ``count``: so many.  Other arguments and errors
    as for ``poses``.
    """
    refuse_if(
        not 0.0 < within_kg < 1.0,
        f"weighing to within {within_kg:g} kg: it must be above 0 and below 1 kg: are these grams?",
        "within",
        within_kg,
        1.0,
    )
    where = poses(scale, validator, sensors, near, count or MOST_POSES, heaviest_kg=heaviest_kg, seed=seed)

    def half_width(number: int) -> float:
        return NORMAL_95 * scale.precision(
            [one for visit in visits(where[:number], False) + visits(where[:number], True) for one in visit.measurements(sensors)]
        )

    if not count:
        count = next((number for number in range(2, len(where), 2) if half_width(number) <= within_kg), len(where))
    return visits(where[:count], False) + visits(where[:count], True), half_width(count)


def _held(scale: DroopScale, validator: MotionValidator, there, near) -> bool:
    """Whether servos bear the pose ``there`` (n,) [rad], above the table, and the ways to it."""
    held = passes(validator, there) and can_be_visited(near, there, scale.columns, validator, validator)
    return held and float(validator.model.forward_kinematics(there)[2]) > least_height(scale.description, scale.servos)
