"""The markers node as a process, in a namespace, fed by hand; and how it treats its time."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from arm_fixtures import picker, rigid_body
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray
from waiting import PATIENCE_S, until

from picker_dynamics.bringup.bringup import Graph, NodeSpec
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.nodes.executor import PacedExecutor
from picker_dynamics.nodes.marker_shapes.ghost import ghost_shapes
from picker_dynamics.nodes.markers import TF_S, Markers
from picker_dynamics.nodes.runtime import LATCHED, LATEST

pytestmark = pytest.mark.ros

NAMES = list(picker().joint_names)
POSE = [0.3, 1.0, -1.0, 0.2, 0.5]


class Arm(Node):
    """Says what a running arm says, and hears what is shown of it."""

    def __init__(self):
        super().__init__("arm", namespace="left")
        self.state = self.create_publisher(JointState, "joint_states", 10)
        self.command = self.create_publisher(JointState, "joint_commands", LATEST)
        self.reference = self.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
        self.payload = self.create_publisher(InertiaStamped, "payload", LATCHED)
        self.moving: MarkerArray | None = None
        self.fixed: list[MarkerArray] = []
        self.fixed_subscription = None
        self.create_subscription(MarkerArray, "markers", self.on_moving, LATEST)

    def on_moving(self, message: MarkerArray) -> None:
        self.moving = message

    def until(self, condition, said=lambda: None):
        """Repeat ``said`` until something is true."""
        until(condition, "what is to be shown", step=lambda: (said(), rclpy.spin_once(self, timeout_sec=0.05)))

    def say(self, *, reference=None, effort=None, names=NAMES) -> None:
        self.state.publish(JointState(name=names, position=POSE))
        if reference is not None:
            point = JointTrajectoryPoint(positions=reference)
            self.reference.publish(JointTrajectory(joint_names=NAMES[::-1], points=[point]))
        if effort is not None:
            self.command.publish(JointState(name=NAMES, position=POSE, effort=effort))

    def shown(self, group: str) -> dict[int, Marker]:
        return {} if self.moving is None else {one.id: one for one in self.moving.markers if one.ns == group}


@pytest.fixture(scope="module")
def arm(domain, tmp_path_factory):
    log = tmp_path_factory.mktemp("markers") / "log"
    spec = NodeSpec("markers", {"markers": {"rate_hz": 20.0}}, "left")
    rclpy.init()
    node = Arm()
    try:
        with GraphRunner(Graph((spec,), None, ""), log_path=log, grace_s=PATIENCE_S) as runner:
            yield node
            assert runner.dead() is None
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        print(log.read_text())


def test_without_commands_it_shows_what_holds_the_arm_where_it_is(arm):
    text = {name: f"{name} {round(tau, 2) + 0.0:+.2f} N·m" for name, tau in zip(NAMES, rigid_body().gravity(np.array(POSE)))}
    arm.until(lambda: arm.shown("torque"), arm.say)
    shown = [one.text for one in arm.shown("torque").values() if one.text]
    assert [one.split(",")[0] for one in shown] == list(text.values())
    assert not arm.shown("reference")
    assert {one.header.frame_id for one in arm.moving.markers} == {"left/base_link"}


def test_reference_and_commanded_torques_take_their_places_by_name(arm):
    def said():
        arm.say(reference=[0.5, -0.2, 1.0, -1.0, 0.0], effort=[0.0, 0.43, 0.0, 0.0, 0.0])  # of the scissor first

    def texts():
        return {one.text for one in arm.shown("torque").values()}

    arm.until(lambda: arm.shown("reference") and "shoulder +0.43 N·m, 40 %" in texts(), said)
    ghost = ghost_shapes(picker(), [0.0, -1.0, 1.0, -0.2, 0.5])
    places = [[getattr(one.pose.position, axis) for axis in "xyz"] for _, one in sorted(arm.shown("reference").items())]
    np.testing.assert_allclose(places, [shape.position for shape in ghost], atol=1e-12)
    assert all(0.0 < one.color.a < 1.0 for one in arm.shown("reference").values())
    lifetimes = {one.lifetime.sec + 1e-9 * one.lifetime.nanosec for one in arm.moving.markers}
    assert len(lifetimes) == 1 and 0.1 < lifetimes.pop() < 2.0
    arm.until(lambda: not arm.shown("reference"), arm.say)  # what nobody says any more is not shown any more


def test_what_stays_comes_once_and_anew_with_another_payload(arm):
    def cells(message):
        return [len(one.points) for one in message.markers if one.ns == "cannot be held"]

    arm.fixed_subscription = arm.create_subscription(MarkerArray, "markers/fixed", arm.fixed.append, LATCHED)
    arm.until(lambda: len(arm.fixed) >= 1, arm.say)
    first = arm.fixed[-1].markers
    assert first[0].action == Marker.DELETEALL and len({(one.ns, one.id) for one in first}) == len(first)
    assert sum(one.ns == "scene" for one in first) == 4
    region = next(one for one in first if one.ns == "cannot be held")
    assert region.header.frame_id == "left/turret" and region.frame_locked and len(region.colors) == len(region.points) > 100
    heavier = InertiaStamped()
    heavier.inertia.m = 0.1
    arm.payload.publish(heavier)
    arm.until(lambda: len(arm.fixed) >= 2, arm.say)
    assert cells(arm.fixed[1])[0] > cells(arm.fixed[0])[0]


def test_joints_of_another_arm_are_not_shown(arm):
    arm.until(lambda: not arm.shown("torque") and arm.moving is not None, lambda: arm.say(names=["a", "b", "c", "d", "e"]))
    arm.until(lambda: arm.shown("torque"), arm.say)


def test_nothing_is_made_while_nobody_looks(arm):
    node = Markers()  # beside the one that runs, without a namespace
    try:
        node.on_state(JointState(name=NAMES, position=POSE))
        node.first_state_s -= TF_S
        for _ in range(3):
            node.every_period()
        assert not node.messages and node.fixed_due
        node.create_subscription(MarkerArray, "markers", lambda _message: None, LATEST)

        def look():
            node.on_state(JointState(name=NAMES, position=POSE))
            node.every_period()

        arm.until(lambda: node.messages, look)
        assert {group for group, _ in node.messages} == {"torque"} and node.fixed_due
    finally:
        node.destroy_node()


def test_a_paced_node_sees_the_newest_message_and_ends_its_turn_in_a_flood(domain):
    context = rclpy.Context()

    class Counter(Node):
        period_s = 0.01

        def __init__(self):
            super().__init__("counter", context=context)
            self.values, self.turns = [], 0
            self.create_subscription(JointState, "flood", lambda message: self.values.append(message.position[0]), LATEST)

        def every_period(self):
            self.turns += 1

    rclpy.init(context=context)
    try:
        source = rclpy.create_node("source", context=context)
        counter = Counter()
        executor = PacedExecutor(counter)
        out = source.create_publisher(JointState, "flood", LATEST)
        until(out.get_subscription_count, "a listener")
        for value in range(200):
            out.publish(JointState(position=[float(value)]))
        until(lambda: counter.values[-1:] == [199.0], "the last message", step=executor.spin_once)
        assert len(counter.values) < 100 and counter.turns >= 1
        executor.shutdown()
    finally:
        context.try_shutdown()
