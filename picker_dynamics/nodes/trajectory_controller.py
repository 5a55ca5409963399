"""``trajectory_controller``: goals and streams in, a checked reference (q, v, a) out, a lead ahead of its time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, TwistStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.board.stamp_clock import StampReader
from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import NAME_MAX, ConfigurationError, InputError, PickerError, TrajectoryError, shown
from picker_dynamics.execution.driving import Drivers
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.execution.floor import OFF, FloorCheck, standing_floor
from picker_dynamics.execution.following import Following, Missing
from picker_dynamics.execution.goal_tracking import GoalTracker
from picker_dynamics.execution.gripping import GripperCommand, gripper_request
from picker_dynamics.execution.jogging import Jogging
from picker_dynamics.execution.lease import IF_FREE
from picker_dynamics.execution.motion import Motion, Reference
from picker_dynamics.execution.payload_hold import unbearable
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.execution.tip_uncertainty import tip_uncertainty
from picker_dynamics.execution.tolerances import Tolerances
from picker_dynamics.execution.worker import Worker
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.servo_map import SERVO_RATE_HZ

from .arm_setup import load_controlled_arm
from .arm_topic import ArmTopic
from .claims import EXCLUSIVE, Claimant
from .collision_scene import CollisionScene
from .controller_parameters import AUTO, ControllerParameters, declare_gripper
from .controller_report import ControllerReport
from .diagnostics import name_of, sender_in
from .duplicate_publishers import DuplicatePublisherMonitor, OnePublisher, number_of, sources
from .executor import Polled
from .goal_messages import ArmStates, goal_from, is_gripper_command, start_in
from .hardware_status import HardwareStatus
from .long_goals import SHORT_BYTES, header_in, message_in, most_bytes, short_message
from .runtime import LATCHED, LATEST, Epochs, declare, hear_stream, payload_in, run, seconds, stamp_clock, steady_timer, to_stamp

DIAGNOSTIC_PERIOD_S = 1.0

GOALS_WAITING = 1000
"""Depth of the goal topic: each goal of a burst is answered, if only that a newer one overtook it."""

FOLLOWING_PERIOD_S = 0.05
"""How often is looked whether references become commands [s]."""

COMMANDS = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
"""A stranger who sends commands too does not hide those that are made of this node's references."""

