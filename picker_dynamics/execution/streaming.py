"""Stream of joint positions (ros2_control's JointStateTopicSystem, MoveIt Servo) turned into a reference.

A stream is not known in advance, and may be anything: noise, jumps, gaps, a recording.  So two things are apart.  What follows is
filtered, and within every limit by construction (``StreamFilter``); where a stream is faster than the arm may be, the arm
lags.  What cannot be meant is refused: a pose in which the arm cannot stand, a first command that is not where the arm is held,
a stream that is far ahead of the arm.  NaN, and what is overtaken by a sample that was sent later, is ignored.

Silence becomes a stop, out of which a sender that only paused may go on.  Who streams may not know that the arm was stopped,
and goes on.  So a stream that was refused, or that the arm left, is followed again only once it has stood at the held pose, not
where it passes it or turns there, nor as its first sample comes after a stall of sender, line or loop.

The reference is the response of a third-order low-pass (three equal real poles) to a rest position ``r``:

    q(t) = r + e^-x (c0 + c1 x + c2 x²),  x = w t,    c0 = q - r,  c1 = c0 + v / w,  c2 = (a / w² + 2 c1 - c0) / 2

so q, v, a belong together, a does not jump, and the arm comes to rest at ``r`` if nobody says anything any more.  The low-pass
takes off noise; from rest it never leaves the range of the ``r`` that it was given.  A reference governor keeps the other
limits: ``r`` moves straight towards the target, all joints together, as far as the whole response up to its rest keeps torque
and speed; to stay is always possible.  So the way to rest of what is sent was checked before it was sent.

Reference: E. Garone, S. Di Cairano, I. Kolmanovsky, Reference and command governors for systems with constraints, 2017.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InfeasibleError, LimitError, PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.units import told
from picker_dynamics.trajectory import splines
from picker_dynamics.trajectory.trajectory import Trajectory

from . import checks
from .checks import SampledMotion
from .goal import OutdatedError
from .motion import Phase
from .reference_generator import ReferenceGenerator
from .validator import MotionValidator

State = tuple[Array, Array, Array]
"""q, v, a, (n,) each [rad, rad/s, rad/s²; m where a joint slides]."""

CUTOFF_HZ = 9.0
"""Of each of the three poles."""

POLE = 2.0 * math.pi * CUTOFF_HZ

DELAY_S = 3.0 / POLE
"""By which the reference follows a steady stream [s]."""

TORQUE_SHARE, SPEED_SHARE = 0.98, 0.997
"""Shares of the limits that are used: the response does more than that between two instants that are looked at."""

TRIED, LEAST = 3, 0.1
"""How often a part of the way to the target is tried where the whole is too far, and the least share of what is not known yet."""

_LOOKED_AT = np.concatenate([np.arange(0.2, 4.0, 0.2), [4.5, 5.0, 6.0, 7.5, 14.0]])
"""x at which a response is held to the limits."""

_KNOTS = np.concatenate([np.arange(0.0, 4.0, 0.25), np.arange(4.0, 6.0, 0.5), np.arange(6.0, 10.0), [10.0, 12.0, 14.0]])
"""x at which the quintics meet that stand for a response; at the last it is at rest."""


def _response(x: Array) -> Array:
    """Of q - r, v and a at ``x`` (m,) to c0, c1, c2: (3, m, 3)."""
    one = np.ones_like(x)
    position = np.stack([one, x, x * x], axis=1)
    velocity = np.stack([-one, 1.0 - x, 2.0 * x - x * x], axis=1) * POLE
    acceleration = np.stack([one, x - 2.0, 2.0 - 4.0 * x + x * x], axis=1) * POLE**2
    fading: Array = np.stack([position, velocity, acceleration]) * np.exp(-x)[:, None]
    return fading


def _quintics() -> Array:
    """Coefficients of the quintics between the knots, of q - r, to c0, c1, c2: (m, 6, 3)."""
    ends = _response(_KNOTS)
    ends[:, -1] = 0.0
    lengths = np.diff(_KNOTS) / POLE
    return np.array([splines.quintic(h, *ends[:, k], *ends[:, k + 1]) for k, h in enumerate(lengths.tolist())])


_TIMES, _STATES, _COEFFICIENTS = _LOOKED_AT / POLE, _response(_LOOKED_AT), _quintics()


class StreamFilter:
    """Filters the targets of a stream into a reference; arrays (n,) [rad, m].

    Args:
        description: the arm.

    Attributes:
        rest: r, where the arm comes to rest if nothing more is said.
    """

    def __init__(self, description: ArmDescription):
        self.description, self.joint_names = description, description.joint_names
        self.rest = np.zeros(description.n)

    def settling(self, state: State) -> Trajectory:
        """The way from ``state`` (q, v, a) to ``rest``."""
        return self._way(state, self.rest)

    def approach(self, target: Array, state: State, validator: MotionValidator) -> Trajectory:
        """The way from ``state`` towards ``target``, which is within the position limits: to a rest as near to it as may be."""
        if not np.array_equal(target, self.rest):
            self.rest = self._allowed(target, state, validator)
        return self.settling(state)

    # -- how -----------------------------------------------------------------------------------------------

    def _allowed(self, target: Array, state: State, validator: MotionValidator) -> Array:
        """The farthest rest on the way to ``target`` whose response keeps each limit, or is no worse in that than to stay."""
        begin, end, way, far = 0.0, 1.0, target - self.rest, self._shares(state, target, validator)
        if far.max() <= 1.0:
            return target
        near = self._shares(state, self.rest, validator)
        most = np.maximum(near, 1.0)
        for _ in range(TRIED):
            over = far > most
            if not over.any():
                break
            room = ((most - near)[over] / (far - near)[over]).min()  # shares are nearly convex along the way
            share = begin + max(room, LEAST) * (end - begin)
            shares = self._shares(state, self.rest + share * way, validator)
            if (shares <= most).all():
                begin, near = share, shares
            else:
                end, far = share, shares
        else:
            end = begin
        rest: Array = self.rest + end * way
        return rest

    def _way(self, state: State, rest: Array) -> Trajectory:
        coefficients = _COEFFICIENTS @ _constants(state, rest)
        coefficients[:, 0] += rest
        return Trajectory(self.joint_names, _KNOTS / POLE, coefficients)

    def _shares(self, state: State, rest: Array, validator: MotionValidator) -> Array:
        """Share of each limit that the response to ``rest`` (n,) uses, (m,)."""
        q, v, a = _STATES @ _constants(state, rest)
        motion = SampledMotion(validator.model, _TIMES, q + rest, v, a, rest, self._way(state, rest))
        usages = [*validator.state_usages(motion), *(check.worst(motion) for check in validator.further)]
        used = {LimitError: 1.0, InfeasibleError: TORQUE_SHARE}
        return np.array([usage.share / (SPEED_SHARE if usage.by_speed else used[usage.error]) for usage in usages])


def _constants(state: State, rest: Array) -> Array:
    """c0, c1, c2 of the response that begins at ``state``, (3, n)."""
    q, v, a = state
    c0 = q - rest
    c1 = c0 + v / POLE
    return np.array([c0, c1, 0.5 * (a / POLE**2 + 2.0 * c1 - c0)])


FIRST_TOLERANCE = 0.05
"""How far the first command of a stream may be from the held pose [rad]."""

LIMIT_TOLERANCE = 0.01
"""How far beyond a position limit a sample may be [rad]: noise of who streams the pose that it reads.  The arm stays within."""

STANDS = (1e-6, 0.15), (0.006, 1.0)
"""A stream stands where it has not left a pose by more than so much [rad, m] for so long [s]: it is repeated, or it is noise.

