"""Start of ROS in a process; its DDS: on this machine alone unless the user says otherwise, Fast DDS without shared memory.

Shared memory lets whoever joins the graph hold it up.

Two participants that open the port of a third one shortly after each other, in shared memory, find its listener where it
was, and the second one takes that for a crash and sleeps for 333 ms, inside ``publish`` (Fast DDS 2.14, its issue 6535).
Set-points stopped for so long in one of six cases in which a process joined the running graph, for which ``picker status``
is enough, and the motion under way was aborted.  UDP over the loopback costs 1.5 % of a core more at 200 Hz.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier

from picker_dynamics.bringup.bringup import local_only
from picker_dynamics.errors import ConfigurationError, shown
from picker_dynamics.resources import private_folder, resource
from picker_dynamics.session.address import chosen_domain

RANGE, PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"
PROFILES, BUILTIN = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"), "FASTDDS_BUILTIN_TRANSPORTS"
"""The profiles' file is the first for Fast DDS 2, the second from 3 on."""

LOGS = "ROS_LOG_DIR", "ROS_HOME", "HOME"

GENERATOR = "rosidl_generator_py.generate_py_impl"
"""What makes Python of interface files: a parser of IDL, 0.04 s and 2 MB in each process."""

_joining = threading.Lock()
_joined: list[bool] = []
"""For each client of this process, whether ROS was started for it."""


def start_ros(args=None) -> None:
    """Initialise ROS without signal handlers, in an environment that was looked at before.

    Raises:
        ConfigurationError: a domain that does not exist, no folder for logs, or arguments that ROS does not take.
    """
    chosen_domain()
    spare_generator()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except rclpy_implementation.RCLError as error:
        said = " ".join(str(error).split()).split(", at /")[0]  # where in the source of rcl
        where = next((name for name in LOGS if os.environ.get(name)), LOGS[0]) if "logging" in said else ""
        named = f" ({where} is {shown(os.environ.get(where, ''), 100)!r})" if where else ""
        rclpy.try_shutdown()
        raise ConfigurationError(f"ROS does not start{named}: {said}", subject=where or None) from error


def spare_generator() -> None:
    """Load what messages need of rosidl_generator_py, which does without its generator where that does not come."""
    if "rosidl_generator_py" in sys.modules:
        return
    sys.modules[GENERATOR] = None  # type: ignore[assignment]
    try:
        importlib.import_module("rosidl_generator_py")
    finally:
        del sys.modules[GENERATOR]


def prepare_transport(environment: MutableMapping[str, str] = os.environ) -> None:
    """Choose how this process talks, node or client, before ``rclpy.init``; what the user has chosen stays."""
    environment.update(local_only(environment))
    if not any(environment.get(name) for name in LOGS):
        environment[LOGS[0]] = private_folder("picker_dynamics_log")
    avoid_shared_memory(environment)


@contextmanager
def prepared_transport() -> Iterator[None]:
    """Transport as of ``prepare_transport`` for what is made meanwhile; afterwards the process's environment is as before."""
    before = dict(os.environ)
    prepare_transport()
    try:
        yield
    finally:
        for name in (RANGE, *PROFILES, BUILTIN, LOGS[0]):
            os.environ.pop(name, None)
            os.environ.update({name: before[name]} if name in before else {})


@contextmanager
def joined_ros() -> Iterator[None]:
    """Make a client meanwhile, in somebody's process: ROS is started for the first, whatever thread it is in, unless it runs.

    Raises:
        ConfigurationError: as ``start_ros``.
    """
    with _joining, prepared_transport():
        starts = not rclpy.ok()
        if starts:
            _joined.clear()  # whoever is left lost ROS by another's hand
            start_ros()
        _joined.append(starts)
        try:
            yield
        except BaseException:
            _leave()
            raise


def leave_ros() -> None:
    """A client has ended: with the last of them ROS does, if it was started for them."""
    with _joining:
        _leave()


def _leave() -> None:
    started = any(_joined)
    if _joined:
        _joined.pop()
    if started and not _joined:
        rclpy.try_shutdown()


def avoid_shared_memory(environment: MutableMapping[str, str] = os.environ) -> None:
    """Choose UDP, before ``rclpy.init``; what the user has chosen stays, and discovery reaches as far as before.

    LOCALHOST adds shared memory whatever Fast DDS is told, so a profile takes its place that means the same.
    """
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps") or any(name in environment for name in PROFILES):
        return
    if environment.get(RANGE) != "LOCALHOST":
        environment.setdefault(BUILTIN, "UDPv4")
    elif not environment.get(PEERS):
        environment.update({RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, str(resource("config/loopback.xml")))})