DRIVERS = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Several may say that they drive; what is lost is said again."""

MODELLED = "modelled"
"""Provenance of joint states that no sensor has seen, in ``hardware/status``."""

ANEW = "commands start anew from where the arm is held"


class TrajectoryController(Claimant, Node):
    """Carries messages to an :class:`Execution` and back; all decisions are in there."""

    def __init__(self, **options):
        super().__init__("trajectory_controller", **options)
        self.claim(EXCLUSIVE["trajectory_controller"])
        controlled = load_controlled_arm(self)
        self.arm, self.armature = controlled.description, controlled.armature
        rate_hz = declare(
            self, "rate_hz", 100.0, "rate of the reference; at most 200 for servos [Hz]", low=10.0, high=500.0, read_only=True
        )
        if controlled.limits.servo_map is not None and rate_hz > SERVO_RATE_HZ:
            raise ConfigurationError(
                f"rate_hz is {rate_hz:g} Hz, at most {SERVO_RATE_HZ:g} for servos",
                subject="rate_hz",
                value=rate_hz,
                limit=SERVO_RATE_HZ,
            )
        lead_s = declare(
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
        floor_z, why_none = standing_floor(self.arm, controlled.rest)
        self.parameters = ControllerParameters(self, self.arm, self.on_parameters, floor_z, controlled.tolerances)
        self.collision = CollisionScene(self, controlled, lambda: self.on_parameters(set()), self.complain)
        self.stamps = stamp_clock(self)
        self.stream_stamps = StampReader(self.stamps)
        self.following = Following(1.0 / rate_hz, echoes=controlled.limits.servo_map is not None)
        self.look_every, self.until_look = max(1, round(FOLLOWING_PERIOD_S * rate_hz)), 1
        self.gripper = declare_gripper(self, self.arm, controlled.gripper, controlled.grips)
        timing = Timing(rate_hz, lead_s, max(1, round(rate_hz / monitor_hz)))
        self.beside = Worker()
        self.execution = Execution(self.arm, Limits(controlled.limits), timing, deceleration, send=self.send, beside=self.beside)
        self.drivers, self.jogging = Drivers(self.execution), Jogging(self.execution)
        self.deceleration = deceleration
        self.on_parameters(set())
        if self.parameters["floor_z"] == OFF:
            self.get_logger().info(f"no floor is looked at: {why_none or 'floor_z is -inf'}")
        for note in self.collision.notes:
            self.get_logger().info(f"collision: {note}")
        self.states, self.states_problem = ArmStates(self, self.arm.joint_names), ""
        self.commands = Polled(self, JointState, "joint_commands", COMMANDS, raw=True)
        self.duplicate = ""
        self.begun, self.unbearable, self.payload_kg = None, "", 0.0
        self.interfaces = None
        self.hardware, self.epochs = HardwareStatus(), Epochs()
        self.reference = JointTrajectory(joint_names=list(self.arm.joint_names), points=[JointTrajectoryPoint()])
        self.reference.header.frame_id = name_of(self)

        self.reference_out = self.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
        self.create_subscription(JointTrajectory, "arm_controller/joint_trajectory", self.on_goal, GOALS_WAITING, raw=True)
        hear_stream(self, JointState, "arm_controller/joint_reference", self.on_stream, LATEST)
        hear_stream(self, Header, "arm_controller/driver", self.on_driver, DRIVERS)
        hear_stream(self, TwistStamped, "arm_controller/delta_twist_cmds", self.on_twist, DRIVERS)
        hear_stream(self, DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.held_poses = OnePublisher(self, JointState, "hardware/held_pose", self.on_held_pose, lambda _problem: self.block())
        self.payloads = OnePublisher(self, InertiaStamped, "payload", self.on_payload, lambda _problem: self.block())
        self.source, self.supplies = 1.0, None
        if controlled.limits.servo_map is not None:
            self.supplies = OnePublisher(self, Float64, "hardware/supply", self.on_source)
        self.duplicates = DuplicatePublisherMonitor(self, self.reference_out, self.following.known, self.look_for_duplicates)
        self.offer_interfaces(self.gripper)
        self.arm_topic = ArmTopic(self, controlled.known)
        self.ticks = steady_timer(self, 1.0 / rate_hz, self.on_tick)
        steady_timer(self, DIAGNOSTIC_PERIOD_S, self.on_diagnostics)
        self.report = ControllerReport(self, self.execution, self.stamps)

    def offer_interfaces(self, gripper) -> None:
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
        self.interfaces = ControlInterfaces(self, gripper)

    # -- what is told --------------------------------------------------------------------------------------

    def on_parameters(self, _names: set[str]) -> None:
        """Hold motions to what the parameters say."""
        values = self.parameters
        floor_z, margin_m = values["floor_z"], values["collision.margin"]
        self.execution.change_some(
            tip_speed=values["tip_speed_limit"],
            scales_time=values["stretch"],
            speed=values["speed_scaling"],
            further=(
                self.collision.check(floor_z, margin_m, self.deceleration)
                if self.collision.enabled
                else FloorCheck(self.arm, floor_z, self.deceleration),
            ),
            approach=values["approach"] == AUTO,
        )

    def want_speed(self, share: float) -> None:
        """Take the speed from a topic: the parameter is set, so that there is one truth."""
        answer = self.set_parameters([Parameter("speed_scaling", value=float(share))])[0]
        if not answer.successful:
            self.complain(f"speed_scaling_input refused: {answer.reason}")

    def on_payload(self, message: InertiaStamped) -> None:
        try:
            payload = payload_in(message)
            model = lagrangian.analytic_model(self.arm, self.armature, *payload)
        except PickerError as error:
            self.execution.change_some(model=None)
            self.complain(f"payload refused: {error}", error)
            return
        self.execution.change_some(model=model)
        self.payload_kg = payload[0]
        self.look_whether_bearable()

    def look_whether_bearable(self) -> None:
        """Look whether the arm may be driven at all with its payload, from where it is held; if not, nobody moves it.

        Looked at until commands come: from then on each motion is held to the payload, and each payload to the motion.
        """
        limits = self.execution.limits
        held = self.begun is None or limits.model is None
        self.unbearable = "" if held else unbearable(limits.model, limits.torque, self.payload_kg, self.begun)
        self.block()

    def on_source(self, message: Float64) -> None:
        """Take what the servos' supply gives without load: what is planned next is planned with it."""
        try:
            self.source = checked_source(message.data)
        except PickerError as error:
            self.complain(f"supply refused: {error}", error)

    def on_hardware(self, message: DiagnosticStatus, _info=None) -> None:
        """Take why the arm is not active, for people; what is held comes as ``hardware/held_pose``, right after."""
        before, self.hardware = self.hardware, HardwareStatus.of(message)
        now = self.hardware
        self.following.heard(now.commanded if now.active else None, now.confirmed or not now.active)
        if now.active:
            self.block()
        elif not self.execution.active and now.message != before.message:
            self.execution.tell(EventKind.NOTICE, f"the hardware is not active: {now.message}")

    def on_held_pose(self, message: JointState) -> None:
        """Begin an epoch by each message: the reference (re)starts from the pose that is held, or ends where none is."""
        if not self.epochs.begins(message.header.stamp):
            return
        anew = bool(message.name) and self.hardware.active and not self.hardware.problem  # why was said, and is not true any more
        self.execution.deactivate(ANEW if anew else self.hardware.message)
        self.begun = None
        if message.name:
            try:
                names, what = self.arm.joint_names, "hardware/held_pose"
                pose = ordered(message.name, message.position, names, what)
                effort = ordered(message.name, message.effort, names, what) if len(message.effort) else None
                self.execution.start(pose, effort)
                self.following.begins(self.stamps.now_s() + self.execution.timing.lead_s)
                self.begun = pose
            except PickerError as error:
                self.complain(f"no held pose: {error}", error)
        self.look_whether_bearable()

    def on_goal(self, data: bytes) -> None:
        """A goal, as the bytes of a JointTrajectory: a long one is converted beside the ticks."""
        partial = self.parameters["allow_partial_joints_goal"]
        if len(data) <= SHORT_BYTES:
            try:
                self.on_short_goal(short_message(data), partial)
            except TrajectoryError as error:
                self.execution.refuse(error)
            return
        header, most = header_in(data), most_bytes(self.arm.n)
        if len(data) > most:
            error = InputError(f"the goal's message has {len(data)} bytes, at most {most} are taken", value=len(data), limit=most)
            self.execution.refuse(error, sender_in(header))
            return
        self.submit(lambda: message_in(data), header, partial)

    def on_short_goal(self, message: JointTrajectory, partial: bool) -> None:
        """Take a goal from the topic; one without points cancels, as in joint_trajectory_controller."""
        identifier = sender_in(message.header)
        if not message.points:
            cancelled = self.execution.cancel(self.stamps.now_s())
            said = "no points: the motion under way is cancelled" if cancelled else "no points: nothing to cancel"
            self.get_logger().info(said)
            self.execution.tell(EventKind.CANCELLED, said, identifier=identifier)
            return
        if self.gripper is not None and is_gripper_command(message, self.gripper.joint):
            self.execution.submit(
                gripper_request(
                    GripperCommand((), message.points[0].positions, effort=message.points[0].effort),
                    replace(self.gripper, allow_stalling=True),
                    self.execution,
                    self.stamps.now_s,
                    **self.asker(identifier),
                ),
                self.stamps.now_s(),
            )
            return
        self.submit(lambda: message, message.header, partial, self.stamps.now_s())

    def submit(self, read: Callable[[], JointTrajectory], header, partial: bool, now_s: float | None = None) -> None:
        """Ask for the goal in a message; it is read in the worker."""
        start_s, asker = start_in(header, self.stamps), self.asker(sender_in(header))
        self.execution.submit(GoalRequest(lambda: goal_from(read(), partial, start_s), tracker=self.tracker, **asker), now_s)

    def asker(self, identifier: str) -> dict[str, Any]:
        """Fields of ``GoalRequest`` that the name of a goal gives: who asks."""
        return {"identifier": identifier, "driver": self.driver_of(identifier), "if_free": identifier.startswith(IF_FREE)}

    def on_driver(self, message: Header, _info=None) -> None:
        """Somebody drives the arm, and says so as long as that is so; a stamp of 0: not any more."""
        self.drivers.hear(shown(message.frame_id, NAME_MAX), self.stamps.now_s(), leaves=not seconds(message.stamp))

    def on_twist(self, message: TwistStamped, info) -> None:
        """A velocity of the tip, as MoveIt Servo takes it."""
        linear, angular = ((v.x, v.y, v.z) for v in (message.twist.linear, message.twist.angular))
        frame = shown(message.header.frame_id, NAME_MAX)
        self.jogging.twist(linear, angular, self.stamps.now_s(), frame, number_of(info), self.driver_of(frame))

    def driver_of(self, identifier: str) -> str:
        return self.drivers.of_goal(identifier, self.stamps.now_s())

    def tracker(self, motion: Motion, tolerances: Tolerances | None = None) -> GoalTracker:
        """Judge of any goal: it is done where the arm is there, as far as anybody knows.

        Args:
            tolerances: that it asks for; by default the parameters'.
        """
        tolerances, factor = tolerances or self.parameters.tolerances(), motion.validated.factor
        remarks = [f"slowed {factor:.2f} times to fit"] if factor > 1.0 else []
        if motion.approach is not None and motion.approach.joints:
            remarks.append(f"lowered to the pose: {', '.join(self.arm.joint_names[j] for j in motion.approach.joints)}")
        elif motion.approach is not None and motion.approach.wanted:
            remarks.append(motion.approach.text(self.arm.joint_names))
        limits = self.execution.limits
        if self.hardware.provenance == MODELLED and limits.model is not None and limits.torque.servo_map is not None:
            bounds = None if motion.approach is None else motion.approach.bounds
            off_m = tip_uncertainty(limits.model, limits.torque.servo_map, motion.trajectory.end, bounds)
            remarks.append(f"modelled, not measured: the tip within {1e3 * off_m:.0f} mm if nothing holds it back")
        return GoalTracker(
            self.arm.joint_names,
            self.arm.position_units,
            tolerances.select_joints(motion.joints),
            motion.start_s,
            "; ".join(remarks),
            lambda: self.following.followed_s,
        )

    def on_stream(self, message: JointState, info) -> None:
        stamp_s, sender = seconds(message.header.stamp), sender_in(message.header)
        sent_s = self.stream_stamps.read(stamp_s) if stamp_s else None
        self.execution.stream(message.name, message.position, self.stamps.now_s(), sent_s, sender, number_of(info))

    # -- time ----------------------------------------------------------------------------------------------

    def on_tick(self) -> None:
        tick = self.execution.tick(self.stamps.now_s(), self.arm_state, self.watched)
        self.report.publish_status(tick.events)
        if tick.error is not None:
            self.interfaces.publish_state(tick, self.execution.sent.newest)
        self.look_whether_followed()

    def look_whether_followed(self) -> None:
        """Look whether references become commands, and the arm tells where it is: goals end where that is not so."""
        self.until_look -= 1
        if self.until_look > 0:
            return
        self.until_look = self.look_every
        for command, _ in reversed(self.commands.take()):
            if self.following.commanded(seconds(header_in(command).stamp)):
                self.begun = self.begun if self.unbearable else None
                break
        self.arm_state()
        self.block()
        if self.following.unfollowed:
            self.execution.return_to_start()

    def block(self) -> None:
        """Let nobody move the arm while somebody is missing, or a duplicate of a publisher is there."""
        missing = self.following.missing
        why = "" if missing is None else missing.value
        if missing is Missing.STATES:
            why = self.states.problem or why
        duplicate = self.duplicate or self.held_poses.problem or self.payloads.problem
        self.execution.block(duplicate or self.unbearable or why, self.stamps.now_s())

    def arm_state(self):
        """Newest state of the arm."""
        if self.states.look():
            self.following.stated()
        return self.states.state

    def watched(self) -> bool:
        """Whether anybody listens to the tracking error."""
        return self.interfaces is not None and self.interfaces.heard

    def send(self, reference: Reference) -> None:
        point = self.reference.points[0]
        stamp = to_stamp(self.reference.header.stamp, self.stamps.to_stamp(reference.time_s))
        self.following.sent(seconds(stamp), reference.time_s)
        point.positions, point.velocities, point.accelerations = reference.q.tolist(), reference.v.tolist(), reference.a.tolist()
        self.reference_out.publish(self.reference)

    # -- what is said --------------------------------------------------------------------------------------

    def complain(self, message: str, error: PickerError | None = None) -> None:
        """Say what is wrong in a tick, behind what happened before."""
        self.execution.tell(EventKind.PROBLEM, message, error=error)

    def look_for_duplicates(self) -> None:
        self.duplicate = self.duplicates.look()
        self.block()

    def look_for_other_states(self) -> None:
        """Say once where more than one node publishes joint states, and what is wrong with those that come."""
        names, said = sources(self, "joint_states"), self.states_problem
        problem = f"{len(names)} nodes publish joint_states ({', '.join(names)}): one arm, one sender" if len(names) > 1 else ""
        self.states_problem = self.states.problem or problem
        if self.states_problem not in ("", said):
            self.execution.tell(EventKind.NOTICE, self.states_problem)

    def on_diagnostics(self) -> None:
        self.execution.follow_supply(self.source)
        self.look_for_duplicates()
        self.look_for_other_states()
        self.arm_topic.look()
        self.report.diagnose(self.states_problem)

    def close(self, _hurried) -> None:
        """Close the controller: the last word to whoever waits for a goal."""
        self.ticks.cancel()
        self.beside.close()
        self.report.publish_status(self.execution.close())
        if self.interfaces is not None:
            self.interfaces.close()


def main(args=None) -> int:
    return run(TrajectoryController, args)


if __name__ == "__main__":
    sys.exit(main())
