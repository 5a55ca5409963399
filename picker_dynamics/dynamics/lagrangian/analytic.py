"""Models by hand-written equations: what every system shares, and derivatives of equations to rounding, by a complex step.

A system's file holds its ``COORDINATES`` (names of q), its ``Parameters`` (a NamedTuple of floats with defaults), and plain
functions of these parameters ``k`` and of joint values ``q[0], q[1], …``, floats for one state, arrays for a batch, and any of
them may be complex:

    mass_matrix(k, q)     inverse_dynamics(k, q, v, a)     potential_energy(k, q)     tip(k, q)

The other terms follow from these, where a file does not write out ``tip_jacobian`` for speed.  With
tau = M a + C v + g and c = C v, whose Christoffel symbols are symmetric in both rates,

    g = tau(q, 0, 0)        C_ij = 1/2 dc_i/dv_j        J = d(tip)/dq        d(tau)/dt = (dtau/dq) v + (dtau/dv) a + M j

The equations are analytic functions.  Evaluated at x + i h d, such a function gives

    f(x + i h d) = f(x) + i h f'(x) d - h²/2 f''(x) d d …

and with h = 1e-30 the imaginary part is the derivative along d, to rounding, with no difference of nearly equal numbers
(W. Squire, G. Trapp, SIAM Review 40, 1998).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from operator import getitem
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array, DynamicsModel, batch_of_states

STEP = 1e-30j
"""The complex step i h."""

Scalar: TypeAlias = Any
"""A float or an array of them (a batch), either of them complex."""

Values: TypeAlias = Sequence[Any]
"""One ``Scalar`` per joint or direction."""

Rows: TypeAlias = Sequence[Values]
"""A matrix, row by row."""

Equation: TypeAlias = Callable[..., Any]
"""A plain function of (constants, q, v, …), sequences of joint values: of scalars, vectors (tuples) or matrices (of rows)."""


def sin_cos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine (sin, cos) of ``angle`` [rad]: the only transcendental functions of the equations."""
    if isinstance(angle, float):
        return math.sin(angle), math.cos(angle)
    return np.sin(angle), np.cos(angle)


class AnalyticModel(DynamicsModel):
    """A model given by plain functions.

    Attributes:
        system: name of the system of equations.
        constants: first argument of every equation.
    """

    system: str
    constants: Any

    @property
    @abstractmethod
    def torque_equation(self) -> Equation:
        """Joint torques tau(constants, q, v, a) = M a + C v + g, written out, without rotors."""

    def _apply(self, equation: Equation, shape: tuple[int, ...], *states: np.ndarray) -> np.ndarray:
        """``equation`` of the joints' components of ``states``, which were checked: an array (..., *shape), real or complex."""
        if all([x.ndim == 1 for x in states]):
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

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix M = dtau/da, (..., n, n), rotors included."""
        (q,) = batch_of_states(self.n, q=q)
        M = self._torque(q[..., None, :], np.zeros(self.n), STEP * np.eye(self.n)).imag / STEP.imag
        symmetric: Array = 0.5 * (M + np.swapaxes(M, -1, -2))  # rounding leaves it a little unsymmetric
        return symmetric

    def gravity(self, q: ArrayLike) -> Array:
        (q,) = batch_of_states(self.n, q=q)
        still = np.zeros(self.n)
        return self._torque(q, still, still)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        q, v = (x[..., None, :] for x in batch_of_states(self.n, q=q, v=v))
        by_v = self._torque(q, v + STEP * np.eye(self.n), np.zeros(self.n)).imag
        return 0.5 / STEP.imag * np.swapaxes(by_v, -1, -2)

    def christoffel(self, q: ArrayLike) -> Array:
        """Christoffel symbols b_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i), (..., n, n, n)."""
        (q,) = batch_of_states(self.n, q=q)
        return np.moveaxis(self.coriolis_matrix(q[..., None, :], np.eye(self.n)), -3, -1)

    def torque_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, j: ArrayLike) -> Array:
        """Rate of the joint torques, d(tau)/dt = Im tau(q + i h v, v + i h a, a + i h j) / h, (..., n) [N·m/s]."""
        q, v, a, j = batch_of_states(self.n, q=q, v=v, a=a, j=j)
        return self._torque(q + STEP * v, v + STEP * a, a + STEP * j).imag / STEP.imag

    def torque_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """Torque derivatives dtau_i/dq_j and dtau_i/dv_j at constant a, each (..., n, n), without friction; dtau_i/da_j is M."""
        q, v, a = (x[..., None, :] for x in batch_of_states(self.n, q=q, v=v, a=a))
        steps = STEP * np.eye(self.n)
        by_q, by_v = (np.swapaxes(by.imag, -1, -2) for by in (self._torque(q + steps, v, a), self._torque(q, v + steps, a)))
        return by_q / STEP.imag, by_v / STEP.imag


class ClosedForm(AnalyticModel):
    """A system of the notes, whose equations are written out in a file of its own.

    Args:
        equations: the file, named as the system.
        constants: first argument of its functions.
        joint_names, armature, viscous, coulomb: see :class:`DynamicsModel`.
    """

    def __init__(self, equations: ModuleType, constants: Any, joint_names: Sequence[str], **actuation: ArrayLike | None):
        super().__init__(joint_names, **actuation)
        self.equations, self.constants, self.system = equations, constants, equations.__name__.rpartition(".")[2]

    @property
    def torque_equation(self) -> Equation:
        equation: Equation = self.equations.inverse_dynamics
        return equation

    def evaluate(self, equation: Equation, shape: tuple[int, ...], **states: ArrayLike) -> Array:
        """A function of the system's file at states (..., n), as an array (..., *shape)."""
        return self._apply(equation, shape, *batch_of_states(self.n, **states))

    def mass_matrix(self, q: ArrayLike) -> Array:
        return self.evaluate(self.equations.mass_matrix, (self.n, self.n), q=q) + self.armature_matrix

    def potential_energy(self, q: ArrayLike) -> Array:
        return self.evaluate(self.equations.potential_energy, (), q=q)

    @property
    def _tip(self) -> Equation:
        tip: Equation | None = getattr(self.equations, "tip", None)
        if tip is None:
            raise InputError(f"{self.system} has no tip: no forward kinematics, no Jacobian", self.system)
        return tip

    def forward_kinematics(self, q: ArrayLike) -> Array:
        return self.evaluate(self._tip, (3,), q=q)

    def jacobian(self, q: ArrayLike) -> Array:
        if written := getattr(self.equations, "tip_jacobian", None):
            return self.evaluate(written, (3, self.n), q=q)
        (q,) = batch_of_states(self.n, q=q)
        moved = self._apply(self._tip, (3,), q[..., None, :] + STEP * np.eye(self.n))
        return np.swapaxes(moved.imag, -1, -2) / STEP.imag