Of a swing, 0.2 rad wide, that takes less than 12 s, the turns are shorter.
"""

FORGOTTEN_S = 5.0
"""A stream that follows on so long a silence [s] is another one, which need not stand first: no machine stalls for so long."""

SILENCE_S = 0.1
"""A stream that says nothing for this long has ended; the reference decelerates."""

PAUSE_S, CATCH_UP_S = 0.5, 0.5
"""A silence up to this long is forgiven: the stream goes on where it would be by then; and the time constant with which the arm
has to catch up with it [s]."""

MEMORY_S, MEMORY = 0.15, 16
"""The samples from which a stream's velocity is taken: of so long [s], and so many at most."""

BRIDGED_S = 0.04
"""So long [s] beyond the time of the next sample the stream is taken to go on as before."""

LONGEST_STEP_S = 0.05
"""A stream is heard so long [s] before the reference that it changes, at most, where ticks are late."""

NOISE, NOISE_S, TREND_S = 0.006, 0.2, 0.04
"""By less than this [rad, m] samples differ through noise, by and large: they count a little, over so long a time [s]; and how
long it has to be more before they count in full [s]."""

COMPLAINT_S, COMPLAINTS = 2.0, 8
"""How often a refusal that goes on is said again, for each subject, and of how many subjects in that time."""

LATE_S = 1.0
"""A sample that was stamped longer ago is no command any more: somebody plays something back [s]."""


