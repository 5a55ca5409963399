"""Mass, centre of mass and inertia of a link from what a kitchen offers: a scale, an edge, a nail and a stopwatch.

    mass            weighed
    distance d      from the link's joint axis to where it balances on an edge
    I_pivot         m g d (T / 2 pi)^2 of small swings about the joint axis; T = (time of N swings) / N
    I_centre        I_pivot - m d^2                                        (parallel axis, Steiner)

The pendulum gives the inertia about the *pivot*.  Taken for the one about the centre of mass, as measuring guides
sometimes do, it is three times too large for the picker's upper arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from picker_dynamics.errors import InputError

from .measured import Measured, mean, propagate

GRAVITY = 9.81
SCALE_SD, RULER_SD, STOPWATCH_SD = 1e-3, 5e-4, 5e-2
"""Standard deviation of one reading: kitchen scale [kg], ruler [m], stopwatch by hand [s]."""

MASS_MAX, LENGTH_MAX = 5.0, 2.0
"""Beyond this a link of such an arm is a slip of units: [kg], [m]."""


@dataclass(frozen=True)
class LinkReadings:
    """What was read of one link, or of an assembly that is not taken apart.

    Args:
        masses_kg: weighings.
        balances_m: distances of the balance point from the joint axis, along the link; none: it balances on the axis.
        swing_times_s: each the time of ``swings`` full swings about the joint axis; none: no pendulum.
        swings: full swings that each time was taken over.
        amplitude: of the swings, from the vertical [rad].
        holds: further links in what was weighed, balanced and swung as a whole (``assembly.properties``).
        pose: of the joints between them meanwhile [rad], by name; others at 0.
    """

    masses_kg: Sequence[float]
    balances_m: Sequence[float] = ()
    swing_times_s: Sequence[float] = ()
    swings: int = 20
    amplitude: float = 0.15
    holds: tuple[str, ...] = ()
    pose: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkProperties:
    """Mass [kg], distance of the centre of mass from the joint axis [m], inertia about that axis and about the
    parallel through the centre of mass [kg·m²]; the inertias are None where no pendulum was timed."""

    mass: Measured
    distance: Measured
    pivot_inertia: Measured | None = None
    inertia: Measured | None = None


def link_properties(name: str, readings: LinkReadings, *, length_m: float | None = None) -> LinkProperties:
    """Properties of a link from its readings.

    Args:
        name: of the link, for messages.
        readings: what was read.
        length_m: how far the link reaches from its joint axis; readings beyond it are refused.

    Raises:
        InputError: a reading that cannot be: negative, beyond the link, an inertia that no such body has; says so in
            terms of what was read.
    """
    mass = mean(f"{name}: mass", readings.masses_kg, SCALE_SD)
    balances, distance = readings.balances_m, Measured(0.0, RULER_SD)
    if len(balances):
        distance = mean(f"{name}: balance point", balances, RULER_SD)
    _require_within(name, "mass", readings.masses_kg, MASS_MAX, "kg", "are these grams?")
    longest = LENGTH_MAX if length_m is None else length_m
    _require_within(name, "balance point", readings.balances_m, longest, "m", "are these millimetres, or from the other end?")
    if not (len(readings.swing_times_s) and len(readings.balances_m)):
        return LinkProperties(mass, distance)
    if readings.swings < 1:
        raise InputError(f"{name}: {readings.swings} swings, must be at least 1", subject=name, value=readings.swings, limit=1)
    time_s = mean(f"{name}: swings", readings.swing_times_s, STOPWATCH_SD)
    _require_within(name, "time of the swings", readings.swing_times_s, 10.0 * readings.swings, "s", "were other swings counted?")
    slow = swing_slowdown(readings.amplitude)

    def about_pivot(m, d, t):
        return m * GRAVITY * d * (t / (readings.swings * slow * 2.0 * math.pi)) ** 2

    def about_centre(m, d, t):
        return about_pivot(m, d, t) - m * d**2

    pivot, centre = (propagate(function, mass, distance, time_s) for function in (about_pivot, about_centre))
    shortest = readings.swings * slow * 2.0 * math.pi * math.sqrt(distance.value / GRAVITY)
    if centre.value <= 0.0:
        raise InputError(
            f"{name}: {readings.swings} swings in {time_s.value:.2f} s: even a point at the balance point takes "
            f"{shortest:.2f} s; was another number of swings counted?",
            subject=name,
            value=time_s.value,
            limit=shortest,
        )
    gyration = math.sqrt(centre.value / mass.value)
    if gyration > longest:
        raise InputError(
            f"{name}: the swings give a radius of gyration of {gyration:.3f} m, the link reaches {longest:.3f} m",
            subject=name,
            value=gyration,
            limit=longest,
        )
    return LinkProperties(mass, distance, pivot, centre)


def without(assembly: LinkProperties, part: LinkProperties) -> LinkProperties:
    """What is left of an assembly measured as a whole when a part, measured by itself about the same axis, is taken off.

    Raises:
        InputError: the part is heavier than the whole.
    """
    if part.mass.value >= assembly.mass.value:
        raise InputError(
            f"the part weighs {part.mass.value:.3f} kg, the assembly {assembly.mass.value:.3f} kg",
            subject="assembly",
            value=part.mass.value,
            limit=assembly.mass.value,
        )
    mass = propagate(lambda whole, off: whole - off, assembly.mass, part.mass)
    distance = propagate(
        lambda m, d, m1, d1: (m * d - m1 * d1) / (m - m1), assembly.mass, assembly.distance, part.mass, part.distance
    )
    if assembly.pivot_inertia is None or part.pivot_inertia is None:
        return LinkProperties(mass, distance)
    pivot = propagate(lambda whole, off: whole - off, assembly.pivot_inertia, part.pivot_inertia)
    centre = propagate(lambda inertia, m, d: inertia - m * d**2, pivot, mass, distance)
    return LinkProperties(mass, distance, pivot, centre)


def weighings(mass: float) -> int:
    """How often to weigh what is about so heavy [kg], so that two per cent are three standard deviations; 1 to 10."""
    return int(np.clip(math.ceil((3.0 * SCALE_SD / (0.02 * mass)) ** 2), 1, 10)) if mass > 0.0 else 10


def swing_slowdown(amplitude: float) -> float:
    """Period of a pendulum over that of small swings, 1 + A²/16 + 11 A⁴/3072, for an amplitude A [rad] below 1."""
    if not 0.0 <= amplitude < 1.0:
        raise InputError(f"amplitude is {amplitude} rad, must be from 0 to 1", subject="amplitude", value=amplitude, limit=1.0)
    return 1.0 + amplitude**2 / 16.0 + 11.0 * amplitude**4 / 3072.0


def _require_within(name: str, what: str, readings, largest: float, unit: str, hint: str) -> None:
    for reading in readings:
        if not 0.0 < reading <= largest:
            why = hint if reading > largest else "must be above 0"
            raise InputError(
                f"{name}: {what} is {reading:g} {unit}, must be above 0 and at most {largest:g}: {why}",
                subject=name,
                value=float(reading),
                limit=largest,
            )
