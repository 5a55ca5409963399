"""``trajectory_controller``: topics and actions that move the arm, and what becomes of them, as a client of the arm's session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import NAME_MAX, InputError, shown
from picker_dynamics.execution.events import Event, EventKind
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.gripping import GripperCommand, gripper_request
from picker_dynamics.execution.lease import IF_FREE
from picker_dynamics.execution.motion import Reference
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm

from .arm_topic import ArmTopic
from .controller_report import ControllerReport
from .controller_shell import ControllerShell
from .diagnostics import name_of, sender_in
from .goal_messages import goal_from, is_gripper_command, start_in
from .runtime import LATEST, REPEATED, REQUESTS, hear_stream, number_of, seconds, steady_timer, to_stamp
from .scene_markers import offer_scene

HEAD_BYTES = 100_000
"""More than header and names of the joints ever have."""

LOOK_S = 1.0


class TrajectoryController(ControllerShell):
    """Topics and actions of the controller."""

    def __init__(self, node: Node, arm: RunningArm, report: Report, wake: Callable[[], None]):
        super().__init__(node, arm, wake)
        self._reference = JointTrajectory(joint_names=list(self.arm.joint_names), points=[JointTrajectoryPoint()])
        self._reference.header.frame_id = name_of(node)
        self._reference_out = node.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
        most = HEAD_BYTES + MAX_POINTS * (4 * (8 + 8 * self.arm.n) + 8)
        hear_stream(node, JointTrajectory, "arm_controller/joint_trajectory", self.on_goal, REQUESTS, most, self.refuse)
        hear_stream(node, JointState, "arm_controller/joint_reference", self.on_stream, LATEST)
        hear_stream(node, Header, "arm_controller/driver", self.on_driver, REPEATED)
        hear_stream(node, TwistStamped, "arm_controller/delta_twist_cmds", self.on_twist, REPEATED)
        self.interfaces = self._control_interfaces()
        if arm.surroundings.enabled:
            offer_scene(node, arm, self.complain)
        steady_timer(node, LOOK_S, ArmTopic(node, arm.known).look)
        self._report = ControllerReport(node, report, self.stamps)
        self.session.subscribe(self.on_cycle)

    def _control_interfaces(self):
        """Actions and ``controller_state``; None where their types are not installed."""
        try:
            from .control_interfaces import ControlInterfaces
        except ModuleNotFoundError as missing:
            if not (missing.name or "").startswith("control_msgs"):
                raise
            self.node.get_logger().info(
                "control_msgs is not installed: goals come by arm_controller/joint_trajectory; there is no "
                "follow_joint_trajectory, gripper_cmd, controller_state and speed_scaling_input"
            )
            return None
        made = ControlInterfaces(self)
        self.session.watched = lambda: made.heard
        return made

    # -- in ------------------------------------------------------------------------------------------------

    def on_goal(self, message: JointTrajectory, _info: dict) -> None:
        """Take a goal from the topic; one without points cancels, as in joint_trajectory_controller."""
        identifier = sender_in(message.header)
        with self.session.turn:
            if not message.points:
                said = "the motion under way is cancelled" if self.session.cancel() else "nothing to cancel"
                self.execution.tell(EventKind.CANCELLED, f"no points: {said}", identifier=identifier)
                return
            driver = self.driver_of(identifier)
            asker = {"identifier": identifier, "driver": driver, "if_free": identifier.startswith(IF_FREE)}
            if self.gripper is not None and is_gripper_command(message, self.gripper.joint):
                command = GripperCommand((), message.points[0].positions, effort=message.points[0].effort)
                settings = replace(self.gripper, allow_stalling=True)
                self.session.submit(gripper_request(command, settings, self.execution, self.stamps.now_s, **asker))
                return
            start_s, partial = start_in(message.header, self.stamps), self.settings["allow_partial_joints_goal"]
            request = GoalRequest(lambda: goal_from(message, partial, start_s), tracker=self.running.tracker, **asker)
            self.session.submit(request)

    def refuse(self, error: InputError) -> None:
        """Refuse a goal whose message is not read."""
        with self.session.turn:
            self.execution.refuse(error)

    def on_stream(self, message: JointState, info: dict) -> None:
        stamp_s, sender = seconds(message.header.stamp), sender_in(message.header)
        sent_s = self.stamps.to_steady(stamp_s) if stamp_s else None
        self.session.stream(message.name, message.position, sent_s=sent_s, sender=sender, number=number_of(info))

    def on_driver(self, message: Header, _info: dict) -> None:
        """Hear that somebody drives the arm; a stamp of 0: not any more."""
        with self.session.turn:
            self.session.drivers.hear(shown(message.frame_id, NAME_MAX), self.stamps.now_s(), leaves=not seconds(message.stamp))

    def on_twist(self, message: TwistStamped, info: dict) -> None:
        """Take a velocity of the tip, as MoveIt Servo does."""
        linear, angular = ((v.x, v.y, v.z) for v in (message.twist.linear, message.twist.angular))
        frame, now_s = sender_in(message.header), self.stamps.now_s()
        with self.session.turn:
            self.session.jogging.twist(linear, angular, now_s, frame, number_of(info), self.driver_of(frame))

    # -- out -----------------------------------------------------------------------------------------------

    def on_cycle(self, cycle: Cycle) -> None:
        """Publish reference, events and error of a cycle; called by the control loop."""
        if cycle.tick.reference is not None:
            self._publish_reference(cycle.tick.reference)
        self._report.hear(cycle)
        if self.interfaces is not None:
            self.interfaces.publish_state(cycle.tick, self.execution.sent.newest)

    def _publish_reference(self, reference: Reference) -> None:
        point = self._reference.points[0]
        to_stamp(self._reference.header.stamp, self.stamps.to_stamp(reference.time_s))
        point.positions, point.velocities, point.accelerations = reference.q.tolist(), reference.v.tolist(), reference.a.tolist()
        self._reference_out.publish(self._reference)

    def publish(self, events: Iterable[Event]) -> None:
        """Publish the last events, and have whoever waits for a goal answered."""
        self._report.publish(events)
        self.wake()

    @property
    def concluding(self) -> bool:
        """Whether somebody waits for an answer that is on its way."""
        return self.interfaces is not None and self.interfaces.concluding
