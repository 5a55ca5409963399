"""Mass properties of links, alone or in assemblies, from what a kitchen offers: a scale, an edge, a nail and a stopwatch.

    mass            weighed
    distance d      from the link's joint axis to where it balances on an edge
    I_pivot         m g d (T / 2 pi)^2 of small swings about the joint axis; T = (time of N swings) / N
    I_centre        I_pivot - m d^2                                        (parallel axis, Steiner)

The pendulum gives the inertia about the *pivot*.  Taken for the one about the centre of mass, as measuring guides
sometimes do, it is three times too large for the picker's upper arm.

An assembly of links k, balanced and swung with all joints at 0, tells

    M = Σ m_k,      M D = Σ m_k x_k(d_k),      l = I / (M D) = g (T / 2 pi)²,      I = Σ (h_k I_k + m_k r_k(d_k)²)

(mass m, distance d of the centre of mass along the link, h times the URDF's inertia; x along the first link, r from its joint
axis).  That is three numbers for three unknowns of *each* link.  What is left open is taken from the URDF: its ratios between
the links, with ``RATIO_SD``.  Maximum of the posterior, by least squares.

The marginal uncertainties are handed on.  That the parts' errors cancel in the sum is lost, so what rests on the whole
assembly comes out less certain than it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, link_poses
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.shapes import corners
from picker_dynamics.robot.units import told

from .. import least_squares
from .instruments import RULER_SD, SCALE_SD, STOPWATCH_SD, lay
from .measured import Measured, mean, propagate

RATIO_SD = 0.2
"""How far the URDF's ratios between the links of an assembly may be off, one standard deviation."""

HEAVINESS_SD, DISTANCE_SD, INERTIA_SD = 10.0, 0.5, 0.3
"""How far all links of an assembly may be off together, as shares of the URDF's: masses (and inertias with them), distances,
and inertias beyond what the masses explain.  Wide: the readings decide."""

PLACE_SD = 5e-3
"""Of a centre of mass that the URDF has on the joint axis [m]."""

REACH_SLACK = 1.1
"""How much further a real link may reach than the drawing."""

MASS_MAX, LENGTH_MAX = 20.0, 2.0
"""Beyond this a link of such an arm is a slip of units: [kg], [m]."""


@dataclass(frozen=True)
class LinkReadings:
    """Readings of one link, or of an assembly that is not taken apart.

    Args:
        masses_kg: weighings.
        balances_m: distances of the balance point from the joint axis, along the link; none: it balances on the axis.
        swing_times_s: each the time of ``swings`` full swings about the joint axis; none: no pendulum.
        swings: full swings that each time was taken over.
        amplitude: of the swings, from the vertical [rad].
        holds: further links in what was weighed, balanced and swung as a whole (``properties``), all joints at 0.
    """

    masses_kg: Sequence[float]
    balances_m: Sequence[float] = ()
    swing_times_s: Sequence[float] = ()
    swings: int = 20
    amplitude: float = 0.15
    holds: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkProperties:
    """Mass [kg], distance of the centre of mass from the joint axis [m], and inertia about the parallel to that axis through the
    centre of mass [kg·m²], None where no pendulum was timed."""

    mass: Measured
    distance: Measured
    inertia: Measured | None = None


