"""``VirtualBoard``: an Uno, its servos and its arm in real time; ``board`` runs one as a process of its own.

It joins a ``VirtualFirmware`` or ``AvrFirmware`` (the board), a ``Plant`` (servos and arm), and what
``RealTime`` has.  Time in which this process did not run is lived
through afterwards, board and arm together, with the host's bytes when they are due (``arrivals``): no board stands still with the
computer.  Of what is missing beyond ``CATCH_UP_S`` the arm's time is left out, once the outputs stand: ``skipped_s`` tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from picker_dynamics.board.protocol import ahead_us
from picker_dynamics.board.protocol.codes import faults_in
from picker_dynamics.robot.servo_map import ServoMap

from .arrivals import arrivals
from .real_time import CATCH_UP_S, RealTime
from .simulated_board import SimulatedBoard

TICK_S = 1e-3
"""How often the board looks at its wire and at its clock [s]."""

WAITING_MAX = 1 << 16
"""So many bytes are taken from the wire at once, at the most."""

BOOT_SILENCE_S = 1.0
"""How long an Uno's boot loader eats bytes after a reset [s]."""

LATE_S = 5e-3
"""Lateness of a tick [s] from which on bytes count as received before it: this process stood still, not the wire."""

REST_TICK_S = 0.02
"""Likewise, at the most, for the board of an arm at rest: it sleeps until its firmware has something to do [s]."""


class VirtualBoard(SimulatedBoard, RealTime):
    """Simulated board and arm, run in real time by a process or a thread.

    Args:
        plant: the arm, at its first pose.
        servos: the servo map that the firmware is built for.
        link: name of the port to make.
        control: path of the control socket to make, or None.
        boot_silence_s: of the boot loader; 0 for a board that opening the port does not reset.
        seed: of injected faults.
        board: further arguments of ``SimulatedBoard``.

    Raises:
        LinkError: port or control socket cannot be made.
    """

    def __init__(
        self,
        plant: Any,
        servos: ServoMap,
        link: str | Path,
        *,
        control: str | Path | None = None,
        boot_silence_s: float = BOOT_SILENCE_S,
        seed: int = 0,
        **board: Any,
    ):
        SimulatedBoard.__init__(self, plant, servos, **board)
        RealTime.__init__(self, link, control, seed)
        self.boot_silence_s, self._outbox = boot_silence_s, b""

    # --- running ----------------------------------------------------------------------------------------

    def _next_look(self) -> float:
        """When to look at wire and clock again, if nobody writes before."""
        due_s = self._due_s()
        if due_s is None or not self.plant.at_rest:
            return self.time_s + TICK_S
        return min(max(due_s + self.plant.dt, self.time_s + TICK_S), self.time_s + REST_TICK_S)

    def _tick(self, now_s: float) -> None:
        if self.port.rose() and self.boot_silence_s > 0.0:
            self.firmware.reboot(self._board_us(now_s), silence_us=round(self.boot_silence_s * 1e6))
        late_s = now_s - self._wake_s
        self.behind_max_s = max(self.behind_max_s, late_s)
        if late_s > LATE_S:
            if excuse := getattr(self.firmware, "excuse", None):  # one that is executed keeps its own watch
                excuse(round(late_s * self._clock[2] * 1e6))  # no silence of the host, whom this process could not have heard
            self._make_up(now_s)
        self._simulate(now_s)
        if data := self.port.read():
            self._receive(data, now_s)
        self._speak()

    def _speak(self) -> None:
        """Send what the firmware has said, as far as somebody takes it."""
        data, self._outbox = self._outbox, b""
        self.port.write(data)

    def _make_up(self, now_s: float) -> None:
        """Live through the time that was missed, as a board that runs; see the module."""
        data = b""
        while len(data) < WAITING_MAX and (more := self.port.read()):
            data += more
        since_s, until_s = self.time_s, min(now_s, self.time_s + CATCH_UP_S)
        waiting = arrivals(data, since_s, now_s, lambda time_us: self._plays_s(time_us, since_s))
        for at_s, piece in waiting:
            if at_s <= until_s:
                self._speaking_until(at_s)
                self._receive(piece, at_s)
        self._speaking_until(until_s)
        while until_s < now_s and self.firmware.state.moves:
            until_s = min(now_s, until_s + REST_TICK_S)
            self._speaking_until(until_s)
        if until_s < now_s:
            self.skipped_s += now_s - self.time_s
        for at_s, piece in waiting:
            if at_s > since_s + CATCH_UP_S:
                self._receive(piece, now_s)

    def _speaking_until(self, until_s: float) -> None:
        """Simulate, and speak meanwhile: on a machine that is slow at it, too, the board is no silent one."""
        while self.time_s + self.plant.dt <= until_s:
            self._simulate(min(until_s, self.time_s + REST_TICK_S))
            self._speak()

    def _plays_s(self, time_us: int, since_s: float) -> float:
        """Time [s] at which the board's is ``time_us``, that lies about ``since_s``."""
        return since_s + 1e-6 * ahead_us(time_us, self.firmware.board_time_us(self._board_us(since_s))) / self._clock[2]

    def deliver(self, data: bytes) -> None:
        """Keep what the firmware has said until ``_speak``."""
        self._outbox += data

    def _simulate(self, now_s: float) -> None:
        """Live through all steps that are over by ``now_s``."""
        self.live_until(now_s - 0.5 * self.plant.dt)

    # --- the side door ----------------------------------------------------------------------------------

    @property
    def commands(self) -> dict[str, Callable[..., dict[str, Any] | None]]:
        """As of all simulations; ``reset`` restarts the board, with its boot silence."""
        return super().commands | {"reset": self._reset}

    def _truth(self) -> dict[str, Any]:
        firmware = self.firmware
        self.plant.advance(firmware.pulses_us, 0.0)  # outputs that changed since the last step act from now on
        return super()._truth() | {
            "pulses_us": list(firmware.pulses_us),
            "live": firmware.live,
            "owned": firmware.owned,
            "state": firmware.state.name,
            "faults": [fault.name for fault in faults_in(firmware.faults)],
            "boot_id": firmware.boot_id,
        }

    def _feed(self, volt: float) -> None:
        super()._feed(volt)
        self._measure_at_s = -math.inf
        self._measure()

    def _reset(self, keep_outputs: bool = True) -> None:
        self.firmware.reboot(self._board_us(self.time_s), keep_outputs=keep_outputs, silence_us=round(self.boot_silence_s * 1e6))
