"""An arm's process in this process, on a board without an arm, its loop and its executor stepped by the test."""

from __future__ import annotations

import contextlib
import inspect
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
from picker_dynamics.nodes.arm import ArmProcess

SERVOS = servos()
HOME = np.array(SERVOS.home)
CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE

PERIOD_S, SPIN_S = 0.01, 0.002


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


class Bench:
    """The process, stepped by who waits for something."""

    def __init__(self, alone: bool = False):
        self.process = ArmProcess([], alone)
        self.arm, self.report, self.node = self.process.arm, self.process.report, self.process.hardware.node
        self.session = self.arm.outputs
        self._due_s = time.monotonic()

    def __getattr__(self, name: str):
        """Of the node, what is not the bench's."""
        return getattr(self.node, name)

    def level(self) -> int:
        return self.report.level

    @property
    def lifecycle_state(self) -> str:
        return self.node.lifecycle

    def step(self) -> None:
        """One cycle of the control loop, and what ROS has brought."""
        self.arm.session.cycle()
        self._due_s = max(self._due_s + PERIOD_S, time.monotonic())
        while time.monotonic() < self._due_s:
            self.process.executor.spin_once(SPIN_S)  # always the same: rclpy forgets what is ready where it is another

    def until(self, condition, what: str) -> None:
        until(condition, lambda: f"{self.session.problem}; {what}", step=self.step)

    def connects(self) -> None:
        """To a board that nobody commands yet."""
        self.until(lambda: self.session.state is State.IDLE, "connection")

    def spin(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self.step()

    def close(self) -> None:
        self.arm.close()
        self.process.destroy()


@contextlib.contextmanager
def hardware(port, autostart: bool = False, alone: bool = False, **parameters):
    """An arm's process on ``port``."""
    given = {"hardware:port": port, "servo_overlay": OVERLAY, "hardware:autostart": autostart} | {
        f"hardware:{name}": value for name, value in parameters.items()
    }
    with ros(*words(given)):
        bench = Bench(alone)
        try:
            if autostart:
                bench.node.trigger_configure()
            yield bench, bench
        finally:
            bench.close()


@contextlib.contextmanager
def active(board: BoardOnCable):
    """The same, once it moves ``board``."""
    with hardware(port_of(board), autostart=True) as (bench, _):
        bench.until(lambda: bench.session.state is State.ACTIVE and bench.lifecycle_state == "active", "active")
        yield bench, bench


def board_that_holds(port) -> BoardOnCable:
    """A board whose outputs run at the home pose."""
    found = [round(8.0 * pulse) / 8.0 for pulse in SERVOS.to_pulse_us(HOME)]
    board = BoardOnCable(port, FirmwareConfig(board_limits(SERVOS), host_timeout_ms=10_000), found_us=found)
    board.firmware.set_supply(6000)
    return board


def port_of(board: BoardOnCable) -> str:
    return str(board.port.link)


def change(bench: Bench, number: int) -> bool:
    return ask(bench, ChangeState, "change_state", ChangeState.Request(transition=Transition(id=number))).success


def ask(bench: Bench, kind, name: str, request):
    """Call a service of the node past the middleware."""
    service = next(one for one in bench.services if one.srv_type is kind and one.srv_name.split("/")[-1] == name)
    if not inspect.iscoroutinefunction(service.callback):
        return service.callback(request, kind.Response())
    task = bench.process.executor.create_task(service.callback, request, kind.Response())
    bench.until(task.done, "an answer")
    return task.result()


def switch(bench: Bench, name: str, on: bool) -> SetBool.Response:
    return ask(bench, SetBool, name, SetBool.Request(data=on))


def entry(bench: Bench, part: str):
    bench.report.refresh()
    return bench.report.entries[f"hardware: {part}"]
