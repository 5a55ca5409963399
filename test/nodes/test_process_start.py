"""A process of nodes: its environment and its transport, and its end where its loop fails."""

import os

import pytest
from rclpy.utilities import get_rmw_implementation_identifier
from ros_graph import own_domain
from waiting import python

from picker_dynamics.bringup.bringup import LOCAL_ONLY, REACH
from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.nodes.runtime import BUILTIN, PEERS, PROFILES, RANGE, avoid_shared_memory, prepare_transport
from picker_dynamics.resources import resource

FAILING = """
import sys
from picker_dynamics.nodes import arm, hardware, runtime

def fail(*_):
    raise runtime.RCLError("the context is gone\\n at rcl.c:1")

hardware.Hardware.on_cycle = hardware.Hardware.publish_status = fail
sys.exit(arm.{main}([]))
"""


@pytest.mark.ros
@pytest.mark.long
@pytest.mark.parametrize("main", ["main", "hardware_main"])
def test_a_process_ends_where_ros_fails_in_its_loop_and_in_its_last_word(main):
    with own_domain():
        done = python("-c", FAILING.format(main=main))
    assert done.returncode == PickerError.exit_code, done.stderr
    assert "error: ROS fails: the context is gone at rcl.c:1" in done.stderr


@pytest.mark.ros
@pytest.mark.long
@pytest.mark.parametrize(
    "name, value, said", [("ROS_DOMAIN_ID", "9" * 5000, "ROS_DOMAIN_ID is '999"), ("ROS_LOG_DIR", "/proc/x", "/proc/x")]
)
def test_an_environment_in_which_ros_does_not_start_is_named_in_one_line(name, value, said):
    done = python("-m", "picker_dynamics.nodes.dynamics", env=os.environ | {name: value})
    assert done.returncode == ConfigurationError.exit_code
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and said in line and len(line) < 400


LOOK = """
import os, pathlib, sys
import rclpy
from picker_dynamics.nodes import runtime
runtime.listen(None, []) if sys.argv[1] == "ours" else rclpy.init()
node = rclpy.create_node("look")
print(" ".join(path.read_text().strip() for path in pathlib.Path("/proc/self/task").glob("*/comm")))
inodes = {os.readlink(path) for path in pathlib.Path("/proc/self/fd").iterdir() if path.is_symlink()}
for row in pathlib.Path("/proc/self/net/udp").read_text().splitlines()[1:]:
    fields = row.split()
    if f"socket:[{fields[9]}]" in inodes:
        print(fields[1])
"""


@pytest.mark.ros
@pytest.mark.long
@pytest.mark.skipif(not get_rmw_implementation_identifier().startswith("rmw_fastrtps"), reason="another middleware than Fast DDS")
@pytest.mark.parametrize("without", [(), (RANGE,)], ids=["asked for", "nothing said"])
def test_there_is_no_shared_memory_and_no_socket_beyond_the_loopback(without):
    with own_domain():
        environment = {name: value for name, value in os.environ.items() if name not in (*without, *PROFILES)}  # of earlier tests
        ours, plain = (python("-c", LOOK, who, check=True, env=environment).stdout.splitlines() for who in ("ours", "plain"))
    assert "dds.udp" in ours[0] and "dds.shm" not in ours[0]
    assert ours[1:] and {address.split(":")[0] for address in ours[1:]} == {"0100007F"}  # 127.0.0.1
    assert without or "dds.shm" in plain[0], "were this to change in Fast DDS or its rmw, the module under test could go"


@pytest.mark.parametrize(
    "given, chosen",
    [
        ({RANGE: "LOCALHOST"}, {RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, str(resource("config/loopback.xml")))}),
        ({RANGE: "SUBNET"}, {RANGE: "SUBNET", BUILTIN: "UDPv4"}),
        ({BUILTIN: "LARGE_DATA"}, {BUILTIN: "LARGE_DATA"}),
        ({RANGE: "LOCALHOST", PROFILES[0]: "mine.xml"}, {RANGE: "LOCALHOST", PROFILES[0]: "mine.xml"}),
        ({RANGE: "LOCALHOST", PEERS: "10.0.0.2"}, {RANGE: "LOCALHOST", PEERS: "10.0.0.2"}),
    ],
)
def test_what_the_user_has_chosen_stays(given, chosen):
    environment = dict(given)
    avoid_shared_memory(environment)
    assert environment == chosen
    for said in [name for name in REACH if name not in LOCAL_ONLY]:
        environment = {said: "something", RANGE: ""}
        prepare_transport(environment)
        assert environment[said] == "something" and not environment[RANGE]
    without_home: dict[str, str] = {}
    prepare_transport(without_home)
    assert without_home["ROS_LOG_DIR"]
