"""Interfaces of the controller that need control_msgs: two actions, its state, and topics for jogs and for the speed.

An action is for a goal whose sender wants to know what becomes of it.

What is wrong with a goal by itself (joints, points, times, limits, tolerances), or with an arm that cannot take it, is rejected
as joint_trajectory_controller does; log and ``arm_controller/status`` say why.  What planning finds is aborted; the result of
``gripper_controller/gripper_cmd`` has no text for that: ``arm_controller/status`` says why.
"""

from __future__ import annotations

from typing import Any

from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from control_msgs.msg import JointJog, JointTrajectoryControllerState, SpeedScalingFactor
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.execution import Tick
from picker_dynamics.execution.goal import Goal, parse
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Error, GoalTracker, Outcome, Tolerances, Verdict
from picker_dynamics.execution.gripping import TRACK, GripperCommand, GripperSettings, goal_of, gripper_request
from picker_dynamics.execution.lease import MAIN_TRACK
from picker_dynamics.execution.motion import Reference

from .goal_messages import error_points, goal_from, point, start_in
from .runtime import LATCHED, REQUESTS, hear_stream, is_heard, joint_state, number_of, seconds, sender_in, to_stamp
from .trajectory_controller import TrajectoryController

RESULT_TIMEOUT_S = 10
"""How long a result is kept for who asks late; every status message carries all goals that are kept."""


