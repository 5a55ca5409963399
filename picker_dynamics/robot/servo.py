"""Model of a position-controlled hobby servo: a spring with a gap, a motor's limits, gears whose friction grows with the load.

One model serves the simulated servo, the modelled joint state, the compensation, the limits of motions and the calibration:

    tau_m = clip(u K dz(q_cmd - q, delta + b/2), -u tau_ms, u tau_ms) - D v      torque of the motor, at the joint
    |tau_f| <= tau_c + x |tau_m|                                                friction of the gears, at the joint
    tau   = tau_m - tau_f                                                       torque on the joint

``dz`` subtracts half the deadband, delta, and half the free play b, within which nothing pulls.  ``u`` is the share of its
nominal voltage that the servo gets: spring and stall are proportional to it, and so is the speed without load.  A source with a
resistance gives less of it the more current flows, and a motor's current is proportional to its torque:

    u = u_0 - sum_j d_j |tau_m,j| / tau_ms,j       u_0: without load;  d_j = R i_stall,j / U_nominal, what servo j takes at stall

At standstill the friction is whatever keeps the
joint where it is, up to its bound; in motion it is at the bound, against the motion.  So a joint rests anywhere in

    (tau_m - load) within +-(tau_c + x |tau_m|)

and which end it is, the direction of its last motion decides: its *side* s, +1 after moving towards positive angles, -1 after
the other way, between them after too short a way back.  The torque that the motor needs for tau on that side is

    tau_m = (tau + s tau_c) / (1 - s x) where that is positive, (tau + s tau_c) / (1 + s x) elsewhere
    tau_s = tau_m + D v                                                         what the spring has to give in motion
    q_cmd = q + tau_s / (u K) + (delta + b/2) tanh(tau_s / u_s)                 set-point, the inverse of the above

What a data sheet calls stall torque is measured at the output while it lifts: tau_ms = (tau_stall + tau_c) / (1 - x).  K is the
motor's spring; tau_stall / K of the output is another number.  ``D = tau_stall / ((1 - x) omega_noload)`` is the speed limit:
there is no other.  The inverse takes the *desired* state; an offset from the measured one drags and drifts.  ``tanh`` stands for
the sign of the torque and keeps the set-point continuous where the torque changes sign.

Load-dependent friction: M. Duclusaud et al., "Extended friction models for the physics simulation of servo actuators", 2024,
whose models M2 to M6 have it; recordings of bus servos show x = 0.2 to 0.5, and supplies that sag by 5 to 6 % while an arm lifts.
Of PWM servos there are none: that theirs is alike is inferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError

from .model import Array, per_joint, read_only

FIGURES = "stiffness", "deadband", "no_load_speed", "stall_torque", "load_friction", "coulomb", "play", "stall_drain"
"""Of each servo, arguments of ``ServoModel``."""

SIGN_TORQUE = 0.01
"""Torque u_s [N·m] over which the gap's term of the set-point changes side."""

MOST_LOAD_FRICTION = 0.9
"""Largest x: gears of 0.5 and more cannot be driven backwards by the load alone, of 1 not at all."""

LEAST_SUPPLY = 0.2
"""Smallest u that is reckoned with: below, no electronics work."""


def dead_zone(x: Array, gap: Array) -> Array:
    """Dead zone dz(x, gap): 0 within +-gap, and x less the gap of its size outside."""
    return x - np.minimum(np.maximum(x, -gap), gap)


