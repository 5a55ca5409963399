"""Simulation of an arm under a control law, in continuous time or sampled.

    continuous      d/dt (q, v, state) = (v, M^-1 (tau - C v - g), rate),  tau and rate from the law at every instant;
                    an integrator with error control that turns implicit where the law is stiff (``scipy``'s LSODA:
                    A. Hindmarsh, L. Petzold), restarted where the reference may jump in position, velocity or acceleration
    sampled         tau from the law every period and held (zero-order hold), state += period rate; between samples the
                    arm is integrated by classical Runge-Kutta, one step a period

The reference is a trajectory; after its end it stands still.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.control.laws import ControlLaw, Reference
from picker_dynamics.errors import PickerError
from picker_dynamics.trajectory.trajectory import Trajectory

from .lean import LeanModel

PERIOD_S = 1e-3

RELATIVE, ABSOLUTE = 1e-9, 1e-10
"""Tolerances of the adaptive integrator, per step."""

BESIDE_S = 1e-12
"""So near to a corner is on one side of it."""

MOST_EVALUATIONS = 200_000
"""An integrator that asks the law more often than this is stuck; usual are a thousand."""


@dataclass(frozen=True, eq=False)
class Run:
    """Simulated motion of an arm under a control law.

    Attributes:
        t: (s,) [s]; q, v, tau: (s, n); state: (s, k) of the law.
        wall_s: how long the simulation took [s].
        evaluations: how often the law was asked.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    state: np.ndarray
    wall_s: float
    evaluations: int


def continuous(
    law: ControlLaw,
    arm: LeanModel,
    trajectory: Trajectory,
    q0,
    duration_s: float,
    *,
    period_s: float = PERIOD_S,
    corners: Sequence[float] = (),
) -> Run:
    """Simulate from rest at ``q0`` (n,), the law acting at every instant; states every ``period_s`` [s].

    Args:
        corners: times [s] besides the end at which the reference jumps.

    Raises:
        PickerError: the integrator does not get on.
    """
    from scipy.integrate import solve_ivp

    n, begun, evaluations, reached = arm.n, time.perf_counter(), 0, 0.0
    y = np.concatenate([q0, np.zeros(n), law.initial_state(np.array(q0), np.zeros(n), Reference(*trajectory.sample(0.0)))])
    t = _times(duration_s, period_s)
    rows, ends = [y[None]], [one for one in sorted({*corners, trajectory.duration}) if 0.0 < one < duration_s] + [duration_s]
    for begin, end in zip([0.0, *ends], ends):

        def rate(now, y, first=begin + BESIDE_S, last=end - BESIDE_S):
            nonlocal evaluations, reached
            reached, evaluations = now, evaluations + 1
            if evaluations > MOST_EVALUATIONS:
                raise _stuck(now)
            q, v = y[:n], y[n : 2 * n]
            reference = Reference(*trajectory.sample(min(max(now, first), last)))
            tau, state_rate = law(q, v, reference, y[2 * n :])
            return np.concatenate([v, arm.acceleration(q.tolist(), v.tolist(), tau.tolist()), state_rate])

        inside = t[(t > begin + BESIDE_S) & (t < end - BESIDE_S)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what LSODA says before it fails
            found = solve_ivp(rate, (begin, end), y, method="LSODA", rtol=RELATIVE, atol=ABSOLUTE, t_eval=[*inside, end])
        if not found.success:
            raise _stuck(reached)
        y, seen = found.y[:, -1], np.isclose(t, end, rtol=0, atol=BESIDE_S).any()
        rows.append(found.y.T[: None if seen else -1])
    q, v, state = np.split(np.concatenate(rows), (n, 2 * n), axis=1)
    tau, _ = law(q, v, Reference(*trajectory.sample(t)), state)
    return Run(t, q, v, tau, state, time.perf_counter() - begun, evaluations)


def sampled(law: ControlLaw, arm: LeanModel, trajectory: Trajectory, q0, duration_s: float, *, period_s=PERIOD_S, **_) -> Run:
    """Simulate from rest at ``q0`` (n,), the law acting every ``period_s`` [s], its effort held in between."""
    begun, t, n = time.perf_counter(), _times(duration_s, period_s), arm.n
    references = list(map(Reference, *trajectory.sample(t)))
    y, rows = np.concatenate([q0, np.zeros(n)]), []
    state = law.initial_state(y[:n], y[n:], references[0])
    for reference in references:
        tau, rate = law(y[:n], y[n:], reference, state)
        rows.append((y[:n], y[n:], tau, state))
        y, state = _held(arm, y.tolist(), tau.tolist(), period_s), state + period_s * rate
    return Run(t, *map(np.array, zip(*rows)), time.perf_counter() - begun, len(t))


def _times(duration_s: float, period_s: float) -> np.ndarray:
    return np.linspace(0.0, duration_s, max(1, round(duration_s / period_s)) + 1)


def _held(arm: LeanModel, y: list, tau: list, h: float) -> np.ndarray:
    """One step of classical Runge-Kutta under a constant effort; y: q and v."""

    def slope(share: float, k: list) -> list:
        x = [one + share * h * rate for one, rate in zip(y, k)]
        return x[arm.n :] + arm.acceleration(x[: arm.n], x[arm.n :], tau)

    k1 = slope(0.0, y)
    k2 = slope(0.5, k1)
    k3 = slope(0.5, k2)
    k4 = slope(1.0, k3)
    return np.array([one + h / 6.0 * (a + 2.0 * b + 2.0 * c + d) for one, a, b, c, d in zip(y, k1, k2, k3, k4)])


def _stuck(time_s: float) -> PickerError:
    return PickerError(f"the simulation does not get beyond {time_s:.4f} s: the law is too stiff, or jumps", "t", time_s)
