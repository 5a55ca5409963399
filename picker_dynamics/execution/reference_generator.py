"""The reference (q, v, a)(t) of the arm: hold, follow what was accepted, decelerate when told, at the speed that is wanted.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  The node samples at
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start
exactly from the last point that was sent.

A goal's trajectory has a time of its own, which ``pace`` maps to: slower than full speed it is gone through slowly, on the
same path.  A new goal joins in the trajectory's time, so it is checked for full speed.  Stops and streams are not scaled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from picker_dynamics.errors import InputError, PickerError, TrajectoryError
from picker_dynamics.trajectory.stopping import along_path, first_that_fits
from picker_dynamics.trajectory.time_scaling import Pace
from picker_dynamics.trajectory.trajectory import (
    Trajectory,
    blend,
    from_points,
    merge_joints,
    remainder,
    select_joints,
    standing,
    stop_trajectory,
)

from .goal import MAIN_TRACK, MAX_GOAL_S, PAST_TOLERANCE_S, Goal, points_of
from .goal_check import Fitted, GoalCheck

RATE_HALVINGS = 4
"""How often a change of speed is made more gently until it needs no more torque than allowed."""

RAMP_SAMPLES = 32
PEAK_SAMPLES = 200


class Phase(Enum):
    INACTIVE = "inactive"
    HOLDING = "holding"
    EXECUTING = "executing"
    STOPPING = "stopping"
    STREAMING = "streaming"


@dataclass(frozen=True)
class Reference:
    """One point of the reference; arrays (n,) [rad, rad/s, rad/s²]."""

    time_s: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@dataclass(frozen=True)
class Motion:
    """What a goal became.

    Attributes:
        start_s: when it begins.
        trajectory: of all joints, those included that go on with another motion.
        identifier, track: the goal's.
        phase: executing, stopping or streaming.
        joints: indices of the joints that are its own; empty: all.
        ends: its own duration, in the trajectory's time [s].
        cancelled: it comes to rest before its goal.
        fitted: what the check made of it.
    """

    start_s: float
    trajectory: Trajectory
    identifier: str = ""
    phase: Phase = Phase.EXECUTING
    track: str = MAIN_TRACK
    joints: tuple[int, ...] = ()
    ends: float = 0.0
    cancelled: bool = False
    fitted: Fitted | None = field(default=None, repr=False)


class ReferenceGenerator:
    """Produces the reference of an arm; inactive until told where the arm is.

    Args:
        joint_names: joints in the arm's order.
        check: decides whether a motion may start; replaced when the payload changes.
        max_deceleration: [rad/s²] with which a cancelled motion comes to rest, and which a change of speed may add.
        lower, upper: (n,) position limits [rad], within which it does.

    Attributes:
        displaced: the motions whose place the newest one took.
    """

    def __init__(self, joint_names: Sequence[str], check: GoalCheck | None, max_deceleration, lower, upper):
        self.joint_names = tuple(joint_names)
        self.lower, self.upper = lower, upper
        self.check = check
        self.max_deceleration = np.asarray(max_deceleration, dtype=float)
        self.speed = 1.0
        self._hold: np.ndarray | None = None
        self._path: Motion | None = None  # the newest: its trajectory is the one that is followed
        self._pace: Pace | None = None  # None: as fast as it was made
        self._under_way: list[Motion] = []
        self.displaced: tuple[Motion, ...] = ()
        self._sent_s = -np.inf

    @property
    def active(self) -> bool:
        return self._hold is not None

    @property
    def under_way(self) -> tuple[Motion, ...]:
        """What is being executed, the first to end first."""
        return tuple(self._under_way)

    def phase(self) -> Phase:
        if self._hold is None:
            return Phase.INACTIVE
        return Phase.HOLDING if self._path is None else self._path.phase

    def start(self, q) -> None:
        """Become active, holding the pose ``q`` (n,) [rad]."""
        self._hold = np.array(q, dtype=float)
        self._path, self._pace, self._under_way = None, None, []

    def deactivate(self) -> Motion | None:
        """Stop producing a reference; returns the motion that this aborted, if any."""
        aborted = self._path
        self._hold, self._path, self._pace, self._under_way = None, None, None, []
        return aborted

    # -- the reference -------------------------------------------------------------------------------------

    def state_at(self, time_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reference state at ``time_s`` as things stand, without advancing."""
        if self._hold is None:
            raise PickerError("the arm is not active: there is no reference to sample")
        path = self._path
        if path is None or time_s < path.start_s:
            return self._hold, np.zeros_like(self._hold), np.zeros_like(self._hold)
        if self._pace is None:
            return path.trajectory.sample(time_s - path.start_s)
        now = self._pace.at(time_s)
        return now.scaled(path.trajectory.sample(now.progress))

    def progress_at(self, time_s: float) -> float:
        """How far the trajectory that is followed is at ``time_s``, in its own time [s]; negative: it waits."""
        if self._path is None:
            return 0.0
        return time_s - self._path.start_s if self._pace is None else self._pace.at(time_s).progress

    def left(self, motion: Motion, time_s: float) -> float:
        """How much of a motion lies ahead at ``time_s``, in its trajectory's time [s]; 0: over, or displaced."""
        for one in self._under_way:
            if one.identifier == motion.identifier:
                return max(one.ends - max(self.progress_at(time_s), 0.0), 0.0)
        return 0.0

    def speed_at(self, time_s: float) -> float:
        """Share of full speed with which the trajectory is gone through; what is wanted where there is none."""
        if self._path is None or self._path.phase is not Phase.EXECUTING:
            return self.speed
        return 1.0 if self._pace is None else self._pace.at(time_s).speed

    def sample(self, time_s: float) -> tuple[Reference, Motion | None]:
        """The reference to send for ``time_s``, and the motion that ended with it, if one did."""
        q, v, a = self.state_at(time_s)
        self._sent_s = max(self._sent_s, time_s)
        finished = None
        if self._path is not None and self.progress_at(time_s) >= self._under_way[0].ends:
            finished = self._under_way.pop(0)
            if not self._under_way:
                self._hold = np.array(self._path.trajectory.end)
                self._path = self._pace = None
        return Reference(time_s, q, v, a), finished

    # -- what is asked -------------------------------------------------------------------------------------

    def must_wait(self, goal: Goal, time_s: float) -> bool:
        """Whether a goal that starts later has to wait because another motion is under way: begun now, it would end that one."""
        earliest_s = max(time_s, self._sent_s)
        if goal.start_s is None or goal.start_s <= earliest_s or self._path is None:
            return False
        return self.progress_at(earliest_s) < self._path.trajectory.duration

    def require_sound(self, goal: Goal, time_s: float) -> None:
        """Raise what is wrong with a goal whatever the arm does: a PickerError."""
        points_of(goal, self.joint_names)
        if goal.start_s is not None and goal.start_s - time_s > MAX_GOAL_S:
            wait = goal.start_s - time_s
            raise TrajectoryError(
                f"the goal starts {wait:.0f} s from now (allowed {MAX_GOAL_S:.0f} s)", value=wait, limit=MAX_GOAL_S
            )

    def require_free(self, goal: Goal) -> None:
        """A goal of a side track, a gripper's, does not take its joint from what moves the arm: a PickerError."""
        if goal.track == MAIN_TRACK:
            return
        if self.phase() is Phase.STREAMING:
            raise PickerError(f"a stream moves {', '.join(goal.joint_names)}")
        for motion in self._under_way:
            taken = [name for name in goal.joint_names if self.joint_names.index(name) in motion.joints]
            if motion.track == MAIN_TRACK and taken and not motion.cancelled:
                raise PickerError(f"{taken[0]} belongs to the motion that is being executed", subject=taken[0])

    def submit(self, goal: Goal, time_s: float) -> Motion:
        """Check a goal and start it from the last point that was sent; a motion under way is blended into it.

        Args:
            goal: what is asked.
            time_s: time for which the next reference will be sent.

        Raises:
            PickerError: not active, no check possible yet, or any reason why the motion may not start; the reference
                goes on unchanged then.
        """
        if not self.active:
            raise PickerError("the arm is not active: enable it first")
        if self.check is None:
            raise PickerError("the payload is not known yet (is the dynamics node running?): no goal is accepted")
        self.require_sound(goal, time_s)
        points = points_of(goal, self.joint_names)
        earliest_s = max(time_s, self._sent_s)
        start_s, late_s = self._start_time(goal, earliest_s)
        if late_s > PAST_TOLERANCE_S:
            points = points.after(late_s)
        staying = tuple(m for m in self._staying(start_s) if m.track != goal.track and not set(m.joints) & set(points.joints))
        state, others = self._others(points.joints, staying, start_s)
        names = tuple(self.joint_names[joint] for joint in points.joints)
        whole, own = len(names) == len(self.joint_names), [part[points.joints] for part in state]

        def build(factor: float) -> Trajectory:
            slowed = points.slowed(factor)
            path = blend(
                own,
                from_points(
                    slowed.times_s, slowed.positions, slowed.velocities, slowed.accelerations, start=own, joint_names=names
                ),
            )
            return path if whole else merge_joints(path, others, points.joints)

        fitted = self.check.fit(build)
        duration = fitted.trajectory.duration if whole else float(points.times_s[-1]) * fitted.factor
        motion = Motion(
            start_s,
            fitted.trajectory,
            goal.identifier,
            Phase.EXECUTING,
            goal.track,
            tuple(points.joints.tolist()),
            duration,
            fitted=fitted,
        )
        return self._begin(motion, staying)

    def follow(self, trajectory: Trajectory, start_s: float, phase: Phase = Phase.STREAMING) -> Motion:
        """Execute a trajectory that was built on :meth:`state_at` ``start_s`` and checked by the caller."""
        return self._begin(Motion(start_s, trajectory, "", phase, ends=trajectory.duration))

    def cancel(self, time_s: float, identifier: str | None = None) -> Motion | None:
        """Decelerate to rest from the last point that was sent; returns the motion cancelled, if any.

        Args:
            identifier: of the only motion that is meant; None: all.
        """
        chosen = [m for m in self._under_way if not m.cancelled and identifier in (None, m.identifier)]
        if not chosen:
            return None
        start_s = max(time_s, self._sent_s)
        staying = tuple(m for m in self._staying(start_s) if m not in chosen)
        if staying:
            _, trajectory = self._others([], staying, start_s)
            self._begin(
                replace(chosen[0], start_s=start_s, trajectory=trajectory, ends=self._stop(start_s).duration, cancelled=True),
                staying,
            )
            return chosen[0]
        stop = self._stop_that_fits(start_s)
        stopping = [
            replace(m, start_s=start_s, trajectory=stop, phase=Phase.STOPPING, ends=stop.duration, cancelled=True) for m in chosen
        ]
        self._begin(stopping[0])
        self._under_way = stopping
        return chosen[0]

    def set_speed(self, speed: float, time_s: float) -> None:
        """Go through goals at ``speed``, 0 (pause) to 1 (as fast as they were checked), from ``time_s`` on, smoothly.

        Raises:
            InputError: beyond that range.
        """
        if not 0.0 <= speed <= 1.0:
            raise InputError(f"speed_scaling is {speed}, must be 0 to 1", subject="speed_scaling", value=speed, limit=1.0)
        self.speed, path = float(speed), self._path
        if path is None or path.phase is not Phase.EXECUTING:
            return
        time_s = max(time_s, self._sent_s)
        if time_s < path.start_s:
            self._pace = None if self.speed == 1.0 else Pace(path.start_s, self.speed)
        else:
            self._pace = self._ramp(self._pace or Pace(path.start_s), path.trajectory, time_s)

    # -- how -----------------------------------------------------------------------------------------------

    def _staying(self, time_s: float) -> list[Motion]:
        """What would go on at ``time_s`` beside something new."""
        if self._path is None or self._path.phase is not Phase.EXECUTING or time_s < self._path.start_s:
            return []
        progress = self.progress_at(time_s)
        return [m for m in self._under_way if m.ends > progress]

    def _own_state(self, time_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The state in the time of the trajectory under way, where that is scaled, else the reference's."""
        if self._path is None or self._path.phase is not Phase.EXECUTING or time_s < self._path.start_s:
            return self.state_at(time_s)
        return self._path.trajectory.sample(self.progress_at(time_s))

    def _others(self, joints, staying: Sequence[Motion], start_s: float):
        """The state in which a motion of ``joints`` begins, and what the other joints do: go on, or come to rest."""
        state = q, v, a = self._own_state(start_s)
        free = np.ones(len(q), dtype=bool)
        free[list(joints)] = False
        kept = sorted({joint for motion in staying for joint in motion.joints})
        free[kept] = False
        others = self._stop(start_s, free) if v[free].any() or a[free].any() else standing(self.joint_names, q)
        if kept:
            others = merge_joints(select_joints(remainder(self._path.trajectory, self.progress_at(start_s)), kept), others, kept)
        return state, others

    def _stop(self, start_s: float, free=True) -> Trajectory:
        """Those joints that are ``free`` come to rest, in the time of the trajectory under way."""
        q, v, a = self._own_state(start_s)
        return stop_trajectory(
            q,
            np.where(free, v, 0.0),
            np.where(free, a, 0.0),
            self.max_deceleration,
            joint_names=self.joint_names,
            lower=self.lower,
            upper=self.upper,
        )

    def _stop_that_fits(self, start_s: float) -> Trajectory:
        """From the reference's state to rest, with no more torque than allowed where that is possible."""
        ways = self._ways_to_rest(start_s)
        if self.check is None:
            return next(ways)
        lower, upper = self.check.description.lower, self.check.description.upper
        return first_that_fits(ways, self.check.torque_share, lower, upper)

    def _ways_to_rest(self, start_s: float) -> Iterator[Trajectory]:
        """Straight on, and along the path of a goal; then both ever more gently."""
        state, path = self.state_at(start_s), self._path
        follows = path is not None and path.phase is Phase.EXECUTING and start_s >= path.start_s
        for halvings in range(RATE_HALVINGS + 1):
            yield stop_trajectory(
                *state, self.max_deceleration / 2.0**halvings, joint_names=self.joint_names, lower=self.lower, upper=self.upper
            )
            if follows:
                rate = self._rate(path.trajectory, self.progress_at(start_s)) / 2.0**halvings
                yield along_path(path.trajectory, self._pace or Pace(path.start_s), start_s, rate)

    def _begin(self, motion: Motion, staying: tuple[Motion, ...] = ()) -> Motion:
        """Let ``motion`` take over; one that starts later holds where the present one is until then."""
        pace = None
        if motion.phase is Phase.EXECUTING:
            pace = self._taken_over(motion)
        progress = self.progress_at(motion.start_s)
        self.displaced = tuple(m for m in self._under_way if m not in staying)
        going_on = [replace(m, ends=m.ends - progress) for m in staying]
        self._hold = np.array(self.state_at(motion.start_s)[0])
        self._path, self._pace = motion, pace
        self._under_way = sorted([*going_on, motion], key=lambda one: one.ends)
        return motion

    def _taken_over(self, motion: Motion) -> Pace | None:
        """The pace of a trajectory that begins where the present one is left."""
        path, start_s = self._path, motion.start_s
        if path is not None and path.phase is Phase.EXECUTING and start_s >= path.start_s:
            if self._pace is None:
                return None
            return self._pace.restarted(start_s, self._rate(motion.trajectory, 0.0))
        if self.speed == 1.0:
            return None
        if not self.state_at(start_s)[1].any():
            return Pace(start_s, self.speed)
        return self._ramp(Pace(start_s), motion.trajectory, start_s)  # it moves, unscaled: from full speed to what is wanted

    def _rate(self, trajectory: Trajectory, progress: float) -> float:
        """Largest rate of the speed [1/s] that adds no more than ``max_deceleration`` to any joint's acceleration."""
        left = np.linspace(min(progress, trajectory.duration), trajectory.duration, PEAK_SAMPLES)
        peak = np.abs(trajectory.sample(left)[1]).max(axis=0)
        return float((self.max_deceleration / np.maximum(peak, 1e-6)).min())

    def _ramp(self, pace: Pace, trajectory: Trajectory, time_s: float) -> Pace:
        """A ramp to the wanted speed, gentle enough for the gate where that is possible."""
        rate = self._rate(trajectory, pace.at(time_s).progress)
        for _ in range(RATE_HALVINGS):
            made = pace.aim(time_s, self.speed, rate)
            instants = [made.at(t) for t in np.linspace(time_s, made.settled_s, RAMP_SAMPLES)]
            states = zip(*(one.scaled(trajectory.sample(one.progress)) for one in instants))
            if self.check is None or self.check.torque_share(*(np.array(part) for part in states)) <= 1.0:
                break
            rate /= 2.0
        return made

    def _start_time(self, goal: Goal, earliest_s: float) -> tuple[float, float]:
        """When the goal starts, and how late that is [s]."""
        if goal.start_s is None:
            return earliest_s, 0.0
        late = earliest_s - goal.start_s
        if self.must_wait(goal, earliest_s):
            raise TrajectoryError("a goal that starts later cannot be taken while another moves the arm", value=-late)
        return max(goal.start_s, earliest_s), max(late, 0.0)
