"""Interfaces of the controller that need control_msgs: two actions, its state, and a topic for the speed."""

from __future__ import annotations

import time

from control_msgs.msg import JointJog, JointTrajectoryControllerState, SpeedScalingFactor

from picker_dynamics.errors import InputError
from picker_dynamics.execution.execution import Tick
from picker_dynamics.execution.gripping import GripperSettings

from .diagnostics import sender_in
from .duplicate_publishers import number_of
from .follow_action import FollowAction
from .goal_messages import error_points, point
from .gripper_action import GripperAction
from .runtime import LATCHED, hear_stream, to_stamp

LAST_WORDS_S = 0.2
"""At the end, where somebody waits for a goal: until the answer is through."""


class ControlInterfaces:
    """Names, types and QoS of joint_trajectory_controller and parallel_gripper_action_controller.

    Args:
        node: the controller.
        gripper: None: the arm has none.
    """

    def __init__(self, node, gripper: GripperSettings | None):
        self.node = node
        self.follow = FollowAction(node)
        self.gripper = GripperAction(node, gripper) if gripper is not None else None
        self.state_out = node.create_publisher(JointTrajectoryControllerState, "arm_controller/controller_state", 10)
        hear_stream(node, JointJog, "arm_controller/delta_joint_cmds", self.on_joint_jog, 10)
        hear_stream(node, SpeedScalingFactor, "arm_controller/speed_scaling_input", self.on_speed, LATCHED)

    def on_joint_jog(self, message: JointJog, info) -> None:
        """Velocities of joints, as MoveIt Servo takes them."""
        if len(message.displacements):
            error = InputError("displacements are not taken, velocities are; for steps send goals", subject="displacements")
            return self.node.jogging.refuse(error, self.node.stamps.now_s())
        driver = self.node.driver_of(sender_in(message.header))
        self.node.jogging.joints(message.joint_names, message.velocities, self.node.stamps.now_s(), number_of(info), driver)
        return None

    def on_speed(self, message: SpeedScalingFactor, _info=None) -> None:
        self.node.want_speed(message.factor)

    @property
    def heard(self) -> bool:
        """Whether anybody listens to ``controller_state``."""
        return self.state_out.get_subscription_count() > 0

    def publish_state(self, tick: Tick, reference) -> None:
        """Publish the state; ``reference`` is the newest that was sent: what the dynamics node makes set-points of."""
        desired, actual, difference = error_points(tick.error, tick.progress_s)
        message = JointTrajectoryControllerState(
            joint_names=list(self.node.arm.joint_names),
            reference=desired,
            feedback=actual,
            error=difference,
            output=point(tick.progress_s, reference.q, reference.v, reference.a),
            speed_scaling_factor=float(tick.speed),
        )
        to_stamp(message.header.stamp, self.node.stamps.to_stamp(tick.error.actual.time_s))
        self.state_out.publish(message)

    def close(self) -> None:
        """Deliver what was concluded, and end."""
        servers = [action.server for action in (self.follow, self.gripper) if action is not None]
        if any(server.concluding for server in servers) and self.node.executor is not None:
            until_s = time.monotonic() + LAST_WORDS_S
            while time.monotonic() < until_s:
                self.node.executor.spin_once(timeout_sec=0.01)
        for server in servers:
            server.destroy()
