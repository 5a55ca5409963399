"""``trajectory_controller``: goals and streams in, a checked reference (q, v, a) out, a lead ahead of its time."""

from __future__ import annotations

import math
import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError, InputError, PickerError
from picker_dynamics.execution.goal import OutdatedError
from picker_dynamics.execution.goal_check import GoalCheck
from picker_dynamics.execution.goal_manager import OVERTAKEN, PREEMPTED, Event, GoalDesk, Request
from picker_dynamics.execution.goal_tracking import GoalTracker, SentReferences
from picker_dynamics.execution.gripping import GripperSettings, settings_problem
from picker_dynamics.execution.reference_generator import ReferenceGenerator
from picker_dynamics.execution.streaming import Stream
from picker_dynamics.robot.joint_order import ordered

from .arm_setup import load_controlled_arm
from .controller_parameters import ControllerParameters
from .diagnostics import ERROR, HELD, OK, WARN, array, status, values_of
from .duplicate_publishers import Rivals
from .goal_messages import ArmStates, goal_from
from .runtime import LATCHED, LATEST, OUTCOMES, declare, now_s, run, seconds, to_stamp

DIAGNOSTIC_PERIOD_S = 1.0

GOALS_WAITING = 1000
"""Depth of the goal topic: each goal of a burst is answered, if only that a newer one overtook it."""

REACH_BACK_S = 0.5
"""Beyond the lead: how old a state may be that is compared with what was sent [s]."""

LATE_S = 1.0
"""A sample of a stream that was stamped longer ago is no command any more: somebody plays something back [s]."""

LEVELS = {"": OK, "accepted": OK, "done": OK, "cancelled": WARN, "refused": ERROR, "aborted": ERROR}


