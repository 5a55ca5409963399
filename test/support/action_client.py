"""Somebody who sends goals to the controller's actions and remembers everything that comes back."""

from __future__ import annotations

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from scenarios.bench import goal, until
from sensor_msgs.msg import JointState

from picker_dynamics.nodes.runtime import to_stamp

NAMES_OF = {
    GoalStatus.STATUS_SUCCEEDED: "succeeded",
    GoalStatus.STATUS_ABORTED: "aborted",
    GoalStatus.STATUS_CANCELED: "canceled",
}

ANSWERS = QoSProfile(depth=1000)
"""rclpy's own 10 would lose some of the answers that come at once."""


class Sent:
    """One goal that was sent; ``status``, ``code`` and ``text`` once it has ended."""

    def __init__(self, action: ActionClient, request):
        self.feedback: list = []
        self.results = 0
        self.status, self.code, self.text, self.result = "", None, "", None
        self.accepted: bool | None = None
        self.handle = None
        action.send_goal_async(request, lambda message: self.feedback.append(message.feedback)).add_done_callback(self._answered)

    def _answered(self, future) -> None:
        self.handle = future.result()
        self.accepted = self.handle.accepted
        if self.accepted:
            self.handle.get_result_async().add_done_callback(self._ended)

    def _ended(self, future) -> None:
        answer = future.result()
        self.results += 1
        self.status, self.result = NAMES_OF[answer.status], answer.result
        self.code, self.text = getattr(self.result, "error_code", None), getattr(self.result, "error_string", "")

    @property
    def over(self) -> bool:
        return self.accepted is False or bool(self.status)

    def cancel(self) -> None:
        self.handle.cancel_goal_async()


class Actions:
    """Both actions of one graph; a context manager."""

    def __init__(self, client):
        self.client = client
        self.follow, self.gripper = (
            ActionClient(client, kind, name, goal_service_qos_profile=ANSWERS, result_service_qos_profile=ANSWERS)
            for kind, name in (
                (FollowJointTrajectory, "arm_controller/follow_joint_trajectory"),
                (ParallelGripperCommand, "gripper_controller/gripper_cmd"),
            )
        )

    def __enter__(self) -> Actions:
        until(self.client, lambda: self.follow.server_is_ready() and self.gripper.server_is_ready(), "action servers")
        return self

    def __exit__(self, *_exception) -> None:
        self.follow.destroy()
        self.gripper.destroy()

    def send(self, *targets, goal_time: float = 0.0, path=(), at_goal=(), start_s: float | None = None, **options) -> Sent:
        """Send a trajectory, made as ``goal`` makes it, with tolerances."""
        request = FollowJointTrajectory.Goal(
            trajectory=goal(*targets, **options), path_tolerance=list(path), goal_tolerance=list(at_goal)
        )
        to_stamp(request.goal_time_tolerance, goal_time)
        if start_s is not None:
            to_stamp(request.trajectory.header.stamp, start_s)
        return Sent(self.follow, request)

    def grip(self, position: float, **fields) -> Sent:
        command = JointState(position=[float(position)], **fields)
        return Sent(self.gripper, ParallelGripperCommand.Goal(command=command))

    def until_over(self, *sent: Sent) -> None:
        until(self.client, lambda: all(one.over for one in sent), "the end of a goal")

    def until_moving(self, board, speed: float = 0.1) -> None:
        until(self.client, lambda: np.abs(board.truth().v).max() > speed, "motion")
