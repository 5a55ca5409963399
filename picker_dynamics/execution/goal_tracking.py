"""Goal tracking: what becomes of a goal that somebody waits for, within its tolerances, arrived, too late, or cancelled.

Free of ROS.  The arm's state is what the hardware publishes, measured or modelled; it is compared with the reference that
held when the state was taken, not with the newest one, which is a lead ahead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

from picker_dynamics.errors import JointNamesError, PickerError
from picker_dynamics.robot.model import Array

from .goal import OutdatedError
from .motion import Reference
from .tolerances import Tolerances, exceeded

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
    """State of the arm: positions, velocities and efforts of its joints, (n,) each [rad, rad/s, N·m]; None: not known."""

    time_s: float
    q: Array
    v: Array | None
    effort: Array | None = None


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
    """

    def __init__(self, count: int):
        self._sent: deque[Reference] = deque(maxlen=count)
        self.append = self._sent.append
        self.clear = self._sent.clear

    @property
    def newest(self) -> Reference | None:
        return self._sent[-1] if self._sent else None

    def at(self, time_s: float) -> Reference | None:
        """The reference that holds at ``time_s``, between two that were sent; the oldest or newest where there are none."""
        after = None
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
    """Judge of one goal, who compares the arm's state with its tolerances.

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
        self._state_s = start_s

    @property
    def watches_path(self) -> bool:
        return bool(self.tolerances.path.any()) and self._ended is None

    def ended(self, reference: Reference) -> None:
        self._ended = reference

    def look(self, now_s: float, error: Error | None) -> Verdict | None:
        ended = self._ended
        if ended is not None and now_s < ended.time_s:
            return None  # the last point was sent, but does not hold yet
        if self.cancelling:
            return Verdict.canceled("cancelled: decelerated, and holding") if ended is not None else None
        if error is not None:
            self._state_s = max(self._state_s, error.actual.time_s)
        on_the_way = bool(self.tolerances.path.any())
        seen_s = self._state_s if ended is None or on_the_way else max(self._state_s, ended.time_s)
        if (ended is not None or on_the_way) and now_s - seen_s > STATELESS_S:
            return self._violated(f"no joint_states for {now_s - self._state_s:.1f} s: nobody knows whether the arm is there")
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

    def _away(self, excess: str, actual: ArmState, late_s: float) -> Verdict | None:
        """Verdict on an arm that is not where its reference has ended, ``late_s`` [s] ago."""
        allowed_s = self.tolerances.goal_time
        if not 0.0 < allowed_s < late_s:
            return None
        return self._violated(f"goal tolerance: {excess}, {late_s:.2f} s after the end (goal time {allowed_s:.4g} s)")

    def _violated(self, text: str) -> Verdict:
        moving = self._ended is None
        return Verdict(Outcome.ABORTED, Code.PATH_TOLERANCE_VIOLATED if moving else Code.GOAL_TOLERANCE_VIOLATED, text, moving)
