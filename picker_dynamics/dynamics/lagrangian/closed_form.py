"""What every hand-written system shares: from equations for scalars to arrays of states.

A system's file holds plain functions ``mass_matrix(k, q)``, ``inverse_dynamics(k, q, v, a)`` and so on, in
which ``k`` are its constants and ``q[0], q[1], …`` the joint values: floats for one state, arrays for a
batch.  ``ClosedForm`` feeds them arrays (..., n), puts what they return into arrays, and adds the armature.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import as_states, batch_of_states

from .complex_step import AnalyticModel


class Equations(NamedTuple):
    """The functions of one system.  They return vectors as tuples and matrices as tuples of rows."""

    mass_matrix: Callable
    coriolis_matrix: Callable
    gravity: Callable
    inverse_dynamics: Callable
    kinetic_energy: Callable
    potential_energy: Callable
    tip: Callable | None = None
    tip_jacobian: Callable | None = None
    tip_angular_jacobian: Callable | None = None
    torque_rate: Callable | None = None


class ClosedForm(AnalyticModel):
    """A system given by its hand-written equations.

    Subclasses set ``system`` (its name), ``parameter_names`` and ``equations``.

    Attributes:
        constants: NamedTuple of floats, first argument of every equation.
    """

    system: str
    parameter_names: tuple[str, ...]
    equations: Equations

    def __init__(self, joint_names, constants, *, armature=None, viscous=None, coulomb=None):
        super().__init__(joint_names, armature=armature, viscous=viscous, coulomb=coulomb)
        self.constants = constants

    @classmethod
    @abstractmethod
    def from_parameters(cls, **parameters: float) -> ClosedForm:
        """The system with these parameters: all of ``parameter_names``, checked by ``lagrangian.make``."""

    def _evaluate(self, equation: Callable | None, shape: tuple[int, ...], *states: np.ndarray) -> np.ndarray:
        """Call ``equation`` on the joints' components of ``states``; its result as an array (..., *shape)."""
        if equation is None:
            raise InputError(f"{self.system} has no tip: no forward kinematics, no Jacobian", subject=self.system)
        if all(x.ndim == 1 for x in states):
            return np.array(equation(self.constants, *(x.tolist() for x in states)))
        result = equation(self.constants, *(tuple(np.moveaxis(x, -1, 0)) for x in states))
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in states))
        out = np.empty((*batch, *shape), dtype=np.result_type(*states))
        for index in np.ndindex(*shape):
            entry = result
            for i in index:
                entry = entry[i]
            out[(..., *index)] = entry
        return out

    @property
    def torque_equation(self) -> Callable:
        """tau(constants, q, v, a) for sequences of joint values: what ``compiled`` compiles."""
        return self.equations.inverse_dynamics

    def _torque(self, q, v, a) -> np.ndarray:
        return self._evaluate(self.equations.inverse_dynamics, (self.n,), q, v, a) + self.armature * a

    def mass_matrix(self, q) -> np.ndarray:
        M = self._evaluate(self.equations.mass_matrix, (self.n, self.n), as_states("q", q, self.n))
        return M + np.diag(self.armature)

    def coriolis_matrix(self, q, v) -> np.ndarray:
        q, v = batch_of_states(self.n, q=q, v=v)
        return self._evaluate(self.equations.coriolis_matrix, (self.n, self.n), q, v)

    def gravity(self, q) -> np.ndarray:
        return self._evaluate(self.equations.gravity, (self.n,), as_states("q", q, self.n))

    def torque_rate(self, q, v, a, j) -> np.ndarray:
        """d(tau)/dt along a motion with jerk ``j`` [rad/s³], (..., n) [N·m/s], without friction.

        By the system's third-order equations where its file writes them out, and otherwise by a complex step.
        """
        if self.equations.torque_rate is None:
            return super().torque_rate(q, v, a, j)
        q, v, a, j = batch_of_states(self.n, q=q, v=v, a=a, j=j)
        return self._evaluate(self.equations.torque_rate, (self.n,), q, v, a, j) + self.armature * j

    def kinetic_energy(self, q, v) -> np.ndarray:
        q, v = batch_of_states(self.n, q=q, v=v)
        return self._evaluate(self.equations.kinetic_energy, (), q, v) + 0.5 * (v * v) @ self.armature

    def potential_energy(self, q) -> np.ndarray:
        return self._evaluate(self.equations.potential_energy, (), as_states("q", q, self.n))

    def forward_kinematics(self, q) -> np.ndarray:
        return self._evaluate(self.equations.tip, (3,), as_states("q", q, self.n))

    def jacobian(self, q) -> np.ndarray:
        return self._evaluate(self.equations.tip_jacobian, (3, self.n), as_states("q", q, self.n))

    def angular_jacobian(self, q) -> np.ndarray:
        return self._evaluate(self.equations.tip_angular_jacobian, (3, self.n), as_states("q", q, self.n))


class ReferenceSystem(ClosedForm):
    """A system whose constants are its parameters as they stand; see :func:`lagrangian.make`.

    Subclasses also set ``coordinates`` (names of q) and ``Parameters`` (a NamedTuple of floats).
    """

    coordinates: tuple[str, ...]
    Parameters: type

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.parameter_names = cls.Parameters._fields

    @classmethod
    def from_parameters(cls, **parameters: float) -> ReferenceSystem:
        return cls(cls.coordinates, cls.Parameters(**parameters))
