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

from .node_parameters import settings_of, take_settings
from .runtime import LATCHED, LATEST, hear_stream, is_heard, joint_state, name_of, node_arguments, run, stamp_clock, to_stamp


class Dynamics:
    """Shell of the arm's law on ``node``: publishes commands, and payload and mode of the compensation where they change."""

    def __init__(self, node: Node, arm: RunningArm):
        self.node, self.running, self._law = node, arm, arm.controller.law
        self._stamps, self._command = stamp_clock(node, arm.clock), JointState(name=list(arm.description.joint_names))
        self._command.header.frame_id = name_of(node)
        self._payload: Payload | None = None
        self._mode = ""
        self._command_out = node.create_publisher(JointState, "joint_commands", LATEST)
        self._payload_out = node.create_publisher(InertiaStamped, "payload", LATCHED)
        self._mode_out = node.create_publisher(String, "compensation", LATCHED) if isinstance(self._law, ServoLaw) else None
        arm.session.subscribe(self.on_cycle)

    def on_cycle(self, cycle: Cycle) -> None:
        """Publish what is new; called by the control loop.  Mode after none: only when the arm has risen."""
        command, payload, law = cycle.command, self.running.controller.payload, self._law
        if command is not None:
            stamp_s = self._stamps.to_stamp(command.time_s)
            if is_heard(self._command_out):
                self._command_out.publish(joint_state(self._command, stamp_s, command.setpoint, None, command.effort))
        if payload != self._payload:
            self._payload, said = payload, InertiaStamped()
            said.header.frame_id = self.running.description.tool
            to_stamp(said.header.stamp, self._stamps.to_stamp(self._stamps.now_s()))
            said.inertia.m = payload.mass
            said.inertia.com.x, said.inertia.com.y, said.inertia.com.z = payload.com
            self._payload_out.publish(said)
        if self._mode_out is not None and isinstance(law, ServoLaw):
            mode = NONE if law.droops else law.compensator.mode
            if mode != self._mode:
                self._mode = mode
                self._mode_out.publish(String(data=mode))


class DynamicsAlone(Node):
    """Answers each of ``joint_states`` with the torques that hold the arm in that state, on ``joint_torques``.

    tau = C(q, v) v + g(q) + F(v)                  as RigidBody.required_torque at no acceleration
    """

    def __init__(self) -> None:
        super().__init__(**node_arguments("dynamics"))
        settings = settings_of(self, parameters.DYNAMICS)
        known = load_arm(settings)
        settings.declare(*parameters.PAYLOAD)
        self._names = known.description.joint_names
        self._bare = self._model = RigidBody(known.description, armature=known.armature)
        self._settings, settings.take = settings, self._take
        self._take(set())
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
        said = JointState(name=list(self._names), effort=tau.tolist())
        said.header.stamp, said.header.frame_id = message.header.stamp, name_of(self)
        self._torques_out.publish(said)


main = partial(run, DynamicsAlone)

if __name__ == "__main__":
    sys.exit(main())
