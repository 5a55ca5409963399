"""Actions of the controller: goals whose sender wants to know what becomes of them.

``arm_controller/follow_joint_trajectory`` accepts every goal, and aborts at once one that cannot be executed: a rejection could
not say why.  The result of ``gripper_controller/gripper_cmd`` has no text: a command that makes no sense is rejected, and the log
and ``arm_controller/status`` say why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from sensor_msgs.msg import JointState

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Error, GoalTracker, Outcome, Tolerances, Verdict
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, goal_of, gripper_request
from picker_dynamics.execution.lease import MAIN_TRACK

from .controller_shell import ControllerShell
from .goal_messages import error_points, goal_from, start_in
from .runtime import REQUESTS, seconds, to_stamp

RESULT_TIMEOUT_S = 10
"""How long a result is kept for who asks late; every status message carries all goals that are kept."""

ONE_DEGREE = "this arm has joints of one degree of freedom only"


class Action:
    """An action server whose goals the arm's session executes.

    Args:
        shell: of the controller.
        kind, name: of the action.
        request_of: makes the request of a handle, with further fields of ``GoalRequest``.
        result_of: makes the action's result of a verdict.
        refuses: whether a request is rejected at once.
    """

    def __init__(
        self,
        shell: ControllerShell,
        kind: Any,
        name: str,
        request_of: Callable[..., GoalRequest],
        result_of: Callable[[Verdict], Any],
        refuses: Callable[[Any], bool] = lambda _request: False,
    ):
        self.shell, self._request_of, self._result_of = shell, request_of, result_of
        self._under_way: dict[bytes, tuple[GoalRequest, Future]] = {}
        self.server = ActionServer(
            shell.node,
            kind,
            name,
            self._execute,
            handle_accepted_callback=self._accept,
            goal_callback=lambda request: GoalResponse.REJECT if refuses(request) else GoalResponse.ACCEPT,
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

    def _accept(self, handle: ServerGoalHandle) -> None:
        key, done = bytes(handle.goal_id.uuid), Future()

        def answer(verdict: Verdict) -> None:
            done.set_result(verdict)
            self.shell.wake()

        with self.shell.session.turn:
            request = self._request_of(handle, identifier=key.hex(), answer=answer)
            self._under_way[key] = request, done
            handle.execute()
            self.shell.session.submit(request)

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        request, done = self._under_way.get(bytes(handle.goal_id.uuid), (None, None))
        if done is None or done.done():
            return CancelResponse.REJECT
        self.shell.session.cancel(request)
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        """Wait for the verdict; a goal that somebody else cancelled is aborted, as rclpy has no other way to say so."""
        _, done = self._under_way[bytes(handle.goal_id.uuid)]
        verdict: Verdict = await done
        del self._under_way[bytes(handle.goal_id.uuid)]
        if verdict.outcome is Outcome.SUCCEEDED:
            handle.succeed()
        elif verdict.outcome is Outcome.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return self._result_of(verdict)


def follow_action(shell: ControllerShell) -> Action:
    """``arm_controller/follow_joint_trajectory``."""
    names, tolerances_of = shell.arm.joint_names, shell.running.tolerances

    def request_of(handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        wanted = handle.request
        partial, start_s = shell.settings["allow_partial_joints_goal"], start_in(wanted.trajectory.header, shell.stamps)
        tolerances: list[Tolerances] = []

        def goal() -> Goal:
            _require_single_degrees(wanted)
            made = goal_from(wanted.trajectory, partial, start_s)
            asked = wanted.path_tolerance, wanted.goal_tolerance, seconds(wanted.goal_time_tolerance)
            tolerances.append(tolerances_of().wanted(*asked, names))
            return made

        def tracker(motion) -> GoalTracker:
            return shell.running.tracker(motion, tolerances[0])

        def feedback(error: Error, progress_s: float, approaches: bool) -> None:
            desired, actual, difference = error_points(error, progress_s)
            message = FollowJointTrajectory.Feedback(joint_names=list(names), desired=desired, actual=actual, error=difference)
            to_stamp(message.header.stamp, shell.stamps.to_stamp(error.actual.time_s))
            message.header.frame_id = "approach" if approaches else ""
            handle.publish_feedback(message)

        return GoalRequest(goal, MAIN_TRACK, tracker=tracker, feedback=feedback, **fields)

    def result_of(verdict: Verdict) -> FollowJointTrajectory.Result:
        return FollowJointTrajectory.Result(error_code=int(verdict.code), error_string=verdict.text)

    return Action(shell, FollowJointTrajectory, "arm_controller/follow_joint_trajectory", request_of, result_of)


def _require_single_degrees(request) -> None:
    floating = request.multi_dof_trajectory
    for field, given in (
        ("component_path_tolerance", request.component_path_tolerance),
        ("component_goal_tolerance", request.component_goal_tolerance),
        ("multi_dof_trajectory", [*floating.joint_names, *floating.points]),
    ):
        if len(given):
            raise InputError(f"{field} is given; {ONE_DEGREE}", subject=field)


def gripper_action(shell: ControllerShell, settings: GripperSettings) -> Action:
    """``gripper_controller/gripper_cmd``: opens and closes the joint that grips; the arm goes on with what it does."""
    index = shell.arm.joint_names.index(settings.joint)

    def refuses(request) -> bool:
        try:
            goal_of(_command(request), settings, shell.arm, 0.0)
        except PickerError as error:
            shell.complain(f"gripper command refused: {error}", error)
            return True
        return False

    def request_of(handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        def feedback(_error: Error, _progress_s: float, _approaches: bool) -> None:
            handle.publish_feedback(ParallelGripperCommand.Feedback(state=state()))

        now, command = shell.stamps.now_s, _command(handle.request)
        return gripper_request(command, settings, shell.execution, now, feedback=feedback, **fields)

    def result_of(verdict: Verdict) -> ParallelGripperCommand.Result:
        reached = verdict.outcome is Outcome.SUCCEEDED and not verdict.stalled
        return ParallelGripperCommand.Result(state=state(), reached_goal=reached, stalled=verdict.stalled)

    def state() -> JointState:
        """State of the gripper; empty while nobody knows where it is."""
        message, known = JointState(name=[settings.joint]), shell.running.controller.state
        if known is not None:
            to_stamp(message.header.stamp, shell.stamps.to_stamp(known.time_s))
            message.position = [float(known.q[index])]
            message.velocity = [] if known.v is None else [float(known.v[index])]
        return message

    return Action(shell, ParallelGripperCommand, "gripper_controller/gripper_cmd", request_of, result_of, refuses)


def _command(request) -> GripperCommand:
    command = request.command
    return GripperCommand(command.name, command.position, command.velocity, command.effort)
