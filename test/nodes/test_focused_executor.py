"""The executor that every node runs on: what it made itself at once, its housekeeping soon, one wait for each callback."""

from __future__ import annotations

import contextlib
import time

import pytest
from rcl_interfaces.msg import Parameter, ParameterValue, SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from spinning import ros, spin_until, wait_sizes
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


class Bench:
    """The node, the executor under test, and another node on an executor of rclpy's own."""

    def __init__(self):
        self.node, self.other, self.plain = Busy(), Node("other"), SingleThreadedExecutor()
        self.executor = FocusedExecutor(self.node)
        self.plain.add_node(self.other)

    def until(self, condition) -> None:
        spin_until(condition, self.executor.spin_once, self.plain)

    def client(self, kind, name: str):
        """The other node's, for a service that is there."""
        client = self.other.create_client(kind, name)
        self.until(client.service_is_ready)
        return client

    def ask(self, requests: dict) -> list:
        """Responses to requests by the name of their service, all sent before one is answered."""
        clients = [self.client(kind, f"busy/{name}") for name, (kind, _) in requests.items()]
        futures = [client.call_async(request) for client, (_, request) in zip(clients, requests.values(), strict=True)]
        self.until(lambda: all(future.done() for future in futures))
        return [future.result() for future in futures]

    def set(self, parameters: list) -> SetParameters.Response:
        """What the node says of parameters in one request."""
        return self.ask({"set_parameters": (SetParameters, SetParameters.Request(parameters=parameters))})[0]


@contextlib.contextmanager
def running():
    with ros():
        bench = Bench()
        try:
            yield bench
        finally:
            bench.node.destroy_node()
            bench.other.destroy_node()


@pytest.fixture
def busy(domain):
    with running() as bench:
        yield bench


def broken(*_):
    raise ArithmeticError("broken")


def unfit_publisher(node: Node) -> None:
    node.create_publisher(JointTrajectory, "wanted", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))


@pytest.mark.parametrize("kind, name", [(Trigger, "own"), (GetParameters, "busy/get_parameters")])
def test_services_are_served_while_a_fast_timer_runs(busy, kind, name):
    client = busy.client(kind, name)
    ticks, futures = busy.node.ticks, []
    for _ in range(3):
        futures.append(client.call_async(kind.Request()))
        busy.until(futures[-1].done)
    assert all(future.result() is not None for future in futures)
    assert busy.node.ticks > ticks


def test_incompatible_qos_is_told_while_a_fast_timer_runs(busy):
    unfit_publisher(busy.other)
    busy.until(lambda: busy.node.incompatible)


def test_one_wait_for_each_callback_and_housekeeping_left_out_of_most(busy, monkeypatch):
    node = busy.node
    unfit_publisher(busy.other)  # an event that is not looked at must not end wait after wait either
    sizes, spins = wait_sizes(monkeypatch), 300
    for _ in range(spins):
        busy.executor.spin_once()
    assert node.ticks > spins / 2
    assert len(sizes) < 1.2 * spins  # rclpy itself waits twice as often
    whole, focused = max(sizes), min(sizes)
    assert whole - focused >= 6 + len(list(node.waitables))  # the six parameter services, and the event handlers
    assert sizes.count(focused) > spins / 2


def test_returns_also_where_nothing_happens_so_that_signals_are_seen(domain):
    with ros():
        node = Node("idle")
        executor, begin = FocusedExecutor(node), time.monotonic()
        for _ in range(5):
            executor.spin_once()
        assert time.monotonic() - begin < 20.0
        node.destroy_node()


def test_what_a_callback_raises_comes_out(busy):
    busy.node.create_timer(PERIOD_S, broken)
    with pytest.raises(ArithmeticError, match="broken"):
        for _ in range(1000):
            busy.executor.spin_once()


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
    node, one_by_one = busy.node, served == "focused"  # rclpy itself sets those before the one that it cannot deal with
    if served == "paced":
        node = Paced()
        busy.executor = PacedExecutor(node)
    node.declare_parameter("a", 1)
    answers = []
    try:
        for kind in (SetParameters, SetParametersAtomically):
            name = "set_parameters" if kind is SetParameters else "set_parameters_atomically"
            future = busy.client(kind, f"{node.get_name()}/{name}").call_async(kind.Request(parameters=STRANGE))
            busy.until(future.done)
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
    busy.node.declare_parameter("a", 1)
    busy.node.add_on_set_parameters_callback(broken)
    busy.client(SetParameters, "busy/set_parameters").call_async(SetParameters.Request(parameters=STRANGE[:1]))
    with pytest.raises(ArithmeticError, match="broken"):
        busy.until(lambda: False)


MANY = MAX_ENTRIES + 1
ONE = Parameter(name="a", value=ParameterValue(type=2, integer_value=2))


def test_a_request_about_parameters_that_has_too_much_is_refused_by_its_size(busy, capfd):
    """It never comes to rclpy's callback; the node goes on, and takes the next one."""
    node = busy.node
    node.declare_parameter("a", 1)
    set_, atomically, got = busy.ask(
        {
            "set_parameters": (SetParameters, SetParameters.Request(parameters=[ONE] * MANY)),
            "set_parameters_atomically": (SetParametersAtomically, SetParametersAtomically.Request(parameters=[ONE] * MANY)),
            "get_parameters": (GetParameters, GetParameters.Request(names=["a"] * MANY)),
        }
    )
    said = f"the request has {MANY} entries or more, at most {MAX_ENTRIES} are taken"
    assert len(set_.results) == MANY and not got.values
    for result in (*set_.results, atomically.result):
        assert not result.successful and said in result.reason
    assert node.get_parameter("a").value == 1 and said in capfd.readouterr().err
    response = busy.set([ONE])
    assert response.results[0].successful and node.get_parameter("a").value == 2


def test_parameters_of_one_request_are_set_in_turns_of_the_node(busy):
    """Each may have a motion looked at; what is due comes between, and the answers are in their order."""
    node = busy.node
    names = [f"p{k}" for k in range(20)]
    turns = []
    for name in names:
        node.declare_parameter(name, 1)

    def slow(parameters):
        turns.append(node.ticks)
        time.sleep(3 * PERIOD_S)
        return SetParametersResult(successful=parameters[0].name != "p3", reason="of p3")

    node.add_on_set_parameters_callback(slow)
    response = busy.set([Parameter(name=name, value=ONE.value) for name in names])
    assert [one.successful for one in response.results] == [name != "p3" for name in names]
    assert len(turns) == len(names) and all(after > before for before, after in zip(turns, turns[1:]))
    assert [node.get_parameter(name).value for name in names] == [1 if name == "p3" else 2 for name in names]


def test_where_rclpy_is_built_otherwise_its_services_are_as_ever(domain, monkeypatch):
    monkeypatch.setattr(housekeeping, "CRequests", lambda handle, _kind: handle.an_attribute_of_another_version)
    with running() as busy:
        busy.node.declare_parameter("a", 1)
        assert len(busy.set([ONE] * MANY).results) == MANY and busy.node.get_parameter("a").value == 2


def test_an_executor_ends_in_the_middle_of_a_long_request_without_a_word(busy, monkeypatch, capfd):
    client = busy.client(GetParameters, "busy/get_parameters")
    begun, begin = [], housekeeping.HousekeepingServices.begin
    monkeypatch.setattr(housekeeping.HousekeepingServices, "begin", lambda self, one: begun.append(one) or begin(self, one))
    client.call_async(GetParameters.Request(names=["a"] * 200_000))
    busy.until(lambda: begun)
    busy.executor.shutdown()
    assert not capfd.readouterr().err
