"""``dynamics``: reference in, torque and compensated servo set-point out; owner of the payload; self-test at the start."""

from __future__ import annotations

import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics import cross_check, lagrangian
from picker_dynamics.compensation import MODES, Compensator
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.feasibility import Gate
from picker_dynamics.joint_order import order_of
from picker_dynamics.nodes.arm_setup import load_arm
from picker_dynamics.nodes.diagnostics import ERROR, HELD, OK, SETPOINT, WARN, array, status, values_of
from picker_dynamics.nodes.payload import Payload
from picker_dynamics.nodes.runtime import LATCHED, LATEST, declare, run, seconds
from picker_dynamics.rigid_body import RigidBody

DIAGNOSTIC_PERIOD_S = 1.0

LONGEST_STEP_S = 0.1
"""A gap between references counts as this much time at the most, so that no fade is skipped."""


class Dynamics(Node):
    """Turns references into set-points; the maths is in ``compensation`` and ``rigid_body``.

    Raises:
        CrossCheckError: at the start, where the hand-written model and Pinocchio disagree about the URDF.
    """

    def __init__(self):
        super().__init__("dynamics")
        self.arm, self.servos = load_arm(self)
        mode = declare(self, "compensation", "full", "none, gravity, or full (computed torque)")
        fade_s = declare(self, "fade_s", 0.5, "duration of the fade after activation and mode changes [s]", low=0.0, high=10.0,
                         read_only=True)
        self.payload = Payload(self, self.arm.tool)
        model = RigidBody(self.arm, armature=self.servos.armature)
        self.cross_check_worst = self.self_test(model)
        self.compensator = Compensator(model, self.servos.model, mode, fade_s=fade_s,
                                       transition_s=self.payload.transition_s,
                                       setpoint_lower=self.servos.setpoint_lower, setpoint_upper=self.servos.setpoint_upper)
        self.model, self.epoch, self.last_stamp = model, None, None
        self.pose: np.ndarray | None = None
        self.processed = self.rejected = 0
        self.problem = ""
        self.order_cache: tuple[tuple[str, ...], np.ndarray] | None = None
        self.command = JointState(name=list(self.arm.joint_names))

        self.command_out = self.create_publisher(JointState, "joint_commands", LATEST)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.carry(self.payload.mass, self.payload.com)
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)
        self.create_subscription(DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.add_on_set_parameters_callback(self.on_parameters)
        self.create_timer(DIAGNOSTIC_PERIOD_S, self.on_diagnostics)

    def self_test(self, model: RigidBody) -> float:
        """Worst relative difference of the two models; raises where they disagree."""
        by_hand = lagrangian.by_hand(self.arm, armature=self.servos.armature)
        report = cross_check.compare(by_hand, model, self.arm.lower, self.arm.upper, self.arm.velocity)
        report.require()
        self.get_logger().info(f"cross-check passed: two models of {self.arm.name} agree to {report.worst:.1e}")
        return float(report.worst)

    def on_hardware(self, message: DiagnosticStatus) -> None:
        """At a new epoch, fade in from the set-point that is on the outputs."""
        values = values_of(message)
        if values.get("state") != "active":
            self.epoch = self.pose = None
        if values.get("state") != "active" or values.get("epoch") == self.epoch:
            return
        try:
            held, setpoint = ([float(values[prefix + name]) for name in self.arm.joint_names] for prefix in (HELD, SETPOINT))
        except (KeyError, ValueError) as error:
            self.complain(f"hardware/status without held pose: {error}")
            return
        self.epoch, self.last_stamp = values.get("epoch"), None
        self.compensator.start(np.subtract(setpoint, held))

    def on_reference(self, message: JointTrajectory) -> None:
        try:
            q, v, a = self.reference_from(message)
            stamp = seconds(message.header.stamp)
            step = 0.0 if self.last_stamp is None else min(max(stamp - self.last_stamp, 0.0), LONGEST_STEP_S)
            setpoint, tau = self.compensator.update(q, v, a, step)
        except PickerError as error:
            self.complain(f"reference ignored: {error}")
            return
        self.last_stamp, self.pose = stamp, q
        self.processed += 1
        self.problem = ""
        self.command.header.stamp = message.header.stamp
        self.command.position, self.command.effort = setpoint.tolist(), tau.tolist()
        self.command_out.publish(self.command)

    def reference_from(self, message: JointTrajectory) -> list[np.ndarray]:
        """q, v, a in the arm's order from a one-point trajectory; finite, or an error names what is not."""
        if len(message.points) != 1:
            raise InputError(f"expected one point, got {len(message.points)}", value=len(message.points), limit=1)
        names = tuple(message.joint_names)
        if self.order_cache is None or self.order_cache[0] != names:
            self.order_cache = names, order_of(names, self.arm.joint_names, "reference")
        order, point = self.order_cache[1], message.points[0]
        state = []
        for field in ("positions", "velocities", "accelerations"):
            values = np.asarray(getattr(point, field), dtype=float)
            if values.shape != order.shape:
                raise InputError(f"{values.size} {field} for {order.size} joints", value=values.size, limit=order.size)
            if not np.isfinite(values).all():
                joint = names[int(np.argmax(~np.isfinite(values)))]
                raise InputError(f"{joint} has a {field[:-1]} that is not finite", joint=joint)
            state.append(values[order])
        return state

    def on_parameters(self, parameters) -> SetParametersResult:
        """Change payload or mode while running; a value that does not fit is refused and nothing changes."""
        wanted = {parameter.name: parameter.value for parameter in parameters}
        mode = wanted.get("compensation", self.compensator.mode)
        payload = self.payload.wanted(wanted)
        try:
            if mode not in MODES:
                raise InputError(f"compensation is {mode!r}, must be one of {', '.join(MODES)}", joint="compensation", value=mode)
            if payload is not None:
                self.carry(*payload)
            self.compensator.set_mode(mode)
        except PickerError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def carry(self, mass: float, com) -> None:
        """Take a payload and tell everyone."""
        com = self.payload.require_vector(com)
        if self.pose is not None and mass > self.payload.mass:  # more than the servos hold here would push the arm away
            loaded = self.model.with_payload(mass, com)
            Gate(loaded, self.servos).check_point(self.pose, np.zeros(loaded.n), np.zeros(loaded.n))
        self.compensator.set_payload(mass, com)
        self.payload.tell(mass, com)

    def complain(self, problem: str) -> None:
        self.rejected += 1
        if problem != self.problem:
            self.get_logger().error(problem)
        self.problem = problem

    def on_diagnostics(self) -> None:
        clamped = ", ".join(self.compensator.clamped)
        unmeasured = ", ".join(self.servos.unmeasured)
        if self.problem:
            level, message = ERROR, self.problem
        elif clamped:
            level, message = WARN, f"set-point at the end of its pulse range: {clamped}"
        elif unmeasured:
            level, message = WARN, f"not measured, assumed: {unmeasured}"
        else:
            level, message = OK, "compensating"
        entry = status(level, self.get_fully_qualified_name().lstrip("/"), message, self.arm.name,
                       compensation=self.compensator.mode, cross_check_worst=self.cross_check_worst,
                       payload_kg=self.payload.mass, processed=self.processed, rejected=self.rejected, unmeasured=unmeasured)
        agreement = status(OK, f"{entry.name}: cross-check",
                           f"two models of {self.arm.name} agree to {self.cross_check_worst:.1e}", self.arm.name,
                           worst=self.cross_check_worst, limit=cross_check.LIMIT)
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), entry, agreement))


def main(args=None) -> int:
    return run(Dynamics, args)


if __name__ == "__main__":
    sys.exit(main())
