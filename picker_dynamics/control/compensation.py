"""Compliance compensation: the servo model inverted, from a reference (q_d, v_d, a_d) to set-point and torque.

    mode none      q_cmd = q_d
    mode gravity   q_cmd = q_d + offset(tau_m(g(q_d), 0), 0)
    mode full      q_cmd = q_d + offset(tau_m(tau_d, s), v_d),   tau_d = M a_d + C v_d + g + F(v_d)

``tau_m(tau, s)`` is what the motor needs against the friction of its gears, and ``offset`` inverts its spring, speed and supply
(``robot.servo``); s is the side on which the friction is, carried along the reference (``robot.friction_side``): a joint that
came up needs more than one that came down, until it has stood for a moment.  The supply is what its source gives without load
less what the motors take of it.

Nothing jumps: after the start and after a change of mode the offset that was there, less what the mode wants then, fades out;
a change of payload passes from one model's torque to the other's, and another source is followed at ``SOURCE_RATE``.  Either
passage moves the tip, where what is believed now differs from what the arm bears, and takes as long as that needs at
``TIP_CREEP``.  Time is what ``update`` is told.

Where a change of mode at rest lets a joint sag by less than its friction holds, the joint stays until its next motion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.friction_side import FrictionSide
from picker_dynamics.robot.model import Array, DynamicsModel, as_vector, checked_number
from picker_dynamics.robot.servo_map import ServoMap

from .payload_change import STEEPEST, PayloadChange, progress

NONE = "none"
MODES = (NONE, "gravity", "full")

SOURCE_RATE = 0.05
"""Fastest change of the source's share that is followed [1/s]: some milliradians of droop."""

PACE = 0.98
"""Share of their largest speed with which set-points move at the most: the board and what guards it hold the whole."""

UNCERTAIN = 0.3
"""Share of its torque by which the model of an arm may be wrong: stiffness and masses by 15 % each."""

TIP_CREEP = 0.05
"""Largest speed with which a fade or a change of payload moves the tip by itself [m/s]."""


