"""Gripper commands for one joint: the goal that they become, and whether it was reached or something is in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, LimitError, refuse_if
from picker_dynamics.files.fields import as_float
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.units import told
from picker_dynamics.trajectory.profiles import PEAK_SPEED

from .goal import Goal
from .goal_manager import GoalRequest
from .goal_tracking import ArmState, Code, GoalTracker, Outcome, Tolerances, Verdict
from .motion import Reference

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
        max_velocity: speed of commands that name none [rad/s or m/s].
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
        LimitError: a position beyond the joint's limits; a velocity beyond them is slowed by the validator.
    """
    joint = settings.joint
    if len(command.name) and list(command.name) != [joint]:
        raise JointNamesError(f"gripper command for {', '.join(command.name)}; the gripper's joint is {joint}", joint)
    target = _one("position", command.position, joint, -np.inf)
    index = arm.joint_names.index(joint)
    unit, lower, upper = arm.position_units[index], float(arm.lower[index]), float(arm.upper[index])
    if not lower <= target <= upper:
        text = f"{joint}: {told(target, unit)} is beyond its limits {told(lower, unit, target)} ... {told(upper, unit, target)}"
        raise LimitError(text, joint, target, upper if target > upper else lower)
    velocity = _one("velocity", command.velocity or [0.0], joint) or settings.max_velocity
    effort, most = _one("effort", command.effort or [0.0], joint), settings.torque or np.inf
    text = f"{joint} presses with up to {most:.4g} N·m (servo map): a limit of {effort:.4g} N·m cannot be kept"
    refuse_if(0.0 < effort < most, text, joint, effort, settings.torque)
    duration = max(PEAK_SPEED * abs(target - now) / velocity, SHORTEST_S)
    return Goal([joint], [duration], [[target]], [[0.0]], [[0.0]], partial=True, track=TRACK)


def _one(what: str, values: Sequence[float], joint: str, least: float = 0.0) -> float:
    """The number of a field."""
    read = as_float(values[0]) if len(values) == 1 else None
    if read is None or not least <= read < np.inf:
        raise InputError(f"gripper command with {what} {list(values)}, expected one number", joint, limit=least)
    return read


class GripperTracker(GoalTracker):
    """Judge of one gripper command: where the joint is, or whether it stalled on its way there."""

    def __init__(self, settings: GripperSettings, arm: ArmDescription, start_s: float):
        at = np.array([settings.joint == name for name in arm.joint_names])
        wanted = Tolerances.of(0.0 * at, settings.goal_tolerance * at)
        super().__init__(arm.joint_names, arm.position_units, wanted, start_s, "gripper: reached")
        self.settings, self._index, self._moved_s = settings, int(at.argmax()), start_s

    def ended(self, reference: Reference) -> None:
        super().ended(reference)
        self._moved_s = reference.time_s

    def _away(self, excess: str, actual: ArmState, late_s: float) -> Verdict | None:
        if actual.v is not None and abs(actual.v[self._index]) > self.settings.stall_velocity_threshold:
            self._moved_s = actual.time_s
        if min(actual.time_s - self._moved_s, late_s) <= self.settings.stall_timeout:
            return None
        done = Outcome.SUCCEEDED if self.settings.allow_stalling else Outcome.ABORTED
        code = Code.SUCCESSFUL if self.settings.allow_stalling else Code.INVALID_GOAL
        return Verdict(done, code, f"gripper: stalled before its goal, {excess}", stalled=True)


def gripper_request(
    command: GripperCommand, settings: GripperSettings, execution: Execution, now: Callable[[], float], **fields: Any
) -> GoalRequest:
    """A gripper command as a goal of ``execution``; ``now``: its clock [s]; ``fields`` of ``GoalRequest``."""
    arm = execution.description

    def make() -> Goal:
        return goal_of(command, settings, arm, float(execution.pose(now())[arm.joint_names.index(settings.joint)]))

    return GoalRequest(make, TRACK, tracker=lambda motion: GripperTracker(settings, arm, motion.start_s), **fields)


def settings_problem(settings: GripperSettings, arm: ArmDescription) -> str:
    """Problem of the gripper's settings for an arm; empty: none."""
    if settings.joint not in arm.joint_names:
        return f"gripper.joint is {settings.joint!r}; the arm has {', '.join(arm.joint_names)}"
    limit = float(arm.velocity[arm.joint_names.index(settings.joint)])
    if not np.isfinite(settings.max_velocity) or settings.max_velocity > limit:
        return f"gripper.max_velocity is {settings.max_velocity:.4g}, the limit of {settings.joint} is {limit:.4g}"
    return ""