class Action:
    """An action server whose goals the arm's session executes; ``kind`` and ``name`` are the action's."""

    kind: Any
    name: str

    def __init__(self, shell: TrajectoryController):
        self.shell = shell
        self._under_way: dict[bytes, tuple[GoalRequest, Future]] = {}
        self.server = ActionServer(
            shell.node,
            self.kind,
            self.name,
            self._execute,
            goal_callback=self._admit,
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
            goal_service_qos_profile=REQUESTS,
            result_service_qos_profile=REQUESTS,
            cancel_service_qos_profile=REQUESTS,
            result_timeout=RESULT_TIMEOUT_S,
        )

    track: str

    def goal_of(self, wanted: Any) -> Goal:
        """Make the goal of a message.

        Raises:
            PickerError: what is wrong with it.
        """
        raise NotImplementedError

    def header_of(self, wanted: Any) -> Header:
        """Return the header of a message, which names its sender."""
        raise NotImplementedError

    def request_of(self, handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        """Make the request of a handle, with further fields of ``GoalRequest``."""
        raise NotImplementedError

    def result_of(self, verdict: Verdict) -> Any:
        """Make the action's result of a verdict."""
        raise NotImplementedError

    @property
    def concluding(self) -> bool:
        """Whether an answer is on its way."""
        return bool(self._under_way)

    def _admit(self, wanted: Any) -> GoalResponse:
        """Reject what cannot be, in the time that its points take to be read."""
        shell, arm = self.shell, self.shell.arm
        try:
            goal = parse(self.goal_of(wanted), arm.joint_names, arm.position_units)
            with shell.session.turn:
                shell.execution.require(goal, self.track, shell.stamps.now_s())
        except PickerError as error:
            with shell.session.turn:
                shell.execution.refuse(error, sender_in(self.header_of(wanted)))
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _accept(self, handle: ServerGoalHandle) -> None:
        key, done = bytes(handle.goal_id.uuid), Future()

        def answer(verdict: Verdict) -> None:
            done.set_result(verdict)
            self.shell.wake()

        with self.shell.session.turn:
            request = self.request_of(handle, identifier=key.hex(), answer=answer)
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
        return self.result_of(verdict)


class FollowAction(Action):
    """``arm_controller/follow_joint_trajectory``."""

    kind, name, track = FollowJointTrajectory, "arm_controller/follow_joint_trajectory", MAIN_TRACK

    def goal_of(self, wanted: FollowJointTrajectory.Goal) -> Goal:
        floating, components = wanted.multi_dof_trajectory, (wanted.component_path_tolerance, wanted.component_goal_tolerance)
        if any(map(len, (floating.joint_names, floating.points, *components))):
            text = "multi_dof_trajectory or a component tolerance is given; this arm has joints of one degree of freedom only"
            raise InputError(text, "multi_dof_trajectory")
        self._tolerances_of(wanted)
        start_s = start_in(wanted.trajectory.header, self.shell.stamps)
        return goal_from(wanted.trajectory, self.shell.settings["allow_partial_joints_goal"], start_s)

    def _tolerances_of(self, wanted: FollowJointTrajectory.Goal) -> Tolerances:
        asked = wanted.path_tolerance, wanted.goal_tolerance, seconds(wanted.goal_time_tolerance)
        return self.shell.running.tolerances().wanted(*asked, self.shell.arm.joint_names)

    def header_of(self, wanted: FollowJointTrajectory.Goal) -> Header:
        return wanted.trajectory.header

    def request_of(self, handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        shell, wanted = self.shell, handle.request

        def tracker(motion) -> GoalTracker:
            return shell.running.tracker(motion, self._tolerances_of(wanted))

        def feedback(error: Error, progress_s: float, approaches: bool) -> None:
            message = FollowJointTrajectory.Feedback(joint_names=list(shell.arm.joint_names))
            message.desired, message.actual, message.error = error_points(error, progress_s)
            to_stamp(message.header.stamp, shell.stamps.to_stamp(error.actual.time_s))
            message.header.frame_id = "approach" if approaches else ""
            handle.publish_feedback(message)

        return GoalRequest(lambda: self.goal_of(wanted), MAIN_TRACK, tracker=tracker, feedback=feedback, **fields)

    def result_of(self, verdict: Verdict) -> FollowJointTrajectory.Result:
        return FollowJointTrajectory.Result(error_code=int(verdict.code), error_string=verdict.text)


class GripperAction(Action):
    """``gripper_controller/gripper_cmd``: opens and closes the joint that grips; the arm goes on with what it does."""

    kind, name, track = ParallelGripperCommand, "gripper_controller/gripper_cmd", TRACK

    def __init__(self, shell: TrajectoryController, settings: GripperSettings):
        self._settings = settings
        super().__init__(shell)

    def goal_of(self, wanted: ParallelGripperCommand.Goal) -> Goal:
        joint, pose = self.shell.arm.joint_names.index(self._settings.joint), self.shell.execution.pose(self.shell.stamps.now_s())
        return goal_of(command_of(wanted), self._settings, self.shell.arm, float(pose[joint]))

    def header_of(self, wanted: ParallelGripperCommand.Goal) -> Header:
        return wanted.command.header

    def request_of(self, handle: ServerGoalHandle, **fields: Any) -> GoalRequest:
        def feedback(*_: object) -> None:
            handle.publish_feedback(ParallelGripperCommand.Feedback(state=self._state()))

        command, shell = command_of(handle.request), self.shell
        return gripper_request(command, self._settings, shell.execution, shell.stamps.now_s, feedback=feedback, **fields)

    def result_of(self, verdict: Verdict) -> ParallelGripperCommand.Result:
        reached = verdict.outcome is Outcome.SUCCEEDED and not verdict.stalled
        return ParallelGripperCommand.Result(state=self._state(), reached_goal=reached, stalled=verdict.stalled)

    def _state(self) -> JointState:
        """State of the gripper; empty while its position is unknown."""
        joint, state = self._settings.joint, self.shell.running.controller.state
        if state is None:
            return JointState(name=[joint])
        at = [self.shell.arm.joint_names.index(joint)]
        stamp_s = self.shell.stamps.to_stamp(state.time_s)
        return joint_state(JointState(name=[joint]), stamp_s, state.q[at], None if state.v is None else state.v[at])


def command_of(wanted: ParallelGripperCommand.Goal) -> GripperCommand:
    """The command in a message."""
    asked = wanted.command
    return GripperCommand(asked.name, asked.position, asked.velocity, asked.effort)


class ControlInterfaces:
    """Names, types and QoS of joint_trajectory_controller and parallel_gripper_action_controller, on its ``shell``."""

    def __init__(self, shell: TrajectoryController):
        self._shell, node = shell, shell.node
        self.actions: list[Action] = [FollowAction(shell)]
        if shell.gripper is not None:
            self.actions.append(GripperAction(shell, shell.gripper))
        self._state_out = node.create_publisher(JointTrajectoryControllerState, "arm_controller/controller_state", 10)
        hear_stream(node, JointJog, "arm_controller/delta_joint_cmds", self.on_joint_jog, 10)
        hear_stream(node, SpeedScalingFactor, "arm_controller/speed_scaling_input", self.on_speed, LATCHED)

    def on_joint_jog(self, message: JointJog, info: dict) -> None:
        """Take velocities of joints, as MoveIt Servo does."""
        session, now_s = self._shell.session, self._shell.stamps.now_s()
        with session.turn:
            if len(message.displacements):
                text = "displacements are not taken, velocities are; for steps send goals"
                session.jogging.refuse(InputError(text, "displacements"), now_s)
                return
            driver = self._shell.driver_of(message.header)
            if self._shell.is_due(message.header, info):
                session.jogging.joints(message.joint_names, message.velocities, now_s, number_of(info), driver)

    def on_speed(self, message: SpeedScalingFactor, _info: dict) -> None:
        """Take the speed from a topic, as a new value of ``speed_scaling``."""
        try:
            with self._shell.session.turn:
                self._shell.settings.change({"speed_scaling": message.factor})
        except PickerError as error:
            self._shell.complain(f"speed_scaling_input refused: {error}")

    @property
    def heard(self) -> bool:
        """Whether anybody listens to ``controller_state``."""
        return is_heard(self._state_out)

    @property
    def concluding(self) -> bool:
        """Whether a goal of an action is not answered yet."""
        return any(action.concluding for action in self.actions)

    def publish_state(self, tick: Tick, newest: Reference | None) -> None:
        """Publish the state where its error was looked at; ``newest`` is the reference that was sent last."""
        if tick.error is None or newest is None:
            return
        desired, actual, difference = error_points(tick.error, tick.progress_s)
        message = JointTrajectoryControllerState(
            joint_names=list(self._shell.arm.joint_names),
            reference=desired,
            feedback=actual,
            error=difference,
            output=point(tick.progress_s, newest.q, newest.v, newest.a),
            speed_scaling_factor=float(tick.speed),
        )
        to_stamp(message.header.stamp, self._shell.stamps.to_stamp(tick.error.actual.time_s))
        self._state_out.publish(message)
