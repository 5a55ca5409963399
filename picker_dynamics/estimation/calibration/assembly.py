"""Mass properties of all links from what was read of links and of assemblies that cannot be taken apart.

An assembly of links k, in the pose in which it is balanced and swung, tells

    M = Σ m_k,      M D = Σ m_k x_k(d_k),      l = I / (M D) = g (T / 2 pi)²,      I = Σ (h_k I_k + m_k r_k(d_k)²)

(mass m, distance d of the centre of mass along the link, h times the URDF's inertia; x along the first link, r from its joint
axis).  That is three numbers for three unknowns of *each* link.  What is left open is taken from what was measured of a part
by itself, and else from the URDF: its ratios between the links, with ``RATIO_SD``.  Maximum of the posterior, by Gauss-Newton.

The marginal uncertainties are handed on.  That the parts' errors cancel in the sum is lost, so what rests on the whole
assembly comes out less certain than it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, subtree

from .geometry import poses_in, reach
from .mass_properties import (
    GRAVITY,
    RULER_SD,
    SCALE_SD,
    STOPWATCH_SD,
    LinkProperties,
    LinkReadings,
    link_properties,
    swing_slowdown,
)
from .measured import Measured, mean

RATIO_SD = 0.2
"""How far the URDF's ratios between the links of an assembly may be off, one standard deviation."""

HEAVINESS_SD, DISTANCE_SD, INERTIA_SD = 10.0, 0.5, 0.3
"""How far all links of an assembly may be off together, as shares of the URDF's: masses (and inertias with them), distances,
and inertias beyond what the masses explain.  Wide: the readings decide."""

PLACE_SD = 5e-3
"""Of a centre of mass that the URDF has on the joint axis [m]."""

ITERATIONS, TOLERANCE = 30, 1e-10


def properties(description: ArmDescription, readings: Mapping[str, LinkReadings]) -> dict[str, LinkProperties]:
    """Properties of every link that was read, by itself or in an assembly; readings beyond the drawing are refused.

    Args:
        description: the arm as drawn; its masses and inertias give the ratios within assemblies.
        readings: by link; those of an assembly by its link nearest the base.

    Raises:
        InputError: a reading that cannot be, or an assembly that is none.
    """
    order = (description.root, *(joint.child for joint in description.joints))
    found: dict[str, LinkProperties] = {}
    for name in sorted(readings, key=lambda name: len(readings[name].holds)):  # what is inside of another comes first
        one = readings[name]
        if name not in order:
            raise InputError(f"{description.name} has no link {name!r}; it has {', '.join(order)}", subject=name)
        whole = link_properties(name, one, length_m=reach(description, name, one.holds, one.pose))
        if not one.holds:
            found[name] = whole
        else:
            _require_assembly(description, name, one)
            found |= _split(description, name, one, found)
    return {name: found[name] for name in order if name in found}


def _split(description: ArmDescription, first: str, readings: LinkReadings, known: Mapping[str, LinkProperties]) -> dict:
    parts = _Parts(description, first, (first, *readings.holds), known, readings.pose)
    seen = [mean(f"{first}: mass", readings.masses_kg, SCALE_SD), Measured(0.0, RULER_SD)]
    if len(readings.balances_m):
        seen[1] = mean(f"{first}: balance point", readings.balances_m, RULER_SD)
        if len(readings.swing_times_s):
            time_s = mean(f"{first}: swings", readings.swing_times_s, STOPWATCH_SD)
            length = GRAVITY * (time_s.value / (2.0 * math.pi * readings.swings * swing_slowdown(readings.amplitude))) ** 2
            seen.append(Measured(length, 2.0 * length * time_s.sd / time_s.value))
    unknowns, covariance = _most_likely(parts, seen)
    return parts.properties(unknowns, covariance, len(seen) == 3)


