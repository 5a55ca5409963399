"""Model of a position-controlled hobby servo: a spring with a deadband, a torque limit and a speed limit.

One model serves the simulated servo, the modelled joint state and the compensation:

    tau   = clip(K dz(q_cmd - q, delta), -tau_stall, tau_stall) - D v          torque
    q_cmd = q_d + u / K + delta tanh(u / u_s),    u = tau_d + D v_d            setpoint, its inverse
    q     = q_cmd - load / K - delta sign(load)                                resting_position

``dz`` subtracts ``delta``, half the total deadband.  ``D = tau_stall / omega_noload`` is the speed limit:
there is no other.  The inverse takes the *desired* state; an offset from the measured one drags and drifts.
``tanh`` stands for the sign of the torque and keeps the set-point continuous where the torque changes sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InfeasibleError

from .model import Array, as_states, per_joint

SIGN_TORQUE = 0.01
"""Torque u_s [N·m] over which the deadband term of the set-point changes side."""


def dead_zone(x: Array, delta: Array) -> Array:
    """Dead zone dz(x, delta): 0 within +-delta, and x less delta of its size outside."""
    outside: Array = x - np.clip(x, -delta, delta)
    return outside


class ServoModel:
    """Model of the position servos of ``n`` joints; all arrays are (..., n), the parameters (n,) and read-only.

    Args:
        stiffness: K [N·m/rad], > 0.
        deadband: delta [rad], half of the total deadband, >= 0.
        damping: D [N·m·s/rad], stall torque over no-load speed, > 0.
        stall_torque: tau_stall [N·m], > 0.
        joint_names: (n,) names.

    Raises:
        InputError: a parameter of the wrong shape, not finite, or out of range.
    """

    def __init__(
        self, stiffness: ArrayLike, deadband: ArrayLike, damping: ArrayLike, stall_torque: ArrayLike, joint_names: Sequence[str]
    ):
        self.n, self.joint_names = len(joint_names), tuple(joint_names)
        self.stiffness = per_joint("stiffness", stiffness, self.joint_names, positive=True)
        self.deadband = per_joint("deadband", deadband, self.joint_names)
        self.damping = per_joint("damping", damping, self.joint_names, positive=True)
        self.stall_torque = per_joint("stall_torque", stall_torque, self.joint_names, positive=True)

    def spring_torque(self, q_cmd: ArrayLike, q: ArrayLike) -> Array:
        """clip(K dz(q_cmd - q, delta), -tau_stall, tau_stall) [N·m]: the servo without its damping."""
        pull = self.stiffness * dead_zone(np.subtract(q_cmd, q), self.deadband)
        return np.clip(pull, -self.stall_torque, self.stall_torque)

    def torque(self, q_cmd: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """Torque on the joint [N·m] for set-point ``q_cmd`` [rad] at the state ``q`` [rad], ``v`` [rad/s]."""
        tau: Array = self.spring_torque(q_cmd, q) - self.damping * np.asarray(v)
        return tau

    def spring_demand(self, v_d: ArrayLike, tau_d: ArrayLike) -> Array:
        """u = tau_d + D v_d [N·m]: what the spring has to give; a servo can do it while |u| <= tau_stall."""
        u: Array = np.asarray(tau_d) + self.damping * np.asarray(v_d)
        return u

    def offset(self, u: ArrayLike) -> Array:
        """u / K + delta tanh(u / u_s) [rad]: how far ahead of the joint the set-point is for a torque."""
        u = np.asarray(u, dtype=float)
        return u / self.stiffness + self.deadband * np.tanh(u / SIGN_TORQUE)

    def setpoint(self, q_d: ArrayLike, v_d: ArrayLike, tau_d: ArrayLike) -> Array:
        """Set-point [rad] for torque ``tau_d`` [N·m] at ``q_d`` [rad], moving at ``v_d`` [rad/s]."""
        return np.asarray(q_d) + self.offset(self.spring_demand(v_d, tau_d))

    def resting_position(self, q_cmd: ArrayLike, load: ArrayLike) -> Array:
        """Where the joint rests [rad] at set-point ``q_cmd`` [rad] while it bears ``load`` [N·m], constant.

        Without load any angle of the deadband is at rest; the answer is its middle, the set-point.

        Raises:
            InfeasibleError: a load above stall torque: the joint does not rest.
        """
        load = as_states("load", load, self.n)
        excess = np.abs(load) - self.stall_torque
        if (excess > 0.0).any():
            index = np.unravel_index(np.argmax(excess), excess.shape)
            joint, stall = self.joint_names[index[-1]], float(self.stall_torque[index[-1]])
            raise InfeasibleError(
                f"{joint} bears {abs(load[index]):.2f} N·m and stalls at {stall:.2f}: it cannot rest",
                subject=joint,
                value=float(load[index]),
                limit=stall,
                time_s=0.0,
            )
        return np.asarray(q_cmd) - load / self.stiffness - self.deadband * np.sign(load)
