"""Planning: from a goal, the active plan that it joins, and limits to a checked motion; and ways to slow down, or to rest.

Planning is done in a worker, a thread beside the control loop.  Ways to rest, and to another speed, are as gentle as the limits
want them where that is possible; else the gentlest is taken, and its ``LimitExcess`` tells how far beyond the limits it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.friction_side import FrictionSide
from picker_dynamics.robot.model import Array, tip_speeds
from picker_dynamics.trajectory.stops import stop_trajectory
from picker_dynamics.trajectory.time_scaling import SMOOTHNESS, TimeScaling
from picker_dynamics.trajectory.trajectory import SHORTEST_S, Trajectory, merge_joints

from .checks import speed_limit
from .goal import ParsedGoal
from .lease import MAIN_TRACK
from .motion import ActivePlan, Motion, Phase, State, UnderWay
from .settle_downward import settle_downward
from .validator import MotionValidator

Submit = Callable[[Callable[[], Any]], "Future[Any]"]
"""Has work done, as ``Executor.submit`` does."""

SWITCH_S = 0.001
"""How long it may compute while a reference waits for Python [s]."""


def at_once(work: Callable[[], Any]) -> Future[Any]:
    """Future of work done here and now: a worker for who has no tick to lose."""
    done: Future[Any] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


class Worker:
    """Thread that does one thing after another, and lets go of Python when a reference is due."""

    def __init__(self) -> None:
        sys.setswitchinterval(min(SWITCH_S, sys.getswitchinterval()))
        self._threads = ThreadPoolExecutor(1, "worker")

    def __call__(self, work: Callable[..., Any], *arguments: object) -> Future[Any]:
        return self._threads.submit(work, *arguments)

    def close(self, wait: bool = False) -> None:
        """Close the threads: what has not begun never will; what has is waited for, where that is wanted."""
        self._threads.shutdown(wait=wait, cancel_futures=True)


GENTLER = tuple(0.5**halvings for halvings in range(5))
"""Shares of the rate with which a change of speed is tried until it needs no more torque than allowed."""

HARDER = (1.0, 2.0, 4.0, *GENTLER[1:])
"""Shares of the deceleration that are tried where the guard stopped an arm, which may accelerate."""

STOP_BEND = 10.0
"""Of a stop against other ramps: how much faster its deceleration may set in."""

PEAK_SAMPLES = 200
"""How many instants of a trajectory tell how fast it is at most."""

ROUNDING = 1e-3
"""Share by which a stop may exceed a speed: that of a motion that was slowed until it just fits."""

FALLS = 1e3
"""Added to the share of a stop that ends where the arm cannot stay: any other one is better."""

NEARLY = 1.05
"""Of two ways whose shares of the limits differ by less, the quicker one is taken."""

Way = TypeVar("Way")


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
        """Limit excess of states (s, n)."""
        arm, tip = validator.description, float(tip_speeds(validator.model, q, v).max() / validator.tip_speed)
        beyond = 0.0 if arm is None else max(float(np.maximum(arm.lower - q, q - arm.upper).max()), 0.0)
        return cls(validator.torque_share(q, v, a), tip, beyond)


NO_EXCESS = LimitExcess()


def _gentlest(ways: Iterable[tuple[float, Way, LimitExcess]]) -> tuple[Way, LimitExcess]:
    """The first way whose share of the limits is at most 1, else the first whose share is nearly the least, with its excess."""
    tried = []
    for one in ways:
        if one[0] <= 1.0:
            return one[1:]
        tried.append(one)
    least = min(share for share, _, _ in tried)
    return next(one for one in tried if one[0] <= NEARLY * least)[1:]


@dataclass(frozen=True, eq=False)
class Slowing:
    """Slowing of one arm, to rest or to another speed.

    Args:
        description: the arm; within its position limits it comes to rest.
        max_deceleration: [rad/s²], which a change of speed may add too.
    """

    description: ArmDescription
    max_deceleration: float

    def stop(self, state: State, share: float = 1.0) -> Trajectory:
        """Straight on to rest, with a share of the deceleration."""
        arm = self.description
        decel = self.max_deceleration * share
        return stop_trajectory(*state, decel, joint_names=arm.joint_names, lower=arm.lower, upper=arm.upper)

    def gentlest_stop(self, state: State, validator: MotionValidator) -> tuple[Trajectory, LimitExcess]:
        """Return a stop straight on that obeys torque, speed and range, else the one that exceeds them least, and its excess."""
        limit = speed_limit(self.description, validator.limits.servo_map)

        def ways() -> Iterator[tuple[float, Trajectory, LimitExcess]]:
            for share in HARDER:
                made = self.stop(state, share)
                states = ActivePlan(made, TimeScaling(0.0)).states(0.0, made.duration)
                excess = LimitExcess.of(validator, *states)
                begins = max(LimitExcess.of(validator, *(part[:1] for part in states)).tip, 1.0)  # of a limit that was lowered
                fast = max(excess.tip / begins, float((np.abs(states[1]) / limit).max()))
                yield max(excess.torque, fast - ROUNDING, 1.0 + excess.beyond - 1e-6), made, excess

        return _gentlest(ways())

    def ramp(
        self,
        active: ActivePlan,
        speed: float,
        time_s: float,
        validator: MotionValidator,
        *,
        restarted: bool = False,
        phase: Phase = Phase.EXECUTING,
    ) -> tuple[ActivePlan, LimitExcess]:
        """Return the plan with a ramp to ``speed`` from ``time_s`` on, gentle enough where that is possible, and its excess.

        Args:
            restarted: the plan's trajectory begins at ``time_s``; else its scaling's progress goes on.
            phase: ``STOPPING`` where the arm is to stay at the end of the ramp.
        """

        def ways() -> Iterator[tuple[float, ActivePlan, LimitExcess]]:
            progress = 0.0 if restarted else active.progress(time_s)
            speeds = active.trajectory.sample(np.linspace(progress, active.trajectory.duration, PEAK_SAMPLES))[1]
            rate = self.max_deceleration / max(float(np.abs(speeds).max()), 1e-6)
            for share in GENTLER:
                bend = SMOOTHNESS * (max(STOP_BEND * share, 1.0) if phase is Phase.STOPPING else 1.0)
                scaling = active.scaling.ramp(time_s, speed, rate * share, bend=bend, restarted=restarted)
                made = replace(active, scaling=scaling, phase=phase)
                if scaling.settled_s <= time_s:
                    yield 0.0, made, NO_EXCESS
                    return
                excess = LimitExcess.of(validator, *made.states(time_s, scaling.settled_s))
                falls = phase is Phase.STOPPING and not validator.can_hold(made.state_at(made.ends_s)[0])
                yield excess.torque + FALLS * falls, made, excess

        return _gentlest(ways())


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a goal: it may begin while the active plan and the limits are the same objects.

    Attributes:
        active: the active plan that the goal joins.
        validator: of the limits.
        begins_s: when the plan begins, or, at rest, at the earliest [s].
        work: its motion, made by the worker.
    """

    active: ActivePlan
    validator: MotionValidator
    begins_s: float
    work: Future[Motion]


