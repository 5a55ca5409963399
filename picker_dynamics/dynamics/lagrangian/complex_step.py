"""Exact derivatives of hand-written equations: the complex step.

The equations are analytic functions of q, v and a.  Evaluated at x + i h d, such a function gives

    f(x + i h d) = f(x) + i h f'(x) d - h²/2 f''(x) d d …

and with h = 1e-30 the term in h² is below the last digit of the first one: the imaginary part is the derivative
along d, to rounding, with no difference of nearly equal numbers (W. Squire, G. Trapp, SIAM Review 40, 1998).
It is what dual numbers compute, in arithmetic that every processor has.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from picker_dynamics.robot.model import DynamicsModel, batch_of_states

COMPLEX_STEP = 1e-30


class AnalyticModel(DynamicsModel):
    """A model whose inverse dynamics takes complex numbers."""

    @abstractmethod
    def _torque(self, q, v, a) -> np.ndarray:
        """tau = M a + C v + g, (..., n), for arrays (..., n) that were checked; real or complex."""

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        """tau = M a + C v + g, written out, (..., n) [N·m], without friction."""
        return self._torque(*batch_of_states(self.n, q=q, v=v, a=a))

    def torque_rate(self, q, v, a, j) -> np.ndarray:
        """d(tau)/dt along a motion with jerk ``j`` [rad/s³], (..., n) [N·m/s], without friction.

        d(tau)/dt = Im tau(q + i h v, v + i h a, a + i h j) / h
        """
        q, v, a, j = batch_of_states(self.n, q=q, v=v, a=a, j=j)
        ih = 1j * COMPLEX_STEP
        return self._torque(q + ih * v, v + ih * a, a + ih * j).imag / COMPLEX_STEP

    def torque_derivatives(self, q, v, a) -> tuple[np.ndarray, np.ndarray]:
        """dtau_i/dq_j and dtau_i/dv_j at constant a, each (..., n, n), without friction; dtau_i/da_j is M.

        dtau/dq_j = Im tau(q + i h e_j, v, a) / h          dtau/dv_j = Im tau(q, v + i h e_j, a) / h
        """
        q, v, a = (x[..., None, :] for x in batch_of_states(self.n, q=q, v=v, a=a))
        steps = 1j * COMPLEX_STEP * np.eye(self.n)
        by_q, by_v = self._torque(q + steps, v, a), self._torque(q, v + steps, a)
        return tuple(np.swapaxes(by.imag, -1, -2) / COMPLEX_STEP for by in (by_q, by_v))
