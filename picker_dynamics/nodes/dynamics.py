"""``dynamics``: torques and set-points of the control loop as topics, payload; alone: torques of joint states."""

from __future__ import annotations

import sys
from functools import partial

from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from picker_dynamics.control.compensation import NONE
from picker_dynamics.control.payload_change import Payload
from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.laws import ServoLaw
from picker_dynamics.controller.parameters import load_arm
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import PickerError
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.session.running_arm import RunningArm

from .diagnostics import name_of
from .node_parameters import settings_of, take_settings
from .runtime import LATCHED, LATEST, hear_stream, own_arguments, run, stamp_clock, to_stamp


class Dynamics:
    """Shell of the arm's law on ``node``: publishes commands, payload and mode of the compensation."""

    def __init__(self, node: Node, arm: RunningArm):
        self.node, self.running, self._law = node, arm, arm.controller.law
        self._stamps = stamp_clock(node, arm.clock)
        self._payload: Payload | None = None
        self._mode = ""
        self._command = JointState(name=list(arm.description.joint_names))
        self._command.header.frame_id = name_of(node)
        self._command_out = node.create_publisher(JointState, "joint_commands", LATEST)
        self._payload_out = node.create_publisher(InertiaStamped, "payload", LATCHED)
        self._mode_out = node.create_publisher(String, "compensation", LATCHED) if isinstance(self._law, ServoLaw) else None
        arm.session.subscribe(self.on_cycle)

    def on_cycle(self, cycle: Cycle) -> None:
        """Publish what the law makes of a reference, and payload and mode where they changed; called by the control loop."""
        command = cycle.command
        if command is not None:
            to_stamp(self._command.header.stamp, self._stamps.to_stamp(command.time_s))
            if command.setpoint is not None:
                self._command.position = command.setpoint.tolist()
            self._command.effort = command.effort.tolist()
            self._command_out.publish(self._command)
        if self.running.controller.payload != self._payload:
            self._payload = self.running.controller.payload
            self._publish_payload(self._payload)
        self._publish_mode()

    def _publish_payload(self, payload: Payload) -> None:
        message = InertiaStamped()
        message.header.frame_id = self.running.description.tool
        to_stamp(message.header.stamp, self._stamps.to_stamp(self._stamps.now_s()))
        message.inertia.m = payload.mass
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = payload.com
        self._payload_out.publish(message)

    def _publish_mode(self) -> None:
        """Publish the mode of the compensation where it is another one, after none only when the arm has risen."""
        if self._mode_out is None:
            return
        assert isinstance(self._law, ServoLaw)
        mode = NONE if self._law.droops else self._law.compensator.mode
        if mode != self._mode:
            self._mode = mode
            self._mode_out.publish(String(data=mode))


class DynamicsAlone(Node):
    """Answers each of ``joint_states`` with the torques that hold the arm in that state, on ``joint_torques``.

    tau = C(q, v) v + g(q) + F(v)                  as RigidBody.required_torque at no acceleration
    """

    def __init__(self) -> None:
        super().__init__("dynamics", cli_args=own_arguments("dynamics"), automatically_declare_parameters_from_overrides=True)
        settings = settings_of(self, parameters.DYNAMICS)
        known = load_arm(settings)
        settings.declare(*parameters.PAYLOAD)
        self._names, armature = known.description.joint_names, None if known.servos is None else known.servos.armature
        self._bare = self._model = RigidBody(known.description, armature=armature)
        self._settings, settings.take = settings, self._take
        self._take(set())
        self._torques = JointState(name=list(self._names))
        self._torques.header.frame_id = name_of(self)
        self._torques_out = self.create_publisher(JointState, "joint_torques", LATEST)
        hear_stream(self, JointState, "joint_states", self._on_state, LATEST)
        take_settings(self, settings)

    def _take(self, _names: set[str]) -> None:
        self._model = self._bare.with_payload(self._settings["payload.mass"], self._settings["payload.com"])

    def _on_state(self, message: JointState, _info: dict) -> None:
        try:
            q = ordered(message.name, message.position, self._names, "joint_states")
            v = ordered(message.name, message.velocity, self._names, "joint_states") if len(message.velocity) else 0.0 * q
            tau = self._model.required_torque(q, v, 0.0 * q)
        except PickerError as error:
            self.get_logger().error(f"state ignored: {error}", throttle_duration_sec=1.0)
            return
        self._torques.header.stamp, self._torques.effort = message.header.stamp, tau.tolist()
        self._torques_out.publish(self._torques)


main = partial(run, DynamicsAlone)

if __name__ == "__main__":
    sys.exit(main())
