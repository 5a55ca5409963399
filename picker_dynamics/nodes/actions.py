"""Actions of the controller: goals whose sender wants to know what becomes of them.

``arm_controller/follow_joint_trajectory`` accepts every goal, and aborts at once one that cannot be executed: a rejection could
not say why.  The result of ``gripper_controller/gripper_cmd`` has no text: a command that makes no sense is rejected, and the log
and ``arm_controller/status`` say why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Error, GoalTracker, Outcome, Verdict
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, GripperTracker, goal_of, gripper_request
from picker_dynamics.execution.lease import MAIN_TRACK
from picker_dynamics.execution.tolerances import Tolerances

from .controller_shell import ControllerShell
from .goal_messages import error_points, goal_from, start_in
from .runtime import seconds, to_stamp

REQUESTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""So many goals may come at once, each is answered; of more the middleware drops the oldest."""

RESULT_TIMEOUT_S = 10
"""How long a result is kept for who asks late; every status message carries all goals that are kept."""


class Action(ABC):
    """An action server whose goals the arm's session executes.

    Args:
        shell: of the controller.
        kind, name: of the action.
    """

    def __init__(self, shell: ControllerShell, kind: Any, name: str):
        self.shell = shell
        self._under_way: dict[bytes, tuple[GoalRequest, Future]] = {}
        self.server = ActionServer(
            shell.node,
            kind,
            name,
            self._execute,
            handle_accepted_callback=self._accept,
            goal_callback=lambda request: GoalResponse.REJECT if self.refuses(request) else GoalResponse.ACCEPT,
            cancel_callback=self._cancel,
            goal_service_qos_profile=REQUESTS,
            result_service_qos_profile=REQUESTS,
            cancel_service_qos_profile=REQUESTS,
            result_timeout=RESULT_TIMEOUT_S,
        )

    @property
    def concluding(self) -> bool:
        """Whether an answer is on its way."""
        return bool(self._under_way)

    def refuses(self, _request: Any) -> bool:
        """Whether a request is rejected at once."""
        return False

    @abstractmethod
    def request(self, handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        """The goal of a handle; ``fields`` of ``GoalRequest`` are added."""

    @abstractmethod
    def result(self, request: GoalRequest, verdict: Verdict) -> Any:
        """The action's result of a goal with this verdict."""

    def _accept(self, handle: ServerGoalHandle) -> None:
        key, done = bytes(handle.goal_id.uuid), Future()

        def answer(verdict: Verdict) -> None:
            done.set_result(verdict)
            self.shell.wake()

        with self.shell.session.turn:
            request = self.request(handle, identifier=key.hex(), answer=answer)
            self._under_way[key] = request, done
            handle.execute()
            self.shell.session.submit(request)

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        found = self._under_way.get(bytes(handle.goal_id.uuid))
        if found is None or found[1].done():
            return CancelResponse.REJECT
        self.shell.session.cancel(found[0])
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        """Wait for the verdict; a goal that somebody else cancelled is aborted, as ROS has no other way to say so."""
        key = bytes(handle.goal_id.uuid)
        request, done = self._under_way[key]
        verdict: Verdict = await done
        del self._under_way[key]
        if verdict.outcome is Outcome.SUCCEEDED:
            handle.succeed()
        elif verdict.outcome is Outcome.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return self.result(request, verdict)


class FollowAction(Action):
    """``arm_controller/follow_joint_trajectory``."""

    def __init__(self, shell: ControllerShell):
        super().__init__(shell, FollowJointTrajectory, "arm_controller/follow_joint_trajectory")

    def request(self, handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        shell, wanted = self.shell, handle.request
        partial, start_s = shell.settings["allow_partial_joints_goal"], start_in(wanted.trajectory.header, shell.stamps)
        tolerances: list[Tolerances] = []

        def goal() -> Goal:
            _require_single_degrees(wanted)
            made = goal_from(wanted.trajectory, partial, start_s)
            tolerances.append(
                shell.running.tolerances().wanted(
                    wanted.path_tolerance, wanted.goal_tolerance, seconds(wanted.goal_time_tolerance), shell.arm.joint_names
                )
            )
            return made

        def tracker(motion) -> GoalTracker:
            return shell.running.tracker(motion, tolerances[0])

        def feedback(error: Error, progress_s: float, approaches: bool) -> None:
            desired, actual, difference = error_points(error, progress_s)
            message = FollowJointTrajectory.Feedback(
                joint_names=list(shell.arm.joint_names), desired=desired, actual=actual, error=difference
            )
            to_stamp(message.header.stamp, shell.stamps.to_stamp(error.actual.time_s))
            message.header.frame_id = "approach" if approaches else ""
            handle.publish_feedback(message)

        return GoalRequest(goal, MAIN_TRACK, tracker=tracker, feedback=feedback, **fields)

    def result(self, _request: GoalRequest, verdict: Verdict) -> FollowJointTrajectory.Result:
        return FollowJointTrajectory.Result(error_code=int(verdict.code), error_string=verdict.text)


def _require_single_degrees(request) -> None:
    for field in ("component_path_tolerance", "component_goal_tolerance"):
        if len(getattr(request, field)):
            raise InputError(f"{field} is for joints with several degrees of freedom; this arm has none", subject=field)
    if len(request.multi_dof_trajectory.joint_names) or len(request.multi_dof_trajectory.points):
        raise InputError(
            "multi_dof_trajectory is given; this arm has joints of one degree of freedom only", subject="multi_dof_trajectory"
        )


class GripperAction(Action):
    """``gripper_controller/gripper_cmd``: opens and closes the joint that grips; the arm goes on with what it does."""

    def __init__(self, shell: ControllerShell, settings: GripperSettings):
        self.settings, self.index = settings, shell.arm.joint_names.index(settings.joint)
        self._trackers: dict[str, GripperTracker] = {}
        super().__init__(shell, ParallelGripperCommand, "gripper_controller/gripper_cmd")

    def refuses(self, request) -> bool:
        try:
            goal_of(_command(request.command), self.settings, self.shell.arm, 0.0)
        except PickerError as error:
            self.shell.complain(f"gripper command refused: {error}", error)
            return True
        return False

    def request(self, handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        shell, command = self.shell, _command(handle.request.command)

        def feedback(_error: Error, _progress_s: float, _approaches: bool) -> None:
            handle.publish_feedback(ParallelGripperCommand.Feedback(state=self._state()))

        request = gripper_request(command, self.settings, shell.execution, shell.stamps.now_s, feedback=feedback, **fields)
        judge = request.tracker
        request.tracker = lambda motion: self._trackers.setdefault(request.identifier, judge(motion))
        return request

    def result(self, request: GoalRequest, _verdict: Verdict) -> ParallelGripperCommand.Result:
        result, tracker = ParallelGripperCommand.Result(state=self._state()), self._trackers.pop(request.identifier, None)
        if tracker is not None:
            result.reached_goal, result.stalled = tracker.reached, tracker.stalled
        return result

    def _state(self) -> JointState:
        """State of the gripper; empty while nobody knows where it is."""
        message, state = JointState(name=[self.settings.joint]), self.shell.running.controller.state
        if state is not None:
            to_stamp(message.header.stamp, self.shell.stamps.to_stamp(state.time_s))
            message.position = [float(state.q[self.index])]
            if state.v is not None:
                message.velocity = [float(state.v[self.index])]
        return message


def _command(message: JointState) -> GripperCommand:
    return GripperCommand(message.name, message.position, message.velocity, message.effort)
