"""A process of nodes begins with a word about what keeps ROS from starting, and always ends when its loop does."""

from __future__ import annotations

import os
import sys

import pytest
from ros_graph import own_domain
from waiting import python, run

from picker_dynamics.errors import ConfigurationError, PickerError

pytestmark = [pytest.mark.ros, pytest.mark.long]

FAILING = """
import sys
from picker_dynamics.nodes import arm, hardware, runtime

def fail(*_):
    raise runtime.RCLError("the context is gone\\n at rcl.c:1")

hardware.Hardware.on_cycle = hardware.Hardware.publish_status = fail
sys.exit(arm.{main}([]))
"""


@pytest.mark.parametrize("main", ["main", "hardware_main"])
def test_a_process_ends_where_ros_fails_in_its_loop_and_in_its_last_word(main):
    with own_domain():
        done = python("-c", FAILING.format(main=main))
    assert done.returncode == PickerError.exit_code, done.stderr
    assert "error: ROS fails: the context is gone at rcl.c:1" in done.stderr


@pytest.mark.parametrize("words", [("picker_dynamics", "record"), ("picker_dynamics.nodes.dynamics",)], ids=["client", "node"])
@pytest.mark.parametrize(
    "name, value",
    [
        ("ROS_DOMAIN_ID", "xx"),
        ("ROS_DOMAIN_ID", "233"),
        ("ROS_DOMAIN_ID", "-1"),
        ("ROS_DOMAIN_ID", "9" * 5000),
        ("ROS_LOG_DIR", "/proc/x"),
    ],
)
def test_an_environment_in_which_ros_does_not_start_is_named_in_one_line(words, name, value):
    environment = os.environ | {name: value}
    done = python("-m", *words, env=environment)
    assert done.returncode == ConfigurationError.exit_code
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and name in line and value[:50] in line and len(line) < 400


def test_without_a_home_there_is_a_folder_for_logs():
    bare = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}
    command = [sys.executable, "-c", "from ros_client.client import ArmClient; ArmClient(()).__exit__(); print('was there')"]
    done = run(*command, env=bare)
    assert done.stdout == "was there\n", done.stderr
