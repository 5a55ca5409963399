"""The executor that every node runs on: what it made itself at once, its housekeeping soon, one wait for each callback."""

from __future__ import annotations

import time
from functools import partial

import pytest
import rclpy
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from spinning import spin_until
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.nodes.executor import FocusedExecutor, PacedExecutor, serve_waiting

pytestmark = pytest.mark.ros

PERIOD_S = 0.002


class Busy(Node):
    """A node with a fast timer, a service, and a subscription that is told of incompatible publishers."""

    def __init__(self):
        super().__init__("busy")
        self.ticks, self.incompatible = 0, []
        self.create_timer(PERIOD_S, self.on_tick)
        self.create_service(Trigger, "own", lambda _request, response: response)
        self.create_subscription(
            JointTrajectory,
            "wanted",
            lambda _message: None,
            QoSProfile(depth=1),
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self.incompatible.append),
        )

    def on_tick(self) -> None:
        self.ticks += 1


@pytest.fixture
def busy(domain):
    """The node, the executor under test, and another node on an executor of rclpy's own."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, other = Busy(), Node("other")
    plain = SingleThreadedExecutor()
    plain.add_node(other)
    try:
        yield node, FocusedExecutor(node), other, plain
    finally:
        node.destroy_node()
        other.destroy_node()
        rclpy.shutdown()


def unfit_publisher(node: Node) -> None:
    node.create_publisher(JointTrajectory, "wanted", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))


@pytest.mark.parametrize("kind, name", [(Trigger, "own"), (GetParameters, "busy/get_parameters")])
def test_services_are_served_while_a_fast_timer_runs(busy, kind, name):
    node, executor, other, plain = busy
    client = other.create_client(kind, name)
    spin_until(client.service_is_ready, executor.spin_once, plain)
    ticks, futures = node.ticks, []
    for _ in range(3):
        futures.append(client.call_async(kind.Request()))
        spin_until(futures[-1].done, executor.spin_once, plain)
    assert all(future.result() is not None for future in futures)
    assert node.ticks > ticks


def test_incompatible_qos_is_told_while_a_fast_timer_runs(busy):
    node, executor, other, plain = busy
    unfit_publisher(other)
    spin_until(lambda: node.incompatible, executor.spin_once, plain)


def test_one_wait_for_each_callback_and_housekeeping_left_out_of_most(busy, monkeypatch):
    node, executor, other, _ = busy
    unfit_publisher(other)  # an event that is not looked at must not end wait after wait either
    sizes, wait_set = [], rclpy_implementation.WaitSet

    def counting(*counts):
        sizes.append(sum(counts[:-1]))  # the last argument is the context
        return wait_set(*counts)

    monkeypatch.setattr(rclpy_implementation, "WaitSet", counting)
    spins = 300
    for _ in range(spins):
        executor.spin_once()
    assert node.ticks > spins / 2
    assert len(sizes) < 1.2 * spins  # rclpy itself waits twice as often
    whole, focused = max(sizes), min(sizes)
    assert whole - focused >= 6 + len(list(node.waitables))  # the six parameter services, and the event handlers
    assert sizes.count(focused) > spins / 2


def test_returns_also_where_nothing_happens_so_that_signals_are_seen(domain):
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = Node("idle")
        executor, begin = FocusedExecutor(node), time.monotonic()
        for _ in range(5):
            executor.spin_once()
        assert time.monotonic() - begin < 20.0
        node.destroy_node()
    finally:
        rclpy.shutdown()


def test_what_a_callback_raises_comes_out(busy):
    node, executor, _, _ = busy

    def broken():
        raise ArithmeticError("broken")

    node.create_timer(PERIOD_S, broken)
    with pytest.raises(ArithmeticError, match="broken"):
        for _ in range(1000):
            executor.spin_once()


class Paced(Node):
    """A node that looks a hundred times a second."""

    period_s = 0.01

    def __init__(self):
        super().__init__("paced")

    def every_period(self) -> None:
        """Nothing is done."""


STRANGE = [
    Parameter(name="a", value=ParameterValue(type=2, integer_value=2)),
    Parameter(name="x", value=ParameterValue(type=99)),
    Parameter(name="a", value=ParameterValue(type=2, integer_value=3)),
]
"""What `ros2 service call` takes: of the second one rclpy makes no parameter."""


@pytest.mark.parametrize("served", ["focused", "before its turn", "paced"])
def test_a_parameter_of_no_type_is_refused_with_the_reason_and_the_node_goes_on(busy, capfd, served):
    node, executor, other, plain = busy
    if served == "paced":
        node = Paced()
        executor = PacedExecutor(node)
    node.declare_parameter("a", 1)
    answers = []
    try:
        for kind in (SetParameters, SetParametersAtomically):
            client = other.create_client(
                kind, f"{node.get_name()}/{'set_parameters' if kind is SetParameters else 'set_parameters_atomically'}"
            )
            spin_until(client.service_is_ready, executor.spin_once, plain)
            future = client.call_async(kind.Request(parameters=STRANGE))
            spin_until(future.done, partial(serve_waiting, node) if served == "before its turn" else executor.spin_once, plain)
            answers.append(future.result())
            assert node.get_parameter("a").value == 2, "the first was set, where that is not for all or none"
    finally:
        if served == "paced":
            node.destroy_node()
    one_by_one, atomic = answers
    assert [one.successful for one in (*one_by_one.results, atomic.result)] == [True, False, False, False]
    for one in (*one_by_one.results[1:], atomic.result):
        assert "99 is not a valid" in one.reason
    said = capfd.readouterr().err
    assert said.count("no such request can be served: ValueError: 99 is not a valid") == 2 and "[ERROR]" in said


def test_what_a_callback_of_the_node_raises_comes_out_of_a_service_of_rclpy_too(busy):
    node, executor, other, plain = busy
    node.declare_parameter("a", 1)

    def broken(_parameters):
        raise ArithmeticError("broken")

    node.add_on_set_parameters_callback(broken)
    client = other.create_client(SetParameters, "busy/set_parameters")
    spin_until(client.service_is_ready, executor.spin_once, plain)
    client.call_async(SetParameters.Request(parameters=STRANGE[:1]))
    with pytest.raises(ArithmeticError, match="broken"):
        spin_until(lambda: False, executor.spin_once, plain)
