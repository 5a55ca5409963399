"""Payloads that are not there, told to a running arm that is stopped: its true tip is the judge of what they move."""

from __future__ import annotations

import time

import numpy as np
import pytest
from patient import with_patience
from ros_graph import OVERLAY
from scenarios.bench import Watch, at_home, ready, until_hardware
from waiting import PATIENCE_S

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner, ProcessEndedError
from picker_dynamics.errors import PickerError
from picker_dynamics.resources import resource

pytestmark = [pytest.mark.ros, pytest.mark.long]

GRAPH = {"servo_overlay": str(resource("config/servos.ideal.yaml"))}
"""Gears that hold nothing back: whatever is believed moves the tip."""

STILL_M, SLOW = 0.003, 0.1
"""Pulses have steps; and a tip that creeps [m/s], seen through them."""


def way(watch: Watch) -> float:
    """How far the true tip went from where it was [m]."""
    tips = np.array([one.tip for one in watch.samples])
    return float(np.linalg.norm(tips - tips[0], axis=1).max())


@pytest.mark.parametrize(
    ("mass", "com", "why"),
    [(0.6, [0.0] * 3, "shoulder needs"), (2.0, [0.0] * 3, "shoulder needs"), (0.3, [-0.9, 0.0, 0.0], "needs|from the tool")],
    ids=["0.6 kg", "2 kg", "far behind"],
)
def test_a_payload_told_while_it_is_stopped_moves_nothing_when_it_is_enabled(client, board, mass, com, why):
    at_home(client, board)
    client.switch("emergency_stop", True)
    until_hardware(client, "idle")
    with Watch(board) as watch:
        client.spin(0.5)
        client.set_parameters("dynamics", payload__com=com)
        with pytest.raises(PickerError, match=why):
            client.set_parameters("dynamics", payload__mass=mass)
        ready(client)
        client.spin(1.0)
        client.set_parameters("dynamics", payload__mass=0.0)
        client.set_parameters("dynamics", payload__com=[0.0] * 3)
        client.spin(1.0)
    assert way(watch) < STILL_M
    at_home(client, board)


def test_a_payload_that_is_not_there_moves_the_tip_slowly_and_little(client, board):
    at_home(client, board)
    with Watch(board) as watch:
        for mass in (0.09, 0.0):
            client.set_parameters("dynamics", payload__mass=mass)
            client.spin(2.0)
    assert way(watch) < 0.012 and watch.tip_speed(0.1) < SLOW


def test_a_graph_that_starts_with_more_than_the_arm_holds_ends_with_one_line(domain, tmp_path):
    heavy = bringup.Options(directory=str(tmp_path), payload_mass=2.0, servo_overlay=OVERLAY, namespace="heavy")
    late_s = time.monotonic() + PATIENCE_S
    with GraphRunner(with_patience(bringup.graph(heavy)), log_path=tmp_path / "nodes.log", grace_s=PATIENCE_S) as runner:
        with pytest.raises(ProcessEndedError, match="heavy/arm ended by itself"):
            runner.wait(lambda: time.monotonic() > late_s)
    said = (tmp_path / "nodes.log").read_text()
    assert "needs" in said and "to hold its pose, allowed 0.6" in said and "Traceback" not in said
