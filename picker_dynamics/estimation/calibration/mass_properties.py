"""Mass properties of links from what a kitchen offers: a scale, an edge, a nail and a stopwatch.

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
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.shapes import corners
from picker_dynamics.robot.units import told

from .instruments import RULER_SD, SCALE_SD, STOPWATCH_SD, lay
from .readings import SWINGS, Measured, mean

REACH_SLACK = 1.1
"""How much further a real link may reach than the drawing."""

LENGTH_MAX = 2.0
"""Beyond this a link of such an arm is a slip of units [m]."""

AMPLITUDE = 0.15
"""Of the swings, from the vertical [rad]: a hand's breadth at half a metre."""

SLOWDOWN = 1.0 + AMPLITUDE**2 / 16.0
"""Period of swings so wide over that of small ones."""


@dataclass(frozen=True)
class LinkReadings:
    """Readings of one link.

    Args:
        masses_kg: weighings.
        balances_m: distances of the balance point from the joint axis, along the link; none: it balances on the axis.
        swing_times_s: each the time of ``SWINGS`` full swings about the joint axis; none: no pendulum.
    """

    masses_kg: Sequence[float]
    balances_m: Sequence[float] = ()
    swing_times_s: Sequence[float] = ()


@dataclass(frozen=True)
class LinkProperties:
    """Mass [kg], distance of the centre of mass from the joint axis [m], and inertia about the parallel to that axis through the
    centre of mass [kg·m²], None where no pendulum was timed."""

    mass: Measured
    distance: Measured
    inertia: Measured | None = None


def properties(description: ArmDescription, readings: Mapping[str, LinkReadings]) -> dict[str, LinkProperties]:
    """Properties of links by their readings.

    Raises:
        InputError: see ``link_properties``.
    """
    found = {}
    for name, one in readings.items():
        aside = lay(description, name).aside(description.links[name].com)
        found[name] = link_properties(name, one, length_m=reach(description, name), aside_m=aside)
    return found


def link_properties(name: str, readings: LinkReadings, *, length_m: float = LENGTH_MAX, aside_m: float = 0.0) -> LinkProperties:
    """Properties of a link from its readings.

    Args:
        name: of the link, for messages.
        readings: what was read.
        length_m: how far the link reaches from its joint axis.
        aside_m: how far its centre of mass is from the line along which it was balanced, as drawn: a pendulum feels that too.

    Raises:
        InputError: swings that no such body makes.
    """
    mass = mean(readings.masses_kg, SCALE_SD)
    distance = mean(readings.balances_m, RULER_SD) if readings.balances_m else Measured(0.0, RULER_SD)
    if not (readings.swing_times_s and readings.balances_m):
        return LinkProperties(mass, distance)
    time, turns = mean(readings.swing_times_s, STOPWATCH_SD), SWINGS * SLOWDOWN * 2.0 * math.pi
    m, d, t, r = mass.value, distance.value, time.value, math.hypot(distance.value, aside_m)
    pivot = m * GRAVITY * r * (t / turns) ** 2
    centre = pivot - m * r**2
    by_distance = (pivot / r - 2.0 * m * r) * d / r
    sd = math.hypot(centre / m * mass.sd, by_distance * distance.sd, 2.0 * pivot / t * time.sd)
    swung, shortest = f"{name}: {SWINGS} swings in {t:.2f} s", turns * math.sqrt(r / GRAVITY)
    why = f"{swung}: even a point at the balance point takes {shortest:.2f} s; was another number of swings counted?"
    refuse_if(centre <= 0.0, why, name, t, shortest)
    gyration = math.sqrt(centre / m)
    why = f"{swung} give a radius of gyration of {told(gyration, 'm')}, the link reaches {told(length_m, 'm')}"
    refuse_if(gyration > length_m, why, name, gyration, length_m)
    return LinkProperties(mass, distance, Measured(centre, sd))


def weighings(mass: float) -> int:
    """How often to weigh what is about so heavy [kg], so that two per cent are three standard deviations; 1 to 10."""
    return int(np.clip(math.ceil((3.0 * SCALE_SD / (0.02 * max(mass, 1e-9))) ** 2), 1, 10))


def reach(description: ArmDescription, link: str) -> float:
    """How far a link reaches from its joint axis by the URDF [m], with ``REACH_SLACK``: no balance point and no radius of
    gyration is beyond it.  ``LENGTH_MAX`` where nothing tells: nothing drawn, a mesh, or a link that rolls about its length."""
    along, poses, drawn = lay(description, link), link_poses(description, np.zeros(description.n)), description.links[link]
    if along.rolls:
        return LENGTH_MAX
    points = [corner for shape in (*drawn.collisions, *drawn.visuals) if shape.kind != "mesh" for corner in corners(shape)]
    ends = [poses[joint.child].position for joint in description.joints if joint.parent == link]
    points += [poses[link].rotation.T @ (end - poses[link].position) for end in ends]
    return REACH_SLACK * max((float(np.linalg.norm(np.cross(along.axis, one))) for one in points), default=0.0) or LENGTH_MAX
