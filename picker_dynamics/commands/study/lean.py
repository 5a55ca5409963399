"""Hand-written dynamics without input checks, for loops that ask for one state thousands of times.

The equations are the model's own; what is left out is the look at shapes and NaN before each call, which takes longer
than the equations.  Compiled code would be faster still, but compiling takes longer than simulating.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.dynamics.lagrangian import ClosedForm
from picker_dynamics.robot.dry_friction import solved


class LeanModel:
    """``model``'s equations, without rotors, for single states (n,) that are known to be sound; batches go to ``model``.

    Offers what control laws use of a ``DynamicsModel``, and ``acceleration`` for plants.
    """

    def __init__(self, model: ClosedForm):
        self.full, self.n, self.joint_names = model, model.n, model.joint_names
        self.coriolis_matrix = model.coriolis_matrix
        self._equations, self._constants = model.equations, model.constants

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        return self._answer("inverse_dynamics", q, v, a)

    def mass_matrix(self, q) -> np.ndarray:
        return self._answer("mass_matrix", q)

    def gravity(self, q) -> np.ndarray:
        return self.inverse_dynamics(q, 0.0 * q, 0.0 * q)

    def _answer(self, quantity: str, *states) -> np.ndarray:
        if states[0].ndim > 1:
            return getattr(self.full, quantity)(*states)
        return np.array(getattr(self._equations, quantity)(self._constants, *(x.tolist() for x in states)))

    def acceleration(self, q: list[float], v: list[float], tau: list[float]) -> list[float]:
        """Acceleration M^-1 (tau - C v - g) of one state, all lists of n numbers."""
        bias = self._equations.inverse_dynamics(self._constants, q, v, [0.0] * self.n)
        rows = [list(row) for row in self._equations.mass_matrix(self._constants, q)]
        return solved(rows, [t - b for t, b in zip(tau, bias)])
