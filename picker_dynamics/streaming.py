"""A stream of positions (ros2_control's JointStateTopicSystem, MoveIt Servo) turned into a reference, sample by sample.

A stream is not known in advance, so each sample is judged alone: NaN is ignored, the first one must be where the arm
is held, none may be faster than the joint or need more torque than the gate allows.  Each becomes a cubic that arrives
with the velocity of the last two samples; silence becomes a stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.controller import Phase, ReferenceGenerator
from picker_dynamics.errors import LimitError, PickerError
from picker_dynamics.trajectory import blend, from_points

FIRST_TOLERANCE = 0.05
"""How far the first command of a stream may be from the held pose [rad]."""

SILENCE_S = 0.1
"""A stream that says nothing for this long has ended; the reference decelerates."""

LIMIT_TOLERANCE = 1e-3
"""How far beyond a position limit a sample may be [rad]: the rounding of pulses and of float32 messages."""

SHORTEST_S = 0.005
LONGEST_S = 0.1


@dataclass
class StreamStatistics:
    accepted: int = 0
    ignored: int = 0
    refused: int = 0


class Stream:
    """Feeds a :class:`ReferenceGenerator` from position samples.

    Args:
        generator: the reference that follows the stream.
    """

    def __init__(self, generator: ReferenceGenerator):
        self.generator = generator
        self.statistics = StreamStatistics()
        self._last: tuple[float, np.ndarray] | None = None

    def reset(self) -> None:
        """Forget the stream: the next sample is a first one again."""
        self._last = None

    def push(self, q, arrival_s: float, time_s: float) -> bool:
        """Follow a sample; returns whether it was taken.

        Args:
            q: (n,) [rad], NaN where the sender has no command yet.
            arrival_s: when it came.
            time_s: time for which the next reference will be sent.

        Raises:
            LimitError: a first sample away from the held pose, or one beyond a position or velocity limit.
            InfeasibleError: one that needs more torque than allowed.
            PickerError: the arm is not active, or executes a goal.
        """
        q = np.asarray(q, dtype=float)
        if np.isnan(q).any():
            self.statistics.ignored += 1
            return False
        try:
            self._follow(q, arrival_s, time_s)
        except PickerError:
            self.statistics.refused += 1
            self._end(time_s)
            raise
        self.statistics.accepted += 1
        return True

    def silent(self, now_s: float, time_s: float) -> bool:
        """Stop where the stream has ended; returns whether it just did."""
        if self._last is None or now_s - self._last[0] < SILENCE_S:
            return False
        self._end(time_s)
        return True

    def _end(self, time_s: float) -> None:
        """Decelerate, unless it is a goal that moves the arm."""
        self.reset()
        if self.generator.phase() is Phase.STREAMING:
            self.generator.cancel(time_s)

    def _follow(self, q: np.ndarray, arrival_s: float, time_s: float) -> None:
        generator = self.generator
        if not generator.active:
            raise PickerError("the arm is not active: the stream is not followed")
        if generator.phase() in (Phase.EXECUTING, Phase.STOPPING):
            raise PickerError("a goal is being executed: the stream is not followed")
        if generator.check is None:
            raise PickerError("the payload is not known yet: the stream is not followed")
        state = generator.state_at(time_s)
        if self._last is None:
            self._require_near(q, state[0])
            self._last = (arrival_s, q)
            period, v = LONGEST_S, np.zeros_like(q)
        else:
            period = float(np.clip(arrival_s - self._last[0], SHORTEST_S, LONGEST_S))
            v = (q - self._last[1]) / period
            self._last = (arrival_s, q)
        self._require_within(q, v)
        generator.check.gate.check_point(q, v, np.zeros_like(q))
        self._require_tip_speed(q, v)
        coasted = np.clip(q + v * SILENCE_S / 2.0, self.generator.lower, self.generator.upper)
        path = from_points([period, period + SILENCE_S], [q, coasted], [v, np.zeros_like(v)],
                           start=state, joint_names=generator.joint_names)
        generator.follow(blend(state, path, period), time_s)

    def _require_tip_speed(self, q, v) -> None:
        check = self.generator.check
        speed = float(np.linalg.norm(check.model.jacobian(q) @ v))
        if speed > check.tip_speed_limit:
            raise LimitError(f"the stream moves the tip at {speed:.2f} m/s, allowed {check.tip_speed_limit:.2f} m/s",
                             joint="tip", value=speed, limit=check.tip_speed_limit)

    def _require_near(self, q, held) -> None:
        gap = np.abs(q - held)
        joint = int(gap.argmax())
        if gap[joint] > FIRST_TOLERANCE:
            name = self.generator.joint_names[joint]
            unit = self.generator.check.description.position_units[joint]
            raise LimitError(f"{name}: the first command of a stream is {gap[joint]:.3f} {unit} from the held pose, "
                             f"allowed {FIRST_TOLERANCE}", joint=name, value=float(gap[joint]), limit=FIRST_TOLERANCE)

    def _require_within(self, q, v) -> None:
        description = self.generator.check.description
        for joint, (name, unit) in enumerate(zip(self.generator.joint_names, description.position_units)):
            limit = np.clip(q[joint], description.lower[joint], description.upper[joint])
            if abs(q[joint] - limit) > LIMIT_TOLERANCE:
                raise LimitError(f"{name}: {q[joint]:.3f} {unit} is beyond its limit {limit:.3f}", joint=name,
                                 value=float(q[joint]), limit=float(limit))
            if abs(v[joint]) > description.velocity[joint]:
                raise LimitError(f"{name}: the stream moves it at {v[joint]:.2f} {unit}/s, "
                                 f"limit {description.velocity[joint]:.2f}",
                                 joint=name, value=float(v[joint]), limit=float(description.velocity[joint]))
