"""What of control_msgs (5.x, Jazzy) the controller uses, as plain classes: for machines without it."""

import sys
import types

from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint


def _message(kind: str, /, **fields):
    """A class with these fields and makers of their defaults; like a message it takes no others."""

    def __init__(self, **values):
        unknown = set(values) - set(fields)
        assert not unknown, f"{kind} has no {unknown}"
        for key, default in fields.items():
            setattr(self, key, values.get(key, default()))

    return type(kind, (), {"__slots__": tuple(fields), "__init__": __init__})


def _points(prefix: str, *names: str) -> dict:
    kind = MultiDOFJointTrajectoryPoint if prefix else JointTrajectoryPoint
    return {f"{prefix}joint_names": list, **{f"{prefix}{name}": kind for name in names}}


JointTolerance = _message("JointTolerance", name=str, position=float, velocity=float, acceleration=float)
JointJog = _message("JointJog", header=Header, joint_names=list, displacements=list, velocities=list, duration=float)
SpeedScalingFactor = _message("SpeedScalingFactor", factor=float)
JointTrajectoryControllerState = _message(
    "JointTrajectoryControllerState",
    header=Header,
    **_points("", "reference", "feedback", "error", "output"),
    **_points("multi_dof_", "reference", "feedback", "error", "output"),
    speed_scaling_factor=float,
)


class FollowJointTrajectory:
    Goal = _message(
        "FollowJointTrajectory_Goal",
        trajectory=JointTrajectory,
        multi_dof_trajectory=MultiDOFJointTrajectory,
        path_tolerance=list,
        component_path_tolerance=list,
        goal_tolerance=list,
        component_goal_tolerance=list,
        goal_time_tolerance=Duration,
    )
    Result = _message("FollowJointTrajectory_Result", error_code=int, error_string=str)
    Feedback = _message(
        "FollowJointTrajectory_Feedback",
        header=Header,
        **_points("", "desired", "actual", "error"),
        **_points("multi_dof_", "desired", "actual", "error"),
    )


class ParallelGripperCommand:
    Goal = _message("ParallelGripperCommand_Goal", command=JointState)
    Result = _message("ParallelGripperCommand_Result", state=JointState, stalled=bool, reached_goal=bool)
    Feedback = _message("ParallelGripperCommand_Feedback", state=JointState)


def modules() -> dict[str, types.ModuleType]:
    """control_msgs, .msg and .action, for ``sys.modules``."""
    here, made = sys.modules[__name__], {}
    for name, contents in (
        ("control_msgs", ()),
        ("control_msgs.msg", ("JointJog", "JointTolerance", "SpeedScalingFactor", "JointTrajectoryControllerState")),
        ("control_msgs.action", ("FollowJointTrajectory", "ParallelGripperCommand")),
    ):
        made[name] = types.ModuleType(name)
        for entry in contents:
            setattr(made[name], entry, getattr(here, entry))
    made["control_msgs"].msg, made["control_msgs"].action = made["control_msgs.msg"], made["control_msgs.action"]
    return made
