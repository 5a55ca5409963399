"""PID, joint by joint: no model but the weight at the start.

    tau = Kp e + Kd ed + z,     dz/dt = Ki e,     z(0) = g(q(0))                             [1]

The integral z starts as the effort that held the arm before (bumpless transfer), and learns what the load weighs.
Locally stable if Ki is small enough; for a joint of inertia m:  Ki m < Kp Kd  (Routh).

References:
    [1] S. Arimoto, F. Miyazaki, Stability and robustness of PID feedback control for robot manipulators, in Robotics
        Research: First International Symposium, MIT Press, 1984.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel

from .law import ControlLaw, Reference


class Pid(ControlLaw):
    """PID; its state is the integral part of the effort, (n,).

    Args:
        model: the arm as believed; only its gravity at the start is used.
        Kp: (n,) or a number [N·m/rad or N/m], > 0.
        Ki: (n,) or a number [N·m/(rad·s) or N/(m·s)], >= 0.
        Kd: (n,) or a number [N·m·s/rad or N·s/m], > 0.
    """

    def __init__(self, model: DynamicsModel, Kp: ArrayLike, Ki: ArrayLike, Kd: ArrayLike):
        super().__init__(model)
        self.Kp, self.Kd = self._gains("Kp", Kp), self._gains("Kd", Kd)
        self.Ki = self._gains("Ki", Ki, zero=True)

    def initial_state(self, q: Array, v: Array, reference: Reference) -> Array:
        """The weight as believed at ``q``, (n,)."""
        return self.model.gravity(q)

    def __call__(self, q: Array, v: Array, reference: Reference, state: Array) -> tuple[Array, Array]:
        e = reference.q - q
        return self.Kp * e + self.Kd * (reference.v - v) + state, self.Ki * e
