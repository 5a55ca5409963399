"""Outputs of a board over its link: one joint switched on at a time, slow streams, stopped at once.

Nothing here plans a motion: ``play`` gives rows of pulses that ``mover`` has checked to the set-point sender, which guards each.
A refused set-point, a fault, a reset of the board or a pulled cable ends it with an error that says so; the board holds then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock
from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import (
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Reset,
    Stop,
    Telemetry,
    ahead_us,
    describe_faults,
    limits_checksum,
    pulse_units,
)
from picker_dynamics.board.setpoint_guard import Refusal
from picker_dynamics.board.setpoint_sender import SetpointSender
from picker_dynamics.errors import BoardFaultError, LinkError
from picker_dynamics.robot.servo_map import ServoMap

from .mover import FRAME_S

LEAD_S = 0.08
"""How long before it holds a set-point is sent [s]."""
PATIENCE_S = 2.0
"""For the arm to stand after the last set-point, and for what was asked to show in the telemetry [s]."""

GO_ON = "The arm holds; what was answered is kept: run the same command to go on"


class BoardOutputs:
    """Outputs of a board, real or in memory, for a ``Mover``.

    Args:
        link: the serial link, not opened yet.
        servos: the servo map that the board should have been flashed for.
        clock: host time.
    """

    def __init__(self, link: Link, servos: ServoMap, clock: Clock = SYSTEM_CLOCK):
        self.link, self.limits = link, board_limits(servos)
        self._servos, self._sender, self._clock = servos, SetpointSender(link, servos), clock
        self._boot_id: int | None = None

    # -- the port ----------------------------------------------------------------------------------------------------

    def take(self) -> None:
        """Open the port and look who is there; moves and resets nothing.

        Raises:
            LinkError, VersionError: see ``Link.open``.
            BoardFaultError: flashed for another number of joints, or other limits.
        """
        info = self.link.open()
        n = len(self.limits)
        if info.joints != n or info.limits_crc != limits_checksum(self.limits):
            self.link.close()
            what = f"{info.joints} joints, the servo map has {n}" if info.joints != n else "other pulse or speed limits"
            raise BoardFaultError(
                f"the board on {self.link.port} was flashed for {what}: give it the servo map that it was "
                "flashed with, or run picker firmware header and flash it",
                value=info.joints,
                limit=n,
            )
        self._boot_id = self._telemetry().boot_id

    def let_go(self) -> None:
        """Close the port; the board holds what it has."""
        self.link.close()

    # -- what is there -----------------------------------------------------------------------------------------------

    @property
    def pulses_us(self) -> np.ndarray:
        """Pulses on the outputs, as they can make them, (n,) [us]; NaN where an output is off."""
        return self._servos.quantise_us(self._commanded_us)

    @property
    def _commanded_us(self) -> np.ndarray:
        """Pulses that the board was told, (n,) [us]; NaN where an output is off."""
        telemetry = self._telemetry()
        return np.array([pulse / 8.0 if telemetry.live >> joint & 1 else np.nan for joint, pulse in enumerate(telemetry.pulses)])

    @property
    def faults(self) -> str:
        """Latched faults in words, but for the host that was away; '' where there are none."""
        return describe_faults(self._telemetry().faults & ~Fault.HOST_LOST.bit)

    @property
    def ends_us(self) -> np.ndarray:
        """Smallest and largest pulses that the board was flashed with, (2, n) [us]."""
        return np.array([[one.lowest, one.highest] for one in self.limits]).T / 8.0

    @property
    def supply_mv(self) -> int:
        """Voltage of the servos' supply [mV], 0 where the board measures none."""
        return self._telemetry().supply_mv

    # -- switching ---------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Clear the latched faults; moves nothing.

        Raises:
            BoardFaultError: a cause that is still there.
        """
        self._after(self.link.request(Reset()).time_us, lambda telemetry: not telemetry.faults)

    def adopt(self) -> None:
        """Take over the outputs that run; nothing moves."""
        telemetry = self._telemetry()
        if telemetry.faults == Fault.HOST_LOST.bit:
            self.reset()
        if telemetry.live & ~telemetry.owned or telemetry.state is BoardState.IDLE and telemetry.live:
            self._after(self.link.request(Adopt(telemetry.live)).time_us)

    def switch_on(self, joint: int, pulse_us: float) -> None:
        """Start one output, at a pulse [us].

        Raises:
            BoardFaultError, RefusedError: the board refuses.
        """
        self.wait(0.0)
        pulses = [0] * len(self.limits)
        pulses[joint] = int(np.clip(pulse_units(pulse_us), self.limits[joint].lowest, self.limits[joint].highest))
        self._after(self.link.request(Enable(1 << joint, tuple(pulses))).time_us)

    def switch_off(self) -> None:
        """Switch all outputs off: the arm falls."""
        self._after(self.link.request(Disable((1 << len(self.limits)) - 1)).time_us)

    # -- moving ------------------------------------------------------------------------------------------------------

    def play(self, rows: np.ndarray) -> None:
        """Play pulses (k, n) [us], one row a servo frame; returns when the arm stands.

        Interrupted (Ctrl-C) it stops the arm at once, and the stop stays latched.

        Raises:
            BoardFaultError: a fault, a set-point that was refused, or the board was reset.
            LinkError: the cable was pulled.
        """
        self._sender.restart(self._setpoint(self._commanded_us))
        begin_s = at_s = self._clock.now() + LEAD_S
        try:
            for step, row in enumerate([*rows, rows[-1]]):
                at_s = begin_s + step * FRAME_S
                self.wait(max(0.0, at_s - LEAD_S - self._clock.now()))
                refusal = self._sender.send(at_s, self._servos.clamp(self._setpoint(row)), self._clock.now())
                if refusal not in (None, Refusal.THINNED):
                    told = f"{refusal.name}: it {self._sender.why}: {self._sender.said}".rstrip(" :")
                    raise BoardFaultError(f"a set-point was refused, {told}. {GO_ON}")
            self.wait(max(0.0, at_s + self._sender.delay_s - self._clock.now()))
            end_us = self.link.board_time_us(at_s + self._sender.delay_s)
            self._after(end_us, lambda telemetry: self.wait(0.0) is None and not telemetry.state.moves)
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
        while True:
            telemetry, left = self._telemetry(), until_s - self._clock.now()
            if telemetry.boot_id != self._boot_id:
                raise BoardFaultError(f"the board was reset: its supply or cable? {GO_ON}")
            if telemetry.faults:
                raise BoardFaultError(f"{describe_faults(telemetry.faults)}. {GO_ON}")
            if left <= 0.0:
                return
            self._clock.sleep(min(left, FRAME_S))

    # ----------------------------------------------------------------------------------------------------------------

    def _setpoint(self, pulses_us: np.ndarray) -> np.ndarray:
        """Set-point of pulses (n,) [us]; the rest pose's for outputs that are off, which the board does not move."""
        pulses = np.where(np.isnan(pulses_us), self._servos.to_pulse_us(self._servos.clamp(self._servos.rest)), pulses_us)
        return self._servos.to_angle(np.clip(pulses, self._servos.pulse_lower_us, self._servos.pulse_upper_us))

    def _telemetry(self) -> Telemetry:
        telemetry = self.link.telemetry
        if not self.link.connected or telemetry is None:
            raise LinkError(f"the board on {self.link.port} is gone, was the cable pulled? {GO_ON}")
        return telemetry

    def _after(self, board_us: int, reached: Callable[[Telemetry], bool] = lambda _telemetry: True) -> None:
        """Wait for telemetry that was built after ``board_us``, and says what is to be reached."""
        until_s = self._clock.now() + PATIENCE_S
        while ahead_us((telemetry := self._telemetry()).time_us, board_us) <= 0 or not reached(telemetry):
            if self._clock.now() > until_s:
                why = describe_faults(telemetry.faults) or "the board does not do what it was asked, or sends no telemetry"
                raise BoardFaultError(why, value=PATIENCE_S)
            self._clock.sleep(0.005)
