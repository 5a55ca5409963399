"""Adaptive control after Slotine and Li: learns the load's mass while it moves.

M, C and g are linear in the mass m of the load.  With the bare arm's (index 0) and what one kilogram adds to it,

    M(q) a_r + C(q, v) v_r + g(q) = [M_0 a_r + C_0 v_r + g_0] + Y(q, v, v_r, a_r) m          [1]

The law, its estimate m^ and the reference velocity that the errors bend:

    v_r = v_d + L e           s = v_r - v = ed + L e
    tau = M^(q) a_r + C^(q, v) v_r + g^(q) + K s          M^ = M at m^, and so on            [1]
    d(m^)/dt = gamma Y^T s                                                                   [1]

V = s^T M s / 2 + (m - m^)² / (2 gamma) has dV/dt = -s^T K s (because dM/dt - 2 C is skew-symmetric): s goes to zero,
hence e, for any load.  m^ converges as well wherever Y is not zero; on most arms gravity sees to that, at rest too.
Where m^ falls below 0, which no load can be, its rate downwards is faded out over 50 g (projection: it only takes a
positive term off dV/dt; continuous, so that it neither chatters nor stalls an integrator) [2].

References:
    [1] J.-J. Slotine, W. Li, Applied Nonlinear Control, Prentice-Hall, 1991, 9.2; On the adaptive control of robot
        manipulators, International Journal of Robotics Research 6, 1987.
    [2] J.-B. Pomet, L. Praly, Adaptive nonlinear regulation: estimation from the Lyapunov equation, IEEE Trans. Automatic
        Control 37, 1992.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array, DynamicsModel, as_states, times

from .law import ControlLaw, Reference, positive

FADE_KG = 0.05
"""How far below 0 the estimate can come [kg]."""


class Adaptive(ControlLaw):
    """Slotine-Li with one unknown, the load's mass; its state is the estimate m^, (1,) [kg].

    Args:
        bare: the arm without its load.
        loaded: the same arm with a load of 1 kg of the shape, and at the place, of the unknown one.
        L: (n,) or a number [1/s], > 0: how fast e follows s to zero.
        K: (n,) or a number [N·m·s/rad or N·s/m], > 0.
        gamma: gain of the estimate [kg²/J], > 0.
        estimate: m^ to start with [kg].
    """

    def __init__(
        self, bare: DynamicsModel, loaded: DynamicsModel, L: ArrayLike, K: ArrayLike, gamma: float, estimate: float = 0.0
    ):
        super().__init__(bare)
        if loaded.n != bare.n:
            raise InputError(
                f"the loaded arm has {loaded.n} joints, the bare one {bare.n}", subject="loaded", value=loaded.n, limit=bare.n
            )
        self.loaded = loaded
        self.L, self.K, self.gamma = self._gains("L", L), self._gains("K", K), positive("gamma", gamma)
        self.estimate = float(as_states("estimate", [estimate], 1)[0])

    def initial_state(self, q: Array, v: Array, reference: Reference) -> Array:
        """The estimate to start with, (1,) [kg]."""
        return np.array([self.estimate])

    def regressor(self, q: Array, v: Array, v_r: Array, a_r: Array) -> tuple[Array, Array]:
        """The bare arm's M_0 a_r + C_0 v_r + g_0 and Y, (..., n) each: efforts, and efforts per kilogram of load."""
        bare, loaded = (
            times(m.mass_matrix(q), a_r) + times(m.coriolis_matrix(q, v), v_r) + m.gravity(q) for m in (self.model, self.loaded)
        )
        return bare, loaded - bare

    def __call__(self, q: Array, v: Array, reference: Reference, state: Array) -> tuple[Array, Array]:
        e, ed = reference.q - q, reference.v - v
        s = ed + self.L * e
        effort, Y = self.regressor(q, v, reference.v + self.L * e, reference.a + self.L * ed)
        rate = self.gamma * (Y * s).sum(axis=-1, keepdims=True)
        return effort + Y * state + self.K * s, rate * np.where(rate < 0.0, np.clip(1.0 + state / FADE_KG, 0.0, 1.0), 1.0)