def link_properties(name: str, readings: LinkReadings, *, length_m: float | None = None, aside_m: float = 0.0) -> LinkProperties:
    """Properties of a link from its readings.

    Args:
        name: of the link, for messages.
        readings: what was read.
        length_m: how far the link reaches from its joint axis; readings beyond it are refused.
        aside_m: how far its centre of mass is from the line along which it was balanced, as drawn: a pendulum feels that too.

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
    hint = "millimetres given as metres, or from the other end?"
    _require_within(name, "balance point", readings.balances_m, longest, "mm", hint, factor=1e3)
    if not (len(readings.swing_times_s) and len(readings.balances_m)):
        return LinkProperties(mass, distance)
    refuse_if(readings.swings < 1, f"{name}: {readings.swings} swings, must be at least 1", name, readings.swings, 1)
    time_s = mean(f"{name}: swings", readings.swing_times_s, STOPWATCH_SD)
    _require_within(name, "time of the swings", readings.swing_times_s, 10.0 * readings.swings, "s", "were other swings counted?")
    slow = swing_slowdown(readings.amplitude)

    def about_centre(m, d, t):
        r = (d**2 + aside_m**2) ** 0.5
        return m * GRAVITY * r * (t / (readings.swings * slow * 2.0 * math.pi)) ** 2 - m * r**2

    centre = propagate(about_centre, mass, distance, time_s)
    shortest = readings.swings * slow * 2.0 * math.pi * math.sqrt(math.hypot(distance.value, aside_m) / GRAVITY)
    refuse_if(
        centre.value <= 0.0,
        f"{name}: {readings.swings} swings in {time_s.value:.2f} s: even a point at the balance point takes "
        f"{shortest:.2f} s; was another number of swings counted?",
        name,
        time_s.value,
        shortest,
    )
    gyration = math.sqrt(centre.value / mass.value)
    refuse_if(
        gyration > longest,
        f"{name}: the swings give a radius of gyration of {told(gyration, 'm')}, the link reaches {told(longest, 'm')}",
        name,
        gyration,
        longest,
    )
    return LinkProperties(mass, distance, centre)


def weighings(mass: float) -> int:
    """How often to weigh what is about so heavy [kg], so that two per cent are three standard deviations; 1 to 10."""
    return int(np.clip(math.ceil((3.0 * SCALE_SD / (0.02 * mass)) ** 2), 1, 10)) if mass > 0.0 else 10


def swing_slowdown(amplitude: float) -> float:
    """Period of a pendulum over that of small swings, 1 + A²/16 + 11 A⁴/3072, for an amplitude A [rad] below 1."""
    text = f"amplitude is {told(amplitude, 'rad')}, must be from 0 to {told(1.0, 'rad')}"
    refuse_if(not 0.0 <= amplitude < 1.0, text, "amplitude", amplitude, 1.0)
    return 1.0 + amplitude**2 / 16.0 + 11.0 * amplitude**4 / 3072.0


def _require_within(name: str, what: str, readings, largest: float, unit: str, hint: str, factor: float = 1.0) -> None:
    """Refuse readings that are not above 0 and at most ``largest``; they are told ``factor`` times as large, in ``unit``."""
    for reading in readings:
        if not 0.0 < reading <= largest:
            why = hint if reading > largest else "must be above 0"
            raise InputError(
                f"{name}: {what} is {factor * reading:g} {unit}, must be above 0 and at most {factor * largest:g}: {why}",
                subject=name,
                value=float(reading),
                limit=largest,
            )


# -- assemblies ------------------------------------------------------------------------------------------------------


def properties(description: ArmDescription, readings: Mapping[str, LinkReadings]) -> dict[str, LinkProperties]:
    """Properties of every link that was read, by itself or in an assembly; readings beyond the drawing are refused.

    Args:
        description: the arm as drawn; its masses and inertias give the ratios within assemblies.
        readings: by link; those of an assembly by its link nearest the base.

    Raises:
        InputError: a reading that cannot be, or an assembly without masses to take ratios from.
    """
    order = (description.root, *(joint.child for joint in description.joints))
    found: dict[str, LinkProperties] = {}
    for name, one in readings.items():
        refuse_if(name not in order, f"{description.name} has no link {name!r}; it has {', '.join(order)}", name)
        aside = 0.0 if one.holds else lay(description, name).aside(description.links[name].com)
        whole = link_properties(name, one, length_m=reach(description, name, one.holds), aside_m=aside)
        found |= _split(description, name, one, whole) if one.holds else {name: whole}
    return {name: found[name] for name in order if name in found}


def _split(description: ArmDescription, first: str, readings: LinkReadings, whole: LinkProperties) -> dict[str, LinkProperties]:
    """The links of an assembly; unknowns are mass [kg], distance [m] and factor of the URDF's inertia, link by link."""
    names, frames, seen = (first, *readings.holds), poses_in(description, first), [whole.mass, whole.distance]
    if len(readings.balances_m) and len(readings.swing_times_s):
        time_s = mean(f"{first}: swings", readings.swing_times_s, STOPWATCH_SD)
        length = GRAVITY * (time_s.value / (2.0 * math.pi * readings.swings * swing_slowdown(readings.amplitude))) ** 2
        seen.append(Measured(length, 2.0 * length * time_s.sd / time_s.value))
    parts = [(description.links[name], lay(description, name), frames[name]) for name in names]
    axis, ahead = parts[0][1].axis, parts[0][1].ahead
    own = np.array([along.inertia(link.inertia) for link, along, _ in parts])
    for name, (link, *_), inertia in zip(names, parts, own):
        refuse_if(
            not (link.mass > 0.0 and inertia > 0.0),
            f"assembly of {first}: the URDF has no mass and inertia of {name} to take a ratio from",
            name,
        )
    origin = np.array([frame.apply(along.at(link.com, 0.0)) for link, along, frame in parts])
    line = np.array([frame.rotation @ along.ahead for _, along, frame in parts])
    drawn = np.array([axis @ frame.rotation @ link.inertia @ frame.rotation.T @ axis for link, _, frame in parts])

    def see(x) -> np.ndarray:
        """Mass [kg], balance point [m] and length of the equivalent pendulum [m] of the whole."""
        m, d, factor = np.reshape(x, (-1, 3)).T
        centre = origin + d[:, None] * line
        moment = m @ centre @ ahead
        inertia = factor @ drawn + m @ np.sum(np.cross(axis, centre) ** 2, axis=1)
        return np.array([m.sum(), moment / m.sum(), inertia / moment if moment > 0.0 else math.inf])[: len(seen)]

    believed = np.array([(link.mass, along.distance(link.com), 1.0) for link, along, _ in parts])
    common = np.zeros((len(parts), 3, 3))
    common[:, 0, 0], common[:, 1, 1] = (share * believed[:, i] for i, share in enumerate((HEAVINESS_SD, DISTANCE_SD)))
    common[:, 2, 0], common[:, 2, 2] = HEAVINESS_SD, INERTIA_SD
    ratios, common = (RATIO_SD * np.abs(believed) + [0.0, PLACE_SD, 0.0]).ravel(), common.reshape(-1, 3)
    prior = np.diag(ratios**2) + common @ common.T
    value, sd = np.array([(one.value, one.sd) for one in seen]).T
    solved = least_squares.solve(
        lambda x: (value - see(x)) / sd,
        believed.ravel(),
        prior=(believed.ravel(), np.linalg.inv(np.linalg.cholesky(prior))),
        x_scale=np.sqrt(np.diag(prior)),
        xtol=1e-10,
        ftol=1e-10,
    )
    found = {}
    for name, figures, sds, inertia in zip(names, solved.x.reshape(-1, 3), solved.sd.reshape(-1, 3), own):
        mass, distance, factor = (Measured(float(x), float(off)) for x, off in zip(figures, sds))
        refuse_if(
            not (mass.value > 0.0 and factor.value > 0.0 and np.isfinite(distance.value)),
            f"assembly of {first}: the readings leave {name} {mass.value:.3f} kg and {factor.value:.2f} times the "
            "URDF's inertia: was something else weighed than balanced and swung?",
            name,
            mass.value,
            0.0,
        )
        found[name] = LinkProperties(mass, distance, factor.times(float(inertia)) if len(seen) == 3 else None)
    return found


