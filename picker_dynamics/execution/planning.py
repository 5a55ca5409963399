"""Planning: from a goal, the active plan that it joins, and limits to a checked motion; and ways to slow down, or to rest.

Planning is done in a worker, a thread beside the control loop.  A way to rest, or to another speed, is the first of several that
obeys every check that goals obey; a limit that is broken where it begins it may not break by more.  Where none does the shortest
in space is taken, and its ``LimitExcess`` tells the guard how far beyond the limits it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.friction_side import FrictionSide
from picker_dynamics.trajectory.stops import stop_trajectory
from picker_dynamics.trajectory.time_scaling import SMOOTHNESS, TimeScaling
from picker_dynamics.trajectory.trajectory import SHORTEST_S, Trajectory, merge_joints

from .checks import SampledMotion
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


SHARES = (1.0, 2.0, 4.0, 0.5, 0.25, 0.125, 0.0625)
"""Shares of the deceleration, or of the rate of a change of speed, in the order in which they are tried."""

STOP_BEND = 10.0
"""Of a stop against other ramps: how much faster its deceleration may set in."""

PEAK_SAMPLES = 200
"""How many instants of a trajectory tell how fast it is at most."""


@dataclass(frozen=True)
class LimitExcess:
    """Limit excess of a way to rest, or to another speed, where none obeys the limits; 1: as allowed.

    Attributes:
        torque, tip: shares of the allowed torque and of the tip's speed.
        beyond: how far beyond a position limit [rad, m].
    """

    torque: float = 1.0
    tip: float = 1.0
    beyond: float = 0.0

    @classmethod
    def of(cls, validator: MotionValidator, motion: SampledMotion) -> LimitExcess:
        """Limit excess of a motion."""
        arm, q = validator.description, motion.q
        beyond = 0.0 if arm is None else max(float(np.maximum(arm.lower - q, q - arm.upper).max()), 0.0)
        tip = float(motion.tip_speed.max() / validator.tip_speed)
        return cls(float(validator.limits.peak_use(motion.torque).max()), tip, beyond)


NO_EXCESS = LimitExcess()


def best_way(
    ways: Iterable[ActivePlan], begin_s: float, validator: MotionValidator, sent: Collection[State] = ()
) -> tuple[ActivePlan, SampledMotion, PickerError | None]:
    """Return the first way that breaks no limit by more than where it begins, else the shortest in space.

    Args:
        ways: to rest, or to another speed, from ``begin_s`` on [s], on one path: what a way to rest meets a longer one does too.
        sent: states that were sent and lie before the arm: it touches nothing on the way there either.

    Returns:
        The way, the same as the checks see it, and what it hits; None: nothing.
    """
    tried, meets_s = list[tuple[float, ActivePlan, SampledMotion]](), np.inf
    for way in ways:
        stays = way.phase is Phase.STOPPING
        ends_s = max(way.ends_s if stays else way.scaling.settled_s, begin_s)
        if ends_s >= meets_s:
            continue
        motion = way.sampled(validator.model, begin_s, ends_s)
        if stays and any(check.worst(motion.after(sent)).broken for check in validator.further):
            meets_s = ends_s
        elif not replace(validator, stays=stays).gets_worse(motion):
            return way, motion, None
        tried.append((float(np.abs(np.diff(motion.q, axis=0)).sum()), way, motion))
    _, way, motion = min(tried, key=lambda one: one[0])
    return way, motion, validator.touched(motion.after(sent)) if way.phase is Phase.STOPPING else None


@dataclass(frozen=True, eq=False)
class Slowing:
    """Ways of one arm to rest, or to another speed, the gentlest of those that are tried first.

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

    def stops(self, state: State, time_s: float) -> Iterator[ActivePlan]:
        """Straight on to rest."""
        for share in SHARES:
            yield ActivePlan(self.stop(state, share), TimeScaling(time_s), Phase.STOPPING)

    def ramps(self, active: ActivePlan, speed: float, time_s: float, *, restarted: bool = False) -> Iterator[ActivePlan]:
        """The plan with a ramp to ``speed`` from ``time_s`` on; a ``STOPPING`` one stays at its end.

        Args:
            restarted: the plan's trajectory begins at ``time_s``; else its scaling's progress goes on.
        """
        progress = 0.0 if restarted else active.progress(time_s)
        speeds = active.trajectory.sample(np.linspace(progress, active.trajectory.duration, PEAK_SAMPLES))[1]
        rate = self.max_deceleration / max(float(np.abs(speeds).max()), 1e-6)
        for share in SHARES:
            bend = SMOOTHNESS * (max(STOP_BEND * share, 1.0) if active.phase is Phase.STOPPING else 1.0)
            yield replace(active, scaling=active.scaling.ramp(time_s, speed, rate * share, bend=bend, restarted=restarted))


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
