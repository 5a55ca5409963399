"""Robust inverse dynamics (min-max): a bounded term that outweighs what the model does not know.

    tau = M^(q) u + C^(q, v) v + g^(q),     u = a_d + Kd ed + Kp e + w                       [1]

with hats on what is believed.  The true arm misses u by an acceleration eta, and the errors obey

    eta = u - M^-1 (tau - C v - g)              ddot(e) + Kd ed + Kp e = eta - w             [1]

Measure how far the errors have left the motion they should make, ddot(e) + Kd ed + Kp e = 0 from where they began [2]:

    z = ed + Kd e + y,     dy/dt = Kp e,     y(0) = -(ed + Kd e)(0)         so  dz/dt = eta - w,  z(0) = 0

The min-max law  w = rho sign(z)  makes V = z²/2 decrease for the worst eta with |eta| <= rho, joint by joint (one bound
per joint, as rad/s² and m/s² have no common norm), but jumps at z = 0 and so chatters.  Smoothed [3]:

    w = rho z / sqrt(z² + epsilon²)             dV/dt = z (eta - w) < 0  wherever  |z| > epsilon |eta| / sqrt(rho² - eta²)

As z starts at zero, it never leaves that layer, and nothing has to be reached first.  In the layer w lags behind eta by
epsilon / rho seconds and cancels it; a constant eta is cancelled altogether: no error is left at rest.  (y is an
integral: hold it while an actuator saturates.)

References:
    [1] B. Siciliano, L. Sciavicco, L. Villani, G. Oriolo, Robotics: Modelling, Planning and Control, Springer, 2009, 8.5.3.
    [2] V. Utkin, J. Shi, Integral sliding mode in systems operating under uncertainty conditions, IEEE Conference on
        Decision and Control, 1996.
    [3] M. Corless, G. Leitmann, Continuous state feedback guaranteeing uniform ultimate boundedness for uncertain dynamic
        systems, IEEE Trans. Automatic Control 26, 1981.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel

from .computed_torque import ComputedTorque
from .law import Reference


class Robust(ComputedTorque):
    """Robust inverse dynamics with a smooth min-max term; its state is y, (n,).

    Args:
        model: the arm as believed.
        Kp, Kd: as for :class:`ComputedTorque`.
        rho: (n,) or a number, bound of |eta| [rad/s² or m/s²], > 0; see :func:`model_error`.
        epsilon: (n,) or a number, width of the layer [rad/s or m/s], > 0.  A sampled law needs
            Kd + rho / epsilon well below 2 / period.
    """

    def __init__(self, model: DynamicsModel, Kp: ArrayLike, Kd: ArrayLike, rho: ArrayLike, epsilon: ArrayLike):
        super().__init__(model, Kp, Kd)
        self.rho, self.epsilon = self._gains("rho", rho), self._gains("epsilon", epsilon)

    def initial_state(self, q: Array, v: Array, reference: Reference) -> Array:
        """Initial state of the law: y(0) = -(ed + Kd e), (n,)."""
        return -(reference.v - v + self.Kd * (reference.q - q))

    def departure(self, q: Array, v: Array, reference: Reference, state: Array) -> Array:
        """Departure z = ed + Kd e + y, (..., n)."""
        return reference.v - v + self.Kd * (reference.q - q) + state

    def min_max(self, z: Array) -> Array:
        """Robust term w = rho z / sqrt(z² + epsilon²), (..., n)."""
        return self.rho * z / np.sqrt(z * z + self.epsilon**2)

    def acceleration(self, q: Array, v: Array, reference: Reference, state: Array) -> Array:
        """Acceleration that the law asks for: u = a_d + Kd ed + Kp e + w, (..., n)."""
        return super().acceleration(q, v, reference, state) + self.min_max(self.departure(q, v, reference, state))

    def __call__(self, q: Array, v: Array, reference: Reference, state: Array) -> tuple[Array, Array]:
        u = self.acceleration(q, v, reference, state)
        return self.model.inverse_dynamics(q, v, u), self.Kp * (reference.q - q)


def model_error(arm: DynamicsModel, believed: DynamicsModel, q: Array, v: Array, u: Array) -> Array:
    """Error eta = u - M^-1 (tau - C v - g), (..., n), for tau = M^ u + C^ v + g^: how ``arm`` misses the acceleration ``u``."""
    return u - arm.forward_dynamics(q, v, believed.inverse_dynamics(q, v, u))