@dataclass(frozen=True)
class _Parts:
    """The links of an assembly; unknowns are mass [kg], distance [m] and factor of the URDF's inertia, link by link."""

    description: ArmDescription
    first: str
    names: tuple[str, ...]
    known: Mapping[str, LinkProperties]
    pose: Mapping[str, float]

    @cached_property
    def _axis(self) -> np.ndarray:
        return self.description.path_to(self.first)[-1].axis

    @cached_property
    def _placed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In the first link's frame: where each centre of mass would be at distance 0, and the direction in which the distance
        counts, (k, 3) each; (k,) the URDF's inertia about the first joint's axis."""
        frames = poses_in(self.description, self.first, self.pose)
        links = [(self.description.links[name], frames[name]) for name in self.names]
        return (
            np.array([frame.apply([0.0, *link.com[1:]]) for link, frame in links]),
            np.array([frame.rotation[:, 0] for _, frame in links]),
            np.array([_about(link.inertia, frame, self._axis) for link, frame in links]),
        )

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """(3 k,) and (3 k, 3 k): what was measured of a part, else the URDF's number and ratios."""
        values = np.array([number for name in self.names for number in self._believed(name)])
        own, common = np.zeros(len(values)), np.zeros((len(values), 3))
        for i, name in enumerate(self.names):
            row = slice(3 * i, 3 * i + 3)
            if name in self.known:
                values[row], own[row] = self._measured(name)
            else:
                own[row] = RATIO_SD * np.abs(values[row]) + np.array([0.0, PLACE_SD, 0.0])
                mass, distance, inertia = values[row]
                common[row] = [
                    [HEAVINESS_SD * mass, 0.0, 0.0],
                    [0.0, DISTANCE_SD * distance, 0.0],
                    [HEAVINESS_SD * inertia, 0.0, INERTIA_SD * inertia],
                ]
        return values, np.diag(own**2) + common @ common.T

    def see(self, unknowns) -> np.ndarray:
        """(3,) mass [kg], balance point [m] and length of the equivalent pendulum [m] of the whole."""
        m, d, factor = np.reshape(unknowns, (-1, 3)).T
        origin, along, drawn = self._placed
        centre = origin + d[:, None] * along
        mass, moment = m.sum(), m @ centre[:, 0]
        inertia = factor @ drawn + m @ np.sum(np.cross(self._axis, centre) ** 2, axis=1)
        return np.array([mass, moment / mass, inertia / moment if moment > 0.0 else math.inf])

    def properties(self, unknowns, covariance, swung: bool) -> dict[str, LinkProperties]:
        sd, found = np.sqrt(np.diag(covariance)).reshape(-1, 3), {}
        for i, (name, (m, d, factor), (m_sd, d_sd, factor_sd)) in enumerate(zip(self.names, np.reshape(unknowns, (-1, 3)), sd)):
            mass, distance = Measured(float(m), float(m_sd)), Measured(float(d), float(d_sd))
            if not (swung or (name in self.known and self.known[name].inertia is not None)):
                found[name] = LinkProperties(mass, distance)
                continue
            drawn, block = self._drawn_inertia(name), covariance[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]
            slope = np.array([d**2, 2.0 * m * d, drawn])
            pivot = Measured(float(factor * drawn + m * d**2), float(np.sqrt(slope @ block @ slope)))
            found[name] = LinkProperties(mass, distance, pivot, Measured(float(factor * drawn), float(factor_sd * drawn)))
        return found

    def _believed(self, name: str) -> tuple[float, float, float]:
        link = self.description.links[name]
        return link.mass, float(link.com[0]), 1.0

    def _measured(self, name: str) -> tuple[list[float], list[float]]:
        """What was measured of a part, and its standard deviations; an inertia that was not: with the mass."""
        one, drawn = self.known[name], self._drawn_inertia(name)
        share = one.mass.value / self.description.links[name].mass
        inertia = one.inertia or Measured(drawn * share, drawn * share * RATIO_SD)
        return ([one.mass.value, one.distance.value, inertia.value / drawn], [one.mass.sd, one.distance.sd, inertia.sd / drawn])

    def _drawn_inertia(self, name: str) -> float:
        return float(self.description.links[name].inertia[1, 1])


def _most_likely(parts: _Parts, seen: list[Measured]) -> tuple[np.ndarray, np.ndarray]:
    """Unknowns and covariance: prior and readings weighed by their uncertainty.

    Raises:
        InputError: no positive masses explain what was read.
    """
    start, prior = parts.prior()
    unknowns, value = start, np.array([one.value for one in seen])
    noise = np.diag([one.sd**2 for one in seen])
    for _ in range(ITERATIONS):
        expected = parts.see(unknowns)[: len(seen)]
        steps = 1e-6 * np.maximum(np.abs(start), 1e-3)
        slope = np.stack([(parts.see(unknowns + step)[: len(seen)] - expected) / step.sum() for step in np.diag(steps)], axis=-1)
        gain = prior @ slope.T @ np.linalg.inv(slope @ prior @ slope.T + noise)
        after = start + gain @ (value - expected - slope @ (start - unknowns))
        change, unknowns = np.abs(after - unknowns).max(), after
        if change < TOLERANCE:
            break
    covariance = prior - gain @ slope @ prior
    for name, (mass, distance, factor) in zip(parts.names, unknowns.reshape(-1, 3)):
        if not (mass > 0.0 and factor > 0.0 and np.isfinite(distance)):
            raise InputError(
                f"assembly of {parts.first}: the readings leave {name} {mass:.3f} kg and {factor:.2f} times the "
                "URDF's inertia: was something else weighed than balanced and swung?",
                subject=name,
                value=float(mass),
                limit=0.0,
            )
    return unknowns, covariance


def _about(inertia: np.ndarray, frame: Pose, axis) -> float:
    own = frame.rotation.T @ axis
    return float(own @ inertia @ own)


def _require_assembly(description: ArmDescription, first: str, readings: LinkReadings) -> None:
    """Links that hang on each other, each with a mass and an inertia whose ratio can be taken."""
    inside, hanging = (first, *readings.holds), subtree(description, first)
    for name in readings.holds:
        if name == first or name not in hanging:
            raise InputError(
                f"assembly of {first}: {name} does not hang on it; there are {', '.join(hanging[1:]) or 'none'}", subject=name
            )
        if description.path_to(name)[-1].parent not in inside:
            raise InputError(
                f"assembly of {first}: {name} hangs on {description.path_to(name)[-1].parent}, which is left out", subject=name
            )
    for name in inside:
        if not (description.links[name].mass > 0.0 and description.links[name].inertia[1, 1] > 0.0):
            raise InputError(
                f"assembly of {first}: the URDF has no mass and inertia of {name} to take a ratio from", subject=name
            )
