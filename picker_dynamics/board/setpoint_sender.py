"""Set-point sender: the only caller of ``Link.send_setpoint``; it guards each set-point, keeps its pace, and counts it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import cast

import numpy as np

from picker_dynamics.robot.servo_map import ServoMap

from .command_timing import Stamps
from .link import Link
from .protocol import Ack, Halt, Info, ahead_us, pulse_units
from .setpoint_guard import Refusal, SetpointGuard

PATIENCE_S = 2.0
"""How long enabling a joint, or dropping what is queued, is asked for again where no answer comes [s]."""

SPARE = 2
"""Places of the board's queue that are left free."""

LATEST_S = 0.22
"""A set-point for so long after the one before is not sent where it moves [s]: a stall of 0.2 s at 50 Hz.  The board bridges
its host timeout, 0.25 s."""


@dataclass
class CommandCounts:
    """Counts of commands by what became of them: every one that came is in exactly one of these."""

    sent: int = 0
    not_active: int = 0
    unconfirmed: int = 0
    away: int = 0
    stale: int = 0
    ahead: int = 0
    invalid: int = 0
    failed: int = 0
    thinned: int = 0

    def note(self, refusal: Refusal | None) -> None:
        """Count a set-point that was sent, or not for this reason."""
        name = "sent" if refusal is None else refusal.value
        setattr(self, name, getattr(self, name) + 1)


class SetpointSender:
    """Guards set-points, keeps them in their pace, and sends them in board time.

    Args:
        link, servos: the board and what hangs on it.

    Attributes:
        counts: what became of each.
        why, said: of the last one that was away, in general and in figures.
        halt: the board's answer, since when nothing is sent; None: it was not asked to drop what it was sent.
    """

    def __init__(self, link: Link, servos: ServoMap):
        self._link, self._servos = link, servos
        self._guard, self._stamps = SetpointGuard(servos), Stamps()
        self._pulses: tuple[int, ...] = ()
        self.counts = CommandCounts()
        self.why = self.said = ""
        self.halt: Future[Ack | Info] | None = None

    @property
    def last_s(self) -> float | None:
        """Time for which the last set-point was [s]; None: the next one begins at the outputs."""
        return self._guard.last_s

    def restart(self, outputs: np.ndarray) -> None:
        """Begin anew: the next set-point begins at the one that the ``outputs`` hold, (n,) [rad]."""
        self._guard.restart(outputs)
        self._pulses, self.halt = (), None

    def halted(self) -> bool:
        """Have the board drop what it was sent, and brake; returns whether it says that it has, and that the outputs stand.

        Raises:
            LinkError: not connected.
        """
        if self.halt is None or (self.halt.done() and self.halt.exception()):
            self.halt = self._link.request_async(Halt(), PATIENCE_S)
        telemetry = self._link.telemetry
        if telemetry is None or not self.halt.done() or self.halt.exception():
            return False
        answer = cast(Ack, self.halt.result())
        return not telemetry.state.moves and ahead_us(telemetry.time_us, answer.time_us) >= 0

    def send(self, time_s: float, q_cmd: np.ndarray, now_s: float) -> Refusal | None:
        """Send ``q_cmd`` (n,) [rad], to hold at ``time_s``; returns why not, or None.

        Raises:
            InputError: a set-point that is not finite, or outside the pulse range; nothing is sent.
            LinkError: the cable was pulled.
        """
        starts = self._guard.last_s is None
        refusal = self._guard.refusal(time_s, q_cmd, now_s)
        if refusal is Refusal.AWAY:
            self.why, self.said = "did not start from the held pose" if starts else "jumped", self._guard.said
        if refusal is None:
            refusal = self._send(time_s, q_cmd, now_s)
        self.counts.note(refusal)
        return refusal

    def _send(self, time_s: float, q_cmd: np.ndarray, now_s: float) -> Refusal | None:
        pulses = tuple(pulse_units(pulse) for pulse in self._servos.to_pulse_us(q_cmd).tolist())
        if self._guard.last_s is not None:
            since_s = time_s - self._guard.last_s
            if since_s > LATEST_S and pulses != self._pulses:
                self.why, self.said = f"came {since_s:.2f} s after the one before", f"allowed {LATEST_S} s"
                return Refusal.AWAY
            if since_s < self._spacing_s(time_s - now_s):
                return Refusal.THINNED
        self._link.send_setpoint(self._stamps.stamp(time_s, self._link.board_time_us(time_s)), pulses)
        self._guard.sent(time_s, q_cmd)
        self._pulses = pulses
        return None

    def _spacing_s(self, ahead_s: float) -> float:
        """What keeps the board's queue from running over where set-points are sent so long before they are played [s]."""
        info, telemetry = self._link.info, self._link.telemetry
        if info is None or telemetry is None:
            return 0.0
        return (ahead_s + 1e-3 * telemetry.behind_ms) / (info.queue_capacity - SPARE)
