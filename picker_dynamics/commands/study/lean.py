"""Hand-written dynamics without input checks, for loops that ask for one state thousands of times.

The equations are the model's own; what is left out is the look at shapes and NaN before each call, which takes longer
than the equations.  Compiled code would be faster still, but compiling takes longer than simulating.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.dynamics.lagrangian import ClosedForm
from picker_dynamics.errors import InputError
from picker_dynamics.robot.dry_friction import solved


class LeanModel:
    """``model``'s equations for single states (n,), given as arrays that are known to be sound; batches go to ``model``.

    Offers what control laws use of a ``DynamicsModel``, and ``acceleration`` for plants.

    Raises:
        InputError: a model with rotor inertias, which stand beside its equations.
    """

    def __init__(self, model: ClosedForm):
        if model.armature.any():
            raise InputError(
                f"{model.system}: armature is {model.armature.tolist()}, must be 0 here", "armature", model.armature, 0.0
            )
        self.full = model
        self.n, self.joint_names = model.n, model.joint_names
        self._equations, self._constants = model.equations, model.constants

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        return self._answer("inverse_dynamics", q, v, a)

    def mass_matrix(self, q) -> np.ndarray:
        return self._answer("mass_matrix", q)

    def coriolis_matrix(self, q, v) -> np.ndarray:
        return self.full.coriolis_matrix(q, v)

    def gravity(self, q) -> np.ndarray:
        return self.inverse_dynamics(q, 0.0 * q, 0.0 * q)

    def _answer(self, quantity: str, *states) -> np.ndarray:
        if states[0].ndim > 1:
            return getattr(self.full, quantity)(*states)
        return np.array(getattr(self._equations, quantity)(self._constants, *(x.tolist() for x in states)))

    def acceleration(self, q: list[float], v: list[float], tau: list[float]) -> list[float]:
        """Acceleration M^-1 (tau - C v - g) of one state, all lists of n numbers."""
        k = self._constants
        bias = self._equations.inverse_dynamics(k, q, v, [0.0] * self.n)
        return solved([list(row) for row in self._equations.mass_matrix(k, q)], [t - b for t, b in zip(tau, bias)])
