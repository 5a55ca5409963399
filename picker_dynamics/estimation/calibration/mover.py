"""Arm on a board, for a calibration: one joint switched on at a time, slow checked motions, stopped at once.

set-point line (quintic, <= TRAVEL_SPEED, <= TRAVEL_ACCELERATION) -> validator -> set-points, one a servo frame -> sender

A refused set-point, a fault, a reset of the board or a pulled cable ends it with an error that says so; the board holds then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock
from picker_dynamics.board.firmware.config import board_difference, board_limits
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Adopt, BoardState, Enable, Fault, Reset, Stop, Telemetry, describe_faults, pulse_units
from picker_dynamics.board.setpoint_guard import Refusal
from picker_dynamics.board.setpoint_sender import SetpointSender
from picker_dynamics.errors import BoardFaultError, LimitError, LinkError
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from .poses import TRAVEL_SPEED, turned, way

FRAME_S = 0.02
SHIFTED = 0.2
"""How far a pose may lie beyond the pulses for being moved to their end, as the servo turns [rad]."""
WATCHED_SPEED = 0.3
"""Of the servo of a joint that a person watches [rad/s]."""

LEAD_S = 0.08
"""How long before it holds a set-point is sent [s]."""
PATIENCE_S = 2.0
"""For the arm to stand after the last set-point, and for what was asked to show in the telemetry [s]."""

GO_ON = "The arm holds; what was answered is kept: run the same command to continue"


class Mover:
    """Moves the joints of an arm on a board, real or in memory; pulses stay within the board's limits.

    Args:
        link: the serial link, not opened yet.
        servos: the servo map that the board should have been flashed for.
        clock: host time.
    """

    def __init__(self, link: Link, servos: ServoMap, clock: Clock = SYSTEM_CLOCK):
        self.link, self.limits = link, board_limits(servos)
        self._ends_us = np.array([[one.lowest, one.highest] for one in self.limits]).T / 8.0
        self._servos, self._sender, self._clock = servos, SetpointSender(link, servos), clock
        self._boot_id: int | None = None

    def take(self) -> None:
        """Open the port and look who is there; moves and resets nothing.

        Raises:
            LinkError, VersionError: see ``Link.open``.
            BoardFaultError: flashed for another number of joints, or other limits.
        """
        if what := board_difference(self.link.open(), self._servos):
            self.link.close()
            why = f"the board on {self.link.port} was flashed for {what}"
            raise BoardFaultError(f"{why}: give the servo map that it was flashed with, or flash it")
        self._boot_id = self._telemetry().boot_id

    def let_go(self) -> None:
        """Close the port; the board holds what it has."""
        self.link.close()

    # -- what is there -----------------------------------------------------------------------------------------------

    @property
    def pulses_us(self) -> np.ndarray:
        """Pulses on the outputs, as they can make them, (n,) [us]; NaN where an output is off."""
        return self._servos.quantise_us(np.array(self._telemetry().pulses_us, dtype=float))

    @property
    def live(self) -> np.ndarray:
        """Outputs that run, (n,)."""
        return np.asarray(~np.isnan(self.pulses_us))

    @property
    def faults(self) -> str:
        """Latched faults in words, but for the host that was away; '' where there are none."""
        return describe_faults(self._telemetry().faults & ~Fault.HOST_LOST.bit)

    @property
    def supply_mv(self) -> int:
        """Voltage of the servos' supply [mV], 0 where the board measures none."""
        return self._telemetry().supply_mv

    def setpoint(self, servos: ServoMap) -> np.ndarray:
        """Set-point of ``servos`` that the outputs hold, (n,) [rad]; the rest pose's for those that are off."""
        pulses = np.where(self.live, self.pulses_us, servos.to_pulse_us(servos.clamp(servos.rest)))
        return servos.to_angle(np.clip(pulses, servos.pulse_lower_us, servos.pulse_upper_us))

    def reach(self, servos: ServoMap) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest set-points (n,) [rad] that both ``servos`` and the board's limits allow."""
        ends = servos.to_angle(np.clip(self._ends_us, servos.pulse_lower_us, servos.pulse_upper_us))
        return np.maximum(ends.min(axis=0), servos.setpoint_lower), np.minimum(ends.max(axis=0), servos.setpoint_upper)

    # -- switching ---------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Clear the latched faults; moves nothing.

        Raises:
            BoardFaultError: a cause that is still there.
        """
        self.link.request(Reset())
        self._until(lambda telemetry: not telemetry.faults)

    def adopt(self) -> None:
        """Take over the outputs that run; nothing moves."""
        telemetry = self._telemetry()
        if telemetry.faults == Fault.HOST_LOST.bit:
            self.reset()
        if telemetry.live & ~telemetry.owned or telemetry.state is BoardState.IDLE and telemetry.live:
            self.link.request(Adopt(telemetry.live))
            self._until(lambda now: not now.live & ~now.owned and now.state is not BoardState.IDLE)

    def switch_on(self, joint: int, pulse_us: float) -> None:
        """Start one output, at a pulse [us].

        Raises:
            BoardFaultError, RefusedError: the board refuses.
        """
        self.wait(0.0)
        pulses = [0] * len(self.limits)
        pulses[joint] = int(np.clip(pulse_units(pulse_us), self.limits[joint].lowest, self.limits[joint].highest))
        self.link.request(Enable(1 << joint, tuple(pulses)))
        self._until(lambda telemetry: telemetry.live >> joint & 1)

    # -- moving ------------------------------------------------------------------------------------------------------

    def travel(self, validator: MotionValidator, goal: np.ndarray) -> None:
        """Travel to a set-point (n,) [rad], straight or by home, as ``poses.way`` has it.

        Raises:
            PickerError: no way that can be borne; the board stopped, or is gone.
        """
        servos = validator.servos
        for passed in way(validator, self.setpoint(servos), self.within_reach(servos, goal)):
            self.line(validator, passed, TRAVEL_SPEED)

    def line(self, validator: MotionValidator, goal: np.ndarray, speed: float) -> None:
        """Straight to a set-point (n,) [rad]; the validator was asked already."""
        servos = validator.servos
        start, goal = self.setpoint(servos), self.within_reach(servos, goal)
        if np.abs(goal - start).max() < 1e-9:
            return
        line = turned(validator, start, goal, speed)
        times = np.append(np.arange(FRAME_S, line.duration, FRAME_S), line.duration)
        pulses = servos.to_pulse_us(servos.clamp([line.sample(float(t))[0] for t in times]))
        self.play(np.where(self.live, np.clip(pulses, *self._ends_us), np.nan))

    def within_reach(self, servos: ServoMap, goal: np.ndarray) -> np.ndarray:
        """A set-point (n,) [rad], moved to the end of what may be sent where it is a little beyond: a map may have shifted it.

        Raises:
            LimitError: far beyond.
        """
        inside: np.ndarray = np.clip(goal, *self.reach(servos))
        off = np.abs(goal - inside) / servos.per_turn
        worst = int(off.argmax())
        if off[worst] > SHIFTED:
            servo = servos.servos[worst]
            asked, end = (told(one[worst], servo.position_unit) for one in (goal, inside))
            why = f"{servo.joint}: {asked} is beyond the pulses that the board was flashed for, which end at {end}"
            raise LimitError(why, servo.joint, float(goal[worst]), float(inside[worst]))
        return inside

    def play(self, rows: np.ndarray) -> None:
        """Play pulses (k, n) [us], one row a servo frame, NaN for outputs that are off; returns when the arm stands.

        Interrupted (Ctrl-C) it stops the arm at once, and the stop stays latched.

        Raises:
            BoardFaultError: a fault, a set-point that was refused, or the board was reset.
            LinkError: the cable was pulled.
        """
        servos, held = self._servos, self.setpoint(self._servos)
        self._sender.restart(held)
        begin_s = at_s = self._clock.now() + LEAD_S
        try:
            for step, row in enumerate([*rows, rows[-1]]):
                at_s = begin_s + step * FRAME_S
                self.wait(max(0.0, at_s - LEAD_S - self._clock.now()))
                inside = np.clip(np.nan_to_num(row), servos.pulse_lower_us, servos.pulse_upper_us)
                setpoint = np.where(np.isnan(row), held, servos.to_angle(inside))
                refusal = self._sender.send(at_s, servos.clamp(setpoint), self._clock.now())
                if refusal not in (None, Refusal.THINNED):
                    said = f"{refusal.name}: it {self._sender.why}: {self._sender.said}".rstrip(" :")
                    raise BoardFaultError(f"a set-point was refused, {said}. {GO_ON}")
            self.wait(max(0.0, at_s - self._clock.now()) + 2.0 * FRAME_S)
            self._until(lambda _telemetry: not self._sound().state.moves)
        except KeyboardInterrupt:
            if self.link.connected:
                self.link.request(Stop())  # it decelerates and holds, until the next session resets it, after asking
            raise

    def wait(self, seconds: float) -> None:
        """Let the arm come to rest [s].

        Raises:
            BoardFaultError, LinkError: see ``play``.
        """
        until_s = self._clock.now() + seconds
        while (left := until_s - self._clock.now()) > 0.0:
            self._sound()
            self._clock.sleep(min(left, FRAME_S))
        self._sound()

    # ----------------------------------------------------------------------------------------------------------------

    def _telemetry(self) -> Telemetry:
        telemetry = self.link.telemetry
        if not self.link.connected or telemetry is None:
            raise LinkError(f"the board on {self.link.port} is gone, was the cable pulled? {GO_ON}")
        return telemetry

    def _sound(self) -> Telemetry:
        """The telemetry of a board that neither was reset nor latched a fault."""
        telemetry = self._telemetry()
        if telemetry.boot_id != self._boot_id:
            raise BoardFaultError(f"the board was reset: its supply or cable? {GO_ON}")
        if telemetry.faults:
            raise BoardFaultError(f"{describe_faults(telemetry.faults)}. {GO_ON}")
        return telemetry

    def _until(self, reached: Callable[[Telemetry], object]) -> None:
        """Wait for telemetry that says what is to be reached."""
        until_s = self._clock.now() + PATIENCE_S
        while not reached(telemetry := self._telemetry()):
            if self._clock.now() > until_s:
                why = describe_faults(telemetry.faults) or "the board does not do what it was asked, or sends no telemetry"
                raise BoardFaultError(why, value=PATIENCE_S)
            self._clock.sleep(0.5 * FRAME_S)
