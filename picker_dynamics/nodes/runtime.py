"""Runtime of a node: quality of service, stamps, bounded messages, diagnostics; clean signals, one last word, exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState

from picker_dynamics.board.clock import SYSTEM_CLOCK
from picker_dynamics.board.clock import Clock as SteadyClock
from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.bringup.bringup import local_only
from picker_dynamics.errors import NAME_MAX, ConfigurationError, InputError, PickerError, shown
from picker_dynamics.lifeline import ENDS, end_with_parent, hear_signals
from picker_dynamics.resources import private_folder, resource
from picker_dynamics.session import process
from picker_dynamics.session.address import chosen_domain
from picker_dynamics.session.entry import Entry

LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""For set-points: only the newest counts, and it must arrive."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For facts: whoever comes later still gets the last one."""

OUTCOMES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For what became of goals: two answers that follow each other closely must both arrive."""

REQUESTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""For goals: of a burst each is answered, if only that a newer one overtook it; of more the middleware drops the oldest."""

REPEATED = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For what several say again and again: what is lost is said again."""

STREAM_BYTES = 16_384
"""The longest message of states, references, commands and statuses [bytes]: the longest status has some 4 000."""

RCLError = rclpy_implementation.RCLError

LOOK_S = 0.2
"""How often a node that spins alone looks whether it shall end [s]."""

UNCOUNTED = 2**64 - 1
"""Number of a message where the middleware does not count them."""


RANGE, PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"
PROFILES, BUILTIN = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"), "FASTDDS_BUILTIN_TRANSPORTS"
"""The profiles' file is the first for Fast DDS 2, the second from 3 on."""

LOGS = "ROS_LOG_DIR", "ROS_HOME", "HOME"


# -- messages ------------------------------------------------------------------------------------------------


def payload_in(message) -> tuple[float, tuple[float, float, float]]:
    """Mass [kg] and centre of mass [m], tool frame, that an InertiaStamped of ``payload`` tells."""
    com = message.inertia.com
    return message.inertia.m, (com.x, com.y, com.z)


def number_of(info: dict) -> int | None:
    """Number of a message, as its publisher counts; None where the middleware does not say."""
    number = info["publication_sequence_number"]
    return None if number == UNCOUNTED else number


def seconds(stamp) -> float:
    """A ROS time stamp as seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def to_stamp(stamp, time_s: float):
    """Write seconds into a ROS time stamp and return it."""
    whole = int(time_s // 1.0)
    stamp.sec, stamp.nanosec = whole, min(999_999_999, int((time_s - whole) * 1e9))
    return stamp


def is_heard(publisher) -> bool:
    """Whether anybody listens: to make and send a message that nobody hears takes a twentieth of a cycle."""
    return publisher.get_subscription_count() > 0


def joint_state(told: JointState, stamp_s: float, q=None, v=None, effort=None) -> JointState:
    """Write a state of joints at a stamp [s] into ``told``; vectors (n,), None: not told."""
    told.position, told.velocity, told.effort = (() if row is None else row.tolist() for row in (q, v, effort))
    to_stamp(told.header.stamp, stamp_s)
    return told


def stamp_clock(node, clock: SteadyClock = SYSTEM_CLOCK) -> StampClock:
    """The way from ``clock`` to stamps and back; a jump of the wall clock is logged."""

    def say(size_s: float) -> None:
        node.get_logger().warning(f"the wall clock jumped by {size_s:+.3f} s: stamps follow it, motions do not notice")

    return StampClock(say, steady=clock.now)


def hear_stream(
    node,
    kind,
    topic: str,
    callback: Callable[[Any, dict], object],
    qos: QoSProfile | int,
    longest: int = STREAM_BYTES,
    refuse: Callable[[InputError], object] | None = None,
) -> None:
    """Subscribe to what may come while the arm moves: ``callback`` is called with (message, info).

    A message of more than ``longest`` [bytes] is dropped as bytes: to convert 100 000 points would hold up all else for most of a
    second.  ``refuse`` is called with what is wrong with it; by default that is logged.
    """

    refuse = refuse or (lambda error: node.get_logger().error(str(error), throttle_duration_sec=1.0))

    def take(data: bytes, info: dict) -> None:
        if len(data) > longest:
            text = f"{topic}: a message of {len(data)} bytes is ignored, at most {longest} are taken"
            refuse(InputError(text, topic, len(data), longest))
            return
        try:
            message = deserialize_message(data, kind)
        except RuntimeError:
            refuse(InputError(f"{topic}: {len(data)} bytes that are no message are ignored", topic))
            return
        callback(message, info)

    node.create_subscription(kind, topic, take, qos, raw=True)


# -- diagnostics ---------------------------------------------------------------------------------------------


def sender_in(header) -> str:
    """Sender that a message names in its ``frame_id``, cut: it comes back in texts and statuses."""
    return shown(header.frame_id, NAME_MAX)


def message_of(entry: Entry, name: str) -> DiagnosticStatus:
    """An entry as a message, under the ``name`` of its node instead of its part's."""
    part, colon, rest = entry.name.partition(":")
    pairs = [KeyValue(key=key, value=value) for key, value in entry.values.items()]
    full = f"{name}{colon}{rest}" if part else name
    return DiagnosticStatus(
        level=bytes([entry.level]), name=full, message=entry.message, hardware_id=entry.hardware_id, values=pairs
    )


