"""Feed-forward: the efforts of the reference motion, whatever the arm does.

    tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d)                                              [1]

Exact model, exact start: the arm follows.  Nothing pulls it back otherwise; the error obeys, to first order,
M ddot(e) + ... + dg/dq e = (M - M^) a_d + (C - C^) v_d + g - g^, and grows like exp(t / T) where dg/dq has a negative
eigenvalue, that is, where the arm would fall.

References:
    [1] K. Lynch, F. Park, Modern Robotics, Cambridge University Press, 2017, 11.4.
"""

from __future__ import annotations

from picker_dynamics.robot.model import Array

from .law import NO_STATE, ControlLaw, Reference


class FeedForward(ControlLaw):
    """Feed-forward law, tau = inverse dynamics of the reference; looks neither at q nor at v."""

    def __call__(self, q: Array, v: Array, reference: Reference, state: Array = NO_STATE) -> tuple[Array, Array]:
        return self.model.inverse_dynamics(reference.q, reference.v, reference.a), state
