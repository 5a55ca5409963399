"""Simulation of an arm under a control law, in continuous time or sampled.

    continuous      d/dt (q, v, state) = (v, M^-1 (tau - C v - g), rate),  tau and rate from the law at every instant;
                    an integrator with error control that turns implicit where the law is stiff (``scipy``'s LSODA:
                    A. Hindmarsh, L. Petzold), restarted where the reference may jump
    sampled         tau from the law every period and held (zero-order hold), state += period rate; between samples the
                    arm is integrated by classical Runge-Kutta, one step a period

After the end of its path the reference stands still.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from picker_dynamics.control.laws import ControlLaw, Reference
from picker_dynamics.dynamics.lagrangian import ClosedForm
from picker_dynamics.errors import PickerError

from .tool_path import ToolPath

PERIOD_S = 1e-3

RELATIVE, ABSOLUTE = 1e-9, 1e-10
"""Tolerances of the adaptive integrator, per step."""

BESIDE_S = 1e-12
"""So near to a corner is on one side of it."""


class Run(NamedTuple):
    """Simulated motion of an arm under a control law: t (s,) [s]; q, v, tau (s, n); state (s, k) of the law."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    state: np.ndarray


def continuous(law: ControlLaw, arm: ClosedForm, path: ToolPath, q0, duration_s: float, period_s: float = PERIOD_S) -> Run:
    """Simulate from rest at ``q0`` (n,), the law acting at every instant; states every ``period_s`` [s].

    Raises:
        PickerError: the integrator does not get on.
    """
    from scipy.integrate import solve_ivp

    n, t, still = arm.n, _times(duration_s, period_s), np.zeros(arm.n)
    y = np.concatenate([q0, still, law.initial_state(np.array(q0), still, Reference(*path.sample(0.0)))])
    rows = [y[None]]
    for begin, end in pairwise([0.0, *(corner for corner in path.corners if corner < duration_s), duration_s]):

        def rate(now, y, first=begin + BESIDE_S, last=end - BESIDE_S):
            q, v = y[:n], y[n : 2 * n]
            tau, state_rate = law(q, v, Reference(*path.sample(min(max(now, first), last))), y[2 * n :])
            return np.concatenate([v, arm.forward_dynamics(q, v, tau), state_rate])

        found = solve_ivp(rate, (begin, end), y, method="LSODA", rtol=RELATIVE, atol=ABSOLUTE, dense_output=True)
        if not found.success:
            raise PickerError(f"the simulation does not get beyond {found.t[-1]:.4f} s: {found.message}", "t", found.t[-1])
        y = found.y[:, -1]
        rows.append(found.sol(t[(t > begin + BESIDE_S) & (t < end + BESIDE_S)]).T)
    q, v, state = np.split(np.concatenate(rows), (n, 2 * n), axis=1)
    return Run(t, q, v, law(q, v, Reference(*path.sample(t)), state)[0], state)


def sampled(law: ControlLaw, arm: ClosedForm, path: ToolPath, q0, duration_s: float, period_s: float = PERIOD_S) -> Run:
    """Simulate from rest at ``q0`` (n,), the law acting every ``period_s`` [s], its effort held in between."""
    t, n, h = _times(duration_s, period_s), arm.n, period_s
    references = list(map(Reference, *path.sample(t)))
    y, rows = np.concatenate([q0, np.zeros(n)]), []
    state = law.initial_state(y[:n], y[n:], references[0])
    for reference in references:
        tau, rate = law(y[:n], y[n:], reference, state)
        rows.append((y[:n], y[n:], tau, state))

        def slope(y, tau=tau):
            return np.concatenate([y[n:], arm.forward_dynamics(y[:n], y[n:], tau)])

        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y, state = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), state + h * rate
    return Run(t, *map(np.array, zip(*rows)))


def _times(duration_s: float, period_s: float) -> np.ndarray:
    return np.linspace(0.0, duration_s, max(1, round(duration_s / period_s)) + 1)
