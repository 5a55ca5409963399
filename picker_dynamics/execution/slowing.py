"""Slowing: ways to rest and ramps to another speed, as gentle as the limits want them where that is possible.

Where nothing gentle enough is possible the gentlest is taken, as it has to be one; its ``LimitExcess`` tells how far
beyond the limits it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.stops import stop_along, stop_trajectory
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory, remainder

from .active_plan import ActivePlan, State
from .checks import SampledMotion, VelocityLimits
from .motion import Phase
from .validator import MotionValidator

RATE_HALVINGS = 4
"""How often a change of speed is made more gently until it needs no more torque than allowed."""

HARDER = (2.0, 4.0)
"""Times the deceleration with which the arm may brake where the guard stopped it while it accelerated."""

BRAKING_PERIOD_S = 0.005
"""Spacing of the instants at which a way to rest is looked at [s]."""

RAMP_PERIOD_S, RAMP_SAMPLES = 0.005, 200
"""The same of a ramp, and how many they are at most."""

PEAK_SAMPLES = 200
"""How many instants of a trajectory tell how fast it is at most."""

ROUNDING = 1e-3
"""Share by which a way to rest may exceed a speed: that of a motion that was slowed until it just fits."""


@dataclass(frozen=True)
class LimitExcess:
    """Limit excess of a way to rest, or to a lower speed, where nothing gentler is possible; 1: as allowed.

    Attributes:
        torque, tip: shares of the allowed torque and of the tip's speed.
        beyond: how far beyond a position limit [rad, m].
    """

    torque: float = 1.0
    tip: float = 1.0
    beyond: float = 0.0

    @classmethod
    def of(cls, validator: MotionValidator, q: Array, v: Array, a: Array) -> LimitExcess:
        """Limit excess of states (s, n): their need of torque and tip speed."""
        motion = SampledMotion(validator.model, np.zeros(len(q)), q, v, a, q[-1])
        return cls(validator.torque_share(q, v, a), float(motion.tip_speed.max() / validator.tip_speed))


NO_EXCESS = LimitExcess()


def excess_of_way(way: Trajectory, validator: MotionValidator) -> LimitExcess:
    """Limit excess along a way to rest."""
    count = int(np.ceil(way.duration / BRAKING_PERIOD_S)) + 1
    return LimitExcess.of(validator, *way.sample(np.linspace(0.0, way.duration, count)))


def gentlest(
    ways: Iterable[Trajectory], validator: MotionValidator, lower: Array, upper: Array, to_hold: bool = False
) -> tuple[Trajectory, LimitExcess]:
    """The first way to rest that obeys torque, speed and range; else the one that needs least, and how much that is.

    Args:
        ways: at least one.
        validator: of motions with the present payload.
        lower, upper: (n,) position limits [rad, m], of which one that is passed at the start counts from there.
        to_hold: those that end where the arm can stay go first.
    """
    tried: list[tuple[bool, float, Trajectory, LimitExcess]] = []
    for way in ways:
        times = np.linspace(0.0, way.duration, int(np.ceil(way.duration / BRAKING_PERIOD_S)) + 1)
        motion = SampledMotion(validator.model, times, *way.sample(times), way.end, way)
        q = motion.q
        beyond = np.maximum(np.minimum(lower, q[0]) - q, q - np.maximum(upper, q[0])).max()
        outside = max(float(np.maximum(lower - q, q - upper).max()), 0.0)
        tip = float(motion.tip_speed.max() / validator.tip_speed)
        excess = LimitExcess(validator.torque_share(q, motion.v, motion.a), tip, outside)
        begins = max(float(motion.tip_speed[0] / validator.tip_speed), 1.0)  # a limit that was lowered: no way does better
        shares = [excess.torque, excess.tip / begins - ROUNDING, np.inf if beyond > 1e-6 else 0.0]
        shares += [check.worst(motion).share - ROUNDING for check in validator.checks if isinstance(check, VelocityLimits)]
        if validator.further:
            sampled = validator.sampled(way)
            shares += [check.worst(sampled).share for check in validator.further]
        falls = to_hold and not validator.can_hold(way.end)
        if max(shares) <= 1.0 and not falls:
            return way, excess
        tried.append((falls, max(shares), way, excess))
    return min(tried, key=lambda one: one[:2])[2:]


@dataclass(frozen=True, eq=False)
class Slowing:
    """Slowing of one arm, to rest or to another speed.

    Args:
        description: the arm; within its position limits it comes to rest.
        max_deceleration: (n,) or a number [rad/s²], which a change of speed may add too.
    """

    description: ArmDescription
    max_deceleration: Array

    # -- to rest -------------------------------------------------------------------------------------------

    def stop(self, state: State, share: float = 1.0) -> Trajectory:
        """Straight on to rest, with a share of the deceleration."""
        arm = self.description
        return stop_trajectory(
            *state, self.max_deceleration * share, joint_names=arm.joint_names, lower=arm.lower, upper=arm.upper
        )

    def straight(self, state: State, harder: Sequence[float] = ()) -> Iterator[Trajectory]:
        """Ways straight on to rest: as wanted, ``harder`` times as hard, then ever more gently."""
        for share in (1.0, *harder, *(0.5**halvings for halvings in range(1, RATE_HALVINGS + 1))):
            yield self.stop(state, share)

    def ways_to_rest(self, active: ActivePlan, start_s: float) -> Iterator[Trajectory]:
        """Ways to rest: as a stream's filter foresaw; straight on, and along the paths of goals; then both ever more gently."""
        for motion in active.motions:
            if motion.phase is Phase.STREAMING:
                yield remainder(motion.trajectory, start_s - motion.start_s)
        along = self.ways_along(active, start_s)
        for straight in self.straight(active.state_at(start_s)):
            yield straight
            yield from (way for way, _ in itertools.islice(along, 1))

    def ways_along(self, active: ActivePlan, start_s: float) -> Iterator[tuple[Trajectory, TimeScaling]]:
        """Ways to rest along the paths of goals, ever more gently, and the scaling that makes each."""
        if not active.executing(start_s):
            return
        rest, scaling = active.rest(start_s), active.scaling or TimeScaling(start_s, progress=start_s)
        rate = self.rate(rest)
        for halvings in range(RATE_HALVINGS + 1):
            ramp = scaling.ramp(start_s, 0.0, rate / 2.0**halvings)
            yield stop_along(rest, ramp, start_s), ramp

    def gentlest(
        self, ways: Iterable[Trajectory], validator: MotionValidator | None, to_hold: bool = False
    ) -> tuple[Trajectory, LimitExcess]:
        """Gentlest of some ways, as :func:`gentlest`, within the arm's range; the first where limits are not known."""
        if validator is None:
            return next(iter(ways)), NO_EXCESS
        return gentlest(ways, validator, self.description.lower, self.description.upper, to_hold)

    # -- to another speed ----------------------------------------------------------------------------------

    def rate(self, rest: Trajectory) -> float:
        """Largest rate of the speed [1/s] that adds no more than ``max_deceleration`` to any joint's acceleration."""
        peak = np.abs(rest.sample(np.linspace(0.0, rest.duration, PEAK_SAMPLES))[1]).max(axis=0)
        return float((self.max_deceleration / np.maximum(peak, 1e-6)).min())

    def ramp(
        self, make: Callable[[float], TimeScaling], rest: Trajectory, time_s: float, validator: MotionValidator | None
    ) -> tuple[TimeScaling, LimitExcess]:
        """The ramp ``make(rate)`` from ``time_s`` on, gentle enough for the torque limits where that is possible, and its excess.

        Args:
            rest: what is left then.
        """
        rate, tried = self.rate(rest), []
        for _ in range(RATE_HALVINGS):
            made = make(rate)
            excess = _excess_of_ramp(made, rest, time_s, validator)
            tried.append((excess.torque, made, excess))
            if excess.torque <= 1.0:
                break
            rate /= 2.0
        return min(tried, key=lambda one: max(one[0], 1.0))[1:]


def _excess_of_ramp(scaling: TimeScaling, rest: Trajectory, time_s: float, validator: MotionValidator | None) -> LimitExcess:
    if validator is None or scaling.settled_s <= time_s:
        return NO_EXCESS
    count = min(max(math.ceil((scaling.settled_s - time_s) / RAMP_PERIOD_S), 8), RAMP_SAMPLES)
    instants = [scaling.at(t) for t in np.linspace(time_s, scaling.settled_s, count + 1)]
    states = zip(*(one.scaled(rest.sample(one.progress - instants[0].progress)) for one in instants))
    return LimitExcess.of(validator, *(np.array(part) for part in states))


def require_followable(validator: MotionValidator, q: Array, v: Array, a: Array) -> None:
    """Raise a PickerError where the state (n,) of a stream is beyond the limits; it may just be at them."""
    try:
        validator.validate_state(q, v, a)
    except PickerError:
        excess = LimitExcess.of(validator, q[None], v[None], a[None])
        if max(excess.torque, excess.tip) > 1.0 + ROUNDING or not validator.can_hold(q):
            raise