class Complaints:
    """Refusals of messages that come many times a second, thinned out.

    A sender that keeps its connection alive is refused a hundred times a second, and noise makes now one joint the worst and now
    another.
    """

    def __init__(self) -> None:
        self._said: dict[str | None, float] = {}

    def are_news(self, of: str | None, now_s: float) -> bool:
        """Whether a refusal of that subject is to be said at ``now_s`` [s]: nothing was said of it for a while."""
        self._said = {subject: said_s for subject, said_s in self._said.items() if 0.0 <= now_s - said_s < COMPLAINT_S}
        if of in self._said or len(self._said) >= COMPLAINTS:
            return False
        self._said[of] = now_s
        return True

    def forget(self, of: str | None) -> None:
        """Forget a subject: the next refusal of it is news."""
        self._said.pop(of, None)


class Stream:
    """Feeds a :class:`ReferenceGenerator` from position samples.

    Args:
        generator: the reference that follows the stream.
    """

    def __init__(self, generator: ReferenceGenerator):
        self.generator, self._arm = generator, generator.description
        self._filter = StreamFilter(self._arm)
        self._heard: deque[tuple[float, Array]] = deque(maxlen=MEMORY)  # arrival [s] and positions of late samples
        self._q = self._trend = np.zeros(self._arm.n)  # of the stream that is followed, without noise
        self._sent_s: float | None = None
        self._is_followed = self._pauses = False
        self._begins = True  # whether it need not stand first
        self._stood = [(-np.inf, self._q) for _ in STANDS]  # since when it has been about which pose
        self._v = self._ahead = np.zeros(self._arm.n)  # of the arm when the stream was heard; how far that may be ahead of it
        self._beyond = np.zeros(self._arm.n)  # how far the arm was held beyond its limits when the stream began
        self._ticked_s = -np.inf
        self._is_held_back = False  # whether limits keep it from where the stream is
        self._refused: str | None = None  # subject of the newest refusal

    def reset(self) -> None:
        """Follow no longer: the arm is stopped, or a goal moves it."""
        self._is_followed = self._pauses = self._begins = False

    def push(
        self,
        q: ArrayLike,
        arrival_s: float,
        time_s: float,
        sent_s: float | None = None,
        begins: bool = False,
        since_s: float = -math.inf,
    ) -> None:
        """Take a sample; the reference follows it from the next ``advance`` on.

        Args:
            q: (n,) [rad].
            arrival_s: when it came.
            time_s: time for which the next reference will be sent.
            sent_s: when it was sent, on any clock; None where it does not say.
            begins: whether its sender knows where the arm is held, and begins there.
            since_s: samples that were sent before are refused.

        Raises:
            OutdatedError: one that was sent long ago, or before ``since_s``.
            LimitError: a first sample that moves or is away from the held pose, one far ahead of the arm, or beyond a limit.
            InfeasibleError: one where the arm cannot stand.
            PickerError: the arm is not active, or executes a goal.
        """
        q = np.array(q, dtype=float)
        if sent_s is not None:
            late = arrival_s - sent_s
            if late > LATE_S:
                raise OutdatedError(f"the sample is {late:.1f} s old, allowed {LATE_S} s", "stamp", late, LATE_S)
            if sent_s < since_s:
                raise OutdatedError("the arm was stopped, reset or enabled after the sample was sent", "stamp")
            if self._sent_s is not None and 0.0 < self._sent_s - sent_s < LATE_S:  # by more it is another clock
                return
            self._sent_s = sent_s
        heard, silence_s = self._heard, arrival_s - self._heard_s
        is_silent = not 0.0 <= silence_s < SILENCE_S
        if is_silent:
            heard.clear()
        self._begins |= begins or silence_s >= FORGOTTEN_S
        for k, (apart, _) in enumerate(STANDS):
            if is_silent or np.abs(q - self._stood[k][1]).max() > apart:
                self._stood[k] = arrival_s, q
        while len(heard) > 1 and arrival_s - heard[0][0] > MEMORY_S:
            heard.popleft()
        heard.append((arrival_s, q))
        try:
            self._take(q, max(silence_s, 0.0), time_s)
        except PickerError as error:
            self._refused = error.subject
            self.reset()
            if self.generator.phase is Phase.STREAMING:
                self.generator.cancel(time_s)
            raise

    def advance(self, now_s: float, time_s: float) -> bool:
        """Let the reference for ``time_s`` follow the stream, or stop where it has ended; returns whether it just did."""
        begin_s, self._ticked_s, generator = self._begin_s(time_s), time_s, self.generator
        self._is_followed &= generator.phase is Phase.STREAMING
        if not self._is_followed:
            return False
        silence_s = now_s - self._heard_s
        if silence_s >= SILENCE_S:
            self._is_followed, self._pauses = False, True
            generator.cancel(time_s)
            return True
        period_s = (self._heard_s - self._heard[0][0]) / max(len(self._heard) - 1, 1)
        bridged_s = min(max(silence_s - period_s, 0.0), BRIDGED_S)
        target = np.clip(self._q + bridged_s * self._v, self._arm.lower, self._arm.upper)
        generator.follow(self._filter.approach(target, generator.state_at(begin_s), generator.validator), begin_s)
        self._is_held_back = not np.array_equal(self._filter.rest, target)
        return False

    # -- how -----------------------------------------------------------------------------------------------

    @property
    def _heard_s(self) -> float:
        """Arrival of the newest sample [s]."""
        return self._heard[-1][0] if self._heard else -np.inf

    def _begin_s(self, time_s: float) -> float:
        """When what is heard now begins to count: after the reference that was sent last, unless that is long ago."""
        return max(min(self._ticked_s, time_s), time_s - LONGEST_STEP_S)

    def _take(self, q: Array, silence_s: float, time_s: float) -> None:
        """Look whether the newest sample may be followed, and begin to where nothing was."""
        generator, validator, phase = self.generator, self.generator.validator, self.generator.phase
        goes_on = self._is_followed or (self._pauses and silence_s < PAUSE_S)
        for wrong, text, subject in (
            (not generator.active, "the arm is not active", "hardware"),
            (phase is Phase.EXECUTING, "a goal is being executed", "goal"),
            (generator.speed == 0.0, "speed_scaling is 0, which pauses", "speed_scaling"),
            (phase is Phase.STOPPING and not goes_on, "the arm comes to rest", self._refused),
        ):
            if wrong:
                raise PickerError(f"{text}: the stream is not followed", subject)
        begin_s = self._begin_s(time_s)
        state = generator.state_at(begin_s)
        if self._is_followed:
            self._v = state[1]
        if goes_on:
            allowed = FIRST_TOLERANCE + np.abs(self._v) * (DELAY_S + max(silence_s, SILENCE_S))
            self._ahead = np.maximum(allowed, self._ahead * np.exp(-silence_s / CATCH_UP_S))
            self._require("the stream is {value} ahead of the arm, allowed {limit}", q - state[0], self._ahead)
        else:
            self._v = self._ahead = np.zeros_like(q)
            self._beyond = np.abs(state[0] - np.clip(state[0], self._arm.lower, self._arm.upper))
            text = "the first command of a stream is {value} from the held pose, allowed {limit}"
            self._require(text, q - state[0], np.full_like(q, FIRST_TOLERANCE))
            stood = any(self._heard_s - since_s >= long_s for (since_s, _), (_, long_s) in zip(self._stood, STANDS))
            if not self._begins and not stood:
                text = "the stream moves where the arm is at rest: it is taken up again once it has stood there for"
                raise LimitError(f"{text} {STANDS[0][1]} s", "stream")
        within, still = np.clip(q, self._arm.lower, self._arm.upper), np.zeros_like(q)
        if (np.abs(q - within) > LIMIT_TOLERANCE + self._beyond).any():
            raise checks.position(SampledMotion.at(validator.model, q, still, still), self._arm).refusal()
        if not self._is_followed or self._is_held_back:
            validator.require_holdable(within)
        if not self._is_followed:
            if phase is not Phase.STOPPING:
                self._filter.rest = state[0]
            self._q, self._trend = self._filter.rest, still
            generator.follow(self._filter.settling(state), begin_s)
        self._smooth(q, min(silence_s, SILENCE_S))
        self._is_followed = True

    def _smooth(self, q: Array, period_s: float) -> None:
        """Believe a sample, (n,) [rad], that came ``period_s`` after the one before: little where it may be noise."""
        difference = q - self._q
        self._trend = self._trend - np.expm1(-period_s / TREND_S) * (difference - self._trend)
        least, square = -np.expm1(-period_s / NOISE_S), self._trend * self._trend
        self._q = self._q + (least + (1.0 - least) * square / (square + NOISE * NOISE)) * difference

    def _require(self, text: str, values: Array, limits: Array) -> None:
        """Raise a LimitError where a joint's |value| (n,) exceeds its limit, for the one that does most."""
        values = np.abs(values)
        j = int((values - limits).argmax())
        name, unit, value, limit = self._arm.joint_names[j], self._arm.position_units[j], float(values[j]), float(limits[j])
        if value > limit:
            said = text.format(value=told(value, unit, limit), limit=told(limit, unit, value))
            raise LimitError(f"{name}: {said}", name, value, limit)
