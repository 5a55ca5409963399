"""PD with gravity compensation: springs and dampers at the joints, and the weight taken off.

    tau = Kp e + Kd ed + g(q)                                                                [1]

Any positive Kp, Kd bring the arm to a constant q_d if g is exact: V = v^T M v / 2 + e^T Kp e / 2 has
dV/dt = -v^T Kd v.  With another load the error dg / Kp is left, and a motion is followed with a lag.

References:
    [1] Siciliano et al., Robotics, 2009, 8.5.1; after M. Takegaki, S. Arimoto, A new feedback method for dynamic control of
        manipulators, J. Dynamic Systems, Measurement, and Control 103, 1981.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel

from .law import NO_STATE, ControlLaw, Reference


class PdGravity(ControlLaw):
    """PD + gravity.

    Args:
        model: the arm as believed; only its gravity is used.
        Kp: (n,) or a number [N·m/rad or N/m], > 0.
        Kd: (n,) or a number [N·m·s/rad or N·s/m], > 0.
    """

    def __init__(self, model: DynamicsModel, Kp: ArrayLike, Kd: ArrayLike):
        super().__init__(model)
        self.Kp, self.Kd = self._gains("Kp", Kp), self._gains("Kd", Kd)

    def __call__(self, q: Array, v: Array, reference: Reference, state: Array = NO_STATE) -> tuple[Array, Array]:
        return self.Kp * (reference.q - q) + self.Kd * (reference.v - v) + self.model.gravity(q), state