class ServoModel:
    """Model of the position servos of ``n`` joints; all arrays are (..., n), the parameters (n,) and read-only.

    Args:
        stiffness: K of the motor's spring [N·m/rad], > 0.
        deadband: delta [rad], half of the total deadband, >= 0.
        no_load_speed: at nominal voltage [rad/s], > 0.
        stall_torque: tau_stall [N·m], at the output while lifting, > 0.
        joint_names: (n,) names.
        load_friction: x, friction of the gears as a share of the motor's torque, 0 to 0.9.
        coulomb: tau_c, friction of the gears without load [N·m], >= 0.
        play: b, free play in all [rad], >= 0.
        stall_drain: d, share of the nominal voltage that the source loses to this servo at stall, >= 0.

    Raises:
        InputError: a parameter of the wrong shape, not finite, or out of range.

    Attributes:
        motor_stall: tau_ms [N·m].
        damping: D [N·m·s/rad].
        gap: delta + b / 2 [rad].
        drain: d / tau_ms [1/(N·m)].
        frictionless: whether gears hold nothing back.
        stiff_supply: whether the source gives the same whatever flows.
        sides: ends of what the friction's side may be.
    """

    def __init__(
        self,
        stiffness: ArrayLike,
        deadband: ArrayLike,
        no_load_speed: ArrayLike,
        stall_torque: ArrayLike,
        joint_names: Sequence[str],
        *,
        load_friction: ArrayLike = 0.0,
        coulomb: ArrayLike = 0.0,
        play: ArrayLike = 0.0,
        stall_drain: ArrayLike = 0.0,
    ):
        self.n, self.joint_names = len(joint_names), tuple(joint_names)
        each = partial(per_joint, joint_names=self.joint_names)
        self.stiffness = each("stiffness", stiffness, positive=True)
        self.deadband = each("deadband", deadband)
        self.no_load_speed = each("no_load_speed", no_load_speed, positive=True)
        self.stall_torque = each("stall_torque", stall_torque, positive=True)
        self.load_friction = each("load_friction", load_friction)
        self.coulomb = each("coulomb", coulomb)
        self.play = each("play", play)
        self.stall_drain = each("stall_drain", stall_drain)
        if (self.load_friction > MOST_LOAD_FRICTION).any():
            j = int(self.load_friction.argmax())
            name, value = self.joint_names[j], float(self.load_friction[j])
            text = f"load_friction of joint {name} is {value}, must be at most {MOST_LOAD_FRICTION}"
            raise InputError(text, name, value, MOST_LOAD_FRICTION)
        kept = 1.0 - self.load_friction
        self.motor_stall = read_only((self.stall_torque + self.coulomb) / kept)
        self.damping = read_only(self.stall_torque / (kept * self.no_load_speed))
        self.gap = read_only(self.deadband + 0.5 * self.play)
        self.drain = read_only(self.stall_drain / self.motor_stall)
        self.stiff_supply = not self.drain.any()
        self.frictionless = not (self.load_friction.any() or self.coulomb.any())
        self.sides = (0.0,) if self.frictionless else (-1.0, 1.0)

    @cached_property
    def without_friction(self) -> ServoModel:
        """Model of the same servos, whose gears hold nothing back."""
        return (
            self
            if self.frictionless
            else self.changed(load_friction=0.0, coulomb=0.0, stall_drain=self.drain * self.stall_torque)
        )

    def changed(self, **figures: ArrayLike) -> ServoModel:
        """Model of servos with some other figures."""
        return ServoModel(joint_names=self.joint_names, **{name: getattr(self, name) for name in FIGURES} | figures)

    # -- supply --------------------------------------------------------------------------------------------

    def supply_under(self, motor: ArrayLike, source: ArrayLike = 1.0) -> Array:
        """Supply u (..., 1), or () where the source is stiff, while the motors give ``motor`` [N·m]; ``source``: u_0."""
        if self.stiff_supply:
            return np.asarray(source, dtype=float)
        return np.maximum(np.asarray(source) - (np.abs(motor) @ self.drain)[..., None], LEAST_SUPPLY)

    def supply_at(self, q_cmd: ArrayLike, q: ArrayLike, source: ArrayLike = 1.0) -> Array:
        """Supply u, joints at rest at ``q`` [rad], told ``q_cmd``: torques are proportional to it, u = u_0 / (1 + sum_j ...)."""
        if self.stiff_supply:
            return np.asarray(source, dtype=float)
        pull = np.abs(self.spring_torque(q_cmd, q))
        return np.maximum(np.asarray(source) / (1.0 + (pull @ self.drain)[..., None]), LEAST_SUPPLY)

    def lowest_supply(self, tau: ArrayLike, source: ArrayLike = 1.0) -> Array:
        """Lowest supply u while joints bear ``tau`` [N·m], every one of them lifted: that takes most of its motor."""
        return self.supply_under(self.motor_for(np.abs(tau), 1.0), source)

    # -- forwards ------------------------------------------------------------------------------------------

    def spring_torque(self, q_cmd: ArrayLike, q: ArrayLike, supply: ArrayLike = 1.0) -> Array:
        """Spring torque clip(u K dz(q_cmd - q, delta + b/2), -u tau_ms, u tau_ms) [N·m]: the motor without its damping."""
        pull = self.stiffness * dead_zone(np.subtract(q_cmd, q), self.gap)
        return np.asarray(supply) * np.minimum(np.maximum(pull, -self.motor_stall), self.motor_stall)

    def motor_torque(self, q_cmd: ArrayLike, q: ArrayLike, v: ArrayLike, supply: ArrayLike = 1.0) -> Array:
        """Motor torque tau_m [N·m] for set-point ``q_cmd`` [rad] at the state ``q`` [rad], ``v`` [rad/s]."""
        tau: Array = self.spring_torque(q_cmd, q, supply) - self.damping * np.asarray(v)
        return tau

    def friction(self, motor: ArrayLike) -> Array:
        """Friction torque tau_c + x |tau_m| [N·m]: the most that the gears hold back."""
        return self.coulomb + self.load_friction * np.abs(motor)

    # -- backwards -----------------------------------------------------------------------------------------

    def motor_for(self, tau: ArrayLike, side: ArrayLike = 0.0) -> Array:
        """Motor torque tau_m [N·m] that gives ``tau`` [N·m] on the joint where the friction's side is ``side``, -1 to 1."""
        if self.frictionless:
            return np.asarray(tau, dtype=float)
        side = np.asarray(side, dtype=float)
        pushed = np.asarray(tau, dtype=float) + side * self.coulomb
        return pushed / (1.0 - side * self.load_friction * np.sign(pushed))

    def motor_slope(self, motor: ArrayLike, side: ArrayLike) -> Array:
        """Derivative of ``motor_for`` by tau, where it gives ``motor`` [N·m]."""
        return 1.0 / (1.0 - np.asarray(side) * self.load_friction * np.sign(motor))

    def spring_demand(self, v_d: ArrayLike, tau_d: ArrayLike) -> Array:
        """Spring torque tau_m + D v_d [N·m]: what the spring has to give; a servo can do it while that is within +-tau_ms."""
        v_d = np.asarray(v_d)
        demand: Array = self.motor_for(tau_d, np.sign(v_d)) + self.damping * v_d
        return demand

    def offset(self, motor: ArrayLike, v_d: ArrayLike = 0.0, source: ArrayLike = 1.0) -> Array:
        """Offset tau_s / (u K) + (delta + b/2) tanh(tau_s / u_s) [rad]: lead of the set-point whose motor gives ``motor``.

        Args:
            v_d: speed of the joint meanwhile [rad/s].
            source: u_0.
        """
        spring = np.asarray(motor) + self.damping * np.asarray(v_d)
        lead: Array = spring / (self.supply_under(motor, source) * self.stiffness) + self.gap * np.tanh(spring / SIGN_TORQUE)
        return lead

    def setpoint(
        self, q_d: ArrayLike, v_d: ArrayLike, tau_d: ArrayLike, side: ArrayLike | None = None, source: ArrayLike = 1.0
    ) -> Array:
        """Set-point [rad] for ``tau_d`` [N·m] at ``q_d`` [rad], moving at ``v_d`` [rad/s]; ``side`` is friction's."""
        motor = self.motor_for(tau_d, np.sign(v_d) if side is None else side)
        return np.asarray(q_d) + self.offset(motor, v_d, source)

    def sag(self, motor: ArrayLike, source: ArrayLike = 1.0) -> Array:
        """Sag tau / (u K) + (delta + b/2) sign(tau) [rad]: how far a joint rests behind its set-point, its motor giving tau."""
        motor = np.asarray(motor, dtype=float)
        behind: Array = motor / (self.supply_under(motor, source) * self.stiffness) + self.gap * np.sign(motor)
        return behind

    def side_of(self, motor: ArrayLike, load: ArrayLike) -> Array:
        """Side, (..., n), of the friction of joints at rest whose motors give ``motor`` and that bear ``load`` [N·m]."""
        held, bound = np.subtract(motor, load), self.friction(motor)
        return np.clip(np.divide(held, bound, out=np.zeros_like(held), where=bound > 0.0), -1.0, 1.0)
