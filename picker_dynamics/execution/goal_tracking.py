"""Goal tracking: what becomes of a goal that somebody waits for, within its tolerances, arrived, too late, or cancelled.

Free of ROS.  The arm's state is what the hardware publishes, measured or modelled; it is compared with the reference that
held when the state was taken, not with the newest one, which is a lead ahead.

Tolerances mean what they do in control_msgs/JointTolerance and joint_trajectory_controller's ``constraints``: one of a goal that
is 0 stands for the default, -1 takes the default away; one that is 0 in the end is not looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, JointNamesError, PickerError
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from .goal import OutdatedError
from .motion import Reference
from .tip_uncertainty import joint_uncertainty

SERVO_SHARE, LEAST_SERVO = 2.5, 0.01
"""Goal tolerance of servos as a multiple of what their steps and deadbands leave, and the least [rad]."""

ROUNDING = 1.2e-7
"""By which -1 may be missed: that of a 32-bit float."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of one goal, or the defaults: largest errors of position and velocity (2, n); 0: not looked at.

    Attributes:
        path: while it moves [rad, rad/s; m for a sliding joint].
        goal: where it ends.
        goal_time: how long after its end the arm may take to get there [s]; 0: as long as it takes.
    """

    path: Array
    goal: Array
    goal_time: float = 0.0

    @classmethod
    def of(cls, path: ArrayLike, goal: ArrayLike, stopped_velocity: float = 0.0, goal_time: float = 0.0) -> Tolerances:
        """Tolerances from joint_trajectory_controller's parameters: ``constraints.*`` per joint, and two for all."""
        path, goal = np.array(path, dtype=float), np.array(goal, dtype=float)
        rows = np.stack([path, 0.0 * path]), np.stack([goal, np.full_like(goal, stopped_velocity)])
        return cls(*rows, float(goal_time))

    @classmethod
    def of_servos(cls, servos: ServoMap) -> Tolerances:
        """Tolerances of servos: a multiple of what their steps and deadbands leave at rest; on their way nothing is measured."""
        return cls.of(np.zeros(servos.n), np.maximum(SERVO_SHARE * joint_uncertainty(servos), LEAST_SERVO))

    @classmethod
    def of_arm(cls, arm: Arm) -> Tolerances:
        """Tolerances of an arm whose joints are measured: those of its entry in config/arms.yaml."""
        n = arm.description.n
        return cls.of(np.full(n, arm.path_tolerance or 0.0), np.full(n, arm.goal_tolerance or 0.0))

    def select_joints(self, joints: Iterable[int]) -> Tolerances:
        """Tolerances of some joints, given by their indices; the others are not looked at."""
        mine = np.isin(np.arange(self.path.shape[1]), list(joints))
        return replace(self, path=self.path * mine, goal=self.goal * mine)

    def wanted(self, path: Iterable[Any], goal: Iterable[Any], goal_time: float, names: Sequence[str]) -> Tolerances:
        """Tolerances of a goal, which changes these defaults by control_msgs/JointTolerance.

        Raises:
            JointNamesError: a tolerance for a joint that the arm does not have.
            InputError: one that is negative but not -1, or not finite.
        """
        return Tolerances(
            _changed(self.path, path, names, "path_tolerance"),
            _changed(self.goal, goal, names, "goal_tolerance"),
            _resolved(self.goal_time, goal_time, "goal_time_tolerance"),
        )


def exceeded(bounds: Array, names: Sequence[str], units: Sequence[str], q_error: Array, v_error: Array | None) -> str:
    """The joint that breaks its bound most, as a multiple of it, in words; '' none.  ``v_error`` may be None: not known."""
    errors = np.abs([q_error, 0.0 * q_error if v_error is None else v_error])
    share = np.divide(errors, bounds, out=np.zeros_like(errors), where=bounds > 0.0)
    what, j = divmod(int(share.argmax()), len(names))
    if not share[what, j] > 1.0:
        return ""
    value, limit, per = float(errors[what, j]), float(bounds[what, j]), "/s" if what else ""
    subject = f"the velocity of {names[j]}" if what else names[j]
    return f"{subject} is off by {told(value, units[j], limit)}{per}, allowed {told(limit, units[j], value)}{per}"


def _changed(default: Array, wanted: Iterable[Any], names: Sequence[str], what: str) -> Array:
    made: Array = default.copy()
    for one in wanted:
        if one.name not in names:
            raise JointNamesError(f"{what}: unknown joint {one.name!r}; the arm has {', '.join(names)}", one.name)
        j = list(names).index(one.name)
        for row, part in enumerate(("position", "velocity")):
            made[row, j] = _resolved(default[row, j], getattr(one, part), f"{what} of {one.name} ({part})", one.name)
        _resolved(0.0, one.acceleration, f"{what} of {one.name} (acceleration)", one.name)  # not looked at
    return made


