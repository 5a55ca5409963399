"""``arm_controller/follow_joint_trajectory``: goals whose sender wants to know what becomes of them."""

from __future__ import annotations

from control_msgs.action import FollowJointTrajectory

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.execution.goal import MAIN_TRACK, Goal
from picker_dynamics.execution.goal_tracking import Error, GoalTracker, Verdict
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.execution.tolerances import JointTolerance, Tolerances

from .deferred_action import DeferredActionServer
from .goal_messages import error_points, goal_from, start_in
from .runtime import seconds, to_stamp


class FollowAction:
    """Action server that accepts every goal, and aborts at once one that cannot be executed: a rejection could not say why.

    Args:
        node: has ``arm`` (a description), ``parameters`` and ``execution``.
    """

    def __init__(self, node):
        self.node = node
        self.requests: dict[bytes, GoalRequest] = {}
        self.server = DeferredActionServer(
            node, FollowJointTrajectory, "arm_controller/follow_joint_trajectory", self.on_goal, self.on_cancel
        )

    def on_goal(self, handle) -> None:
        key, wanted = bytes(handle.goal_id.uuid), _Wanted(self.node, handle.request)

        def answer(verdict: Verdict) -> None:
            self.requests.pop(key, None)
            self.server.conclude(
                handle, verdict, FollowJointTrajectory.Result(error_code=int(verdict.code), error_string=verdict.text)
            )

        def feedback(error: Error, progress_s: float, approaches: bool) -> None:
            desired, actual, difference = error_points(error, progress_s)
            message = FollowJointTrajectory.Feedback(
                joint_names=list(self.node.arm.joint_names), desired=desired, actual=actual, error=difference
            )
            to_stamp(message.header.stamp, self.node.stamps.to_stamp(error.actual.time_s))
            message.header.frame_id = "approach" if approaches else ""
            handle.publish_feedback(message)

        self.requests[key] = GoalRequest(wanted.goal, MAIN_TRACK, key.hex(), wanted.tracker, answer, feedback)
        self.node.execution.submit(self.requests[key])

    def on_cancel(self, handle) -> bool:
        request = self.requests.get(bytes(handle.goal_id.uuid))
        if request is None:
            return False
        self.node.execution.cancel(self.node.stamps.now_s(), request)
        return True


class _Wanted:
    """What one goal asks for, read in the worker; its start when it comes."""

    def __init__(self, node, request):
        self.node, self.request = node, request
        self.partial = node.parameters["allow_partial_joints_goal"]
        self.too_long = isinstance(request, TrajectoryError)
        self.start_s = None if self.too_long else start_in(request.trajectory.header, node.stamps)
        self.tolerances: Tolerances | None = None

    def goal(self) -> Goal:
        request, names = self.request, self.node.arm.joint_names
        if self.too_long:
            raise request
        for field in ("component_path_tolerance", "component_goal_tolerance"):
            if len(getattr(request, field)):
                raise InputError(f"{field} is for joints with several degrees of freedom; this arm has none", subject=field)
        if len(request.multi_dof_trajectory.joint_names) or len(request.multi_dof_trajectory.points):
            raise InputError(
                "multi_dof_trajectory is given; this arm has joints of one degree of freedom only", subject="multi_dof_trajectory"
            )
        goal = goal_from(request.trajectory, self.partial, self.start_s)
        self.tolerances = self.node.parameters.tolerances().wanted(
            _joints(request.path_tolerance), _joints(request.goal_tolerance), seconds(request.goal_time_tolerance), names
        )
        return goal

    def tracker(self, motion) -> GoalTracker:
        return self.node.tracker(motion, self.tolerances)


def _joints(tolerances) -> list[JointTolerance]:
    return [JointTolerance(one.name, one.position, one.velocity, one.acceleration) for one in tolerances]
