"""``dynamics``: reference in, torque and compensated servo set-point out; owner of the payload; self-test at the start."""

from __future__ import annotations

import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.control.compensation import MODES, Compensator
from picker_dynamics.control.payload_follow import PayloadFollower
from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.feasibility import Gate
from picker_dynamics.robot.joint_order import order_of, ordered

from .arm_setup import load_arm
from .diagnostics import ERROR, HELD, OK, SETPOINT, WARN, array, status, values_of
from .payload import Following, Payload
from .runtime import LATCHED, LATEST, declare, run, seconds

DIAGNOSTIC_PERIOD_S = 1.0

ANGLE_SD, FRICTION_SHARE = 0.003, 0.01
"""Of a measured joint angle [rad], and of what dry friction holds back, as a share of stall torque."""

LONGEST_STEP_S = 0.1
"""A gap between references counts as this much time at the most, so that no fade is skipped."""


class Dynamics(Node):
    """Turns references into set-points; the maths is in ``compensation`` and ``rigid_body``.

    Raises:
        CrossCheckError: at the start, where the hand-written model and Pinocchio disagree about the URDF.
    """

    def __init__(self, **options):
        super().__init__("dynamics", **options)
        self.arm, self.servos = load_arm(self)
        mode = declare(self, "compensation", "full", "none, gravity, or full (computed torque)")
        fade_s = declare(
            self, "fade_s", 0.5, "duration of the fade after activation and mode changes [s]", low=0.0, high=10.0, read_only=True
        )
        self.payload = Payload(self, self.arm.tool)
        model = RigidBody(self.arm, armature=self.servos.armature)
        self.cross_check_worst = self.self_test(model)
        self.compensator = Compensator(
            model,
            self.servos.model,
            mode,
            fade_s=fade_s,
            transition_s=self.payload.transition_s,
            setpoint_lower=self.servos.setpoint_lower,
            setpoint_upper=self.servos.setpoint_upper,
        )
        self.following = Following(self, self.payload, self.make_follower, self.believe, self.listen)
        self.states = None
        self.model, self.epoch, self.last_stamp = model, None, None
        self.pose: np.ndarray | None = None
        self.still = self.velocity = np.zeros(model.n)
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
        analytic_model = lagrangian.analytic_model(self.arm, armature=self.servos.armature)
        report = cross_check.compare(analytic_model, model, self.arm.lower, self.arm.upper, self.arm.velocity)
        report.require()
        self.get_logger().info(f"cross-check passed: two models of {self.arm.name} agree to {report.worst:.1e}")
        return float(report.worst)

    def on_hardware(self, message: DiagnosticStatus) -> None:
        """At a new epoch, fade in from the set-point that is on the outputs."""
        values = values_of(message)
        self.following.measured(values.get("provenance", ""))
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
        self.last_stamp, self.pose, self.velocity = stamp, q, v
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
                raise InputError(f"{joint} has a {field[:-1]} that is not finite", subject=joint)
            state.append(values[order])
        return state

    def on_parameters(self, parameters) -> SetParametersResult:
        """Change payload or mode while running; a value that does not fit is refused and nothing changes."""
        wanted = {parameter.name: parameter.value for parameter in parameters}
        mode = wanted.get("compensation", self.compensator.mode)
        payload = self.payload.wanted(wanted)
        try:
            if mode not in MODES:
                raise InputError(
                    f"compensation is {mode!r}, must be one of {', '.join(MODES)}", subject="compensation", value=mode
                )
            self.following.require(wanted, self.payload.mass if payload is None else payload[0])
            if payload is not None:
                self.carry(*payload)
            self.compensator.set_mode(mode)
            self.following.apply(wanted)
        except PickerError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def carry(self, mass: float, com) -> None:
        """Take a payload and tell everyone."""
        com = self.payload.require_vector(com)
        if mass > self.payload.mass:
            self.require_holdable(mass, com)
        self.compensator.set_payload(self.following.mass if self.following.on else mass, com)
        self.payload.tell(mass, com, self.following.mass)

    def require_holdable(self, mass: float, com) -> None:
        """More than the servos hold here would push the arm away: raises an InfeasibleError."""
        if self.pose is not None:
            loaded = self.model.with_payload(mass, com)
            Gate(loaded, self.servos).check_point(self.pose, np.zeros(loaded.n), np.zeros(loaded.n))

    # -- following the payload: a servo whose angle is measured tells by its spring what it bears ---------------

    def make_follower(self, **bounds) -> PayloadFollower:
        servo = self.servos.model
        sd = np.hypot(servo.stiffness * ANGLE_SD, FRICTION_SHARE * servo.stall_torque)
        return PayloadFollower(self.model, sd, at_rest_only=True, **bounds)

    def believe(self, mass: float) -> None:
        """What the springs say of the payload; raises an InfeasibleError where that could not be held here."""
        if mass > self.payload.mass:
            self.require_holdable(mass, self.payload.com)
        self.compensator.set_payload(mass, self.payload.com)

    def listen(self, on: bool) -> None:
        """Hear joint_states while the payload is followed, and not otherwise."""
        if on:
            self.states = self.create_subscription(JointState, "joint_states", self.on_state, LATEST)
        else:
            self.destroy_subscription(self.states)

    def on_state(self, message: JointState) -> None:
        if not self.following.on:
            return
        if self.pose is None or self.velocity.any():
            self.following.follower.pause()
            return
        try:
            q = ordered(message.name, message.position, self.arm.joint_names, "joint_states")
            v = ordered(message.name, message.velocity, self.arm.joint_names, "joint_states") if message.velocity else self.still
        except PickerError as error:
            self.following.obstacle = f"the payload is not followed: {error}"
            return
        setpoint, servo = np.asarray(self.command.position), self.servos.model
        sure = np.abs(setpoint - q) > servo.deadband  # inside it a servo bears anything up to its friction
        self.following.obstacle = ""
        self.following.follower.observe(q, v, servo.spring_torque(setpoint, q), seconds(message.header.stamp), sure)

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
        elif self.following.problem:
            level, message = WARN, self.following.problem
        elif unmeasured:
            level, message = WARN, f"not measured, assumed: {unmeasured}"
        else:
            level, message = OK, "compensating"
        entry = status(
            level,
            self.get_fully_qualified_name().lstrip("/"),
            message,
            self.arm.name,
            compensation=self.compensator.mode,
            cross_check_worst=self.cross_check_worst,
            payload_kg=self.payload.mass,
            processed=self.processed,
            rejected=self.rejected,
            unmeasured=unmeasured,
            **self.following.facts(),
        )
        agreement = status(
            OK,
            f"{entry.name}: cross-check",
            f"two models of {self.arm.name} agree to {self.cross_check_worst:.1e}",
            self.arm.name,
            worst=self.cross_check_worst,
            limit=cross_check.LIMIT,
        )
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), entry, agreement))


def main(args=None) -> int:
    return run(Dynamics, args)


if __name__ == "__main__":
    sys.exit(main())