class TrajectoryController(Node):
    """Runs the gate and produces the reference; all decisions are in ``goal_desk``, ``controller`` and ``goal_check``."""

    def __init__(self, **options):
        super().__init__("trajectory_controller", **options)
        controlled = load_controlled_arm(self)
        self.arm, self.gate_for = controlled.description, controlled.gate
        self.rate_hz = declare(self, "rate_hz", 100.0, "rate of the reference [Hz]", low=10.0, high=500.0, read_only=True)
        self.lead_s = declare(
            self, "lead_s", 0.06, "how long before it holds a reference is sent [s]", low=0.0, high=0.5, read_only=True
        )
        deceleration = declare(
            self,
            "max_deceleration",
            4.0,
            "with which a cancelled motion stops, and which a change of speed_scaling may add [rad/s^2]",
            low=0.5,
            high=50.0,
            read_only=True,
        )
        monitor_hz = declare(
            self,
            "action_monitor_rate",
            20.0,
            "rate of action feedback and controller_state, and at which goal tolerances are looked at [Hz]",
            low=1.0,
            high=100.0,
            read_only=True,
        )
        self.parameters = ControllerParameters(self, self.arm, self.on_parameters)
        gripper = self.declare_gripper(controlled.grips)
        self.armature = controlled.armature
        self.generator = ReferenceGenerator(self.arm.joint_names, None, deceleration, self.arm.lower, self.arm.upper)
        self.stream = Stream(self.generator)
        self.sent = SentReferences(math.ceil((self.lead_s + REACH_BACK_S) * self.rate_hz))
        self.desk = GoalDesk(self.generator, self.stream, self.on_event, self.sent)
        self.states: ArmStates | None = None
        self.interfaces = None
        self.wanted_speed: float | None = self.parameters["speed_scaling"]
        self.monitor_every = self.until_monitor = max(1, round(self.rate_hz / monitor_hz))
        self.epoch: str | None = None
        self.last_message, self.last_level = "waiting for the hardware", WARN
        self.reference = JointTrajectory(joint_names=list(self.arm.joint_names), points=[JointTrajectoryPoint()])

        self.reference_out = self.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
        self.status_out = self.create_publisher(DiagnosticStatus, "arm_controller/status", OUTCOMES)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_subscription(JointTrajectory, "arm_controller/joint_trajectory", self.on_goal, GOALS_WAITING)
        self.create_subscription(JointState, "arm_controller/joint_reference", self.on_stream, LATEST)
        self.create_subscription(DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.create_subscription(InertiaStamped, "payload", self.on_payload, LATCHED)
        self.rivals = Rivals(self, self.reference_out, self.sent.has, self.look_for_rivals)
        self.offer_interfaces(gripper)
        self.ticks = self.create_timer(1.0 / self.rate_hz, self.on_tick)
        self.create_timer(DIAGNOSTIC_PERIOD_S, self.on_diagnostics)
        self.report(WARN, "waiting for the hardware")

    def declare_gripper(self, grips: dict[str, float]) -> GripperSettings | None:
        """The gripper's settings; None for an arm without one."""
        plain = GripperSettings("")
        joint = declare(self, "gripper.joint", next(iter(grips), ""), "joint that grips; empty: none", read_only=True)
        settings = GripperSettings(
            joint,
            declare(
                self,
                "gripper.max_velocity",
                plain.max_velocity,
                "where a command names none [rad/s]",
                low=0.01,
                high=50.0,
                read_only=True,
            ),
            declare(
                self,
                "gripper.goal_tolerance",
                plain.goal_tolerance,
                "within which it has reached its goal [rad]",
                low=0.0,
                high=1.0,
                read_only=True,
            ),
            declare(
                self,
                "gripper.stall_velocity_threshold",
                plain.stall_velocity_threshold,
                "slower than this it stands [rad/s]",
                low=0.0,
                high=10.0,
                read_only=True,
            ),
            declare(
                self,
                "gripper.stall_timeout",
                plain.stall_timeout,
                "standing so long away from its goal it has stalled [s]",
                low=0.0,
                high=60.0,
                read_only=True,
            ),
            declare(
                self,
                "gripper.allow_stalling",
                plain.allow_stalling,
                "stalled, it has gripped something: a success",
                read_only=True,
            ),
            grips.get(joint),
        )
        if joint and (problem := settings_problem(settings, self.arm)):
            raise ConfigurationError(problem, subject="gripper.joint")
        return settings if joint else None

    def offer_interfaces(self, gripper: GripperSettings | None) -> None:
        """Actions and ``controller_state``, where their types are installed; said once."""
        try:
            from .control_interfaces import ControlInterfaces
        except ModuleNotFoundError as missing:
            if (missing.name or "").split(".")[0] != "control_msgs":
                raise
            self.get_logger().info(
                "control_msgs is not installed: goals come by arm_controller/joint_trajectory; there is no "
                "follow_joint_trajectory, gripper_cmd, controller_state and speed_scaling_input"
            )
            return
        self.watch_states()
        self.interfaces = ControlInterfaces(self, self.desk, gripper)

    def watch_states(self) -> None:
        if self.states is None:
            self.states = ArmStates(self, self.arm.joint_names)

    @property
    def tolerances(self):
        """Of goals that name none."""
        return self.parameters.tolerances()

    @property
    def partial(self) -> bool:
        """Whether goals may name only some joints."""
        return self.parameters["allow_partial_joints_goal"]

    def next_time(self) -> float:
        """Time for which the next reference will be sent [s, ROS clock]."""
        return now_s(self) + self.lead_s

    # -- what is told --------------------------------------------------------------------------------------

    def on_parameters(self, names: set[str]) -> None:
        if "speed_scaling" in names:
            self.wanted_speed = self.parameters["speed_scaling"]
        if self.generator.check is not None:
            self.generator.check.tip_speed_limit, self.generator.check.stretch = (
                self.parameters["tip_speed_limit"],
                self.parameters["stretch"],
            )

    def want_speed(self, share: float) -> None:
        """From a topic: the parameter is set, so that there is one truth."""
        answer = self.set_parameters([Parameter("speed_scaling", value=float(share))])[0]
        if not answer.successful:
            self.complain(f"speed_scaling_input refused: {answer.reason}")

    def on_payload(self, message: InertiaStamped) -> None:
        inertia = message.inertia
        com = (inertia.com.x, inertia.com.y, inertia.com.z)
        try:
            model = lagrangian.analytic_model(self.arm, self.armature, inertia.m, com)
        except PickerError as error:
            self.generator.check = None
            self.report(ERROR, f"payload refused: {error}")
            return
        self.generator.check = GoalCheck(
            self.arm,
            self.gate_for(model),
            model,
            stretch=self.parameters["stretch"],
            tip_speed_limit=self.parameters["tip_speed_limit"],
        )

    def on_hardware(self, message: DiagnosticStatus) -> None:
        """Follow the hardware: a new epoch (re)starts the reference from the pose that the status says is held."""
        values = values_of(message)
        ready, epoch = values.get("state") == "active", values.get("epoch")
        if self.generator.active and (not ready or epoch != self.epoch):
            self.generator.deactivate()
            self.stream.reset()
            self.sent.clear()
            if not self.desk.abort_all(f"aborted: {message.message}"):
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
        """A goal without points cancels, as in joint_trajectory_controller."""
        identifier = message.header.frame_id
        if not message.points:
            cancelled = self.desk.cancel_all(self.next_time())
            error = InputError("no points: " + ("the motion under way is cancelled" if cancelled else "nothing to cancel"))
            self.desk.refused += 1
            self.report(ERROR, f"refused: {error}", identifier=identifier, outcome="refused", error=error)
            return
        self.desk.receive(Request(lambda: goal_from(message, self.partial), identifier=identifier, tracker=self.path_tracker))

    def path_tracker(self, motion) -> GoalTracker | None:
        """Of a goal from the topic: only the path tolerance counts, as in joint_trajectory_controller."""
        tolerances = self.tolerances.only(motion.joints).on_the_path()
        if not tolerances.path.any:
            return None
        self.watch_states()
        return GoalTracker(self.arm.joint_names, self.arm.position_units, tolerances, motion.start_s)

    def on_stream(self, message: JointState) -> None:
        try:
            position = np.asarray(message.position, dtype=float)
            if np.isnan(position).any():
                self.stream.statistics.ignored += 1
                return
            if self.desk.barred:
                raise PickerError(self.desk.barred)
            target = ordered(message.name, position, self.arm.joint_names, "joint_reference")
            now, sent_s = now_s(self), seconds(message.header.stamp) or None
            if sent_s is not None and now - sent_s > LATE_S:
                raise OutdatedError(
                    f"the sample is {now - sent_s:.1f} s old, allowed {LATE_S} s", value=now - sent_s, limit=LATE_S
                )
            self.stream.push(target, now, now + self.lead_s, sent_s)
        except PickerError as error:
            if self.stream.must_say(error, now_s(self)):
                self.report(ERROR, f"stream refused: {error}", error=error)

    # -- time ----------------------------------------------------------------------------------------------

    def on_tick(self) -> None:
        if self.generator.active:
            self.send(self.next_time())
        if self.desk.inbox:
            self.desk.consider(self.next_time())

    def send(self, time_s: float) -> None:
        """The reference for ``time_s``, and what is due with it."""
        if self.wanted_speed is not None:
            self.generator.set_speed(self.wanted_speed, time_s)
            self.wanted_speed = None
        if self.stream.silent(time_s - self.lead_s, time_s):
            self.report(OK, "the stream ended: holding")
        reference, finished = self.generator.sample(time_s)
        point = self.reference.points[0]
        to_stamp(self.reference.header.stamp, time_s)
        point.positions, point.velocities, point.accelerations = reference.q.tolist(), reference.v.tolist(), reference.a.tolist()
        self.reference_out.publish(self.reference)
        self.sent.append(reference)
        if finished is not None:
            self.desk.finished(finished, reference)
        self.until_monitor -= 1
        if self.until_monitor <= 0:
            self.until_monitor = self.monitor_every
            self.monitor(time_s, True)
        elif self.desk.watches_path:
            self.monitor(time_s, False)

    def monitor(self, time_s: float, feedback: bool) -> None:
        """Look where the arm is, for those who want to know."""
        heard = feedback and self.interfaces is not None and self.interfaces.heard
        if not (self.desk.watched or heard):
            return
        self.states.look()
        now = time_s - self.lead_s
        error = self.desk.monitor(now, time_s, self.states.state, feedback)
        if heard and error is not None:
            self.interfaces.publish_state(
                error, max(self.generator.progress_at(now), 0.0), self.generator.speed_at(now), self.sent.newest
            )

    # -- what is said --------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        level = WARN if event.text in (f"refused: {OVERTAKEN}", PREEMPTED) else LEVELS[event.outcome]
        self.report(level, event.text, event.motion, event.outcome, identifier=event.identifier, error=event.error)

    def complain(self, message: str, error: PickerError | None = None) -> None:
        self.report(ERROR, message, error=error)

    def report(
        self, level, message: str, motion=None, outcome: str = "", *, identifier: str = "", error: PickerError | None = None
    ) -> None:
        """Publish what happened to whom, and log what was refused."""
        self.last_level, self.last_message = level, message
        if level == ERROR:
            self.get_logger().error(message)
        facts = {
            "phase": self.generator.phase().value,
            "goal": identifier,
            "outcome": outcome,
            "accepted": self.desk.accepted,
            "refused": self.desk.refused,
        }
        if motion is not None:
            facts["duration_s"] = motion.ends
        if error is not None:
            facts |= {"error": type(error).__name__, "joint": error.subject or "", "value": error.value, "limit": error.limit}
        self.status_out.publish(status(level, self.name(), message, self.arm.name, **facts))

    def name(self) -> str:
        return self.get_fully_qualified_name().lstrip("/")

    def look_for_rivals(self) -> None:
        rivals = self.rivals.look()
        if rivals != self.desk.barred:
            self.desk.bar(rivals, self.next_time())
            self.report(ERROR if rivals else OK, rivals or "no other controller any more")

    def on_diagnostics(self) -> None:
        self.look_for_rivals()
        counts = self.stream.statistics
        problem = self.states.problem if self.states is not None else ""
        entry = status(
            self.last_level,
            self.name(),
            self.last_message,
            self.arm.name,
            phase=self.generator.phase().value,
            goals_accepted=self.desk.accepted,
            goals_refused=self.desk.refused,
            goals_overtaken=self.desk.inbox.overtaken,
            speed_scaling=self.generator.speed,
            stream_accepted=counts.accepted,
            stream_ignored=counts.ignored,
            stream_refused=counts.refused,
            joint_states_problem=problem,
        )
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), entry))

    def close(self, _hurried) -> None:
        """The last word to whoever waits for a goal."""
        self.ticks.cancel()
        self.desk.abort_all("aborted: the controller ends")
        if self.interfaces is not None:
            self.interfaces.close()


def main(args=None) -> int:
    return run(TrajectoryController, args)


if __name__ == "__main__":
    sys.exit(main())
