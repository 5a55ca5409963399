"""Payload estimation while the arm works: recursive least squares on measured efforts.

The torque that the arm bears beyond the model of the empty arm is the payload's, at rest as in motion:

    r = LP tau - tau_0(LP q, LP v, LP a) = Y m + e          Y: what a kilogram adds to tau_0;  LP a = (LP v)'
    m = (Σ λ^k Yᵀ W r) / (Σ λ^k Yᵀ W Y)                     recursive least squares, forgetting within FORGET_S

LP is the same first-order low-pass for all, so that no acceleration has to be measured.  r does not depend on the mass that the
controller uses, so nothing is fed back and nothing can oscillate.  Where Y says too little (the tool above its joints)
nothing is learned and nothing forgotten.  What is used goes towards m no faster than the rate, between 0 and a largest mass.

A push on the arm looks like a payload: the bound and the rate are what keeps that harmless.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array

FILTER_S, FORGET_S = 0.02, 0.3
"""Time constants of the low-pass and of the forgetting [s]."""

PAUSE_S = 0.25
"""After a longer one without a state the filters begin anew [s]."""

SETTLE_FILTERS = 5.0
"""Time constants after which the filters have forgotten how they began."""

SEEN = 2.0
"""The largest mass must show as so many standard deviations, or the pose says nothing."""

SAME = 0.002
"""Changes below this share of the largest mass are not worth a change of model."""

BEYOND = 0.05
"""Share of the largest mass by which an estimate may be outside of what is possible before that is said."""

FOLLOW_PERIOD_S = 0.2
"""How often the mass that is used may change [s]; never more often than a change of payload takes at the least; one that takes
longer goes on from where it is."""

EFFORT_SD = 0.003
"""Of a measured effort, and of what the model misses, as a share of the joint's limit; dry friction comes on top."""


def drive_effort_sd(effort: ArrayLike, friction: ArrayLike) -> np.ndarray:
    """(n,) standard deviation of a drive's measured effort [N·m or N], from its limit and dry friction, (n,) each."""
    return np.asarray(np.hypot(EFFORT_SD * np.asarray(effort), friction))


class PayloadFollower:
    """Recursive least-squares estimate of the payload's mass, and the mass to use meanwhile: bounded, and of bounded rate.

    Args:
        model: the arm without payload; must offer ``with_payload``.
        effort_sd: (n,) what an effort is not known to [N·m or N], > 0: noise, friction.
        com: (3,) where the payload is [m], tool frame.
        max_kg: largest mass that is followed [kg], > 0.
        rate_kg_s: fastest change of what is used [kg/s], > 0.
        start_kg: what is used at first [kg].

    Attributes:
        mass: what is to be used [kg].
        estimate: what the efforts say [kg], None while they have said nothing.
        problem: why it does not follow further, empty where it does.
    """

    def __init__(
        self, model: Any, effort_sd: Array, *, com: Sequence[float], max_kg: float, rate_kg_s: float, start_kg: float = 0.0
    ):
        self._empty, self._kilogram, self._weight = model, model.with_payload(1.0, tuple(com)), 1.0 / effort_sd**2
        self.max_kg, self.rate = max_kg, rate_kg_s
        self.mass, self.problem = float(start_kg), ""
        self._information = self._projection = self._learned_s = self._since_s = 0.0
        self._news_s = self._time_s = -math.inf
        self._filtered: Array = np.zeros((3, model.n))

    @property
    def estimate(self) -> float | None:
        """Mass that the efforts say [kg]."""
        return self._projection / self._information if self._learned_s >= FORGET_S else None

    def observe(self, q: ArrayLike, v: ArrayLike, effort: ArrayLike, time_s: float) -> None:
        """Take a measured state.

        Args:
            q, v: (n,) [rad or m, per s].  effort: (n,) that acted until now [N·m or N].  time_s: of the state.
        """
        measured, step_s = np.array([q, v, effort], dtype=float), time_s - self._time_s
        if not np.isfinite(measured).all() or step_s == 0.0:
            return
        self._time_s = time_s
        if not 0.0 < step_s <= PAUSE_S:
            self._filtered, self._since_s = measured, 0.0
            return
        before = self._filtered[1]
        self._filtered = self._filtered + (1.0 - math.exp(-step_s / FILTER_S)) * (measured - self._filtered)
        self._since_s += step_s
        if self._since_s >= SETTLE_FILTERS * FILTER_S:
            self._learn((self._filtered[1] - before) / step_s, step_s)

    def _learn(self, acceleration: Array, step_s: float) -> None:
        q, v, effort = self._filtered
        empty = self._empty.required_torque(q, v, acceleration)
        slope = self._kilogram.required_torque(q, v, acceleration) - empty
        information = float(slope @ (self._weight * slope))
        if information * self.max_kg**2 < SEEN**2:
            return
        kept = math.exp(-step_s / FORGET_S)
        self._information = kept * self._information + (1.0 - kept) * information
        self._projection = kept * self._projection + (1.0 - kept) * float(slope @ (self._weight * (effort - empty)))
        self._learned_s += step_s
        self._news_s = self._time_s

    def step(self, duration_s: float) -> float:
        """The mass to use from now on [kg], ``duration_s`` [s] after the step before; ``mass`` where nothing new came."""
        estimate, self.problem = self.estimate, ""
        if estimate is None or self._time_s - self._news_s > PAUSE_S:
            return self.mass
        possible = min(max(estimate, 0.0), self.max_kg)
        if abs(estimate - possible) > BEYOND * self.max_kg:
            limit = f"payload.follow_max, {possible:g} kg" if possible else "0 kg: something lifts the tool"
            self.problem = f"the efforts say that the tool carries {estimate:.3f} kg, not followed beyond {limit}"
        change, most = possible - self.mass, self.rate * duration_s
        if abs(change) >= SAME * self.max_kg:
            self.mass += min(max(change, -most), most)
        return self.mass


class Payload(NamedTuple):
    """A load at the tool: mass [kg], centre of mass (3,) [m] in the tool frame."""

    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)
