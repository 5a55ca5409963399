"""Start of ROS in a process; its DDS: on this machine alone unless the user says otherwise, Fast DDS without shared memory.

Shared memory lets whoever joins the graph hold it up.

Two participants that open the port of a third one shortly after each other, in shared memory, find its listener where it
was, and the second one takes that for a crash and sleeps for 333 ms, inside ``publish`` (Fast DDS 2.14, its issue 6535).
Set-points stopped for so long in one of six cases in which a process joined the running graph, for which ``picker status``
is enough, and the motion under way was aborted.  UDP over the loopback costs 1.5 % of a core more at 200 Hz.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier

from picker_dynamics.bringup.bringup import local_only
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import private_folder, resource
from picker_dynamics.session.address import chosen_domain

RANGE, PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"
PROFILES, BUILTIN = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"), "FASTDDS_BUILTIN_TRANSPORTS"
"""The profiles' file is the first for Fast DDS 2, the second from 3 on."""

LOGS = "ROS_LOG_DIR", "ROS_HOME", "HOME"


def start_ros(args=None) -> None:
    """Initialise ROS without signal handlers, in an environment that was looked at before.

    Raises:
        ConfigurationError: a domain that does not exist, no folder for logs, or arguments that ROS does not take.
    """
    chosen_domain()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except rclpy_implementation.RCLError as error:
        rclpy.try_shutdown()
        raise ConfigurationError(f"ROS does not start: {' '.join(str(error).split()).split(', at /')[0]}") from error


def prepare_transport(environment: MutableMapping[str, str] = os.environ) -> None:
    """Choose how this process talks before ``start_ros``; what the user has chosen stays."""
    environment.update(local_only(environment))
    if not any(environment.get(name) for name in LOGS):
        environment[LOGS[0]] = private_folder("picker_dynamics_log")
    avoid_shared_memory(environment)


def avoid_shared_memory(environment: MutableMapping[str, str]) -> None:
    """Choose UDP; what the user has chosen stays, and discovery reaches as far as before.

    LOCALHOST adds shared memory whatever Fast DDS is told, so a profile takes its place that means the same.
    """
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps") or any(name in environment for name in PROFILES):
        return
    if environment.get(RANGE) != "LOCALHOST":
        environment.setdefault(BUILTIN, "UDPv4")
    elif not environment.get(PEERS):
        environment.update({RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, str(resource("config/loopback.xml")))})
