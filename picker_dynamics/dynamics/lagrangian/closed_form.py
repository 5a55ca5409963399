"""Closed-form models: what every system of hand-written equations shares.

A system's file holds plain functions ``mass_matrix(k, q)``, ``inverse_dynamics(k, q, v, a)`` and so on, under the names of
``Equations``, in which ``k`` are its constants and ``q[0], q[1], …`` the joint values: floats for one state, arrays for a
batch.  ``ClosedForm`` feeds them arrays (..., n), puts what they return into arrays, and adds the armature.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array, batch_of_states

from .complex_step import AnalyticModel, Equation


class Equations(NamedTuple):
    """The functions of one system.  They return vectors as tuples and matrices as tuples of rows."""

    mass_matrix: Equation
    coriolis_matrix: Equation
    gravity: Equation
    inverse_dynamics: Equation
    potential_energy: Equation
    tip: Equation | None = None
    tip_jacobian: Equation | None = None
    torque_rate: Equation | None = None

    @classmethod
    def of(cls, module: ModuleType) -> Equations:
        """Equations of a system's file."""
        return cls(**{name: equation for name, equation in vars(module).items() if name in cls._fields})


class ClosedForm(AnalyticModel):
    """A system given by its hand-written equations.

    Subclasses set ``system`` (its name), ``parameter_names``, ``defaults`` (every parameter's value) and ``equations``.
    """

    parameter_names: tuple[str, ...]
    defaults: Mapping[str, float]
    equations: Equations

    def __init__(self, joint_names: Sequence[str], constants: Any, **actuation: ArrayLike | None):
        super().__init__(joint_names, **actuation)
        self.constants = constants

    @classmethod
    @abstractmethod
    def from_parameters(cls, **parameters: float) -> ClosedForm:
        """The system with these parameters: all of ``parameter_names``, checked by ``lagrangian.make``."""

    @property
    def torque_equation(self) -> Equation:
        return self.equations.inverse_dynamics

    def _evaluate(self, equation: Equation | None, shape: tuple[int, ...], **states: ArrayLike) -> Array:
        """``equation`` of states (..., n), as an array (..., *shape)."""
        if equation is None:
            raise InputError(f"{self.system} has no tip: no forward kinematics, no Jacobian", self.system)
        return self._apply(equation, shape, *batch_of_states(self.n, **states))

    def mass_matrix(self, q: ArrayLike) -> Array:
        M = self._evaluate(self.equations.mass_matrix, (self.n, self.n), q=q)
        return M + self.armature_matrix

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        return self._evaluate(self.equations.coriolis_matrix, (self.n, self.n), q=q, v=v)

    def gravity(self, q: ArrayLike) -> Array:
        return self._evaluate(self.equations.gravity, (self.n,), q=q)

    def torque_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, j: ArrayLike) -> Array:
        """Rate of the joint torques, d(tau)/dt, along a motion with jerk ``j`` [rad/s³], (..., n) [N·m/s], without friction.

        By the system's third-order equations where its file writes them out, and otherwise by a complex step.
        """
        if self.equations.torque_rate is None:
            return super().torque_rate(q, v, a, j)
        of_links = self._evaluate(self.equations.torque_rate, (self.n,), q=q, v=v, a=a, j=j)
        rate: Array = of_links + self.armature * np.asarray(j)
        return rate

    def potential_energy(self, q: ArrayLike) -> Array:
        return self._evaluate(self.equations.potential_energy, (), q=q)

    def forward_kinematics(self, q: ArrayLike) -> Array:
        return self._evaluate(self.equations.tip, (3,), q=q)

    def jacobian(self, q: ArrayLike) -> Array:
        return self._evaluate(self.equations.tip_jacobian, (3, self.n), q=q)


class ReferenceSystem(ClosedForm):
    """A system of one file, whose constants are its parameters as they stand; see :func:`lagrangian.make`.

    The file holds ``Parameters`` (a NamedTuple of floats) and the equations, the subclass ``system`` and ``coordinates``
    (names of q).
    """

    coordinates: tuple[str, ...]
    Parameters: type[Any]

    def __init_subclass__(cls) -> None:
        file = sys.modules[cls.__module__]
        cls.equations, cls.Parameters = Equations.of(file), file.Parameters
        cls.parameter_names, cls.defaults = cls.Parameters._fields, cls.Parameters._field_defaults

    @classmethod
    def from_parameters(cls, **parameters: float) -> ReferenceSystem:
        return cls(cls.coordinates, cls.Parameters(**parameters))
