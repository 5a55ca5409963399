"""``trajectory_controller``: goals and streams in, a checked reference (q, v, a) out, a lead ahead of its time."""

from __future__ import annotations

import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.controller import Goal, Motion, Phase, ReferenceGenerator
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.goal_check import GoalCheck
from picker_dynamics.joint_order import ordered
from picker_dynamics.nodes.arm_setup import load_controlled_arm
from picker_dynamics.nodes.diagnostics import ERROR, HELD, OK, WARN, array, status, values_of
from picker_dynamics.nodes.runtime import LATCHED, LATEST, OUTCOMES, declare, now_s, run, seconds, to_stamp
from picker_dynamics.rigid_body import RigidBody
from picker_dynamics.streaming import Stream

DIAGNOSTIC_PERIOD_S = 1.0


class TrajectoryController(Node):
    """Runs the gate and produces the reference; all decisions are in ``controller`` and ``goal_check``."""

    def __init__(self):
        super().__init__("trajectory_controller")
        controlled = load_controlled_arm(self)
        self.arm, self.gate_for = controlled.description, controlled.gate
        self.rate_hz = declare(self, "rate_hz", 100.0, "rate of the reference [Hz]", low=10.0, high=500.0, read_only=True)
        self.lead_s = declare(self, "lead_s", 0.06, "how long before it holds a reference is sent [s]", low=0.0, high=0.5,
                              read_only=True)
        self.tip_speed_limit = declare(self, "tip_speed_limit", 0.25, "largest speed of the tool [m/s]", low=0.01, high=2.0)
        self.stretch = declare(self, "stretch", True, "slow a goal that is too fast instead of refusing it")
        deceleration = declare(self, "max_deceleration", 4.0, "with which a cancelled motion stops [rad/s^2]", low=0.5, high=50.0,
                               read_only=True)
        self.model = RigidBody(self.arm, armature=controlled.armature)
        self.generator = ReferenceGenerator(self.arm.joint_names, None, deceleration, self.arm.lower, self.arm.upper)
        self.stream = Stream(self.generator)
        self.accepted = self.refused = 0
        self.epoch: str | None = None
        self.last_message, self.last_level = "waiting for the hardware", WARN
        self.reference = JointTrajectory(joint_names=list(self.arm.joint_names), points=[JointTrajectoryPoint()])

        self.reference_out = self.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
        self.status_out = self.create_publisher(DiagnosticStatus, "arm_controller/status", OUTCOMES)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_subscription(JointTrajectory, "arm_controller/joint_trajectory", self.on_goal, 10)
        self.create_subscription(JointState, "arm_controller/joint_reference", self.on_stream, LATEST)
        self.create_subscription(DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.create_subscription(InertiaStamped, "payload", self.on_payload, LATCHED)
        self.add_on_set_parameters_callback(self.on_parameters)
        self.create_timer(1.0 / self.rate_hz, self.on_tick)
        self.create_timer(DIAGNOSTIC_PERIOD_S, self.on_diagnostics)
        self.report(WARN, "waiting for the hardware")

    def next_time(self) -> float:
        """Time for which the next reference will be sent [s, ROS clock]."""
        return now_s(self) + self.lead_s

    def on_parameters(self, parameters) -> SetParametersResult:
        """Tip speed and stretching; they apply from the next goal on."""
        for parameter in parameters:
            if parameter.name in ("tip_speed_limit", "stretch"):
                setattr(self, parameter.name, parameter.value)
        if self.generator.check is not None:
            self.generator.check.tip_speed_limit, self.generator.check.stretch = self.tip_speed_limit, self.stretch
        return SetParametersResult(successful=True)

    def on_payload(self, message: InertiaStamped) -> None:
        inertia = message.inertia
        com = (inertia.com.x, inertia.com.y, inertia.com.z)
        try:
            model = self.model.with_payload(inertia.m, com) if inertia.m else self.model
        except PickerError as error:
            self.generator.check = None
            self.report(ERROR, f"payload refused: {error}")
            return
        self.generator.check = GoalCheck(self.arm, self.gate_for(model), model,
                                         tip_speed_limit=self.tip_speed_limit, stretch=self.stretch)

    def on_hardware(self, message: DiagnosticStatus) -> None:
        """Follow the hardware: a new epoch (re)starts the reference from the pose that the status says is held."""
        values = values_of(message)
        ready, epoch = values.get("state") == "active", values.get("epoch")
        if self.generator.active and (not ready or epoch != self.epoch):
            aborted = self.generator.deactivate()
            self.stream.reset()
            if aborted is not None:
                self.report(ERROR, f"aborted: {message.message}", aborted, "aborted")
            else:
                self.report(WARN, f"the hardware is not active: {message.message}")
        self.epoch = epoch
        if not ready or self.generator.active:
            return
        held = {key.removeprefix(HELD): value for key, value in values.items() if key.startswith(HELD)}
        try:
            pose = ordered(list(held), [float(value) for value in held.values()], self.arm.joint_names, "hardware/status")
        except (PickerError, ValueError) as error:
            self.report(ERROR, f"no held pose: {error}")
            return
        self.generator.start(pose)
        self.report(OK, "holding")

    def on_goal(self, message: JointTrajectory) -> None:
        try:
            motion = self.generator.submit(self.goal_from(message), self.next_time())
        except PickerError as error:
            self.refused += 1
            self.report(ERROR, f"refused: {error}", identifier=message.header.frame_id, outcome="refused", error=error)
            return
        self.accepted += 1
        self.stream.reset()
        slowed = f", slowed {motion.fitted.factor:.2f} times to fit" if motion.fitted.factor > 1.0 else ""
        self.report(OK, f"executing, {motion.trajectory.duration:.2f} s{slowed}", motion, "accepted")

    def goal_from(self, message: JointTrajectory) -> Goal:
        """The goal in a message; an empty field at every point means that it is not given.

        A goal without points cancels, as in joint_trajectory_controller.
        """
        points = message.points
        if not points:
            cancelled = self.generator.cancel(self.next_time()) if self.generator.active else None
            raise InputError("no points: " + ("the motion under way is cancelled" if cancelled else "nothing to cancel"))
        stamp = seconds(message.header.stamp)

        def rows(field):
            values = [getattr(point, field) for point in points]
            return values if any(len(row) for row in values) else None

        return Goal(message.joint_names, [seconds(point.time_from_start) for point in points], [p.positions for p in points],
                    rows("velocities"), rows("accelerations"), stamp or None, message.header.frame_id)

    def on_stream(self, message: JointState) -> None:
        try:
            position = np.asarray(message.position, dtype=float)
            if np.isnan(position).any():
                self.stream.statistics.ignored += 1
                return
            target = ordered(message.name, position, self.arm.joint_names, "joint_reference")
            self.stream.push(target, now_s(self), self.next_time())
        except PickerError as error:
            self.report(ERROR, f"stream refused: {error}", error=error)

    def on_tick(self) -> None:
        if not self.generator.active:
            return
        time_s = self.next_time()
        if self.stream.silent(time_s - self.lead_s, time_s):
            self.report(OK, "the stream ended: holding")
        reference, finished = self.generator.sample(time_s)
        point = self.reference.points[0]
        to_stamp(self.reference.header.stamp, time_s)
        point.positions, point.velocities, point.accelerations = reference.q.tolist(), reference.v.tolist(), reference.a.tolist()
        self.reference_out.publish(self.reference)
        if finished is not None and finished.phase is Phase.EXECUTING:
            self.report(OK, "done: holding", finished, "done")
        elif finished is not None and finished.phase is Phase.STOPPING:
            self.report(WARN, "cancelled: holding", finished, "cancelled")

    def report(self, level, message: str, motion: Motion | None = None, outcome: str = "", *, identifier: str = "",
               error: PickerError | None = None) -> None:
        """Publish what happened to whom, and log what was refused."""
        self.last_level, self.last_message = level, message
        if level == ERROR:
            self.get_logger().error(message)
        facts = {"phase": self.generator.phase().value, "goal": motion.identifier if motion else identifier, "outcome": outcome,
                 "accepted": self.accepted, "refused": self.refused}
        if motion is not None:
            facts["duration_s"] = motion.trajectory.duration
        if error is not None:
            facts |= {"error": type(error).__name__, "joint": error.joint or "", "value": error.value, "limit": error.limit}
        self.status_out.publish(status(level, self.name(), message, self.arm.name, **facts))

    def name(self) -> str:
        return self.get_fully_qualified_name().lstrip("/")

    def on_diagnostics(self) -> None:
        counts = self.stream.statistics
        entry = status(self.last_level, self.name(), self.last_message, self.arm.name, phase=self.generator.phase().value,
                       goals_accepted=self.accepted, goals_refused=self.refused, stream_accepted=counts.accepted,
                       stream_ignored=counts.ignored, stream_refused=counts.refused)
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), entry))


def main(args=None) -> int:
    return run(TrajectoryController, args)


if __name__ == "__main__":
    sys.exit(main())
