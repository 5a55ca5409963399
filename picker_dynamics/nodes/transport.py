"""DDS transport: on this machine alone unless the user says otherwise, and Fast DDS over UDP, without its shared memory.

Shared memory lets whoever joins the graph hold it up.

Two participants that open the port of a third one shortly after each other, in shared memory, find its listener where it
was, and the second one takes that for a crash and sleeps for 333 ms, inside ``publish`` (Fast DDS 2.14, its issue 6535).
Set-points stopped for so long in one of six cases in which a process joined the running graph, for which ``picker status``
is enough, and the motion under way was aborted.  UDP over the loopback costs 1.5 % of a core more at 200 Hz.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager

from rclpy.utilities import get_rmw_implementation_identifier

from picker_dynamics.bringup.bringup import local_only
from picker_dynamics.resources import resource

RANGE, PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"
PROFILES, BUILTIN = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_BUILTIN_TRANSPORTS"


def prepare_transport(environment: MutableMapping[str, str] = os.environ) -> None:
    """Choose how this process talks, node or client, before ``rclpy.init``; what the user has chosen stays."""
    environment.update(local_only(environment))
    avoid_shared_memory(environment)


@contextmanager
def prepared_transport() -> Iterator[None]:
    """The same for what is made meanwhile, a client in somebody's process: its environment is as before afterwards."""
    before = dict(os.environ)
    prepare_transport()
    try:
        yield
    finally:
        for name in (RANGE, PROFILES, BUILTIN):
            os.environ.pop(name, None)
            os.environ.update({name: before[name]} if name in before else {})


def avoid_shared_memory(environment: MutableMapping[str, str] = os.environ) -> None:
    """Choose UDP, before ``rclpy.init``; what the user has chosen stays, and discovery reaches as far as before.

    LOCALHOST adds shared memory whatever Fast DDS is told, so a profile takes its place that means the same.
    """
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps") or PROFILES in environment:
        return
    if environment.get(RANGE) != "LOCALHOST":
        environment.setdefault(BUILTIN, "UDPv4")
    elif not environment.get(PEERS):
        environment.update({RANGE: "SYSTEM_DEFAULT", PROFILES: str(resource("config/loopback.xml"))})
