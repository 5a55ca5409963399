"""The servo model: a hobby servo is a spring with a deadband, a torque limit and a speed limit.

One model serves the simulated servo, the modelled joint state and the compensation:

    tau   = clip(K dz(q_cmd - q, delta), -tau_stall, tau_stall) - D v          torque
    q_cmd = q_d + u / K + delta tanh(u / u_s),    u = tau_d + D v_d            setpoint, its inverse
    q     = q_cmd - load / K - delta sign(load)                                resting_position

``dz`` subtracts ``delta``, half the total deadband.  ``D = tau_stall / omega_noload`` is the speed limit:
there is no other.  The inverse takes the *desired* state; an offset from the measured one drags and drifts.
``tanh`` stands for the sign of the torque and keeps the set-point continuous where the torque changes sign.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError

from .model import as_states

SIGN_TORQUE = 0.01
"""Torque u_s [N·m] over which the deadband term of the set-point changes side."""


def dead_zone(x, delta) -> np.ndarray:
    """dz(x, delta): 0 within +-delta, and x less delta of its size outside."""
    return x - np.clip(x, -delta, delta)


class ServoModel:
    """Position servos of ``n`` joints; all arrays are (..., n), the parameters (n,) and read-only.

    Args:
        stiffness: K [N·m/rad], > 0.
        deadband: delta [rad], half of the total deadband, >= 0.
        damping: D [N·m·s/rad], stall torque over no-load speed, > 0.
        stall_torque: tau_stall [N·m], > 0.
        joint_names: names for messages; ``joint 0`` ... without.

    Raises:
        InputError: a parameter of the wrong shape, not finite, or out of range.
    """

    def __init__(self, stiffness, deadband, damping, stall_torque, joint_names=None):
        self.n = np.asarray(stiffness, dtype=float).size
        self.joint_names = tuple(joint_names or (f"joint {i}" for i in range(self.n)))
        self.stiffness = self._parameter("stiffness", stiffness)
        self.deadband = self._parameter("deadband", deadband, zero_allowed=True)
        self.damping = self._parameter("damping", damping)
        self.stall_torque = self._parameter("stall_torque", stall_torque)

    def _parameter(self, name: str, value, zero_allowed: bool = False) -> np.ndarray:
        array = np.array(as_states(name, value, self.n))
        for joint, entry in zip(self.joint_names, array):
            if entry < 0.0 or (entry == 0.0 and not zero_allowed):
                bound = ">= 0" if zero_allowed else "> 0"
                raise InputError(f"{name} of {joint} is {entry}, must be {bound}", subject=joint, value=float(entry), limit=0.0)
        array.setflags(write=False)
        return array

    def spring_torque(self, q_cmd, q) -> np.ndarray:
        """clip(K dz(q_cmd - q, delta), -tau_stall, tau_stall) [N·m]: the servo without its damping."""
        pull = self.stiffness * dead_zone(np.subtract(q_cmd, q), self.deadband)
        return np.clip(pull, -self.stall_torque, self.stall_torque)

    def torque(self, q_cmd, q, v) -> np.ndarray:
        """Torque on the joint [N·m] for set-point ``q_cmd`` [rad] at the state ``q`` [rad], ``v`` [rad/s]."""
        return self.spring_torque(q_cmd, q) - self.damping * np.asarray(v)

    def spring_demand(self, v_d, tau_d) -> np.ndarray:
        """u = tau_d + D v_d [N·m]: what the spring has to give; a servo can do it while |u| <= tau_stall."""
        return np.asarray(tau_d) + self.damping * np.asarray(v_d)

    def offset(self, u) -> np.ndarray:
        """u / K + delta tanh(u / u_s) [rad]: how far ahead of the joint the set-point is for a torque."""
        u = np.asarray(u)
        return u / self.stiffness + self.deadband * np.tanh(u / SIGN_TORQUE)

    def setpoint(self, q_d, v_d, tau_d) -> np.ndarray:
        """Set-point [rad] for torque ``tau_d`` [N·m] at ``q_d`` [rad], moving at ``v_d`` [rad/s]."""
        return np.asarray(q_d) + self.offset(self.spring_demand(v_d, tau_d))

    def resting_position(self, q_cmd, load) -> np.ndarray:
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
