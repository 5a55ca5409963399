"""Set-point sender: the only caller of ``Link.send_setpoint``; it guards each set-point, keeps its pace, and counts it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.servo_map import ServoMap

from .command_timing import LATEST_S, REACH_S, CatchUp, Stamps
from .link import Link
from .protocol import pulse_units
from .setpoint_guard import SPACING_S, Refusal, SetpointGuard

SPARE = 2
"""Places of the board's queue that are left free."""

WAY_STEP_S, WAY_POINTS = 0.01, 8
"""How far points are apart that make up for commands that did not come [s], and how many there are at most: a board takes in ten
that come at once."""


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
    """

    def __init__(self, link: Link, servos: ServoMap):
        self._link, self._servos = link, servos
        self._guard, self._catch_up, self._stamps = SetpointGuard(servos), CatchUp(), Stamps()
        self._pulses: tuple[int, ...] = ()
        self._stood = False
        self.counts = CommandCounts()
        self.why = self.said = ""

    @property
    def last_s(self) -> float | None:
        """Time for which the last set-point was [s]; None: the next one begins at the outputs."""
        return self._guard.last_s

    @property
    def delay_s(self) -> float:
        """Delay of the set-point sent last: how much later than it should it is played [s]."""
        return self._catch_up.delay_s

    def restart(self, outputs: np.ndarray) -> None:
        """Begin anew: the next set-point begins at the one that the ``outputs`` hold, (n,) [rad]."""
        self._guard.restart(outputs)
        self._catch_up.restart()
        self._pulses, self._stood = (), False

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
        stands = pulses == self._pulses
        late_s = self._catch_up.late_s(now_s)
        if late_s > LATEST_S and not stands:
            self.why, self.said = f"came {late_s:.2f} s too late", f"allowed {LATEST_S} s"
            return Refusal.AWAY
        played_s = self._catch_up.played_s(time_s, now_s, stands, SPACING_S)
        if stands and self._stood and played_s > max(time_s, now_s + REACH_S):  # told twice: time to make up what was lost
            self._catch_up.stood(time_s)
            self._guard.sent(time_s, q_cmd)
            return Refusal.THINNED
        if self._guard.last_s is not None and time_s - self._guard.last_s < self._spacing_s(played_s - now_s):
            return Refusal.THINNED
        if late_s > 0.0 and not stands and self._guard.last_s is not None:
            self._send_way(self._guard.last_s, time_s, pulses, now_s)
            played_s = self._catch_up.played_s(time_s, now_s, stands, SPACING_S)
        self._play(time_s, played_s, pulses)
        self._guard.sent(time_s, q_cmd)
        self._pulses, self._stood = pulses, stands
        return None

    def _send_way(self, begin_s: float, end_s: float, pulses: tuple[int, ...], now_s: float) -> None:
        """Send points on the line to ``pulses``, where commands were missing: the pace changes on the way, not at its end."""
        parts = min(math.ceil((end_s - begin_s) / WAY_STEP_S), WAY_POINTS + 1)
        for k in range(1, parts):
            between = tuple(p0 + round((p - p0) * k / parts) for p0, p in zip(self._pulses, pulses))
            time_s = begin_s + (end_s - begin_s) * k / parts
            self._play(time_s, self._catch_up.played_s(time_s, now_s, False, SPACING_S), between)

    def _play(self, time_s: float, played_s: float, pulses: tuple[int, ...]) -> None:
        self._link.send_setpoint(self._stamps.stamp(played_s, self._link.board_time_us(played_s)), pulses)
        self._catch_up.sent(time_s, played_s)

    def _spacing_s(self, ahead_s: float) -> float:
        """What keeps the board's queue from running over where set-points are sent so long before they are played [s]."""
        info = self._link.info
        return 0.0 if info is None else ahead_s / (info.queue_capacity - SPARE)
