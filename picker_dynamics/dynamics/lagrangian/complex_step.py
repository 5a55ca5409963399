"""Complex-step differentiation: exact derivatives of hand-written equations, and the base of all their models.

The equations are analytic functions of q, v and a.  Evaluated at x + i h d, such a function gives

    f(x + i h d) = f(x) + i h f'(x) d - h²/2 f''(x) d d …

and with h = 1e-30 the term in h² is below the last digit of the first one: the imaginary part is the derivative
along d, to rounding, with no difference of nearly equal numbers (W. Squire, G. Trapp, SIAM Review 40, 1998).
It is what dual numbers compute, in arithmetic that every processor has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from operator import getitem
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel, batch_of_states

COMPLEX_STEP = 1e-30

Equation: TypeAlias = Callable[..., Any]
"""A plain function of (constants, q, v, …), sequences of joint values: of scalars, vectors (tuples) or matrices (of rows)."""


class AnalyticModel(DynamicsModel):
    """A model given by plain functions of constants and joint values: floats, arrays of them for a batch, or complex ones.

    Attributes:
        system: name of the system of equations.
        constants: NamedTuple of floats and tuples of them, first argument of every equation.
    """

    system: str
    constants: Any

    @property
    @abstractmethod
    def torque_equation(self) -> Equation:
        """Joint torques tau(constants, q, v, a) = M a + C v + g, written out, without rotors."""

    def _apply(self, equation: Equation, shape: tuple[int, ...], *states: np.ndarray) -> np.ndarray:
        """``equation`` of the joints' components of ``states``, which were checked: an array (..., *shape), real or complex."""
        if all(x.ndim == 1 for x in states):
            return np.array(equation(self.constants, *(x.tolist() for x in states)))
        result = equation(self.constants, *(tuple(np.moveaxis(x, -1, 0)) for x in states))
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in states))
        out = np.empty(batch + shape, dtype=np.result_type(*states))
        for index in np.ndindex(*shape):
            out[(...,) + index] = reduce(getitem, index, result)
        return out

    def _torque(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """tau = M a + C v + g, (..., n), for arrays (..., n) that were checked; real or complex."""
        tau: np.ndarray = self._apply(self.torque_equation, (self.n,), q, v, a) + self.armature * a
        return tau

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Joint torques tau = M a + C v + g, written out, (..., n) [N·m], without friction."""
        return self._torque(*batch_of_states(self.n, q=q, v=v, a=a))

    def torque_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, j: ArrayLike) -> Array:
        """Rate of the joint torques, d(tau)/dt, along a motion with jerk ``j`` [rad/s³], (..., n) [N·m/s], without friction.

        d(tau)/dt = Im tau(q + i h v, v + i h a, a + i h j) / h
        """
        q, v, a, j = batch_of_states(self.n, q=q, v=v, a=a, j=j)
        ih = 1j * COMPLEX_STEP
        return self._torque(q + ih * v, v + ih * a, a + ih * j).imag / COMPLEX_STEP

    def torque_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """Torque derivatives dtau_i/dq_j and dtau_i/dv_j at constant a, each (..., n, n), without friction; dtau_i/da_j is M.

        dtau/dq_j = Im tau(q + i h e_j, v, a) / h          dtau/dv_j = Im tau(q, v + i h e_j, a) / h
        """
        q, v, a = (x[..., None, :] for x in batch_of_states(self.n, q=q, v=v, a=a))
        steps = 1j * COMPLEX_STEP * np.eye(self.n)
        by_q, by_v = (np.swapaxes(by.imag, -1, -2) for by in (self._torque(q + steps, v, a), self._torque(q, v + steps, a)))
        return by_q / COMPLEX_STEP, by_v / COMPLEX_STEP
