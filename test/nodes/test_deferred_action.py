"""The action server on the executor of the nodes: a burst is answered whole, and a fast loop is hardly kept from its work."""

from __future__ import annotations

import functools

import pytest

pytest.importorskip("control_msgs", reason="control_msgs is not installed; a ROS 2 machine has it")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from spinning import ros, spin_until, wait_sizes
from trajectory_msgs.msg import JointTrajectoryPoint

from picker_dynamics.errors import TrajectoryError
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.execution.goal_tracking import Code, Outcome, Verdict
from picker_dynamics.nodes import deferred_action
from picker_dynamics.nodes.deferred_action import DeferredActionServer
from picker_dynamics.nodes.executor import FocusedExecutor

pytestmark = pytest.mark.ros

BURST = 60
DEEP = QoSProfile(depth=1000)


class Pair:
    """A server on a node with a fast timer, and a client on another node."""

    def __init__(self):
        self.node, self.other = Node("server"), Node("client")
        self.ticks, self.handles, self.cancelled = 0, [], []
        self.node.create_timer(0.002, self.tick)
        self.server = DeferredActionServer(
            self.node,
            FollowJointTrajectory,
            "follow",
            self.handles.append,
            self.on_cancel,
            lambda request: not isinstance(request, TrajectoryError) and request.goal_time_tolerance.sec == 13,
        )
        self.client = ActionClient(
            self.other, FollowJointTrajectory, "follow", goal_service_qos_profile=DEEP, result_service_qos_profile=DEEP
        )
        self.executor, self.plain = FocusedExecutor(self.node), SingleThreadedExecutor()
        self.plain.add_node(self.other)
        self.accepted, self.results = [], []

    def tick(self) -> None:
        self.ticks += 1

    def on_cancel(self, handle) -> bool:
        self.cancelled.append(handle)
        return True

    def send(self, request=None):
        self.client.send_goal_async(request or FollowJointTrajectory.Goal()).add_done_callback(self.answered)

    def answered(self, future) -> None:
        self.accepted.append(future.result())
        if future.result().accepted:
            future.result().get_result_async().add_done_callback(lambda result: self.results.append(result.result()))

    def conclude(self, handle, outcome: Outcome, text: str) -> None:
        self.server.conclude(handle, Verdict(outcome, Code.SUCCESSFUL, text), FollowJointTrajectory.Result(error_string=text))

    def until(self, condition) -> None:
        spin_until(condition, self.executor.spin_once, self.plain)


@pytest.fixture(params=["rcl", "rclpy"])
def pair(domain, request, monkeypatch):
    """Requests taken from rcl, and by rclpy, as where that is built otherwise."""
    if request.param == "rclpy":
        monkeypatch.setattr(deferred_action, "GoalRequests", lambda server, _kind: server.an_attribute_of_another_version)
    with ros():
        made = Pair()
        try:
            made.until(made.client.server_is_ready)
            yield made
        finally:
            for one in (made.server, made.client):
                one.destroy()
            for node in (made.node, made.other):
                node.destroy_node()


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.SUCCEEDED, GoalStatus.STATUS_SUCCEEDED),
        (Outcome.ABORTED, GoalStatus.STATUS_ABORTED),
        (Outcome.CANCELED, GoalStatus.STATUS_CANCELED),
    ],
)
def test_a_goal_executes_until_it_is_concluded(pair, outcome, status):
    pair.send()
    pair.until(lambda: pair.handles)
    ticks = pair.ticks
    pair.until(lambda: pair.ticks > ticks + 20)
    assert pair.handles[0].status == GoalStatus.STATUS_EXECUTING and not pair.results
    pair.conclude(pair.handles[0], outcome, "words")
    assert pair.server.concluding == 1
    pair.until(lambda: pair.results)
    assert (pair.results[0].status, pair.results[0].result.error_string) == (status, "words")
    assert pair.server.concluding == 0


