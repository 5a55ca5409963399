"""Linearised equations of motion: how a motion that starts a little beside another one drifts away from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel, batch_of_states


def linearise(arm: DynamicsModel, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """A = d(ydot)/dy and B = d(ydot)/dtau of the motion y = (q, v) under the forces ``tau``, without friction.

    With a = M^-1 (tau - C v - g), the right-hand side is ydot = (v, a).  Differentiating tau = M a + C v + g, in
    which a depends on q, v and tau, gives its derivatives from those of the inverse dynamics at constant a:

        A = [        0               1        ]         B = [  0   ]
            [ -M^-1 dtau/dq   -M^-1 dtau/dv   ]             [ M^-1 ]

    ``arm.torque_derivatives`` is exact to rounding (by complex step for the hand-written models), so A and B are.
    The point need not be an equilibrium: for a deviation d from the motion through it, d' = A d + B dtau.

    Args:
        arm: any model.
        q, v, tau: (..., n) positions, velocities and generalised forces.

    Returns:
        A: (..., 2n, 2n), B: (..., 2n, n).

    Raises:
        InputError: wrong shapes, values that are not finite.
    """
    n = arm.n
    q, v, tau = np.broadcast_arrays(*batch_of_states(n, q=q, v=v, tau=tau))
    by_q, by_v = arm.torque_derivatives(q, v, arm.forward_dynamics(q, v, tau))
    M = arm.mass_matrix(q)
    A, B = np.zeros((*q.shape[:-1], 2 * n, 2 * n)), np.zeros((*q.shape[:-1], 2 * n, n))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :] = -np.linalg.solve(M, np.concatenate([by_q, by_v], axis=-1))
    B[..., n:, :] = np.linalg.inv(M)
    return A, B
