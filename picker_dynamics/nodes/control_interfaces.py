"""Interfaces of the controller that need control_msgs: two actions, its state, and topics for jogs and for the speed."""

from __future__ import annotations

from control_msgs.msg import JointJog, JointTrajectoryControllerState, SpeedScalingFactor

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.execution import Tick
from picker_dynamics.execution.motion import Reference

from .actions import Action, FollowAction, GripperAction
from .goal_messages import error_points, point
from .runtime import LATCHED, hear_stream, is_heard, number_of, to_stamp
from .trajectory_controller import TrajectoryController


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
                session.jogging.refuse(InputError(text, subject="displacements"), now_s)
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
