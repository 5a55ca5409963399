"""Simulation of an arm under a control law, in continuous time or sampled.

    continuous      d/dt (q, v, state) = (v, M^-1 (tau - C v - g), rate),  tau and rate from the law at every instant;
                    an integrator with error control that turns implicit where the law is stiff (``scipy``'s LSODA:
                    A. Hindmarsh, L. Petzold), restarted where the reference jumps in position, velocity or acceleration
    sampled         tau from the law every period and held (zero-order hold), state += period rate; between samples the
                    arm is integrated by classical Runge-Kutta, one step a period

The reference is a trajectory; after its end it stands still.
"""

from __future__ import annotations

import itertools
import time
import warnings
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from picker_dynamics.control.laws import ControlLaw, Reference
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.robot.model import as_states
from picker_dynamics.trajectory import splines
from picker_dynamics.trajectory.trajectory import Trajectory

from .lean import LeanModel

RELATIVE, ABSOLUTE = 1e-9, 1e-10
"""Tolerances of the adaptive integrator, per step."""

JUMP = 1e-7
"""What counts as a jump of the reference, of its largest value: more than splines round."""

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


def continuous(law: ControlLaw, arm: LeanModel, trajectory: Trajectory, q0, duration_s: float, *, period_s: float = 1e-3) -> Run:
    """Simulate from rest at ``q0`` (n,), the law acting at every instant; states every ``period_s`` [s].

    Raises:
        PickerError: the integrator does not get on.
    """
    from scipy.integrate import solve_ivp

    n, begun = arm.n, time.perf_counter()
    q0, t = _start(arm, q0, duration_s, period_s)
    v0, start = np.zeros(n), Reference(*trajectory.sample(0.0))
    y = np.concatenate([q0, v0, law.initial_state(q0, v0, start)])
    rows, evaluations = [y[None]], itertools.count(1)
    corners = [0.0, *(jump for jump in _jumps(trajectory) if jump < duration_s), duration_s]
    for begin, end in zip(corners, corners[1:]):
        reached = [begin]
        reference = _reference(trajectory, begin, end)

        def rate(now, y, reference=reference, reached=reached):
            reached[0] = now
            if next(evaluations) > MOST_EVALUATIONS:
                raise _stuck(now)
            q, v = y[:n], y[n : 2 * n]
            tau, state_rate = law(q, v, reference(now), y[2 * n :])
            a = arm.acceleration(q.tolist(), v.tolist(), tau.tolist())
            return np.concatenate([v, a, state_rate])

        inside = t[(t > begin + 1e-12) & (t < end - 1e-12)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what LSODA says before it fails
            solution = solve_ivp(rate, (begin, end), y, method="LSODA", rtol=RELATIVE, atol=ABSOLUTE, t_eval=[*inside, end])
        if not solution.success:
            raise _stuck(reached[0])
        y = solution.y[:, -1]
        rows.append(solution.y.T if np.isclose(t, end, rtol=0, atol=1e-12).any() else solution.y.T[:-1])
    states = np.concatenate(rows)
    q, v, state = states[:, :n], states[:, n : 2 * n], states[:, 2 * n :]
    tau, _ = law(q, v, Reference(*trajectory.sample(t)), state)
    return Run(t, q, v, tau, state, time.perf_counter() - begun, next(evaluations) - 1)


def sampled(law: ControlLaw, arm: LeanModel, trajectory: Trajectory, q0, duration_s: float, *, period_s: float = 1e-3) -> Run:
    """Simulate from rest at ``q0`` (n,), the law acting every ``period_s`` [s], its effort held in between."""
    begun = time.perf_counter()
    q, t = _start(arm, q0, duration_s, period_s)
    references = list(map(Reference, *trajectory.sample(t)))
    v = np.zeros(arm.n)
    state = law.initial_state(q, v, references[0])
    rows = []
    for reference in references:
        tau, rate = law(q, v, reference, state)
        rows.append((q, v, tau, state))
        q, v = _held(arm, q.tolist(), v.tolist(), tau.tolist(), period_s)
        state = state + period_s * rate
    q, v, tau, state = (np.array(column) for column in zip(*rows))
    return Run(t, q, v, tau, state, time.perf_counter() - begun, len(t))


def _start(arm: LeanModel, q0, duration_s: float, period_s: float) -> tuple[np.ndarray, np.ndarray]:
    """q0 (n,), checked, and the times (s,) of the run."""
    q0 = np.array(as_states("q0", q0, arm.n))
    if q0.shape != (arm.n,):
        raise InputError(f"q0 has shape {q0.shape}, expected ({arm.n},)", "q0", q0.shape)
    for name, value in (("duration", duration_s), ("period", period_s)):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"{name} is {value} s, must be > 0", name, value, 0.0)
    return q0, np.linspace(0.0, duration_s, max(1, round(duration_s / period_s)) + 1)


def _held(arm: LeanModel, q: list, v: list, tau: list, h: float) -> tuple[np.ndarray, np.ndarray]:
    """One step of classical Runge-Kutta under a constant effort."""

    def ahead(x: list, share: float, slope: list) -> list:
        return [one + share * h * y for one, y in zip(x, slope)]

    def over_step(x: list, *slopes: list) -> np.ndarray:
        return np.array([one + h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4) for one, b1, b2, b3, b4 in zip(x, *slopes)])

    a1 = arm.acceleration(q, v, tau)
    v2 = ahead(v, 0.5, a1)
    a2 = arm.acceleration(ahead(q, 0.5, v), v2, tau)
    v3 = ahead(v, 0.5, a2)
    a3 = arm.acceleration(ahead(q, 0.5, v2), v3, tau)
    v4 = ahead(v, 1.0, a3)
    a4 = arm.acceleration(ahead(q, 1.0, v3), v4, tau)
    return over_step(q, v, v2, v3, v4), over_step(v, a1, a2, a3, a4)


def _stuck(time_s: float) -> PickerError:
    return PickerError(f"the simulation does not get beyond {time_s:.4f} s: the law is too stiff, or jumps", "t", time_s)


def _jumps(trajectory: Trajectory) -> list[float]:
    """When q, v or a jump, [s]; the end of the trajectory counts."""
    c, h = trajectory.coefficients, np.diff(trajectory.breaks)[:-1]
    factors = np.array([1.0, 1.0, 2.0])[:, None]
    before, after = splines.shifted(c[:-1], h)[:, :3] * factors, c[1:, :3] * factors
    counts = JUMP * np.abs(after).max(axis=(0, 2), initial=1.0, keepdims=True)
    jumps = (np.abs(before - after) > counts).any(axis=(1, 2))
    return [*trajectory.breaks[1:-1][jumps].tolist(), trajectory.duration]


def _reference(trajectory: Trajectory, begin: float, end: float):
    """t -> Reference between two times, of which the later one still counts as before a jump."""
    if begin >= trajectory.duration:
        zero = np.zeros(trajectory.n)
        standing = Reference(trajectory.end, zero, zero)
        return lambda t: standing
    first = bisect_right(trajectory.breaks.tolist(), begin + 1e-12) - 1
    last = bisect_right(trajectory.breaks.tolist(), end - 1e-12)
    origin = float(trajectory.breaks[first])
    breaks = trajectory.breaks[first : last + 1] - origin
    piece = Trajectory(trajectory.joint_names, breaks, trajectory.coefficients[first:last])
    return lambda t: Reference(*piece.sample(min(t - origin, piece.duration)))