def _resolved(default: float, wanted: float, what: str, joint: str | None = None) -> float:
    if np.isfinite(wanted) and wanted >= 0.0:
        return float(wanted) or float(default)
    if abs(wanted + 1.0) <= ROUNDING:
        return 0.0
    raise InputError(f"{what} is {wanted:g}, must be positive, 0 (the default) or -1 (none)", joint, wanted, 0.0)


STANDS = 0.01
"""Speed of a joint that stands [rad/s, m/s]; the default of joint_trajectory_controller's ``stopped_velocity_tolerance``."""

STATELESS_S = 1.0
"""So long a goal goes on without a state of the arm [s], where that matters: it has tolerances on its way, or has ended."""

SAME_S = 1e-6
"""Times closer than this are the same [s]."""


class Code(IntEnum):
    """Error codes of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Outcome(Enum):
    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


@dataclass(frozen=True)
class Verdict:
    """Result of a goal; ``text`` names joint and amount.

    Attributes:
        stop: the arm still moves for it, and must not.
        stalled: a gripper stands before its goal.
    """

    outcome: Outcome
    code: Code
    text: str = ""
    stop: bool = False
    stalled: bool = False

    @classmethod
    def of(cls, error: PickerError) -> Verdict:
        """Verdict on a goal that was refused."""
        codes = {JointNamesError: Code.INVALID_JOINTS, OutdatedError: Code.OLD_HEADER_TIMESTAMP}
        code = next((code for kind, code in codes.items() if isinstance(error, kind)), Code.INVALID_GOAL)
        return cls(Outcome.ABORTED, code, str(error))

    @classmethod
    def aborted(cls, text: str) -> Verdict:
        """Verdict on a goal that cannot go on: displaced, a fault.  There is no better code for that."""
        return cls(Outcome.ABORTED, Code.INVALID_GOAL, text)

    @classmethod
    def canceled(cls, text: str) -> Verdict:
        return cls(Outcome.CANCELED, Code.SUCCESSFUL, text)


@dataclass(frozen=True)
class ArmState:
    """State of the arm: positions, velocities and efforts of its joints, (n,) each [rad, rad/s, N·m]; None: not known.

    ``delay_s``: how much later than its time the board plays a command then [s].
    """

    time_s: float
    q: Array
    v: Array | None
    effort: Array | None = None
    delay_s: float = 0.0


@dataclass(frozen=True)
class Error:
    """Tracking error: desired state, actual one, and their difference, at the time of the actual one."""

    desired: Reference
    actual: ArmState

    @property
    def q(self) -> Array:
        error: Array = self.desired.q - self.actual.q
        return error

    @property
    def v(self) -> Array | None:
        return None if self.actual.v is None else self.desired.v - self.actual.v


class SentReferences:
    """The references sent of late: what held when a state was taken.

    Args:
        count: how many; they have to reach back over the lead and the age of a state.

    Attributes:
        delay_s: how much later than their times they hold, because of stalls [s].
        behind_s: and how much later the hardware plays them [s].
        waits: whether the next one waits for a late cycle, and goes on where the last one was.
    """

    delay_s = behind_s = 0.0
    waits = False

    def __init__(self, count: int):
        self._sent: deque[Reference] = deque(maxlen=count)
        self.append = self._sent.append
        self.clear = self._sent.clear

    @property
    def newest(self) -> Reference | None:
        return self._sent[-1] if self._sent else None

    def at(self, time_s: float) -> Reference | None:
        """The reference that holds at ``time_s``, between two that were sent; the oldest or newest where there are none."""
        after, time_s = None, time_s - self.delay_s - self.behind_s
        for sent in reversed(tuple(self._sent)):  # a view asks from another thread
            if sent.time_s <= time_s:
                if after is None:
                    return sent
                share = (time_s - sent.time_s) / (after.time_s - sent.time_s)
                return Reference(
                    time_s, *(x + share * (y - x) for x, y in ((sent.q, after.q), (sent.v, after.v), (sent.a, after.a)))
                )
            after = sent
        return after


class Tracker:
    """Judge of one goal; this one takes it for done, or cancelled, when its last reference was sent.

    Attributes:
        cancelling: it comes to rest before its goal.
    """

    cancelling = False

    @property
    def watches_path(self) -> bool:
        """Whether every state counts, not only a look now and then."""
        return False

    def ended(self, reference: Reference) -> Verdict | None:
        """The reference has come to the end of this goal, or to rest, with this point; returns the verdict, None: not yet."""
        return Verdict.canceled("cancelled: holding") if self.cancelling else Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL)

    def look(self, now_s: float, error: Error | None) -> Verdict | None:
        """The verdict, if there is one by now.

        Args:
            now_s: time for which the arm's state would be known if it came without delay.
            error: from the newest state; None: there is none yet.
        """


class GoalTracker(Tracker):
    """Judge of one goal, who compares the arm's state with its tolerances; it has ended when the board has played its end.

    Args:
        names, units: of all joints of the arm.
        tolerances: of the goal.
        start_s: when it starts.
        remark: said with the success (that it was slowed, for example).
    """

    def __init__(self, names: Sequence[str], units: Sequence[str], tolerances: Tolerances, start_s: float, remark: str = ""):
        self.names, self.units, self.tolerances, self.start_s = tuple(names), tuple(units), tolerances, start_s
        self.remark = remark
        self._ended: Reference | None = None
        self._state_s, self._delay_s = start_s, 0.0

    @property
    def watches_path(self) -> bool:
        return bool(self.tolerances.path.any()) and self._ended is None

    def ended(self, reference: Reference) -> None:
        self._ended = reference

    def look(self, now_s: float, error: Error | None) -> Verdict | None:
        ended = self._ended
        if ended is not None:
            if error is not None:
                delay_s, since_s = error.actual.delay_s, error.actual.time_s - ended.time_s
                self._delay_s = delay_s if delay_s > since_s else min(self._delay_s, since_s)  # it is to be played yet; it was
            ended = replace(ended, time_s=ended.time_s + self._delay_s)
        if ended is not None and now_s < ended.time_s:
            return None  # the last point was sent, but does not hold yet
        if self.cancelling:
            return None if ended is None else self._stood(error, ended, now_s - ended.time_s)
        if error is not None:
            self._state_s = max(self._state_s, error.actual.time_s)
        on_the_way = bool(self.tolerances.path.any())
        seen_s = self._state_s if ended is None or on_the_way else max(self._state_s, ended.time_s)
        if (ended is not None or on_the_way) and now_s - seen_s > STATELESS_S:
            return self._violated(f"no joint_states for {now_s - self._state_s:.1f} s: cannot confirm arrival")
        if error is None or error.actual.time_s < (self.start_s if ended is None else ended.time_s):
            return None  # nobody knows yet
        if ended is None:
            excess = exceeded(self.tolerances.path, self.names, self.units, error.q, error.v)
            after_s = error.actual.time_s - self.start_s
            return self._violated(f"path tolerance: {excess}, {after_s:.2f} s after the start") if excess else None
        excess = exceeded(self.tolerances.goal, self.names, self.units, ended.q - error.actual.q, error.actual.v)
        if not excess:
            return Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL, self.remark)
        return self._away(excess, error.actual, now_s - ended.time_s)

    def _stood(self, error: Error | None, ended: Reference, late_s: float) -> Verdict | None:
        """Verdict on a cancelled goal whose joints stand, or were not seen to ``late_s`` [s] after their reference has ended."""
        state = None if error is None or error.actual.time_s < ended.time_s else error.actual
        if state is not None and state.v is not None:
            looked_at = self.tolerances.goal.any(axis=0)
            moving = (np.abs(state.v) > STANDS) & (looked_at if looked_at.any() else True)
            if not moving.any():
                return Verdict.canceled("cancelled: decelerated, and holding")
        if late_s <= max(self.tolerances.goal_time, STATELESS_S):
            return None
        return Verdict.canceled(f"cancelled: the arm was not seen at rest, {late_s:.1f} s after its reference came to rest")

    def _away(self, excess: str, actual: ArmState, late_s: float) -> Verdict | None:
        """Verdict on an arm that is not where its reference has ended, ``late_s`` [s] ago."""
        allowed_s = self.tolerances.goal_time
        if not 0.0 < allowed_s < late_s:
            return None
        delayed = f", which the board played {self._delay_s:.2f} s late" if self._delay_s else ""
        return self._violated(f"goal tolerance: {excess}, {late_s:.2f} s after the end{delayed} (goal time {allowed_s:.4g} s)")

    def _violated(self, text: str) -> Verdict:
        moving = self._ended is None
        return Verdict(Outcome.ABORTED, Code.PATH_TOLERANCE_VIOLATED if moving else Code.GOAL_TOLERANCE_VIOLATED, text, moving)
