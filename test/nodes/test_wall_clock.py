"""The wall clock jumps while the arm moves: nothing changes but stamps, and it is said."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from ros_graph import holding_graph
from scenarios.bench import Watch, is_where_it_was, moved, outcome, over, start_swinging, until
from wall_clock import settable_wall_clock

pytestmark = [pytest.mark.ros, pytest.mark.long]


@pytest.fixture(scope="module")
def wall_clock(tmp_path_factory):
    with settable_wall_clock(tmp_path_factory.mktemp("clock")) as clock:
        yield clock


WAITING_NODE = """
import sys
import rclpy
from rclpy.node import Node
from picker_dynamics.nodes.executor import FocusedExecutor
from picker_dynamics.nodes.runtime import steady_timer

rclpy.init()
node = Node("waits")
steady_timer(node, 0.3, lambda: print("tick", flush=True))
executor = FocusedExecutor(node)
while True:
    executor.spin_once()
"""


def test_a_node_that_waits_does_not_wait_until_the_clock_has_made_up_for_a_step_back(domain, wall_clock):
    """DDS waits for a moment of the wall clock: left alone, the wait that is under way then takes a minute longer."""
    with subprocess.Popen([sys.executable, "-c", WAITING_NODE], stdout=subprocess.PIPE, text=True) as process:
        try:
            begin_s = time.monotonic()
            for _ in range(5):
                assert process.stdout.readline() == "tick\n"
                time.sleep(0.1)
                wall_clock.jump(-60.0)
            assert process.stdout.readline() == "tick\n"
            assert time.monotonic() - begin_s < 50.0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def arm(domain, wall_clock, tmp_path_factory):
    with holding_graph(tmp_path_factory.mktemp("arm")) as running:
        yield running


def swings_while_the_clock_jumps(arm, wall_clock, jump_s: float) -> str:
    """What became of a motion of some seconds in whose middle the wall clock was set."""
    client, board = arm.client, arm.board
    name = start_swinging(client, board)
    with Watch(board) as watch:
        wall_clock.jump(jump_s)
        begin_s = time.monotonic()
        until(client, lambda: over(client, name), "the end of the motion")
    assert time.monotonic() - begin_s < 40.0, "nobody waits until the clock has made up for its step back"
    if outcome(client, name) != "done":
        return client.outcomes[name].message
    bases = np.array([sample.setpoint[0] for sample in watch.samples])
    assert np.diff(bases).min() > -0.02, "it never goes back"
    return "done"


@pytest.mark.parametrize("jump_s", [-60.0, 3600.0])
def test_a_jump_in_mid_motion_changes_nothing_but_stamps(arm, wall_clock, jump_s):
    before = arm.log.read_text()
    assert swings_while_the_clock_jumps(arm, wall_clock, jump_s) == "done"
    is_where_it_was(arm.client, arm.board, moved(base=0.9), 0.03)
    said = arm.log.read_text().removeprefix(before).splitlines()
    for process in ("trajectory_controller", "dynamics", "hardware"):
        warned = [line for line in said if "[WARN]" in line and f"[{process}]: the wall clock jumped by {jump_s:+.3f} s" in line]
        assert len(warned) == 1, said
