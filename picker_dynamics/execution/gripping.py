"""Gripper commands for one joint: the goal that they become, and whether it was reached or something is in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, LimitError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.units import told
from picker_dynamics.trajectory.profiles import PEAK_SPEED

from .goal import Goal
from .goal_manager import GoalRequest
from .goal_tracking import STATELESS_S, Code, Error, Outcome, Verdict
from .motion import Motion, Reference

if TYPE_CHECKING:
    from .execution import Execution

TRACK = "gripper"

SHORTEST_S = 0.1

SLIDING_TOLERANCE_M = 0.001
"""Within which jaws that slide have reached their goal, where nobody says another [m]."""


@dataclass(frozen=True)
class GripperSettings:
    """Settings of a gripper, as the parameters of parallel_gripper_action_controller.

    Attributes:
        joint: of the gripper.
        max_velocity: where a command names none [rad/s or m/s].
        goal_tolerance: [rad or m].
        stall_velocity_threshold, stall_timeout: slower than this for so long, away from its goal: stalled [rad/s or m/s, s].
        allow_stalling: then it has gripped something, which is a success.
        torque: with which it presses at the most, None where nobody limits that [N·m].
    """

    joint: str
    max_velocity: float = 1.5
    goal_tolerance: float = 0.02
    stall_velocity_threshold: float = 0.001
    stall_timeout: float = 1.0
    allow_stalling: bool = False
    torque: float | None = None

    @classmethod
    def of(cls, arm: ArmDescription, joint: int) -> GripperSettings:
        """Settings for a joint of whoever grips something of unknown size: where it stalls, it has."""
        tolerance = SLIDING_TOLERANCE_M if arm.position_units[joint] == "m" else cls.goal_tolerance
        return cls(arm.joint_names[joint], min(cls.max_velocity, float(arm.velocity[joint])), tolerance, allow_stalling=True)


@dataclass(frozen=True)
class GripperCommand:
    """Fields of sensor_msgs/JointState in control_msgs/action/ParallelGripperCommand; empty: not given."""

    name: Sequence[str]
    position: Sequence[float]
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()


def goal_of(command: GripperCommand, settings: GripperSettings, arm: ArmDescription, now: float) -> Goal:
    """A motion of the gripper's joint alone, from rest to rest, from where it is: ``now`` [rad].

    Raises:
        JointNamesError: another joint.
        InputError: not one number each, or an effort that cannot be kept.
        LimitError: a position or velocity beyond the joint's limits.
    """
    joint = settings.joint
    if len(command.name) and list(command.name) != [joint]:
        raise JointNamesError(f"gripper command for {', '.join(command.name)}; the gripper's joint is {joint}", joint)
    if len(command.position) != 1:
        raise InputError(f"gripper command with {len(command.position)} positions, expected 1", joint, len(command.position), 1)
    index = arm.joint_names.index(joint)
    target, unit = float(command.position[0]), arm.position_units[index]
    lower, upper, fastest = (float(limits[index]) for limits in (arm.lower, arm.upper, arm.velocity))
    if not lower <= target <= upper:
        text = f"{joint}: {told(target, unit)} is beyond its limits {told(lower, unit, target)} ... {told(upper, unit, target)}"
        raise LimitError(text, joint, target, upper if target > upper else lower)
    velocity = _one("velocity", command.velocity, joint) or settings.max_velocity
    if velocity > fastest:
        text = f"{joint}: {told(velocity, unit, fastest)}/s is beyond its limit {told(fastest, unit, velocity)}/s"
        raise LimitError(text, joint, velocity, fastest)
    effort = _one("effort", command.effort, joint)
    if effort and (settings.torque is None or effort < settings.torque):
        fixed = "is not limited" if settings.torque is None else f"presses with up to {settings.torque:.4g} N·m (servo map)"
        raise InputError(f"{joint} {fixed}: no more than {effort:.4g} N·m cannot be kept", joint, effort, settings.torque)
    duration = max(PEAK_SPEED * abs(target - now) / velocity, SHORTEST_S)
    return Goal([joint], [duration], [[target]], [[0.0]], [[0.0]], partial=True, track=TRACK)


def _one(what: str, values: Sequence[float], joint: str) -> float:
    """The number of an optional field; 0 where there is none."""
    if not len(values):
        return 0.0
    if len(values) != 1 or not 0.0 <= values[0] < float("inf"):
        raise InputError(f"gripper command with {what} {list(values)}, expected one number >= 0", joint, limit=0.0)
    return float(values[0])


class GripperTracker:
    """Judge of one gripper command.

    Args:
        index: of the joint among the arm's.
        goal: [rad or m, by ``unit``].

    Attributes:
        reached, stalled: what the action's result says.
    """

    def __init__(self, settings: GripperSettings, index: int, goal: float, start_s: float, unit: str = "rad"):
        self.settings, self.index, self.goal, self.unit = settings, index, goal, unit
        self.cancelling = self.reached = self.stalled = False
        self._ended_s: float | None = None
        self._state_s = self._moved_s = start_s

    @property
    def watches_path(self) -> bool:
        return False

    def ended(self, reference: Reference) -> None:
        """The reference has come to the end of this command."""
        self._ended_s = self._moved_s = reference.time_s

    def look(self, now_s: float, error: Error | None) -> Verdict | None:
        """The verdict, if there is one by now; arguments as for ``GoalTracker``."""
        if self._ended_s is None or now_s < self._ended_s:
            return None
        if self.cancelling:
            return Verdict.canceled("cancelled: decelerated, and holding")
        if error is not None and error.actual.time_s >= self._ended_s:
            self._state_s = error.actual.time_s
            gap = abs(self.goal - float(error.actual.q[self.index]))
            if gap <= self.settings.goal_tolerance:
                self.reached = True
                return Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL, "gripper: reached")
            v = 0.0 if error.actual.v is None else abs(float(error.actual.v[self.index]))
            if v > self.settings.stall_velocity_threshold:
                self._moved_s = error.actual.time_s
            elif error.actual.time_s - self._moved_s > self.settings.stall_timeout:
                self.stalled = True
                allowed = self.settings.goal_tolerance
                text = f"gripper: {self.settings.joint} stalled {told(gap, self.unit, allowed)} before its goal"
                if self.settings.allow_stalling:
                    return Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL, text)
                return Verdict.aborted(f"{text}, allowed {told(allowed, self.unit, gap)}")
        unseen_s = now_s - max(self._state_s, self._ended_s)
        return Verdict.aborted(f"gripper: no joint_states for {unseen_s:.1f} s") if unseen_s > STATELESS_S else None


def gripper_request(
    command: GripperCommand, settings: GripperSettings, execution: Execution, now: Callable[[], float], **fields: Any
) -> GoalRequest:
    """A gripper command as a goal of ``execution``; ``now``: its clock [s]; ``fields`` of ``GoalRequest``."""
    arm = execution.description
    joint = arm.joint_names.index(settings.joint)

    def tracker(motion: Motion) -> GripperTracker:
        return GripperTracker(settings, joint, float(command.position[0]), motion.start_s, arm.position_units[joint])

    def make() -> Goal:
        return goal_of(command, settings, arm, float(execution.pose(now())[joint]))

    return GoalRequest(make, TRACK, tracker=tracker, **fields)


def settings_problem(settings: GripperSettings, arm: ArmDescription) -> str:
    """Problem of the gripper's settings for an arm; empty: none."""
    if settings.joint not in arm.joint_names:
        return f"gripper.joint is {settings.joint!r}; the arm has {', '.join(arm.joint_names)}"
    limit = float(arm.velocity[arm.joint_names.index(settings.joint)])
    if not np.isfinite(settings.max_velocity) or settings.max_velocity > limit:
        return f"gripper.max_velocity is {settings.max_velocity:.4g}, the limit of {settings.joint} is {limit:.4g}"
    return ""
