"""Reference generator: q, v, a of the arm at every time: hold, follow what was let pass, decelerate when told.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  Whoever samples asks for
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start exactly from
the last point that was sent.

A goal's trajectory has a time of its own, which a ``TimeScaling`` maps to: at less than full speed it is gone through slowly, on
the same path.  A new goal joins in the trajectory's time, so it is checked for full speed.  Stops and streams are not scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError, TrajectoryError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.time_scaling import TimeScaling, stop_along
from picker_dynamics.trajectory.trajectory import (
    Trajectory,
    head,
    merge_joints,
    remainder,
    select_joints,
    standing,
    stop_trajectory,
)

from .checks import SampledMotion
from .goal import MAIN_TRACK, PAST_TOLERANCE_S, ParsedGoal
from .validator import NO_STRAIN, ROUNDING, MotionValidator, Strain, Validated

RATE_HALVINGS = 4
"""How often a change of speed is made more gently until it needs no more torque than allowed."""

HARDER = (2.0, 4.0)
"""Times the deceleration with which the arm may brake where the guard stopped it while it accelerated."""

RAMP_PERIOD_S, RAMP_SAMPLES = 0.005, 200
PEAK_SAMPLES = 200

AHEAD_S = 5.0
"""How much of a motion under way is looked at in one go when limits change [s]: the next reference waits for it."""


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
    q: Array
    v: Array
    a: Array


@dataclass(frozen=True)
class Motion:
    """Motion under way: a trajectory with a start; what a goal became.

    Attributes:
        start_s: when it begins.
        trajectory: of all joints, those included that go on with another motion.
        identifier: whose motion it is.
        track: the goal's.
        phase: executing, stopping or streaming.
        joints: indices of the joints that are its own; empty: all.
        duration_s: its own, in the trajectory's time.
        cancelled: it comes to rest before its goal.
        validated: what the validator made of it; None: a stop or a stream.
    """

    start_s: float
    trajectory: Trajectory
    identifier: str = ""
    phase: Phase = Phase.EXECUTING
    track: str = MAIN_TRACK
    joints: tuple[int, ...] = ()
    duration_s: float = 0.0
    cancelled: bool = False
    validated: Validated | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Standing:
    """How an arm stands, and what it is held to; equal while neither has changed.

    Attributes:
        key: of the pose and the validator; they are the same objects until something moves or changes.
    """

    key: tuple[int, int]
    kept: tuple[object, ...] = field(repr=False, compare=False)


class ReferenceGenerator:
    """Produces the reference of an arm; inactive until told where the arm is.

    Args:
        description: the arm; within its position limits a cancelled motion comes to rest.
        max_deceleration: [rad/s²] with which it does, and which a change of speed may add.

    Attributes:
        validator: of motions with the present payload; None: that is not known yet.
        speed: share of full speed with which goals are gone through.
        displaced: the motions whose place the newest one took.
    """

    def __init__(self, description: ArmDescription, max_deceleration: float):
        self.description, self.joint_names = description, description.joint_names
        self.lower, self.upper = description.lower, description.upper
        self.validator: MotionValidator | None = None
        self.max_deceleration = np.asarray(max_deceleration, dtype=float)
        self.speed = 1.0
        self._hold: Array | None = None
        self._path: Motion | None = None  # the newest: its trajectory is the one that is followed
        self._scaling: TimeScaling | None = None  # None: as fast as it was made
        self._under_way: list[Motion] = []
        self.displaced: tuple[Motion, ...] = ()
        self._sent_s = -np.inf
        self._allowed = 1.0  # share of its speed at which the path passes the present limits
        self._strain, self._strained_until_s = NO_STRAIN, -np.inf
        self._passed_by: MotionValidator | None = None  # whose limits the path is known to pass
        self._looked: tuple[MotionValidator | None, float] = None, 0.0  # how far it was looked at, by whom

    @property
    def active(self) -> bool:
        return self._hold is not None

    @property
    def trajectory(self) -> Trajectory | None:
        """The one that is followed; None: the arm holds."""
        return None if self._path is None else self._path.trajectory

    @property
    def moves(self) -> bool:
        """Whether there is more to come than a hold."""
        return self._path is not None

    def phase(self) -> Phase:
        if self._hold is None:
            return Phase.INACTIVE
        return Phase.HOLDING if self._path is None else self._path.phase

    def start(self, q: ArrayLike) -> None:
        """Become active, holding the pose ``q`` (n,) [rad]."""
        self._hold = np.array(q, dtype=float)
        self._path, self._scaling, self._under_way, self._allowed = None, None, [], 1.0

    def deactivate(self) -> Motion | None:
        """Stop producing a reference; returns the motion that this aborted, if any."""
        aborted = self._path
        self._hold, self._path, self._scaling, self._under_way = None, None, None, []
        self._sent_s = -np.inf  # what was sent before binds nobody who starts anew
        return aborted

    # -- the reference -------------------------------------------------------------------------------------

    def state_at(self, time_s: float) -> tuple[Array, Array, Array]:
        """Reference state at ``time_s`` as things stand, without advancing."""
        if self._hold is None:
            raise PickerError("the arm is not active: there is no reference to sample")
        path = self._path
        if path is None or time_s < path.start_s:
            return self._hold, np.zeros_like(self._hold), np.zeros_like(self._hold)
        if self._scaling is None:
            return path.trajectory.sample(time_s - path.start_s)
        now = self._scaling.at(time_s)
        return now.scaled(path.trajectory.sample(now.progress))

    def progress_at(self, time_s: float) -> float:
        """How far the trajectory that is followed is at ``time_s``, in its own time [s]; negative: it waits."""
        if self._path is None:
            return 0.0
        return time_s - self._path.start_s if self._scaling is None else self._scaling.at(time_s).progress

    def left(self, motion: Motion, time_s: float) -> float:
        """How much of a motion lies ahead at ``time_s``, in its trajectory's time [s]; 0: over, or displaced."""
        for one in self._under_way:
            if one.identifier == motion.identifier:
                return max(one.duration_s - max(self.progress_at(time_s), 0.0), 0.0)
        return 0.0

    def speed_at(self, time_s: float) -> float:
        """Share of full speed with which the trajectory is gone through; what is wanted where there is none."""
        if self._path is None or self._path.phase is not Phase.EXECUTING:
            return self.speed
        return 1.0 if self._scaling is None else self._scaling.at(time_s).speed

    def strain(self, since_s: float) -> Strain:
        """What ways to rest, or to another speed, need of the limits from ``since_s`` on, when a reference was sent last."""
        return self._strain if since_s < self._strained_until_s else NO_STRAIN

    def sample(self, time_s: float) -> tuple[Reference, Motion | None]:
        """The reference to send for ``time_s``, and the motion that ended with it, if one did."""
        q, v, a = self.state_at(time_s)
        self._sent_s = max(self._sent_s, time_s)
        finished = self._ended(time_s)
        if finished is None and not (v.any() or a.any()):
            finished = self._ended_in_pause(time_s, q)
        return Reference(time_s, q, v, a), finished

    def _ended(self, time_s: float) -> Motion | None:
        """The motion that is at its end; joints that are nobody's any more may still be coming to rest, and hold then."""
        if self._path is None:
            return None
        progress, finished = self.progress_at(time_s), None
        if self._under_way and progress >= self._under_way[0].duration_s:
            finished = self._under_way.pop(0)
        if not self._under_way and progress >= self._path.trajectory.duration:
            self.start(self._path.trajectory.end)
        return finished

    def _ended_in_pause(self, time_s: float, q: Array) -> Motion | None:
        """A cancelled motion beside another, of an arm that stands: in a pause it would not come to its end."""
        if self._path is None or self._path.phase is not Phase.EXECUTING or time_s < self._path.start_s:
            return None
        finished = next((motion for motion in self._under_way if motion.cancelled), None)
        others = [motion for motion in self._under_way if motion is not finished]
        if not others:
            self.start(q)
        elif finished is not None:
            first, left_s = others[0], others[0].duration_s - self.progress_at(time_s)
            path = self._others([], others, time_s)[1]
            self._begin(replace(first, start_s=time_s, trajectory=path, duration_s=left_s), tuple(others[1:]))
        return finished

    # -- what is asked -------------------------------------------------------------------------------------

    def must_wait(self, goal: ParsedGoal, time_s: float) -> bool:
        """Whether a goal that starts later has to wait because another motion is under way: begun now, it would end that one."""
        earliest_s = max(time_s, self._sent_s)
        if goal.start_s is None or goal.start_s <= earliest_s or self._path is None:
            return False
        return self.progress_at(earliest_s) < self._path.trajectory.duration

    def standing(self) -> Standing | None:
        """How the arm stands; None: it moves, is not active, or the payload is not known."""
        if self.phase() is not Phase.HOLDING or self.validator is None:
            return None
        return Standing((id(self._hold), id(self.validator)), (self._hold, self.validator))

    def in_time(self, goal: ParsedGoal, time_s: float) -> ParsedGoal:
        """What of the goal lies ahead."""
        late_s = self._start_time(goal, max(time_s, self._sent_s))[1]
        return goal.after(late_s) if late_s > PAST_TOLERANCE_S else goal

    def check_of(self, goal: ParsedGoal, time_s: float) -> Callable[[], Validated]:
        """The check of a goal for the arm as it stands now: work that touches nothing here, and may be done beside the ticks.

        Its result holds, for ``submit``, while ``standing`` is the same.
        """
        validator = self._require_validator()
        build = self._joined(goal, max(time_s, self._sent_s))[0]
        return lambda: validator.scale_time(build)

    def submit(self, goal: ParsedGoal, time_s: float, identifier: str = "", checked: Validated | None = None) -> Motion:
        """Validate a goal and start it from the last point that was sent; a motion under way is blended into it.

        Args:
            goal: what is asked.
            time_s: time for which the next reference will be sent.
            identifier: of the motion that it becomes.
            checked: what ``check_of`` made of what of it was ``in_time`` then, for the arm as it still stands.

        Raises:
            PickerError: not active, no check possible yet, or any reason why the motion may not start; the reference
                goes on unchanged then.
        """
        validator = self._require_validator()
        if checked is None:
            goal = self.in_time(goal, time_s)
        start_s = self._start_time(goal, max(time_s, self._sent_s))[0]
        before = self._path, self._scaling, self._under_way, self._allowed
        self._settle(start_s)
        try:
            build, staying, whole = self._joined(goal, start_s)
            validated = checked or validator.scale_time(build)
        except PickerError:
            self._path, self._scaling, self._under_way, self._allowed = before
            raise
        duration_s = validated.trajectory.duration if whole else float(goal.times_s[-1]) * validated.factor
        joints = tuple(goal.joints.tolist())
        motion = Motion(
            start_s, validated.trajectory, identifier, Phase.EXECUTING, goal.track, joints, duration_s, validated=validated
        )
        self._allowed = 1.0
        self._begin(motion, staying)
        self._passed_by = validator
        return motion

    def _settle(self, start_s: float) -> None:
        """Where the path under way was slowed for lower limits: the same, made for them, so that what joins it obeys them."""
        if self._allowed == 1.0 or self._path is None or start_s < self._path.start_s:
            return
        factor, self._allowed = 1.0 / self._allowed, 1.0
        scaling = self._scaling or TimeScaling(self._path.start_s)
        self._path = replace(self._path, trajectory=self._path.trajectory.stretched(factor))
        self._scaling = scaling.stretched(factor)
        self._under_way = [replace(m, duration_s=m.duration_s * factor) for m in self._under_way]

    def _require_validator(self) -> MotionValidator:
        if not self.active:
            raise PickerError("the arm is not active: enable it first")
        if self.validator is None:
            raise PickerError("the payload is not known yet (is the dynamics node running?): no goal is accepted")
        return self.validator

    def _joined(self, goal: ParsedGoal, start_s: float) -> tuple[Callable[[float], Trajectory], tuple[Motion, ...], bool]:
        """The motion of all joints for a factor on its duration, those that stay beside it, whether the goal has all joints."""
        joints = tuple(goal.joints.tolist())
        staying = tuple(m for m in self._staying(start_s) if m.track != goal.track and not set(m.joints) & set(joints))
        state, others = self._others(joints, staying, start_s)
        whole = len(joints) == len(self.joint_names)
        own = state[0][goal.joints], state[1][goal.joints], state[2][goal.joints]

        def build(factor: float) -> Trajectory:
            path = goal.trajectory(own, factor)
            return path if whole else merge_joints(path, others, goal.joints)

        return build, staying, whole

    def follow(self, trajectory: Trajectory, start_s: float, phase: Phase = Phase.STREAMING) -> Motion:
        """Execute a trajectory that was built on :meth:`state_at` ``start_s`` and checked by the caller."""
        return self._begin(Motion(start_s, trajectory, "", phase, duration_s=trajectory.duration))

    def postpone(self, time_s: float) -> None:
        """What was to begin before ``time_s`` begins then: nothing was sent of it."""
        if self._path is not None and self._path.start_s < time_s:
            self._path = replace(self._path, start_s=time_s)

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
                replace(
                    chosen[0], start_s=start_s, trajectory=trajectory, duration_s=self._stop(start_s).duration, cancelled=True
                ),
                staying,
            )
            return chosen[0]
        self._to_rest(chosen, start_s)
        return chosen[0]

    def _to_rest(self, motions: list[Motion], start_s: float, to_hold: bool = False) -> None:
        stop, strain = self._gentlest(self._ways_to_rest(start_s), to_hold)
        stopping = [
            replace(m, start_s=start_s, trajectory=stop, phase=Phase.STOPPING, duration_s=stop.duration, cancelled=True)
            for m in motions
        ]
        self._strain_until(start_s + stop.duration, strain)
        self._begin(stopping[0])
        self._under_way = stopping

    def brake(self, last: Reference | None) -> None:
        """To rest from the reference that was sent last, whatever was to follow it; None was: hold."""
        if last is None:
            return
        if not (last.v.any() or last.a.any()):
            self.start(last.q)
            return
        stop, strain = self._gentlest(self._straight((last.q, last.v, last.a), HARDER))
        motion = Motion(last.time_s, stop, "", Phase.STOPPING, duration_s=stop.duration, cancelled=True)
        self._strain_until(last.time_s + stop.duration, strain)
        self.start(last.q)
        self._path, self._under_way = motion, [motion]

    def set_speed(self, speed: float, time_s: float) -> None:
        """Go through goals at ``speed``, 0 (pause) to 1 (as fast as they were checked), from ``time_s`` on, smoothly."""
        self.speed = float(speed)
        self._change_speed(max(time_s, self._sent_s))

    @property
    def target_speed(self) -> float:
        """Share of full speed to which the motion under way was brought: what is wanted, or less where limits need it."""
        return min(self.speed, self._allowed)

    @property
    def allowed_speed(self) -> float:
        """Share of full speed at which the motion under way passes the present limits."""
        return self._allowed

    def _change_speed(self, time_s: float) -> None:
        path = self._path
        if path is None or path.phase is not Phase.EXECUTING:
            return
        if time_s < path.start_s:
            self._scaling = None if self.target_speed == 1.0 else TimeScaling(path.start_s, self.target_speed)
            return
        scaling = self._scaling or TimeScaling(path.start_s)
        self._scaling = self._gentle_ramp(
            lambda rate: scaling.ramp(time_s, self.target_speed, rate), path.trajectory, time_s, scaling.at(time_s).progress
        )

    # -- other limits ----------------------------------------------------------------------------------------

    def look_ahead(self, time_s: float) -> tuple[bool, PickerError] | None:
        """Hold what is left of the motion under way to limits that changed, a piece at a time: it goes on, is slowed, or stops.

        Returns:
            Whether it stops (or stands where it cannot), and why it does or is slowed; None: nothing new.
        """
        validator, path = self.validator, self._path
        if validator is self._passed_by or self._hold is None:
            return None
        if path is not None and path.phase is Phase.EXECUTING and validator is not None:
            return self._look_at_path(validator, path, time_s)
        self._passed_by = validator
        if path is not None and path.phase is Phase.STOPPING:
            if validator is None:
                return None
            _, strain = validator.gentlest([remainder(path.trajectory, time_s - path.start_s)], self.lower, self.upper)
            self._strain_until(path.start_s + path.duration_s, strain)
        try:
            if validator is None:
                raise PickerError("the payload is not known any more", subject="payload")
            if path is None or path.phase is Phase.STOPPING:
                validator.require_holdable(self._hold if path is None else path.trajectory.end)
            else:
                self._require_followable(validator, *self.state_at(time_s))
        except PickerError as error:
            if path is not None and path.phase is not Phase.STOPPING:
                self._to_rest(self._under_way or [path], time_s, to_hold=True)
            elif path is None and validator is None:
                return None
            return True, error
        return None

    def _require_followable(self, validator: MotionValidator, q: Array, v: Array, a: Array) -> None:
        """Raise where a stream is beyond the limits; it may just be at them."""
        try:
            validator.validate_state(q, v, a)
        except PickerError:
            strain = self._strain_at(q[None], v[None], a[None])
            if max(strain.torque, strain.tip) > 1.0 + ROUNDING or not validator.can_hold(q):
                raise

    def _look_at_path(self, validator: MotionValidator, path: Motion, time_s: float) -> tuple[bool, PickerError] | None:
        looked_by, begin = self._looked
        if looked_by is not validator:
            begin = max(self.progress_at(time_s), 0.0)
        piece = head(remainder(path.trajectory, begin), AHEAD_S)
        motion = SampledMotion.along(piece, validator.model, validator.period_s)
        motion.rest = path.trajectory.end
        try:
            speed, why = validator.largest_speed(motion)
        except PickerError as error:
            self._passed_by = validator
            self._to_rest(self._under_way or [path], time_s, to_hold=True)
            return True, error
        self._looked = validator, begin + AHEAD_S
        if begin + AHEAD_S >= path.trajectory.duration:
            self._passed_by = validator
        if why is None or speed >= self._allowed:
            return None
        self._allowed = speed
        self._change_speed(time_s)  # also where it slows down anyway: what that needs of the new limits is known then
        return False, why

    # -- how -----------------------------------------------------------------------------------------------

    def _staying(self, time_s: float) -> list[Motion]:
        """What would go on at ``time_s`` beside something new."""
        if self._path is None or self._path.phase is not Phase.EXECUTING or time_s < self._path.start_s:
            return []
        progress = self.progress_at(time_s)
        return [m for m in self._under_way if m.duration_s > progress]

    def _own_state(self, time_s: float) -> tuple[Array, Array, Array]:
        """The state in the time of the trajectory under way, where that is scaled and not paused, else the reference's."""
        state = self.state_at(time_s)
        if self._path is None or self._path.phase is not Phase.EXECUTING or not (state[1].any() or state[2].any()):
            return state
        return self._path.trajectory.sample(self.progress_at(time_s))

    def _others(
        self, joints: Iterable[int], staying: Sequence[Motion], start_s: float
    ) -> tuple[tuple[Array, Array, Array], Trajectory]:
        """The state in which a motion of ``joints`` begins, and what the other joints do: go on, or come to rest."""
        state = q, v, a = self._own_state(start_s)
        free = np.ones(len(q), dtype=bool)
        free[list(joints)] = False
        kept = sorted({joint for motion in staying for joint in motion.joints})
        free[kept] = False
        others = self._stop(start_s, free) if v[free].any() or a[free].any() else standing(self.joint_names, q)
        if kept and self._path is not None:
            others = merge_joints(select_joints(remainder(self._path.trajectory, self.progress_at(start_s)), kept), others, kept)
        return state, others

    def _stop(self, start_s: float, free: Array | bool = True) -> Trajectory:
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

    def _gentlest(self, ways: Iterator[Trajectory], to_hold: bool = False) -> tuple[Trajectory, Strain]:
        """To rest with no more torque and speed than allowed where that is possible."""
        if self.validator is None:
            return next(ways), NO_STRAIN
        return self.validator.gentlest(ways, self.lower, self.upper, to_hold)

    def _ways_to_rest(self, start_s: float) -> Iterator[Trajectory]:
        """As a stream's filter foresaw; straight on, and along the path of a goal; then both ever more gently."""
        path = self._path
        if path is not None and path.phase is Phase.STREAMING:
            yield remainder(path.trajectory, self.progress_at(start_s))
        follows = path is not None and path.phase is Phase.EXECUTING and start_s >= path.start_s
        for halvings, straight in enumerate(self._straight(self.state_at(start_s))):
            yield straight
            if path is not None and follows:
                rate = self._rate(path.trajectory, self.progress_at(start_s)) / 2.0**halvings
                yield stop_along(path.trajectory, self._scaling or TimeScaling(path.start_s), start_s, rate)

    def _straight(self, state: tuple[Array, Array, Array], harder: Sequence[float] = ()) -> Iterator[Trajectory]:
        """Straight on to rest: as wanted, ``harder`` times as hard, then ever more gently."""
        for share in (1.0, *harder, *(0.5**halvings for halvings in range(1, RATE_HALVINGS + 1))):
            yield stop_trajectory(
                *state, self.max_deceleration * share, joint_names=self.joint_names, lower=self.lower, upper=self.upper
            )

    def _begin(self, motion: Motion, staying: tuple[Motion, ...] = ()) -> Motion:
        """Let ``motion`` take over; one that starts later holds where the present one is until then."""
        scaling = None
        if motion.phase is Phase.EXECUTING:
            scaling = self._taken_over(motion)
        progress = self.progress_at(motion.start_s)
        self.displaced = tuple(m for m in self._under_way if m not in staying)
        going_on = [replace(m, duration_s=m.duration_s - progress) for m in staying]
        self._hold = np.array(self.state_at(motion.start_s)[0])
        self._path, self._scaling = motion, scaling
        self._under_way = sorted([*going_on, motion], key=lambda one: one.duration_s)
        return motion

    def _taken_over(self, motion: Motion) -> TimeScaling | None:
        """The scaling of a trajectory that begins where the present one is left."""
        path, start_s, speed = self._path, motion.start_s, self.target_speed
        if path is not None and path.phase is Phase.EXECUTING and start_s >= path.start_s:
            scaling = self._scaling
            if scaling is None and speed == 1.0:
                return None
            scaling = scaling or TimeScaling(path.start_s)
            return self._gentle_ramp(lambda rate: scaling.restarted(start_s, speed, rate), motion.trajectory, start_s, 0.0)
        if speed == 1.0:
            return None
        if not self.state_at(start_s)[1].any():
            return TimeScaling(start_s, speed)
        full = TimeScaling(start_s)  # it moves, unscaled: from full speed to what is wanted
        return self._gentle_ramp(lambda rate: full.ramp(start_s, speed, rate), motion.trajectory, start_s, 0.0)

    def _rate(self, trajectory: Trajectory, progress: float) -> float:
        """Largest rate of the speed [1/s] that adds no more than ``max_deceleration`` to any joint's acceleration."""
        left = np.linspace(min(progress, trajectory.duration), trajectory.duration, PEAK_SAMPLES)
        peak = np.abs(trajectory.sample(left)[1]).max(axis=0)
        return float((self.max_deceleration / np.maximum(peak, 1e-6)).min())

    def _gentle_ramp(
        self, make: Callable[[float], TimeScaling], trajectory: Trajectory, time_s: float, progress: float
    ) -> TimeScaling:
        """The ramp ``make(rate)``, gentle enough for the torque limits where that is possible."""
        rate, tried = self._rate(trajectory, progress), []
        for _ in range(RATE_HALVINGS):
            made = make(rate)
            strain = self._strain_of(made, trajectory, time_s)
            tried.append((strain.torque, made, strain))
            if strain.torque <= 1.0:
                break
            rate /= 2.0
        _, made, strain = min(tried, key=lambda one: max(one[0], 1.0))
        self._strain_until(made.settled_s, strain)
        return made

    def _strain_until(self, end_s: float, strain: Strain) -> None:
        """Of a way that is about to be taken; what was sent last counts too, as the next reference is compared with it."""
        if self.validator is not None and np.isfinite(self._sent_s):
            now = self._strain_at(*(np.array([part]) for part in self.state_at(self._sent_s)))
            strain = replace(strain, torque=max(strain.torque, now.torque), tip=max(strain.tip, now.tip))
        self._strain, self._strained_until_s = strain, end_s

    def _strain_of(self, scaling: TimeScaling, trajectory: Trajectory, time_s: float) -> Strain:
        """What a ramp needs of the limits."""
        if self.validator is None or scaling.settled_s <= time_s:
            return NO_STRAIN
        count = min(max(math.ceil((scaling.settled_s - time_s) / RAMP_PERIOD_S), 8), RAMP_SAMPLES)
        instants = [scaling.at(t) for t in np.linspace(time_s, scaling.settled_s, count + 1)]
        states = zip(*(one.scaled(trajectory.sample(one.progress)) for one in instants))
        return self._strain_at(*(np.array(part) for part in states))

    def _strain_at(self, q: Array, v: Array, a: Array) -> Strain:
        """What states (s, n) need of the limits."""
        assert self.validator is not None
        motion = SampledMotion(self.validator.model, np.zeros(len(q)), q, v, a, q[-1])
        return Strain(self.validator.torque_share(q, v, a), float(motion.tip_speed.max() / self.validator.tip_speed))

    def _start_time(self, goal: ParsedGoal, earliest_s: float) -> tuple[float, float]:
        """When the goal starts, and how late that is [s]."""
        if goal.start_s is None:
            return earliest_s, 0.0
        late = earliest_s - goal.start_s
        if self.must_wait(goal, earliest_s):
            raise TrajectoryError("a goal that starts later cannot be taken while another moves the arm", value=-late)
        return max(goal.start_s, earliest_s), max(late, 0.0)
