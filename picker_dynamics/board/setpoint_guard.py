"""Set-point guard: the last look at a set-point before it becomes pulses, against the clock and against what was sent before.

    |q - q0|             <= speed min(dt, BRIDGE_S)                       step
    |q - q0 - v0 dt|     <= ServoMap.setpoint_turn(min(dt, BRIDGE_S))      continuity: it goes on as it went

with q0, v0 what was sent last and how fast that moved, dt the time since; after a gap beyond ``BRIDGE_S`` it may have
stopped anywhere on the way v0 dt.  What comes from elsewhere (another sender, a pose
that is not the present one) breaks the second even where it is slow.  The first one after ``restart`` begins at the outputs.
A set-point that is refused changes nothing, so a single one that is astray does no harm, and one that is only early fits later.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

NEAR = 0.2
"""Share of what a set-point may move in a servo frame, within which the first one is at the outputs (a board: a quarter)."""

BRIDGE_S = 0.1
"""Time since the last set-point that counts at the most [s]: after a longer gap nothing further away is believed."""

PAST_S, AHEAD_S = 0.1, 1.0
"""A set-point that should have held so long ago, or that is for so much later, is not sent [s]."""

SPACING_S = 0.003
"""Set-points that follow closer are thinned out [s]: the board's queue has to span the lead, and interpolates anyway."""


class Refusal(Enum):
    """Reason why a set-point is not sent."""

    STALE = "stale"
    AHEAD = "ahead"
    THINNED = "thinned"
    AWAY = "away"


class SetpointGuard:
    """Holds set-points to time, step and continuity; the pulse range is the servo map's own check.

    Attributes:
        last_s: time at which the last set-point holds [s]; None: the next one begins at the outputs.
        said: why the last one was refused that was away, with joint, amount and limit.
    """

    def __init__(self, servos: ServoMap):
        self._names, self._units, self._servos = servos.joint_names, servos.position_units, servos
        self.last_s: float | None = None
        self.said = ""
        self._q, self._rate = servos.rest, np.zeros(servos.n)

    def restart(self, outputs: np.ndarray) -> None:
        """Begin anew: the next set-point begins at the one that the ``outputs`` hold, (n,) [rad]."""
        self.last_s, self._q, self._rate = None, outputs, np.zeros(len(outputs))

    def refusal(self, time_s: float, q_cmd: np.ndarray, now_s: float) -> Refusal | None:
        """Reason why ``q_cmd`` (n,) [rad] for ``time_s`` is not sent; None: it is.

        Raises:
            InputError: a time or a set-point that is not finite.
        """
        for name, value in zip(("time", *self._names), (time_s, *q_cmd.tolist())):
            if not math.isfinite(value):
                raise InputError(f"{name}: the set-point is {value}, not a finite number", name, value)
        if time_s > now_s + AHEAD_S:
            return Refusal.AHEAD
        since_s = math.inf if self.last_s is None else time_s - self.last_s
        if time_s < now_s - PAST_S or since_s < 0.0:
            return Refusal.STALE
        if since_s < SPACING_S:
            return Refusal.THINNED
        return None if self._continues(q_cmd, since_s) else Refusal.AWAY

    def _continues(self, q_cmd: np.ndarray, since_s: float) -> bool:
        step = q_cmd - self._q
        if self.last_s is None:
            near = NEAR * self._servos.setpoint_speed * self._servos.frame_s
            return self._within("is {0} from where the outputs are, allowed {1}", step, near)
        bridged_s = min(since_s, BRIDGE_S)
        far, turned = self._servos.setpoint_speed * bridged_s, self._servos.setpoint_turn(bridged_s)
        way = self._rate * since_s
        nearest = way if since_s <= BRIDGE_S else np.clip(step, np.minimum(way, 0.0), np.maximum(way, 0.0))
        when = f"{{0}} in {1e3 * since_s:.0f} ms, allowed {{1}}"
        return self._within(f"jumps by {when}", step, far) and self._within(f"leaves its way by {when}", step - nearest, turned)

    def _within(self, text: str, moved: np.ndarray, allowed: np.ndarray) -> bool:
        beyond = np.abs(moved) - allowed
        j = int(beyond.argmax())
        if beyond[j] <= 1e-9:
            return True
        one, other, unit = float(abs(moved[j])), float(allowed[j]), self._units[j]
        self.said = f"{self._names[j]} {text.format(told(one, unit, other), told(other, unit, one))}"
        return False

    def sent(self, time_s: float, q_cmd: np.ndarray) -> None:
        """``q_cmd`` (n,) [rad] for ``time_s`` was sent: the next one goes on from there."""
        if self.last_s is not None:
            self._rate = (q_cmd - self._q) / (time_s - self.last_s)
        self.last_s, self._q = time_s, q_cmd
