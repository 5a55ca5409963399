"""``torque_control``: takes the place of ``dynamics`` where joints take efforts: reference and measured state in, efforts out."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.control.laws.law import Reference
from picker_dynamics.control.payload_follow import PayloadFollower
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.effort_gate import EffortGate
from picker_dynamics.robot.joint_order import ordered

from .arm_setup import load_torque_arm
from .diagnostics import ERROR, OK, WARN, array, status, values_of
from .payload import Following, Payload
from .runtime import LATCHED, LATEST, declare, now_s, run, seconds

DIAGNOSTIC_PERIOD_S = 1.0

EFFORT_SD = 0.003
"""Of a measured effort, and of what the model misses, as a share of the joint's limit; dry friction comes on top."""


class TorqueControl(Node):
    """Computes efforts for every measured state; the maths is in ``torque_loop``.

    Each state is answered at once.  Without a fresh reference the answer brakes and holds; without states there is none, and
    the drives hold by themselves (``torque_session``).

    Raises:
        CrossCheckError: at the start, where the hand-written model and Pinocchio disagree about the URDF.
    """

    def __init__(self, **options):
        super().__init__("torque_control", **options)
        arm = load_torque_arm(self)
        self.arm = arm.description
        bandwidth = declare(
            self,
            "bandwidth",
            arm.bandwidth,
            "of the computed torque: Kp = w^2, Kd = 2 w [rad/s]",
            low=0.1,
            high=500.0,
            read_only=True,
        )
        self.payload = Payload(self, self.arm.tool)
        model = RigidBody(self.arm)
        report = cross_check.compare(
            lagrangian.analytic_model(self.arm), model, self.arm.lower, self.arm.upper, self.arm.velocity
        )
        report.require()
        self.cross_check_worst = float(report.worst)
        self.get_logger().info(f"cross-check passed: two models of {self.arm.name} agree to {report.worst:.1e}")
        self.model, self.gate = model, EffortGate(model, arm)
        self.loop = TorqueLoop(model, bandwidth, self.payload.transition_s)
        self.following = Following(self, self.payload, self.make_follower, self.believe)
        self.pose: np.ndarray | None = None
        self.epoch: str | None = None
        self.processed = self.rejected = 0
        self.problem = ""
        self.command = JointState(name=list(self.arm.joint_names))

        self.command_out = self.create_publisher(JointState, "joint_commands", LATEST)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.carry(self.payload.mass, self.payload.com)
        self.create_subscription(JointState, "joint_states", self.on_state, LATEST)
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)
        self.create_subscription(DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.add_on_set_parameters_callback(self.on_parameters)
        self.create_timer(DIAGNOSTIC_PERIOD_S, self.on_diagnostics)

    def on_hardware(self, message: DiagnosticStatus) -> None:
        """At a new epoch the reference starts anew, and when the arm is not active nobody follows the old one."""
        values = values_of(message)
        if values.get("state") != "active" or values.get("epoch") != self.epoch:
            self.loop.start()
        self.epoch = values.get("epoch")
        self.following.measured(values.get("provenance", ""))

    def on_reference(self, message: JointTrajectory) -> None:
        try:
            if len(message.points) != 1:
                raise InputError(f"expected one point, got {len(message.points)}", value=len(message.points), limit=1)
            point, names = message.points[0], message.joint_names
            values = (
                ordered(names, values, self.arm.joint_names, "reference")
                for values in (point.positions, point.velocities, point.accelerations)
            )
            self.loop.references.push(seconds(message.header.stamp), Reference(*values))
        except PickerError as error:
            self.complain(f"reference ignored: {error}")

    def on_state(self, message: JointState) -> None:
        try:
            q = ordered(message.name, message.position, self.arm.joint_names, "joint_states")
            v = ordered(message.name, message.velocity, self.arm.joint_names, "joint_states")
            time_s = seconds(message.header.stamp)
            tau = self.loop.effort(q, v, time_s)
        except PickerError as error:
            self.complain(f"state ignored: {error}")
            return
        self.pose = q
        self.processed += 1
        self.problem = ""
        self.command.header.stamp = message.header.stamp
        self.command.effort = tau.tolist()
        self.command_out.publish(self.command)
        if self.following.on and self.loop.following:
            self.learn(message, q, v, time_s)

    def learn(self, message: JointState, q, v, time_s: float) -> None:
        """What the efforts that acted until now say of the payload."""
        try:
            effort = ordered(message.name, message.effort, self.arm.joint_names, "joint_states")
        except PickerError as error:
            self.following.obstacle = f"the payload is not followed: no efforts are measured: {error}"
            return
        self.following.obstacle = ""
        self.following.follower.observe(q, v, effort, time_s)

    def on_parameters(self, parameters) -> SetParametersResult:
        """Change the payload while running; a value that does not fit is refused and nothing changes."""
        wanted = {parameter.name: parameter.value for parameter in parameters}
        payload = self.payload.wanted(wanted)
        try:
            self.following.require(wanted, self.payload.mass if payload is None else payload[0])
            if payload is not None:
                self.carry(*payload)
            self.following.apply(wanted)
        except PickerError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def carry(self, mass: float, com) -> None:
        """Take a payload and tell everyone."""
        com = self.payload.require_vector(com)
        if mass > self.payload.mass:
            self.require_holdable(mass, com)
        self.loop.set_payload(self.following.mass if self.following.on else mass, com, now_s(self))
        self.payload.tell(mass, com, self.following.mass)

    def require_holdable(self, mass: float, com) -> None:
        """More than the drives hold here would pull the arm down: raises an InfeasibleError."""
        if self.pose is not None:
            still = np.zeros(self.model.n)
            replace(self.gate, model=self.model.with_payload(mass, com)).check_point(self.pose, still, still)

    def make_follower(self, **bounds) -> PayloadFollower:
        return PayloadFollower(self.model, np.hypot(EFFORT_SD * self.arm.effort, self.arm.friction), **bounds)

    def believe(self, mass: float) -> None:
        """What the efforts say of the payload; raises an InfeasibleError where that could not be held here."""
        if mass > self.payload.mass:
            self.require_holdable(mass, self.payload.com)
        self.loop.set_payload(mass, self.payload.com, now_s(self))

    def complain(self, problem: str) -> None:
        self.rejected += 1
        if problem != self.problem:
            self.get_logger().error(problem)
        self.problem = problem

    def on_diagnostics(self) -> None:
        if self.problem:
            level, message = ERROR, self.problem
        elif not self.processed:
            level, message = WARN, "waiting for joint_states"
        elif self.following.problem:
            level, message = WARN, self.following.problem
        else:
            level, message = OK, "following" if self.loop.following else "no reference: holding"
        worst = float(abs(self.loop.error).max())
        entry = status(
            level,
            self.get_fully_qualified_name().lstrip("/"),
            message,
            self.arm.name,
            cross_check_worst=self.cross_check_worst,
            payload_kg=self.payload.mass,
            processed=self.processed,
            rejected=self.rejected,
            tracking_error=worst,
            **self.following.facts(),
        )
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), entry))


def main(args=None) -> int:
    return run(TorqueControl, args)


if __name__ == "__main__":
    sys.exit(main())
