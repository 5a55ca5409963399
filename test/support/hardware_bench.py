"""A hardware node in this process, on a board without an arm, for tests of what it does in bad company."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest
import rclpy
from arm_fixtures import servos
from board_on_cable import BoardOnCable
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from ros_graph import OVERLAY
from std_srvs.srv import SetBool
from waiting import until

from picker_dynamics.board.firmware.config import FirmwareConfig, board_limits
from picker_dynamics.board.session import State
from picker_dynamics.nodes.executor import FocusedExecutor
from picker_dynamics.nodes.hardware import Hardware

SERVOS = servos()
HOME = np.array(SERVOS.home)
CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE


@pytest.fixture
def board(domain, tmp_path):
    with board_that_holds(tmp_path / "tty") as made:
        yield made


@contextlib.contextmanager
def ros(*arguments: str):
    rclpy.init(args=["--ros-args", *arguments])
    try:
        yield
    finally:
        rclpy.try_shutdown()


def words(parameters: dict) -> list[str]:
    return [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]


class Spun:
    """Nodes that are spun by who waits for something."""

    def __init__(self, *nodes):
        self.nodes, self.executors = nodes, [FocusedExecutor(node) for node in nodes]

    def until(self, condition, what: str) -> None:
        until(condition, lambda: f"{[node.session.problem for node in self.nodes]}; {what}", step=lambda: self.spin(0.02))

    def connects(self) -> None:
        """The first one, to a board that nobody commands yet."""
        self.until(lambda: self.nodes[0].session.state is State.IDLE, "connection")

    def spin(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            for executor in self.executors:
                executor.spin_once(0.005)

    def close(self) -> None:
        for node, executor in zip(self.nodes, self.executors):
            node.close(lambda: True)
            executor.shutdown()
            node.destroy_node()


@contextlib.contextmanager
def hardware(port, **parameters):
    """A hardware node on ``port``, and who spins it."""
    with ros(*words({"port": port, "servo_overlay": OVERLAY, **parameters})):
        spun = Spun(Hardware())
        try:
            yield spun.nodes[0], spun
        finally:
            spun.close()


@contextlib.contextmanager
def active(board: BoardOnCable):
    """The same, once it moves ``board`` by itself."""
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.session.state is State.ACTIVE and node.lifecycle_state == "active", "active")
        yield node, spun


def board_that_holds(port) -> BoardOnCable:
    """A board whose outputs run at the home pose."""
    found = [round(8.0 * pulse) / 8.0 for pulse in SERVOS.to_pulse_us(HOME)]
    board = BoardOnCable(port, FirmwareConfig(board_limits(SERVOS), host_timeout_ms=10_000), found_us=found)
    board.firmware.set_supply(6000)
    return board


class Strangers:
    """Other nodes, that are gone at the end whatever happens."""

    def __init__(self):
        self._nodes = []

    def __call__(self, node):
        self._nodes.append(node)
        return node

    def close(self) -> None:
        while self._nodes:
            self._nodes.pop().destroy_node()


def port_of(board: BoardOnCable) -> str:
    return str(board.port.link)


def change(node, number: int) -> bool:
    return ask(node, ChangeState, "change_state", ChangeState.Request(transition=Transition(id=number))).success


def ask(node, kind, name: str, request):
    """Call a service of ``node`` past the middleware."""
    service = next(one for one in node.services if one.srv_type is kind and one.srv_name.split("/")[-1] == name)
    return service.callback(request, kind.Response())


def switch(node, name: str, on: bool) -> SetBool.Response:
    return ask(node, SetBool, name, SetBool.Request(data=on))


def entry(node, part: str):
    return next(one for one in node.report.entries(node.level(), []) if one.name == f"hardware: {part}")
