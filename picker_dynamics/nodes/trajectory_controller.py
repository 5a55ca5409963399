"""``trajectory_controller``: topics and actions that move the arm, and what becomes of them, as a client of the arm's session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import NAME_MAX, InputError, PickerError, shown
from picker_dynamics.execution.events import Event, EventKind, Severity
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.lease import IF_FREE
from picker_dynamics.robot import arm_text
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.session.served import require_fresh

from .goal_messages import goal_from, is_gripper_command, start_in
from .runtime import (
    LATCHED,
    LATEST,
    OUTCOMES,
    REPEATED,
    REQUESTS,
    hear_stream,
    is_heard,
    message_of,
    name_of,
    number_of,
    seconds,
    sender_in,
    stamp_clock,
    steady_timer,
    to_stamp,
)
from .scene_markers import offer_scene

HEAD_BYTES = 100_000
"""More than header and names of the joints ever have."""

DESCRIPTION, LOOK_S, LOOKS = "robot_description", 1.0, 3
"""In so many looks nobody else has published a description before this node does: a robot_state_publisher comes up slowly."""

NAMELESS_S = 0.05
"""How often events that are no goal's answer are published at the most: of those in between the newest [s]."""

LOG_S = 0.2


class TrajectoryController:
    """Topics of the controller on ``node``; ``wake`` wakes the executor, from any thread.

    Attributes:
        interfaces: ``ControlInterfaces`` where control_msgs is installed; else None.
    """

    def __init__(self, node: Node, arm: RunningArm, report: Report, wake: Callable[[], None]):
        self.node, self.running, self.wake, self._report = node, arm, wake, report
        self.arm, self.session, self.execution = arm.description, arm.session, arm.controller.execution
        self.settings, self.gripper = arm.settings[parameters.CONTROLLER], arm.gripper
        self.stamps = stamp_clock(node, arm.clock)
        self._withheld: Event | None = report.last
        self._nameless_due_s, self._looks = 0.0, 0
        self._description_out: Publisher | None = None
        self._status_out = node.create_publisher(DiagnosticStatus, "arm_controller/status", OUTCOMES)
        self._reference = JointTrajectory(joint_names=list(self.arm.joint_names), points=[JointTrajectoryPoint()])
        self._reference.header.frame_id = name_of(node)
        self._reference_out = node.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
        self._arm_out = node.create_publisher(String, "arm_controller/arm", LATCHED)
        self._arm_out.publish(String(data=arm_text.text_of(arm.known)))
        most = HEAD_BYTES + MAX_POINTS * (4 * (8 + 8 * self.arm.n) + 8)
        hear_stream(node, JointTrajectory, "arm_controller/joint_trajectory", self.on_goal, REQUESTS, most, self.refuse)
        hear_stream(node, JointState, "arm_controller/joint_reference", self.on_stream, LATEST)
        hear_stream(node, Header, "arm_controller/driver", self.on_driver, REPEATED)
        hear_stream(node, TwistStamped, "arm_controller/delta_twist_cmds", self.on_twist, REPEATED)
        self.interfaces: Any = None
        if arm.surroundings.enabled:
            offer_scene(node, arm, self.complain)
        steady_timer(node, LOOK_S, self._describe)
        self._publish_nameless(arm.clock.now())
        self.session.subscribe(self.on_cycle)

    def complain(self, message: str, error: PickerError | None = None) -> None:
        """Say what is wrong, in line with all that happens."""
        with self.session.turn:
            self.execution.tell(EventKind.PROBLEM, message, error=error)

    # -- in ------------------------------------------------------------------------------------------------

    def driver_of(self, header: Any) -> str:
        """The driver whose goal or velocity this is; empty: it is anybody's."""
        return self.session.drivers.of_goal(sender_in(header), self.stamps.now_s())

    def on_goal(self, message: JointTrajectory, info: dict) -> None:
        """Take a goal from the topic; one without points cancels.

        One that was published before a stop, reset or enable is refused; its own stamp says when it starts.
        """
        identifier = sender_in(message.header)
        with self.session.turn:
            if not message.points:
                said = "the motion under way is cancelled" if self.session.cancel() else "nothing to cancel"
                self.execution.tell(EventKind.CANCELLED, f"no points: {said}", identifier=identifier)
                return
            try:
                self.session.gate.require_since(self.sent_s(0.0, info))
            except PickerError as error:
                self.execution.refuse(error, identifier)
                return
            driver, if_free = self.driver_of(message.header), identifier.startswith(IF_FREE)
            asker: dict[str, Any] = {"identifier": identifier, "driver": driver, "if_free": if_free}
            if self.gripper is not None and is_gripper_command(message, self.gripper.joint):
                self.session.submit(self.running.grip(message.points[0].positions, message.points[0].effort, **asker))
                return
            start_s, partial = start_in(message.header, self.stamps), self.settings["allow_partial_joints_goal"]
            request = GoalRequest(lambda: goal_from(message, partial, start_s), tracker=self.running.tracker, **asker)
            self.session.submit(request)

    def refuse(self, error: InputError) -> None:
        """Refuse a goal whose message is not read."""
        with self.session.turn:
            self.execution.refuse(error)

    def on_stream(self, message: JointState, info: dict) -> None:
        sent_s, sender = self.sent_s(seconds(message.header.stamp), info), sender_in(message.header)
        self.session.stream(message.name, message.position, sent_s=sent_s, sender=sender, number=number_of(info))

    def on_driver(self, message: Header, _info: dict) -> None:
        """Hear that somebody drives the arm; a stamp of 0: not any more."""
        with self.session.turn:
            self.session.drivers.hear(shown(message.frame_id, NAME_MAX), self.stamps.now_s(), leaves=not seconds(message.stamp))

    def sent_s(self, stamp_s: float, info: dict) -> float:
        """When a message was sent [s]: by its stamp [s since 1970]; where that is 0 by the middleware's, else now."""
        stamp_s = stamp_s or 1e-9 * info["source_timestamp"]
        return self.stamps.to_steady(stamp_s) if stamp_s else self.stamps.now_s()

    def is_due(self, header: Header, info: dict) -> bool:
        """Whether a velocity counts: not one that is old, or from before a stop, reset or enable."""
        now_s, sent_s = self.stamps.now_s(), self.sent_s(seconds(header.stamp), info)
        try:
            require_fresh(now_s - sent_s)
            self.session.gate.require_since(sent_s)
        except PickerError as error:
            self.session.jogging.refuse(error, now_s)
            return False
        return True

    def on_twist(self, message: TwistStamped, info: dict) -> None:
        """Take a velocity of the tip, as MoveIt Servo does."""
        linear, angular = ((v.x, v.y, v.z) for v in (message.twist.linear, message.twist.angular))
        frame, now_s, driver = sender_in(message.header), self.stamps.now_s(), self.driver_of(message.header)
        with self.session.turn:
            if self.is_due(message.header, info):
                self.session.jogging.twist(linear, angular, now_s, frame, number_of(info), driver)

    # -- out -----------------------------------------------------------------------------------------------

    def on_cycle(self, cycle: Cycle) -> None:
        """Publish reference, events and error of a cycle; called by the control loop."""
        if (reference := cycle.tick.reference) is not None:
            to_stamp(self._reference.header.stamp, self.stamps.to_stamp(reference.time_s))
            if is_heard(self._reference_out):
                at = self._reference.points[0]
                at.positions, at.velocities, at.accelerations = reference.q.tolist(), reference.v.tolist(), reference.a.tolist()
                self._reference_out.publish(self._reference)
        self.publish(cycle.tick.events)
        self._publish_nameless(cycle.now_s)
        if self.interfaces is not None:
            self.interfaces.publish_state(cycle.tick, self.execution.sent.newest)

    def publish(self, events: Iterable[Event]) -> None:
        """Publish events: answers of goals that have a name at once, of others the newest, as often as ``NAMELESS_S`` says."""
        for event in events:
            if event.kind.severity is Severity.ERROR:
                self.node.get_logger().error(shown(event.text), throttle_duration_sec=LOG_S)
            if event.identifier:
                self._publish(event)
            self._withheld = None if event.identifier else event

    def _publish_nameless(self, now_s: float) -> None:
        if self._withheld is not None and now_s >= self._nameless_due_s:
            self._nameless_due_s = now_s + NAMELESS_S
            self._publish(self._withheld)
            self._withheld = None

    def _publish(self, event: Event) -> None:
        entry = self._report.event(event, stamp=self.stamps.to_stamp(self.stamps.now_s()))
        self._status_out.publish(message_of(entry, name_of(self.node)))

    def _describe(self) -> None:
        """Publish the URDF where nobody else does; withdraw it when somebody does: two would be read in any order."""
        ours = self._description_out
        if self.node.count_publishers(DESCRIPTION) > (ours is not None):
            self._looks = 0
            if ours is not None:
                self.node.destroy_publisher(ours)
                self._description_out = None
        elif ours is None:
            self._looks += 1
            if self._looks >= LOOKS:
                self._description_out = made = self.node.create_publisher(String, DESCRIPTION, LATCHED)
                made.publish(String(data=self.arm.urdf))

    def close(self, events: Iterable[Event]) -> None:
        """Publish the last events, and have whoever waits for a goal answered."""
        self.publish(events)
        self._nameless_due_s = 0.0
        self._publish_nameless(self.stamps.now_s())
        self.wake()

    @property
    def concluding(self) -> bool:
        """Whether somebody waits for an answer that is on its way."""
        return self.interfaces is not None and self.interfaces.concluding