# -- how far links reach ----------------------------------------------------------------------------------------------


def reach(description: ArmDescription, link: str, holds: Sequence[str] = ()) -> float | None:
    """How far a link, or an assembly, reaches from its joint axis by the URDF [m], with ``REACH_SLACK``: no balance point and no
    radius of gyration is beyond it.

    Args:
        description: the arm.
        link: the link whose joint axis counts.
        holds: further links that move with it, all joints at 0.

    Returns:
        None where neither a joint nor a simple shape tells: nothing drawn, a mesh, or a link that rolls about its length.
    """
    along = lay(description, link)
    if along.rolls:
        return None
    poses, inside = poses_in(description, link), (link, *holds)
    points = [poses[name].apply(point) for name in inside for point in _drawn(description, name)]
    points += [poses[joint.child].position for joint in description.joints if joint.parent in inside]
    farthest = max((float(np.linalg.norm(np.cross(along.axis, point))) for point in points), default=0.0)
    return REACH_SLACK * farthest or None


def poses_in(description: ArmDescription, link: str) -> dict[str, Pose]:
    """Poses of all links in the frame of ``link``, all joints at 0."""
    poses = link_poses(description, np.zeros(description.n))
    here = poses[link]
    return {
        name: Pose(here.rotation.T @ one.rotation, here.rotation.T @ (one.position - here.position))
        for name, one in poses.items()
    }


def _drawn(description: ArmDescription, name: str) -> Iterator[np.ndarray]:
    link = description.links[name]
    for shape in (*link.collisions, *link.visuals):
        if shape.kind != "mesh":
            yield from corners(shape)