def name_of(node) -> str:
    """A node's name for its entries: fully qualified, without the leading slash."""
    return node.get_fully_qualified_name().lstrip("/")


def array(node, entries: Iterable[Entry]) -> DiagnosticArray:
    """Array of the entries of ``node`` for ``/diagnostics``."""
    message = DiagnosticArray(status=[message_of(entry, name_of(node)) for entry in entries])
    message.header.stamp = node.get_clock().now().to_msg()
    return message


# -- DDS: on this machine alone unless the user says otherwise, Fast DDS without shared memory ---------------


def start_ros(args=None) -> None:
    """Initialise ROS without signal handlers, in an environment that was looked at before.

    Raises:
        ConfigurationError: a domain that does not exist, no folder for logs, or arguments that ROS does not take.
    """
    chosen_domain()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
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

    Shared memory lets whoever joins the graph hold it up.

    Two participants that open the port of a third one shortly after each other, in shared memory, find its listener where it
    was, and the second one takes that for a crash and sleeps for 333 ms, inside ``publish`` (Fast DDS 2.14, its issue 6535).
    Set-points stopped for so long in one of six cases in which a process joined the running graph, for which ``picker status``
    is enough, and the motion under way was aborted.  UDP over the loopback costs 1.5 % of a core more at 200 Hz.

    LOCALHOST adds shared memory whatever Fast DDS is told, so a profile takes its place that means the same.
    """
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps") or any(name in environment for name in PROFILES):
        return
    if environment.get(RANGE) != "LOCALHOST":
        environment.setdefault(BUILTIN, "UDPv4")
    elif not environment.get(PEERS):
        environment.update({RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, str(resource("config/loopback.xml")))})


# -- the process ---------------------------------------------------------------------------------------------


def frame_prefix(namespace: str) -> str:
    """Prefix to the frames of an arm in this namespace."""
    return f"{namespace.strip('/')}/" if namespace.strip("/") else ""


def node_arguments(node: str) -> dict[str, Any]:
    """Arguments of a Node of that name, with what the command line gives it as ``-p NODE:NAME:=VALUE``: ROS forgets that in a
    namespace.
    """
    head = f"{node}:"
    given = [word for flag, word in pairwise(sys.argv) if flag in ("-p", "--param") and word.startswith(head)]
    own = [word.removeprefix(head) for word in given if not word.startswith(f"{head}=")]
    words = ["--ros-args", *(word for one in own for word in ("-p", one))]
    return {"node_name": node, "cli_args": words, "automatically_declare_parameters_from_overrides": True}


def steady_timer(node, period_s: float, callback: Callable[[], None]):
    """A timer of the steady clock: those of rclpy's default clock stand still while the wall clock makes up for a step back."""
    return node.create_timer(period_s, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def shutdown_ros() -> None:
    """Shut ROS down; a signal that comes while Python winds up would look like a crash."""
    rclpy.try_shutdown()
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)


def exit_code_of(error: Exception) -> int:
    """Print the error, as the last line before the end, what ROS itself says as short; returns its exit code."""
    if isinstance(error, RCLError):
        error = PickerError(f"ROS fails: {' '.join(str(error).split())}")
    return process.exit_code_of(error)


def made(make_node: Callable[[], Any]):
    """The node, or a ConfigurationError where ROS makes none of that name, in that namespace."""
    try:
        return make_node()
    except RCLError as error:
        raise ConfigurationError(f"the node cannot be made: {' '.join(str(error).split())}") from error


def turn(_node: Any, executor: SingleThreadedExecutor) -> None:
    """Serve what comes next; return a few times a second in any case, so that signals are noticed."""
    executor.spin_once(LOOK_S)


def ros_process(body: Callable[[list[int]], None], args=None) -> int:
    """Do ``body`` with ROS, given the numbers of the signals that have come to end it; returns the exit code for the shell.

    rclpy's own signal handling loses the last message, so it is switched off and a flag takes its place.
    """
    stop: list[int] = []
    try:
        with ExitStack() as at_the_end:
            at_the_end.callback(shutdown_ros)
            prepare_transport()
            hear_signals(stop.append)
            end_with_parent()
            start_ros(args)
            body(stop)
    except ExternalShutdownException:
        pass
    except Exception as error:
        return exit_code_of(error)
    return 0


def run(make_node: Callable[[], Node], args=None, turn: Callable[[Any, SingleThreadedExecutor], None] = turn) -> int:
    """Spin a node until SIGINT or SIGTERM, ``turn`` by turn; returns the exit code for the shell."""

    def spin(stop: list[int]) -> None:
        with ExitStack() as at_the_end:
            node = made(make_node)
            at_the_end.callback(node.destroy_node)
            executor = SingleThreadedExecutor()
            at_the_end.callback(executor.shutdown)  # else its destructor may come too late, and complain
            executor.add_node(node)
            process.tame_collector()
            while not stop and rclpy.ok():
                turn(node, executor)

    return ros_process(spin, args)