class Compensator:
    """Compensator of position servos' compliance: set-points with which a loaded arm is where it should be.

    Args:
        model: the arm; its payload, if any, is the one it starts with.
        servos: the map of the same joints: their model, and range and speed of their set-points.  What is beyond the range is
            clamped, and named in ``clamped``; what would be faster comes after it.
        mode: ``full``, ``gravity`` or ``none``.
        fade_s: duration of the fade after ``start`` and ``set_mode`` [s]; longer where the tip would be faster than
            ``TIP_CREEP``, but 0: none.
        transition_s: duration of a change of payload [s]; likewise.

    Attributes:
        clamped: names of the joints whose last set-point was clamped.
        motor: (n,) torques of the motors at the last reference [N·m].
        correction: (n,) [rad], added to set-points by who measures the joints (``rest_integral``); 0 after ``start``.
        source: share of its nominal voltage that the servos' supply gives without load; assign another where that is known.
    """

    def __init__(
        self, model: DynamicsModel, servos: ServoMap, mode: str = "full", fade_s: float = 0.5, transition_s: float = 0.5
    ):
        self.fade_s = checked_number("fade_s", fade_s, least=0.0)
        self.transition_s = checked_number("transition_s", transition_s, least=0.0)
        self._bare, self._servo = model, servos.model
        self._servos, self._lower, self._upper = servos, servos.setpoint_lower, servos.setpoint_upper
        self._payload = PayloadChange(model)
        self._mode = _checked_mode(mode)
        self.clamped: tuple[str, ...] = ()
        self._offset = np.zeros(model.n)
        self.side, self.motor = FrictionSide(model.n), np.zeros(model.n)
        self.source = self._source = 1.0
        self._last: tuple[Array, ...] | None = None
        self._told: Array | None = None
        self._rate = np.zeros(model.n)
        self.start()

    @property
    def mode(self) -> str:
        return self._mode

    @property
    def model(self) -> DynamicsModel:
        """The arm with the payload that was set last."""
        return self._payload.model

    @property
    def settled(self) -> bool:
        """Whether neither a fade nor a change of payload is under way."""
        return self._fade_elapsed >= (self._fade_s or self.fade_s) and self._payload.settled

    def start(self, offset: ArrayLike | None = None) -> None:
        """Fade in, from ``offset`` (n,) [rad]: the set-point now sent less the desired one; default 0."""
        self._offset_from = np.zeros(self._bare.n) if offset is None else as_vector("offset", offset, self._bare.n)
        self._fade_elapsed, self._told = 0.0, None
        self._fading = self._rate = np.zeros(self._bare.n)
        self.correction: Array = np.zeros(self._bare.n)
        self._fade_s: float | None = None  # known when the first reference is

    def start_held(self, q: ArrayLike, effort: ArrayLike) -> None:
        """Fade in at the pose ``q`` (n,) [rad] that the motors hold with ``effort`` (n,) [N·m], on the side that tells."""
        motor, self._source = as_vector("effort", effort, self._bare.n), self.source
        self._payload.finish()
        self._last = None
        self.side.start(self._servo.side_of(motor, self.model.gravity(q)))
        self.start(self._servo.sag(motor, self._source))

    def set_mode(self, mode: str) -> None:
        """Change the mode; the set-point passes over in ``fade_s``, or longer where the tip would creep too fast.

        Raises:
            InputError: an unknown mode.
        """
        if _checked_mode(mode) != self._mode:
            self._mode = mode
            self.start(self._offset)

    def set_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Carry another load, in ``transition_s`` or longer (``TIP_CREEP``); a change under way goes on from where it is.

        Before the first reference after ``start_held`` nothing has to pass: the fade does.

        Args:
            mass: [kg], >= 0.
            com: (3,) centre of mass [m], tool frame.

        Raises:
            InputError: a negative mass, or values that are not finite.
        """
        new = self._bare.with_payload(mass, com)
        if self._last is None:
            self._payload.begin(new, 0.0)
            return
        q, v, a = self._last
        before, after = self._payload.torque(lambda model: model.required_torque(q, v, a)), new.required_torque(q, v, a)
        motors = (self._servo.motor_for(tau, self.side.middle) for tau in (before, after))
        begin, end = (self._servo.offset(motor, v, self._source) for motor in motors)
        self._payload.begin(new, self._long_enough(self.transition_s, q, end - begin))

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, dt: float) -> tuple[Array, Array]:
        """Set-point and torque for the reference ``dt`` [s] after the one before.

        Args:
            q, v, a: (n,) desired state [rad, rad/s, rad/s²].

        Returns:
            q_cmd: (n,) servo set-point [rad].
            tau_d: (n,) torque [N·m], whatever the mode.
        """
        self._fade_elapsed += dt
        self._payload.advance(dt)
        self._last = q, v, a = tuple(np.asarray(x, dtype=float) for x in (q, v, a))
        tau_d = self._tau = self._payload.torque(lambda model: model.required_torque(q, v, a))
        self.side.advance(q, dt)
        if self.source != self._source:
            most = SOURCE_RATE * dt
            self._source += min(max(self.source - self._source, -most), most)
        wanted = self._wanted_offset(q, v, tau_d)
        if self._fade_s is None:
            self._fading = self._offset_from - wanted
            self._fade_s = self._long_enough(self.fade_s, q, self._fading)
        wanted = wanted + (1.0 - progress(self._fade_elapsed, self._fade_s)) * self._fading
        free = q + wanted + self.correction
        within = q_cmd = np.minimum(np.maximum(free, self._lower), self._upper)  # at a third of the cost of np.clip
        if self._told is not None:
            # where a joint turns back its friction changes sides faster than a set-point may move, or turn
            step, turn, way = PACE * self._servos.setpoint_speed * dt, PACE * self._servos.setpoint_turn(dt), self._rate * dt
            q_cmd = np.maximum(within, self._told + np.maximum(-step, way - turn))
            q_cmd = np.minimum(q_cmd, self._told + np.minimum(step, way + turn))
            q_cmd = np.minimum(np.maximum(q_cmd, self._lower), self._upper)
            self._rate = (q_cmd - self._told) / dt if dt else self._rate
        self._told, self._offset = q_cmd, q_cmd - q
        self.clamped = tuple(name for name, out in zip(self._bare.joint_names, (within != free).tolist()) if out)
        return q_cmd, tau_d

    def room(self) -> tuple[Array, Array]:
        """Least and largest correction, (n,) each [rad], that wrong figures explain at the last reference, at rest.

        From the set-point at which the modelled torque, less ``UNCERTAIN`` of it, is lowered, to that at which it, and so much
        more, is lifted; within the range of set-points.
        """
        assert self._last is not None
        (q, v, _), servo, wrong = self._last, self._servo, UNCERTAIN * np.abs(self._tau)
        before = self._wanted_offset(q, v, self._tau)
        low, high = (servo.offset(servo.motor_for(self._tau + s * wrong, s), source=self._source) - before for s in (-1.0, 1.0))
        return np.maximum(low, self._lower - q - before), np.minimum(high, self._upper - q - before)

    def take_side(self, joints: np.ndarray, side: Array) -> None:
        """Take the friction's side (n,) of ``joints``, as it was measured; the correction makes up for that, set-points stay."""
        assert self._last is not None
        q, v, _ = self._last
        before = self._wanted_offset(q, v, self._tau)
        self.side.bounds = np.where(joints, side, self.side.bounds)
        self.correction = self.correction + before - self._wanted_offset(q, v, self._tau)

    def motor_at(self, q: Array, v: Array) -> Array:
        """Torques of the motors (n,) [N·m] of joints measured at ``q``, ``v`` (n,) [rad, rad/s], at the last set-point."""
        assert self._last is not None
        told = self._last[0] + self._offset
        return self._servo.motor_torque(told, q, v, self._servo.supply_at(told, q, self._source))

    def excess(self, q: Array, v: Array) -> Array:
        """What motors give there (n,) [N·m] beyond what the last reference needs on any side that friction may have."""
        motor = self.motor_at(q, v)
        low, high = (self._servo.motor_for(self._tau, side) for side in self.side.bounds)
        return motor - np.minimum(np.maximum(motor, low), high)

    def side_at(self, q: Array) -> Array:
        """Side of the friction of joints that stand at ``q`` (n,) [rad], measured, at the last set-point."""
        return self._servo.side_of(self.motor_at(q, np.zeros_like(q)), self._tau)

    def _long_enough(self, duration_s: float, q: Array, change: Array) -> float:
        """``duration_s``, or how long set-points need at the least to change by so much (n,) [rad] while the tip creeps [s].

        Joints do not all move at the same time, where some pass their gap: the ways of the tip that they make count in full.
        """
        if not duration_s:
            return 0.0
        way = float(np.linalg.norm(self._bare.jacobian(q), axis=0) @ np.abs(change))
        return max(duration_s, STEEPEST * way / TIP_CREEP)

    def _wanted_offset(self, q: Array, v: Array, tau_d: Array) -> Array:
        self.motor = self._servo.motor_for(tau_d, self.side.middle)
        if self._mode == NONE:
            return np.zeros(self._bare.n)
        if self._mode == "gravity":
            gravity = self._payload.torque(lambda model: model.gravity(q))
            return self._servo.offset(self._servo.motor_for(gravity), source=self._source)
        return self._servo.offset(self.motor, v, self._source)


def _checked_mode(mode: str) -> str:
    if mode not in MODES:
        raise InputError(f"compensation mode is {mode!r}, must be one of {', '.join(MODES)}", subject="mode", value=mode)
    return mode
