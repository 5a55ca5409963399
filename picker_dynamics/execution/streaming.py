"""Stream of joint positions (ros2_control's JointStateTopicSystem, MoveIt Servo) turned into a reference, sample by sample.

A stream is not known in advance, so each sample is judged alone: NaN is ignored, the first one must be where the arm
is held, none may be faster than the joint or need more torque than the validator allows.  Each becomes a cubic that arrives
with the velocity of the last two samples; silence becomes a stop, out of which a sender that only stumbled may go on.

Who streams may not know that the arm was stopped, and goes on.  So a stream that was refused, or that the arm left, is
followed again only where it stands at the held pose, not where it passes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import LimitError, PickerError
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import blend, from_points

from .goal import OutdatedError
from .reference_generator import Phase, ReferenceGenerator
from .validator import MotionValidator

FIRST_TOLERANCE = 0.05
"""How far the first command of a stream may be from the held pose [rad]."""

STANDING = 0.05
"""Speed of a joint in a stream [rad/s, m/s] up to which it stands."""

SILENCE_S = 0.1
"""A stream that says nothing for this long has ended; the reference decelerates."""

STUMBLE_S = 0.5
"""A silence up to this long [s] is forgiven: the stream goes on where it would be by then."""

SHORTEST_S = 0.005
LONGEST_S = 0.1

COMPLAINT_S = 2.0
"""How often a refusal that goes on is said again."""

LATE_S = 1.0
"""A sample that was stamped longer ago is no command any more: somebody plays something back [s]."""


class Reason(Enum):
    """Reason why a sample is refused; those about one joint with their text."""

    STATE = ""
    MOTION = "as a motion"
    AHEAD = "{name}: the stream is {value:.3f} {unit} ahead of the arm, allowed {limit:.3f}"
    FIRST = "{name}: the first command of a stream is {value:.3f} {unit} from the held pose, allowed {limit:g}"
    MOVING = "{name}: the stream moves it at {value:.2f} {unit}/s where the arm stands, and it is taken up again only at rest"


class Trust(Enum):
    """Trust in a stream: what is known of it."""

    NEW = auto()
    FOLLOWED = auto()
    STUMBLED = auto()
    """It was followed, then silent: the arm stops, or has stopped."""
    LEFT = auto()
    """The arm does something else, or a sample was refused; the sender may not know."""


@dataclass(frozen=True)
class Sample:
    """Sample of a stream: positions (n,) [rad], when it came, and when it was sent, on the sender's clock."""

    q: Array
    arrival_s: float
    sent_s: float | None = None


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
        self._heard: Sample | None = None
        self._trust = Trust.NEW
        self._complaint: tuple[Reason, type[PickerError], str | None] | None = None
        self._reason = Reason.STATE
        self._complained_s = -np.inf

    def reset(self) -> None:
        """Follow no longer: the arm is stopped, or a goal moves it."""
        self._trust = Trust.LEFT

    def push(self, q: ArrayLike, arrival_s: float, time_s: float, sent_s: float | None = None) -> None:
        """Follow a sample.

        Args:
            q: (n,) [rad].
            arrival_s: when it came.
            time_s: time for which the next reference will be sent.
            sent_s: when it was sent, on any clock; None where it does not say, and its arrival has to do.

        Raises:
            OutdatedError: one that was sent long ago.
            LimitError: a first sample that moves or is away from the held pose, or one beyond a position or velocity limit.
            InfeasibleError: one that needs more torque than allowed.
            PickerError: the arm is not active, or executes a goal.
        """
        q = np.asarray(q, dtype=float)
        if sent_s is not None and arrival_s - sent_s > LATE_S:
            late = arrival_s - sent_s
            raise OutdatedError(f"the sample is {late:.1f} s old, allowed {LATE_S} s", subject="stamp", value=late, limit=LATE_S)
        before, self._heard = self._heard, Sample(q, arrival_s, sent_s)
        try:
            self._follow(self._heard, before, time_s)
        except PickerError:
            self.statistics.refused += 1
            self.reset()
            self._brake(time_s)
            raise
        self.statistics.accepted += 1
        self._complaint = None

    def must_say(self, error: PickerError, now_s: float) -> bool:
        """Whether this refusal is news: for another reason than that of the sample before, or the same for a while.

        A sender that keeps its connection alive is refused a hundred times a second.
        """
        reason = self._reason, type(error), error.subject
        if reason == self._complaint and now_s - self._complained_s < COMPLAINT_S:
            return False
        self._complaint, self._complained_s = reason, now_s
        return True

    def silent(self, now_s: float, time_s: float) -> bool:
        """Stop where the stream has ended; returns whether it just did."""
        if self._trust is not Trust.FOLLOWED or self._heard is None or now_s - self._heard.arrival_s < SILENCE_S:
            return False
        self._trust = Trust.STUMBLED
        self._brake(time_s)
        return True

    def _brake(self, time_s: float) -> None:
        """Decelerate, unless it is a goal that moves the arm."""
        if self.generator.phase() is Phase.STREAMING:
            self.generator.cancel(time_s)

    def _follow(self, sample: Sample, before: Sample | None, time_s: float) -> None:
        generator, q, self._reason = self.generator, sample.q, Reason.STATE
        stumbled = self._trust is Trust.STUMBLED and before is not None and sample.arrival_s - before.arrival_s < STUMBLE_S
        if not generator.active:
            raise PickerError("the arm is not active: the stream is not followed", subject="hardware")
        if generator.phase() in (Phase.EXECUTING, Phase.STOPPING) and not stumbled:
            raise PickerError("a goal is being executed: the stream is not followed", subject="goal")
        if generator.validator is None:
            raise PickerError("the payload is not known yet: the stream is not followed", subject="payload")
        state = generator.state_at(time_s)
        v = _velocity(before, sample, SILENCE_S if self._trust is Trust.LEFT else STUMBLE_S)
        period = min(_between(before, sample), LONGEST_S) if self._trust is Trust.FOLLOWED and before is not None else LONGEST_S
        gap = q - v * period - state[0]
        if self._trust is Trust.FOLLOWED or stumbled:
            self._require(Reason.AHEAD, gap, FIRST_TOLERANCE + np.abs(v) * SILENCE_S / 2.0)
        else:
            self._require(Reason.FIRST, q - state[0], FIRST_TOLERANCE)
        if self._trust is Trust.LEFT:
            self._require(Reason.MOVING, v, STANDING)
        self._reason = Reason.MOTION
        generator.validator.validate_state(q, v, np.zeros_like(q))
        arrival = max(period, self._catch_up_s(generator.validator, q, v, gap))
        there = np.clip(q + v * (arrival - period), generator.lower, generator.upper)
        coasted = np.clip(there + v * SILENCE_S / 2.0, generator.lower, generator.upper)
        path = from_points(
            [arrival, arrival + SILENCE_S],
            [there, coasted],
            [v, np.zeros_like(v)],
            start=state,
            joint_names=generator.joint_names,
        )
        generator.follow(blend(state, path, arrival), time_s)
        self._trust = Trust.FOLLOWED

    def _catch_up_s(self, validator: MotionValidator, q: Array, v: Array, gap: Array) -> float:
        """How long closing ``gap`` (n,) [rad] has to take, so that neither the tip nor a joint is too fast meanwhile.

        1.5: the peak of a cubic from rest to rest over its mean.  A tenth of the limit is always left for it.
        """
        jacobian, limit = validator.model.jacobian(q), validator.tip_speed
        left = limit - np.linalg.norm(jacobian @ v)
        tip_s = np.linalg.norm(jacobian @ gap) / max(left, 0.1 * limit)
        return 1.5 * float(max(tip_s, (np.abs(gap) / self.generator.description.velocity).max()))

    def _require(self, reason: Reason, values: Array, limits: Array | float) -> None:
        """Raise a LimitError where a joint's value (n,) exceeds its limit, for the one that does most."""
        self._reason, description = reason, self.generator.description
        limits = np.broadcast_to(limits, values.shape)
        j = int((np.abs(values) - limits).argmax())
        if abs(values[j]) > limits[j]:
            name, unit, limit = description.joint_names[j], description.position_units[j], float(limits[j])
            value = float(values[j] if reason is Reason.MOVING else abs(values[j]))
            raise LimitError(
                reason.value.format(name=name, value=value, unit=unit, limit=limit), subject=name, value=value, limit=limit
            )


def _between(before: Sample, sample: Sample) -> float:
    """Time between two samples [s], by the sender's clock where it gives one: what arrives was delayed by chance."""
    if sample.sent_s is not None and before.sent_s is not None and sample.sent_s > before.sent_s:
        return max(sample.sent_s - before.sent_s, SHORTEST_S)
    return max(sample.arrival_s - before.arrival_s, SHORTEST_S)


def _velocity(before: Sample | None, sample: Sample, memory_s: float) -> Array:
    """Of the stream, (n,) [rad/s]; zero where nothing was heard for ``memory_s``."""
    if before is None or sample.arrival_s - before.arrival_s >= memory_s:
        return np.zeros_like(sample.q)
    velocity: Array = (sample.q - before.q) / _between(before, sample)
    return velocity
