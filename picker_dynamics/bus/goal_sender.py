"""Goal sender: the only one that writes goals to servos; each is within range, and near the one before or where its servo is.

A set-point goes through the same guard as to a board (``board.setpoint_guard``).  What holds, brakes and enables comes here too,
and range and step are looked at once more where they are written: nothing goes around it.  A servo goes to its goal at once,
nobody interpolates: after a pause of the host, in which goals stood, the next set-point has to begin at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from picker_dynamics.board.setpoint_guard import Refusal, SetpointGuard
from picker_dynamics.board.setpoint_sender import CommandCounts
from picker_dynamics.errors import LimitError
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from .dialects import Dialect
from .transport import Transport

PAUSE_S = 0.03
"""Set-points further apart begin anew at the goals; a goal moves by what a set-point may in so long at the most [s]."""

BRAKE_S = 0.25
"""In so long goals that move come to rest where commands end [s]."""

ASIDE_S = 0.1
"""A servo may be found beyond its range by what a set-point moves in so long [s]; it is enabled at the end of the range then."""

FASTER = 1.5
"""Share of a servo's speed without load that its own ramp allows: it never ramps, and 0, which stops some servos, is not sent."""


class GoalSender:
    """Sends goals to the servos of an arm.

    Args:
        transport, dialect: their bus and registers.
        servos: joint <-> horn; a servo's horn is at 0 in the middle of its steps.
        ids: (n,) of the servos.

    Attributes:
        counts: of set-points, by what became of them.
        goals: (n,) that were sent last [rad].
        lower, upper: (n,) range of goals [rad]: the servo map's, and what the servos' own limits leave of it.
        live: (n,) servos that are written to: a goal switches on one that is off.
        torque: (n,) torque limits that are sent, as shares.
        there: (n,) each [rad], as measured last: where the joints are, and the goals that their servos have.
        why, said: of the last set-point that was away, in general and in figures.
    """

    def __init__(self, transport: Transport, dialect: Dialect, servos: ServoMap, ids: Sequence[int]):
        self._transport, self._dialect, self._servos, self._ids = transport, dialect, servos, tuple(ids)
        self._guard, self.counts, self.why, self.said = SetpointGuard(servos), CommandCounts(), "", ""
        self._direction = np.array([servo.direction for servo in servos.servos])
        self._zero = np.array([servo.zero for servo in servos.servos])
        self._step = dialect.step * servos.per_turn
        self.lower, self.upper = servos.setpoint_lower, servos.setpoint_upper
        self.goals, self.torque, self.live = np.array(servos.rest), np.zeros(servos.n), np.ones(servos.n, dtype=bool)
        self.there: tuple[Array, ...] = ()
        self._rate, self._braked_s, self._last_s = np.zeros(servos.n), 0.0, 0.0
        self.set_phases([0] * servos.n)

    # -- units ---------------------------------------------------------------------------------------------

    def set_phases(self, phases: Sequence[int]) -> None:
        """Take the servos' phase registers: in which unit each has its speed."""
        self._unit = np.array([1 if phase & 4 else self._dialect.coarse_speed for phase in phases])
        fast = FASTER * self._servos.no_load_speed / self._step
        self._speed = np.maximum(1, np.rint(fast / self._unit)).astype(int)

    def angles(self, ticks: Sequence[int]) -> Array:
        """Joint positions [rad] of servos at ``ticks`` (n,)."""
        found: Array = self._direction * ((np.asarray(ticks) - self._dialect.steps // 2) * self._step - self._zero)
        return found

    def speeds(self, raw: Sequence[int]) -> Array:
        """Joint velocities [rad/s] of servos that measure ``raw`` (n,)."""
        found: Array = self._direction * np.asarray(raw) * self._unit * self._step
        return found

    def _ticks(self, q: Array) -> list[int]:
        whole = np.rint((self._zero + self._direction * q) / self._step).astype(int) + self._dialect.steps // 2
        ticks: list[int] = whole.tolist()
        return ticks

    def limit_ticks(self, lowest: Sequence[int], highest: Sequence[int]) -> None:
        """Take the servos' own position limits, (n,) each: beyond them a servo goes to the limit, and says nothing."""
        ends = np.sort([self.angles(lowest), self.angles(highest)], axis=0)
        self.lower = np.maximum(self._servos.setpoint_lower, ends[0])
        self.upper = np.minimum(self._servos.setpoint_upper, ends[1])

    # -- sending -------------------------------------------------------------------------------------------

    @property
    def moves(self) -> bool:
        """Whether the goals were moving when they were sent last."""
        return bool(self._rate.any())

    @property
    def last_s(self) -> float | None:
        """Time for which the last set-point was [s]; None: the next one begins at the goals."""
        return self._guard.last_s

    def restart(self) -> None:
        """Begin anew: the next set-point begins at the goals."""
        self._guard.restart(self.goals)
        self._rate = np.zeros(len(self.goals))

    def hold(self, q: Array, torque: Array, now_s: float) -> None:
        """Hold the joints at ``q`` (n,) [rad], where they are or where they are held, with torque limits ``torque`` (n,), shares.

        Raises:
            LimitError: a joint is beyond its range, or neither there nor held there.
        """
        self._require_range(q, ASIDE_S * self._servos.setpoint_speed)
        self._require_step(np.min([np.abs(q - one) for one in self.there], axis=0))
        self.goals = np.clip(q, self.lower, self.upper)
        self._rate, self.torque = np.zeros(len(q)), torque
        self._write(self.goals, now_s)

    def send(self, time_s: float, q_cmd: Array, now_s: float) -> Refusal | None:
        """Send ``q_cmd`` (n,) [rad], to hold at ``time_s``; returns why not, or None.

        Raises:
            InputError: a set-point that is not finite, or out of range; nothing is sent.
            LinkError: the bus is gone.
        """
        if now_s - self._last_s > PAUSE_S:
            self.restart()
        starts = self._guard.last_s is None
        refusal = self._guard.refusal(time_s, q_cmd, now_s)
        if refusal is Refusal.AWAY:
            self.why, self.said = "did not start from the held pose" if starts else "jumped", self._guard.said
        if refusal is None:
            before, last_s = self.goals, self._guard.last_s
            self._write(q_cmd, now_s)
            self._guard.sent(time_s, q_cmd)
            self._rate = np.zeros(len(q_cmd)) if last_s is None else (q_cmd - before) / (time_s - last_s)
            self._braked_s = 0.0
        self.counts.note(refusal)
        return refusal

    def brake(self, now_s: float) -> None:
        """Let goals that moved go on and come to rest within ``BRAKE_S`` of the last set-point; called once a cycle."""
        dt, rate = now_s - self._last_s, self._rate
        left = 1.0 - self._braked_s / BRAKE_S
        self._braked_s += dt
        after = max(1.0 - self._braked_s / BRAKE_S, 0.0)
        if dt <= PAUSE_S:
            self._write(np.clip(self.goals + 0.5 * (left + after) * dt * rate, self.lower, self.upper), now_s)
        self.restart()
        if dt <= PAUSE_S and after > 0.0:
            self._rate = rate

    def _write(self, q: Array, now_s: float) -> None:
        """Write goals to the servos; here alone."""
        self._require_range(q, np.zeros(len(q)))
        self._require_step(np.abs(q - self.goals))
        blocks: dict[int, bytes] = {}
        address, limited = 0, "torque_limit" in self._dialect.registers
        each = zip(self._ids, self._ticks(q), self._speed.tolist(), self.torque.tolist())
        for servo, tick, speed, torque in compress(each, self.live.tolist()):
            values = {"acceleration": 0, "goal": tick, "goal_time": 0, "speed": speed}
            address, blocks[servo] = self._dialect.block(values | ({"torque_limit": round(1e3 * torque)} if limited else {}))
        if blocks:
            self._transport.sync_write(address, blocks)
        self.goals, self._last_s = q, now_s

    def _require_step(self, step: Array) -> None:
        """Raise a LimitError where a goal moves further at once, ``step`` (n,) [rad], than set-points may in ``PAUSE_S``."""
        most = self._servos.setpoint_speed * PAUSE_S
        j = int((step - most).argmax())
        if step[j] - most[j] > 1e-9:
            name, unit = self._servos.joint_names[j], self._servos.position_units[j]
            text = f"{name}: a goal jumps by {told(step[j], unit, most[j])}, allowed {told(most[j], unit)}"
            raise LimitError(text, name, float(step[j]), float(most[j]))

    def _require_range(self, q: Array, aside: Array) -> None:
        """Raise a LimitError where a joint is beyond its range by more than ``aside`` (n,)."""
        below = self.lower - q
        beyond = np.maximum(below, q - self.upper) - aside
        j = int(beyond.argmax())
        if beyond[j] > 1e-9:
            name, unit = self._servos.joint_names[j], self._servos.position_units[j]
            limit = float(self.lower[j] if below[j] > 0.0 else self.upper[j])
            said = f"{told(q[j], unit, limit)} is outside {told(self.lower[j], unit)} ... {told(self.upper[j], unit)}"
            raise LimitError(f"{name}: {said}", name, float(q[j]), limit)
