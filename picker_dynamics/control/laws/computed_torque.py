"""Inverse dynamics with PD, also called computed torque: the model makes the arm a double integrator.

    tau = M(q) (a_d + Kd ed + Kp e) + C(q, v) v + g(q)                                       [1]

With an exact model every joint's error obeys  ddot(e) + Kd ed + Kp e = 0.  With another load the right-hand side is
eta (see ``robust``), and at rest an error e = eta / Kp is left.

References:
    [1] B. Siciliano, L. Sciavicco, L. Villani, G. Oriolo, Robotics: Modelling, Planning and Control, Springer, 2009, 8.5.2.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel

from .law import ControlLaw, Reference


class ComputedTorque(ControlLaw):
    """Inverse dynamics + PD.

    Args:
        model: the arm as believed.
        Kp: (n,) or a number [1/s²], > 0.
        Kd: (n,) or a number [1/s], > 0; 2 sqrt(Kp) is critical damping.
    """

    def __init__(self, model: DynamicsModel, Kp: ArrayLike, Kd: ArrayLike):
        super().__init__(model)
        self.Kp, self.Kd = self._gains("Kp", Kp), self._gains("Kd", Kd)

    def acceleration(self, q: Array, v: Array, reference: Reference, state: Array) -> Array:
        """Acceleration that the law asks for: u = a_d + Kd ed + Kp e, (..., n)."""
        return reference.a + self.Kd * (reference.v - v) + self.Kp * (reference.q - q)

    def __call__(self, q: Array, v: Array, reference: Reference, state: Array) -> tuple[Array, Array]:
        return self.model.inverse_dynamics(q, v, self.acceleration(q, v, reference, state)), state