def staying(active: ActivePlan, track: str, joints: tuple[int, ...]) -> tuple[UnderWay, ...]:
    """Motions under way whose place a goal of this track and these joints does not take."""
    return tuple(one for one in active.under_way if one.motion.track != track and set(joints).isdisjoint(one.motion.joints))


def planned(
    goal: ParsedGoal,
    active: ActivePlan,
    start_s: float,
    validator: MotionValidator,
    slowing: Slowing,
    side: FrictionSide,
    approaches: bool,
) -> Motion:
    """The motion of a goal, slowed as far as it has to be, with an approach at its end where friction wants one.

    A goal takes the place of those of its track or with one of its joints; joints that nobody moves any more come to rest.

    Args:
        active, start_s: the active plan that it joins, and when [s].
        side: of the joints' friction there.
        approaches: whether motions may end with one.

    Raises:
        PickerError: why the motion may not be made.
    """
    own = goal.joints.tolist()
    q, v, a = active.own_state(start_s)
    others = active.rest(start_s)
    busy = [*own, *(j for one in staying(active, goal.track, tuple(own)) for j in one.motion.joints)]
    loose = np.isin(np.arange(len(q)), busy, invert=True)
    if v[loose].any() or a[loose].any():
        stop = slowing.stop((q, np.where(loose, v, 0.0), np.where(loose, a, 0.0)))
        others = merge_joints(stop, others, np.flatnonzero(loose))
    begin, whole = (q[own], v[own], a[own]), len(own) == len(q)

    entries = goal.entries(begin)

    def build(factor: float) -> Trajectory:
        """The first entry that may be made so, else the last."""
        for entry in entries:
            path = entry.trajectory(begin, factor)
            path = path if whole else merge_joints(path, others, own)
            if entry is entries[-1] or not any(usage.broken for usage in validator.usages(validator.sampled(path))):
                break
        return path

    validated, approach = validator.scale_time(build, asked_s=max(float(goal.times_s[-1]), SHORTEST_S)), None
    times_s = np.array([0.0, *goal.times_s]) * validated.factor
    duration_s = validated.trajectory.duration if whole else float(times_s[-1])
    if goal.track == MAIN_TRACK:
        may, from_s = approaches and not goal.stands, float(times_s[-2])
        ending = duration_s, from_s, goal.joints, side
        validated, approach = settle_downward(validated, *ending, validator, slowing.description, may)
        duration_s += 0.0 if approach is None else approach.duration_s
    begins_s = start_s if goal.start_s is None else max(goal.start_s, start_s)
    return Motion(begins_s, validated, goal.positions[-1], goal.track, tuple(own), duration_s, approach)