def test_a_cancelled_goal_ends_as_canceled(pair):
    pair.send()
    pair.until(lambda: pair.accepted and pair.handles)
    pair.accepted[0].cancel_goal_async()
    pair.until(lambda: pair.cancelled)
    pair.until(lambda: pair.handles[0].is_cancel_requested)
    pair.conclude(pair.handles[0], Outcome.CANCELED, "at rest")
    pair.until(lambda: pair.results)
    assert pair.results[0].status == GoalStatus.STATUS_CANCELED


def test_a_request_that_makes_no_sense_is_rejected(pair):
    request = FollowJointTrajectory.Goal()
    request.goal_time_tolerance.sec = 13
    pair.send(request)
    pair.until(lambda: pair.accepted)
    assert not pair.accepted[0].accepted and not pair.handles


def test_each_goal_of_a_burst_is_answered_while_the_loop_goes_on(pair):
    for _ in range(BURST):
        pair.send()
    done = 0

    def concluded() -> bool:
        nonlocal done
        while done < len(pair.handles):
            pair.conclude(pair.handles[done], Outcome.ABORTED, str(done))
            done += 1
        return len(pair.results) == BURST

    ticks = pair.ticks
    pair.until(concluded)
    assert sorted(int(one.result.error_string) for one in pair.results) == list(range(BURST))
    assert pair.ticks > ticks


def test_long_requests_are_taken_in_order_while_the_loop_goes_on(pair):
    ticks, take = [], pair.server.take_request

    def noting():
        before = pair.ticks
        taken = take()
        ticks.append(pair.ticks - before)
        return taken

    pair.server.take_request = noting
    point = JointTrajectoryPoint(positions=[0.1] * 5, velocities=[0.1] * 5, accelerations=[0.1] * 5)
    for count in (MAX_POINTS, 5000, 1):
        request = FollowJointTrajectory.Goal()
        request.trajectory.points = [point] * count
        pair.send(request)
    pair.until(lambda: len(pair.handles) == 3)
    assert [len(handle.request.trajectory.points) for handle in pair.handles] == [MAX_POINTS, 5000, 1]
    assert max(ticks[:2]) > 5, "in the executor's own thread there is none"


@pytest.mark.parametrize("pair", ["rcl"], indirect=True)
@pytest.mark.parametrize(
    ("place", "entry", "said"),
    [
        ("trajectory.points", JointTrajectoryPoint(positions=[0.1] * 5), "points"),
        ("trajectory.joint_names", "elbow", "joint_names"),
        ("multi_dof_trajectory.joint_names", "elbow", "joint_names"),
        ("goal_tolerance", JointTolerance(name="elbow"), "goal_tolerance"),
        ("trajectory.header.frame_id", "x", "characters in frame_id"),
    ],
)
def test_of_a_request_that_is_too_long_only_that_is_told(pair, place, entry, said):
    *path, last = place.split(".")
    for count in (MAX_POINTS + 1, 2, 1):
        request = FollowJointTrajectory.Goal()
        setattr(functools.reduce(getattr, path, request), last, entry * count if last == "frame_id" else [entry] * count)
        pair.send(request)
    pair.until(lambda: len(pair.handles) == 3 and len(pair.accepted) == 3)
    assert str(pair.handles[0].request) == f"the goal has {MAX_POINTS + 1} {said}, at most {MAX_POINTS} are taken"
    for handle, count in zip(pair.handles[1:], (2, 1), strict=True):
        assert len(functools.reduce(getattr, place.split("."), handle.request)) == count
    for handle in pair.handles:
        pair.conclude(handle, Outcome.ABORTED, "words")
    pair.until(lambda: len(pair.results) == 3)


def test_most_waits_leave_the_server_out(pair, monkeypatch):
    sizes = wait_sizes(monkeypatch)
    for _ in range(400):
        pair.executor.spin_once()
    least, most = min(sizes), max(sizes)
    assert most - least >= 4, "three services and a timer of the server"
    assert sizes.count(least) > len(sizes) / 2
    assert any(size > least for size in sizes)
