"""``picker status``: what comes next, and what a person reads; on a running graph: test/nodes/test_nodes.py."""

import pytest

from picker_dynamics.board.session import first_command, next_command
from picker_dynamics.commands.status import lines


@pytest.mark.parametrize(
    ("hardware", "phase", "wanted"),
    [
        ({"state": "offline"}, "inactive", "check cable"),
        ({"state": "idle", "stop_latched": "true"}, "inactive", "picker reset, then picker enable"),
        ({"state": "active"}, "streaming", "--preempt"),
        ({"state": "active"}, "holding", "picker home"),
    ],
)
def test_the_next_sensible_command(hardware, phase, wanted):
    assert wanted in next_command(hardware, {"phase": phase})


WAITS = {"state": "idle", "problem": "outputs are off and the arm's pose is unknown", "reset_needed": "false"}
HOLDS = {"state": "active", "message": "active", "commanded": "true"}


@pytest.mark.parametrize(
    ("hardware", "phase", "wanted"),
    [
        ({"state": "offline", "message": "connecting to /dev/ttyACM0"}, "inactive", ""),
        (HOLDS, "holding", "try picker home"),
        (WAITS, "inactive", "picker enable, then picker home"),
        (WAITS | {"reset_needed": "true"}, "inactive", "picker reset, then picker enable, then picker home"),
    ],
)
def test_the_first_command_is_said_when_it_can_be_given(hardware, phase, wanted):
    assert first_command(hardware, {"phase": phase}) == wanted


def test_a_person_reads_degrees_millimetres_and_grams():
    joint = {"position": 0.5, "unit": "rad", "torque": 0.25, "of_stall": 0.25, "margin": 0.5, "celsius": 41.0}
    found = {
        "hardware": {"state": "active", "message": "active"},
        "controller": {"phase": "holding", "message": "done: holding"},
        "moved_by": "stream of a panel",
        "provenance": "modelled",
        "payload_kg": 0.025,
        "compensation": "full",
        "supply_v": 7.05,
        "supply_a": 1.2,
        "faults": ["hardware: supply: too little"],
        "next": "picker home",
        "tool": "hand",
        "tip_m": [0.2, -0.05, 0.1],
        "torque_limit": "stall torque",
        "joints": {
            "elbow": joint,
            "slide": joint | {"unit": "m", "celsius": None},
            "turn": joint | {"position": -1e-5, "torque": -0.001, "of_stall": 0.0, "margin": 1.0},
        },
    }
    assert lines(found) == [
        "hardware: active",
        "controller: holding: done: holding",
        "moved by: stream of a panel",
        "tip hand at 200, -50, 100 mm (modelled)",
        "  elbow           28.6 deg   0.25 N·m,  25% of stall torque,  50% left of hold limit, 41 °C",
        "  slide           500.0 mm   0.25 N  ,  25% of stall torque,  50% left of hold limit",
        "  turn             0.0 deg   0.00 N·m,   0% of stall torque, 100% left of hold limit, 41 °C",
        "payload 25 g, compensation full, supply 7.0 V, 1.2 A (estimated)",
        "! hardware: supply: too little",
        "next: picker home",
    ]
