"""The executor that every node runs on: what it made itself at once, its housekeeping soon, one wait for each callback."""

from __future__ import annotations

import time

import pytest
import rclpy
from rcl_interfaces.msg import Parameter, ParameterValue, SetParametersResult
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

from picker_dynamics.nodes import housekeeping
from picker_dynamics.nodes.c_requests import MAX_ENTRIES
from picker_dynamics.nodes.executor import FocusedExecutor, PacedExecutor

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


@pytest.mark.parametrize("served", ["focused", "paced"])
def test_a_parameter_of_no_type_is_refused_with_the_reason_and_the_node_goes_on(busy, capfd, served):
    node, executor, other, plain = busy
    one_by_one = served == "focused"  # rclpy itself sets those before the one that it cannot deal with
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
            spin_until(future.done, executor.spin_once, plain)
            answers.append(future.result())
            assert node.get_parameter("a").value == (3 if one_by_one else 2), "what was set, where that is not for all or none"
    finally:
        if served == "paced":
            node.destroy_node()
    each, atomic = answers
    assert [one.successful for one in (*each.results, atomic.result)] == [True, False, one_by_one, False]
    for one in (*each.results, atomic.result):
        assert one.successful or "99 is not a valid" in one.reason
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


def asked(busy, requests: dict) -> list:
    """Responses to requests by the name of their service, all sent before one is answered."""
    node, executor, other, plain = busy
    clients = [other.create_client(kind, f"busy/{name}") for name, (kind, _) in requests.items()]
    for client in clients:
        spin_until(client.service_is_ready, executor.spin_once, plain)
    futures = [client.call_async(request) for client, (_, request) in zip(clients, requests.values(), strict=True)]
    spin_until(lambda: all(future.done() for future in futures), executor.spin_once, plain)
    return [future.result() for future in futures]


MANY = MAX_ENTRIES + 1
ONE = Parameter(name="a", value=ParameterValue(type=2, integer_value=2))


def test_a_request_about_parameters_that_has_too_much_is_refused_by_its_size(busy, capfd):
    """It never comes to rclpy's callback; the node goes on, and takes the next one."""
    node, _, _, _ = busy
    node.declare_parameter("a", 1)
    set_, atomically, got = asked(
        busy,
        {
            "set_parameters": (SetParameters, SetParameters.Request(parameters=[ONE] * MANY)),
            "set_parameters_atomically": (SetParametersAtomically, SetParametersAtomically.Request(parameters=[ONE] * MANY)),
            "get_parameters": (GetParameters, GetParameters.Request(names=["a"] * MANY)),
        },
    )
    said = f"the request has {MANY} entries or more, at most {MAX_ENTRIES} are taken"
    assert len(set_.results) == MANY and not got.values
    for result in (*set_.results, atomically.result):
        assert not result.successful and said in result.reason
    assert node.get_parameter("a").value == 1 and said in capfd.readouterr().err
    (response,) = asked(busy, {"set_parameters": (SetParameters, SetParameters.Request(parameters=[ONE]))})
    assert response.results[0].successful and node.get_parameter("a").value == 2


def test_parameters_of_one_request_are_set_in_turns_of_the_node(busy):
    """Each may have a motion looked at; what is due comes between, and the answers are in their order."""
    node, _, _, _ = busy
    names = [f"p{k}" for k in range(20)]
    turns = []
    for name in names:
        node.declare_parameter(name, 1)

    def slow(parameters):
        turns.append(node.ticks)
        time.sleep(3 * PERIOD_S)
        return SetParametersResult(successful=parameters[0].name != "p3", reason="of p3")

    node.add_on_set_parameters_callback(slow)
    request = SetParameters.Request(parameters=[Parameter(name=name, value=ONE.value) for name in names])
    (response,) = asked(busy, {"set_parameters": (SetParameters, request)})
    assert [one.successful for one in response.results] == [name != "p3" for name in names]
    assert len(turns) == len(names) and all(after > before for before, after in zip(turns, turns[1:]))
    assert [node.get_parameter(name).value for name in names] == [1 if name == "p3" else 2 for name in names]


def test_where_rclpy_is_built_otherwise_its_services_are_as_ever(domain, monkeypatch):
    monkeypatch.setattr(housekeeping, "CRequests", lambda handle, _kind: handle.an_attribute_of_another_version)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, other, plain = Busy(), Node("other"), SingleThreadedExecutor()
    plain.add_node(other)
    try:
        node.declare_parameter("a", 1)
        busy = node, FocusedExecutor(node), other, plain
        (response,) = asked(busy, {"set_parameters": (SetParameters, SetParameters.Request(parameters=[ONE] * MANY))})
        assert len(response.results) == MANY and node.get_parameter("a").value == 2
    finally:
        node.destroy_node()
        other.destroy_node()
        rclpy.shutdown()


def test_an_executor_ends_in_the_middle_of_a_long_request_without_a_word(busy, monkeypatch, capfd):
    node, executor, other, plain = busy
    client = other.create_client(GetParameters, "busy/get_parameters")
    spin_until(client.service_is_ready, executor.spin_once, plain)
    begun, begin = [], housekeeping.HousekeepingServices.begin
    monkeypatch.setattr(housekeeping.HousekeepingServices, "begin", lambda self, one: begun.append(one) or begin(self, one))
    client.call_async(GetParameters.Request(names=["a"] * 200_000))
    spin_until(lambda: begun, executor.spin_once, plain)
    executor.shutdown()
    assert not capfd.readouterr().err
