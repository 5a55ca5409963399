"""Reference generator: q, v, a of the arm at every time: hold, follow what was let pass, decelerate when told.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  Whoever samples asks for
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start exactly from
the last point that was sent.

What the reference will be stands in a ``Course``; here is what makes another one of it: a goal, a stream, a cancel, another
speed, other limits.  A goal's trajectory has a time of its own: at less than full speed it is gone through slowly, on the same
path.  A new goal joins in the trajectory's time, so it is checked for full speed.  Stops and streams are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory, remainder

from .approach import ApproachPlanner
from .course import Course, State
from .goal import PAST_TOLERANCE_S, ParsedGoal
from .joining import joined, others_beside
from .lookahead import LookAhead
from .motion import Motion, Phase, Reference
from .planning import Basis, Plan, plan
from .slowing import HARDER, NO_STRAIN, Slowing, Strain
from .validator import MotionValidator


class ReferenceGenerator:
    """Produces the reference of an arm; inactive until told where the arm is.

    Args:
        description: the arm; within its position limits a cancelled motion comes to rest.
        max_deceleration: [rad/s²] with which it does, and which a change of speed may add.

    Attributes:
        validator: of motions with the present payload; None: that is not known yet.
        speed: share of full speed with which goals are gone through.
        approaches: whether motions may end with one.
        sides: of the joints' friction, along what was sent.
        displaced: the motions whose place the newest one took.
    """

    def __init__(self, description: ArmDescription, max_deceleration: float):
        self.description, self.joint_names = description, description.joint_names
        self.lower, self.upper = description.lower, description.upper
        self.validator: MotionValidator | None = None
        self.speed, self.approaches = 1.0, False
        self.sides = ApproachPlanner(description.n)
        self.displaced: tuple[Motion, ...] = ()
        self._slowing = Slowing(description, np.asarray(max_deceleration, dtype=float))
        self._course: Course | None = None  # None: not active
        self._sent_s = -np.inf
        self._strain, self._strained_until_s = NO_STRAIN, -np.inf
        self._look_ahead = LookAhead()

    @property
    def active(self) -> bool:
        """Whether there is a reference."""
        return self._course is not None

    @property
    def sent_s(self) -> float:
        """Time of the newest reference [s]; -inf: there is none."""
        return self._sent_s

    @property
    def trajectory(self) -> Trajectory | None:
        """Trajectory that is followed; None: the arm holds."""
        path = self._path
        return None if path is None else path.trajectory

    @property
    def moves(self) -> bool:
        """Whether the reference has more to come than a hold."""
        return self._path is not None

    def phase(self) -> Phase:
        """Phase of the reference as things stand."""
        return Phase.INACTIVE if self._course is None else self._course.phase

    @property
    def _path(self) -> Motion | None:
        return None if self._course is None else self._course.path

    def start(self, q: ArrayLike) -> None:
        """Become active, holding the pose ``q`` (n,) [rad]."""
        self._course = Course(np.array(q, dtype=float))

    def deactivate(self) -> None:
        """Stop producing a reference."""
        self._course = None
        self._sent_s = -np.inf  # what was sent before binds nobody who starts anew

    def _active(self) -> Course:
        if self._course is None:
            raise PickerError("the arm is not active: there is no reference to sample")
        return self._course

    # -- the reference -------------------------------------------------------------------------------------

    def state_at(self, time_s: float) -> State:
        """Reference state at ``time_s`` as things stand, without advancing."""
        return self._active().state_at(time_s)

    def progress_at(self, time_s: float) -> float:
        """Progress of the trajectory that is followed at ``time_s``, in its own time [s]; negative: it waits."""
        return 0.0 if self._course is None else self._course.progress_at(time_s)

    def left(self, motion: Motion, time_s: float) -> float:
        """Rest of a motion that lies ahead at ``time_s``, in its trajectory's time [s]; 0: over, or displaced."""
        return 0.0 if self._course is None else self._course.left(motion.identifier, time_s)

    def speed_at(self, time_s: float) -> float:
        """Share of full speed with which the trajectory is gone through; what is wanted where there is none."""
        course = self._course
        if course is None or course.phase is not Phase.EXECUTING:
            return self.speed
        return 1.0 if course.scaling is None else course.scaling.at(time_s).speed

    def strain(self, since_s: float) -> Strain:
        """Strain of ways to rest, or to another speed, on the limits from ``since_s`` on, when a reference was sent last."""
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
        course, path = self._active(), self._path
        if path is None:
            return None
        progress, finished = course.progress_at(time_s), None
        if course.under_way and progress >= course.under_way[0].duration_s:
            finished = course.under_way[0]
            self._course = course = replace(course, under_way=course.under_way[1:])
        if not course.under_way and progress >= path.trajectory.duration:
            self.start(path.trajectory.end)
        return finished

    def _ended_in_pause(self, time_s: float, q: Array) -> Motion | None:
        """A cancelled motion beside another, of an arm that stands: in a pause it would not come to its end."""
        course = self._active()
        if course.executing(time_s) is None:
            return None
        finished = next((motion for motion in course.under_way if motion.cancelled), None)
        others = [motion for motion in course.under_way if motion is not finished]
        if not others:
            self.start(q)
        elif finished is not None:
            first, left_s = others[0], others[0].duration_s - course.progress_at(time_s)
            path = others_beside(course, [], others, time_s, self._slowing)
            self._begin(replace(first, start_s=time_s, trajectory=path, duration_s=left_s), tuple(others[1:]))
        return finished

    # -- goals ---------------------------------------------------------------------------------------------

    def must_wait(self, goal: ParsedGoal, time_s: float) -> bool:
        """Whether a goal that starts later has to wait because another motion is under way: begun now, it would end that one."""
        earliest_s, path = max(time_s, self._sent_s), self._path
        if goal.start_s is None or goal.start_s <= earliest_s or path is None:
            return False
        return self.progress_at(earliest_s) < path.trajectory.duration

    def basis(self, time_s: float, ahead_s: float) -> Basis | None:
        """Basis to plan a goal on ``ahead_s`` from ``time_s``, at once at rest; None: wait, the arm is about to be at rest.

        Raises:
            PickerError: not active, or no check possible yet.
        """
        if self._course is None:
            raise PickerError("the arm is not active: enable it first")
        if self.validator is None:
            raise PickerError("the payload is not known yet (is the dynamics node running?): no goal is accepted")
        course, begins_s = self._course, max(time_s, self._sent_s)
        if course.path is not None and ahead_s:
            begins_s += ahead_s
            if course.phase is Phase.STREAMING or course.progress_at(begins_s) >= course.path.trajectory.duration:
                return None
        return Basis(course, self.validator, begins_s)

    def holds(self, basis: Basis) -> bool:
        """Whether what was planned on this basis may begin."""
        same = basis.course is self._course and basis.validator is self.validator
        return same and (basis.course.path is None or basis.begins_s >= self._sent_s)

    def in_time(self, goal: ParsedGoal, time_s: float) -> ParsedGoal:
        """Part of the goal that lies ahead."""
        late_s = 0.0 if goal.start_s is None else max(time_s, self._sent_s) - goal.start_s
        return goal.after(late_s) if late_s > PAST_TOLERANCE_S else goal

    def planning(self, goal: ParsedGoal, basis: Basis) -> Callable[[], Plan]:
        """The planning of a goal: work for the worker, which touches nothing here and raises why the motion may not be made."""
        course, start_s = basis.course, basis.begins_s
        joining = joined(course.settled(start_s), goal, start_s, self._slowing)
        side = self.sides.foreseen(lambda t: course.state_at(t)[0], start_s if course.path is None else self._sent_s, start_s)
        return partial(plan, basis, joining, side, self.description, self.approaches)

    def begin(self, plan: Plan, time_s: float, identifier: str = "") -> Motion:
        """Begin a plan whose basis holds; a motion under way is blended into it.

        Args:
            time_s: of an arm at rest, the time at which its motion begins, unless the goal says a later one.
            identifier: of the motion that it becomes.
        """
        basis, goal = plan.basis, plan.joining.goal
        start_s = max(time_s, self._sent_s) if basis.course.path is None else basis.begins_s
        motion = Motion(
            start_s if goal.start_s is None else max(goal.start_s, start_s),
            plan.validated.trajectory,
            identifier,
            Phase.EXECUTING,
            goal.track,
            tuple(goal.joints.tolist()),
            plan.duration_s,
            validated=plan.validated,
            approach=plan.approach,
        )
        self._course = replace(basis.course.settled(motion.start_s), allowed=1.0)
        self._look_ahead.passed(basis.validator)
        self.sides.begins(plan.approach)
        self._begin(motion, plan.joining.staying)
        return motion

    # -- streams and stops -----------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, start_s: float) -> None:
        """Execute what became of a stream: it was built on :meth:`state_at` ``start_s``, and is within the limits."""
        self._begin(Motion(start_s, trajectory, "", Phase.STREAMING, duration_s=trajectory.duration))

    def postpone(self, time_s: float) -> None:
        """Postpone to ``time_s`` what was to begin before: nothing was sent of it."""
        course = self._active()
        if course.path is not None and course.path.start_s < time_s:
            self._course = replace(course, path=replace(course.path, start_s=time_s))

    def cancel(self, time_s: float, identifier: str | None = None) -> bool:
        """Decelerate to rest from the last point that was sent; returns whether anything was still to move.

        Args:
            identifier: of the only motion that is meant; None: all.
        """
        course = self._course
        if course is None:
            return False
        chosen = [m for m in course.under_way if not m.cancelled and identifier in (None, m.identifier)]
        if not chosen:
            return False
        start_s = max(time_s, self._sent_s)
        staying = tuple(m for m in course.going_on(start_s) if m not in chosen)
        if staying:
            path = others_beside(course, [], staying, start_s, self._slowing)
            stop_s = self._slowing.stop(course.own_state_at(start_s)).duration
            self._begin(replace(chosen[0], start_s=start_s, trajectory=path, duration_s=stop_s, cancelled=True), staying)
        else:
            self._to_rest(chosen, start_s)
        return True

    def brake(self, last: Reference | None) -> None:
        """Brake to rest from the reference that was sent last, whatever was to follow it; None was: nothing changes."""
        if last is None:
            return
        if not (last.v.any() or last.a.any()):
            self.start(last.q)
            return
        stop, strain = self._slowing.gentlest(self._slowing.straight((last.q, last.v, last.a), HARDER), self.validator)
        motion = Motion(last.time_s, stop, "", Phase.STOPPING, duration_s=stop.duration, cancelled=True)
        self._strain_until(last.time_s + stop.duration, strain)
        self._course = Course(np.array(last.q, dtype=float), motion, under_way=(motion,))

    def _to_rest(self, motions: Sequence[Motion], start_s: float, to_hold: bool = False) -> None:
        """All of it, with the answers to these motions where it stands."""
        ways = self._slowing.ways_to_rest(self._active(), start_s)
        stop, strain = self._slowing.gentlest(ways, self.validator, to_hold)
        stopping = tuple(
            replace(m, start_s=start_s, trajectory=stop, phase=Phase.STOPPING, duration_s=stop.duration, cancelled=True)
            for m in motions
        )
        self._strain_until(start_s + stop.duration, strain)
        self._begin(stopping[0])
        self._course = replace(self._active(), under_way=stopping)

    # -- another speed ---------------------------------------------------------------------------------------

    def set_speed(self, speed: float, time_s: float) -> None:
        """Go through goals at ``speed``, 0 (pause) to 1 (as fast as they were checked), from ``time_s`` on, smoothly."""
        self.speed = float(speed)
        self._change_speed(max(time_s, self._sent_s))

    @property
    def allowed_speed(self) -> float:
        """Share of full speed at which the motion under way passes the present limits."""
        return 1.0 if self._course is None else self._course.allowed

    @property
    def _target_speed(self) -> float:
        """What the motion under way is brought to: what is wanted, or less where limits need it."""
        return min(self.speed, self.allowed_speed)

    def _change_speed(self, time_s: float) -> None:
        course = self._course
        if course is None or course.path is None or course.phase is not Phase.EXECUTING:
            return
        start_s = course.path.start_s
        if time_s < start_s:
            scaling = None if self._target_speed == 1.0 else TimeScaling(start_s, self._target_speed)
        else:
            before = course.scaling or TimeScaling(start_s)
            progress = before.at(time_s).progress
            scaling = self._ramp(
                lambda rate: before.ramp(time_s, self._target_speed, rate), course.path.trajectory, time_s, progress
            )
        self._course = replace(course, scaling=scaling)

    def _scaling_of(self, motion: Motion, course: Course) -> TimeScaling | None:
        """The scaling of a goal's motion that begins where the present path is left."""
        start_s, speed = motion.start_s, self._target_speed
        left = course.executing(start_s)
        if left is not None:
            if course.scaling is None and speed == 1.0:
                return None
            before = course.scaling or TimeScaling(left.start_s)
            return self._ramp(lambda rate: before.restarted(start_s, speed, rate), motion.trajectory, start_s, 0.0)
        if speed == 1.0:
            return None
        if not course.state_at(start_s)[1].any():
            return TimeScaling(start_s, speed)
        full = TimeScaling(start_s)  # it moves, unscaled: from full speed to what is wanted
        return self._ramp(lambda rate: full.ramp(start_s, speed, rate), motion.trajectory, start_s, 0.0)

    def _ramp(self, make: Callable[[float], TimeScaling], trajectory: Trajectory, time_s: float, progress: float) -> TimeScaling:
        made, strain = self._slowing.ramp(make, trajectory, time_s, progress, self.validator)
        self._strain_until(made.settled_s, strain)
        return made

    # -- other limits ----------------------------------------------------------------------------------------

    def look_ahead(self, time_s: float) -> tuple[bool, PickerError] | None:
        """Hold what is left of the motion under way to limits that changed, a piece at a time: it goes on, is slowed, or stops.

        Returns:
            Whether it stops (or stands where it cannot), and why it does or is slowed; None: nothing new.
        """
        validator, course = self.validator, self._course
        if course is None or not self._look_ahead.is_due(validator):
            return None
        path, stopping = course.path, course.phase is Phase.STOPPING
        if path is not None and stopping and validator is not None:
            left = remainder(path.trajectory, time_s - path.start_s)
            self._strain_until(path.start_s + path.duration_s, self._slowing.gentlest([left], validator)[1])
        found = self._look_ahead.look(course, validator, time_s)
        if found is None:
            return None
        if found.speed:
            self._course = replace(course, allowed=found.speed)
            self._change_speed(time_s)  # also where it slows down anyway: what that needs of the new limits is known then
        elif path is not None and not stopping:
            self._to_rest(course.under_way or (path,), time_s, to_hold=True)
        return not found.speed, found.why

    # -- how -----------------------------------------------------------------------------------------------

    def _begin(self, motion: Motion, staying: tuple[Motion, ...] = ()) -> None:
        """Let ``motion`` take over; one that starts later holds where the present one is until then."""
        course = self._active()
        scaling = self._scaling_of(motion, course) if motion.phase is Phase.EXECUTING else None
        self.displaced = tuple(m for m in course.under_way if m not in staying)
        self._course = course.taken_over(motion, scaling, staying)

    def _strain_until(self, end_s: float, strain: Strain) -> None:
        """Of a way that is about to be taken; what was sent last counts too, as the next reference is compared with it."""
        if self.validator is not None and np.isfinite(self._sent_s):
            now = Strain.of(self.validator, *(np.array([part]) for part in self.state_at(self._sent_s)))
            strain = replace(strain, torque=max(strain.torque, now.torque), tip=max(strain.tip, now.tip))
        self._strain, self._strained_until_s = strain, end_s
