"""Nodes keep away from Fast DDS's shared memory; discovery reaches as far as the user says, and no farther."""

from __future__ import annotations

import os

import pytest
from rclpy.utilities import get_rmw_implementation_identifier
from ros_graph import own_domain
from waiting import python

from picker_dynamics.bringup.bringup import LOCAL_ONLY, REACH
from picker_dynamics.nodes.transport import BUILTIN, PEERS, PROFILES, RANGE, avoid_shared_memory, prepare_transport
from picker_dynamics.resources import resource

pytestmark = [
    pytest.mark.ros,
    pytest.mark.long,
    pytest.mark.skipif(
        not get_rmw_implementation_identifier().startswith("rmw_fastrtps"), reason="another middleware than Fast DDS"
    ),
]

LOOK = """
import os, pathlib, sys
import rclpy
from picker_dynamics.nodes import client, runtime
if sys.argv[1] == "node":
    runtime.listen(None, [])
elif sys.argv[1] == "leave":
    rclpy.init()
node = rclpy.create_node("look") if rclpy.ok() else client.ArmClient(())
print(" ".join(path.read_text().strip() for path in pathlib.Path("/proc/self/task").glob("*/comm")))
inodes = {os.readlink(path) for path in pathlib.Path("/proc/self/fd").iterdir() if path.is_symlink()}
for row in pathlib.Path("/proc/self/net/udp").read_text().splitlines()[1:]:
    fields = row.split()
    if f"socket:[{fields[9]}]" in inodes:
        print(fields[1])
node.destroy_node()
rclpy.shutdown()
"""


def looked(who: str, *without: str) -> tuple[str, list[str]]:
    """Names of the threads of a process with a node, and the addresses, in hexadecimal, to which its sockets are bound."""
    with own_domain():
        environment = {name: value for name, value in os.environ.items() if name not in without}
        done = python("-c", LOOK, who, check=True, env=environment)
    threads, *addresses = done.stdout.splitlines()
    return threads, [address.split(":")[0] for address in addresses]


@pytest.mark.parametrize("who", ["node", "client"])
@pytest.mark.parametrize("without", [(), (RANGE,)], ids=["asked for", "nothing said"])
def test_there_is_no_shared_memory_and_no_socket_beyond_the_loopback(who, without):
    threads, addresses = looked(who, *without)
    assert "dds.udp" in threads
    assert "dds.shm" not in threads
    assert addresses and set(addresses) <= {"0100007F"}  # 127.0.0.1


def test_a_client_loads_no_generator_of_messages_and_offers_no_service():
    """Each would cost 2 MB and 0.04 s a process, or discovery by every node; the generator is there for who asks for it."""
    script = """
import importlib, sys
from ros_client.client import ArmClient
with ArmClient(()) as client:
    print(*(name for name in sys.modules if name.partition(".")[0] in ("lark", "em")), *(one.srv_name for one in client.services))
importlib.import_module("rosidl_generator_py.generate_py_impl").generate_py
"""
    with own_domain():
        done = python("-c", script, check=True)
    assert done.stdout.strip() == ""


def test_without_it_localhost_means_shared_memory():
    """Were this to change in Fast DDS or its rmw, the module under test could go."""
    assert "dds.shm" in looked("leave")[0]


@pytest.mark.parametrize(
    "given, chosen",
    [
        ({RANGE: "LOCALHOST"}, {RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, str(resource("config/loopback.xml")))}),
        ({RANGE: "SUBNET"}, {RANGE: "SUBNET", BUILTIN: "UDPv4"}),
        ({}, {BUILTIN: "UDPv4"}),
        ({BUILTIN: "LARGE_DATA"}, {BUILTIN: "LARGE_DATA"}),
        *(({RANGE: "LOCALHOST", name: "mine.xml"}, {RANGE: "LOCALHOST", name: "mine.xml"}) for name in PROFILES),
        ({RANGE: "LOCALHOST", PEERS: "10.0.0.2"}, {RANGE: "LOCALHOST", PEERS: "10.0.0.2"}),
    ],
)
def test_what_the_user_has_chosen_stays(given, chosen):
    environment = dict(given)
    avoid_shared_memory(environment)
    assert environment == chosen


@pytest.mark.parametrize("said", [name for name in REACH if name not in LOCAL_ONLY])
def test_who_says_how_far_discovery_reaches_is_not_overruled(said):
    environment = {said: "something", RANGE: ""}
    prepare_transport(environment)
    assert environment[said] == "something" and not environment[RANGE]
