"""Runtime of a node: parameters with units, clean signals, one last word, distinct exit codes."""

from __future__ import annotations

import difflib
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from typing import Any

import rclpy
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.controller.settings import Setting, Settings
from picker_dynamics.errors import ConfigurationError, InputError, PickerError, shown
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.session import process
from picker_dynamics.session.process import ALIKE

from .transport import prepare_transport, start_ros

LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""For set-points: only the newest counts, and it must arrive."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For facts: whoever comes later still gets the last one."""

OUTCOMES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For what became of goals: two answers that follow each other closely must both arrive."""


STREAM_BYTES = 16_384
"""The longest message of states, references, commands and statuses [bytes]: the longest status has some 4 000."""

RCLError = rclpy_implementation.RCLError

LOOK_S = 0.2
"""How often a node that spins alone looks whether it shall end [s]."""

OF_RCLPY = "use_sim_time", "start_type_description_service"
"""Parameters that each node of rclpy has."""


def _declared(node: Node, one: Setting) -> Any:
    """Declare a setting as a parameter with description (unit included) and range; return its value.

    Raises:
        ConfigurationError: the value given at the start has another type or is out of range.
    """
    descriptor = ParameterDescriptor(name=one.name, description=one.text, read_only=one.fixed)
    if one.low is not None and one.high is not None and not one.endless:
        if isinstance(one.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(one.low), to_value=int(one.high), step=0)]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(one.low), to_value=float(one.high), step=0.0)]
    if node.has_parameter(one.name):  # as it was given, of any type
        node.undeclare_parameter(one.name)
    try:
        value = node.declare_parameter(one.name, one.default, descriptor).value
    except ParameterException as error:
        raise ConfigurationError(f"parameter {one.name}: {error}", subject=one.name) from error
    return list(value) if isinstance(one.default, list) else value


def own_arguments(node: str) -> list[str]:
    """Parameters that the command line gives to ``node`` as ``-p NODE:NAME:=VALUE``: ROS forgets them in a namespace."""
    head = f"{node}:"
    given = [word for flag, word in pairwise(sys.argv) if flag in ("-p", "--param") and word.startswith(head)]
    own = [word.removeprefix(head) for word in given if not word.startswith(f"{head}=")]
    return ["--ros-args", *(word for one in own for word in ("-p", one))]


def settings_of(node: Node, part: str) -> Settings:
    """Settings of a part of the arm that are the parameters of ``node``."""
    return Settings(part, partial(_declared, node))


def take_settings(
    node: Node, settings: Settings, turn: AbstractContextManager | None = None, later: Callable | None = None
) -> None:
    """Have new values of parameters taken by ``settings``, and set those that others change; ``turn`` is held meanwhile.

    Args:
        later: has the executor call a function, from any thread; None: nobody else changes them.

    Raises:
        ConfigurationError: a name that looks like a misspelt one of the node; simulated time.
    """
    require_known_parameters(node)
    setting = threading.local()

    def take(values: dict[str, Any]) -> None:
        if getattr(setting, "mirrored", False):
            return
        setting.taking = True
        try:
            with turn or nullcontext():
                settings.change({name: value for name, value in values.items() if name in settings.declared})
        finally:
            setting.taking = False

    def mirror(values: Mapping[str, Any]) -> None:
        setting.mirrored = True
        try:
            node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
        finally:
            setting.mirrored = False

    def heard(values: Mapping[str, Any]) -> None:
        if later is not None and not getattr(setting, "taking", False):
            later(partial(mirror, dict(values)))

    take_parameters(node, take)
    settings.heard.append(heard)


def refuser(look: Callable[[list[Parameter]], None]) -> Callable[[list[Parameter]], SetParametersResult]:
    """A callback for new values of parameters that ``look`` sees: a PickerError refuses them, its text is the reason."""

    def answer(parameters: list[Parameter]) -> SetParametersResult:
        try:
            look(parameters)
        except PickerError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    return answer


def take_parameters(node, take: Callable[[dict[str, Any]], None]) -> None:
    """Have new values of parameters, by name, taken by ``take``; a PickerError refuses them, its text is the reason."""
    node.add_on_set_parameters_callback(refuser(lambda parameters: take({one.name: one.value for one in parameters})))


def payload_in(message) -> tuple[float, tuple[float, float, float]]:
    """Mass [kg] and centre of mass [m], tool frame, that an InertiaStamped of ``payload`` tells."""
    com = message.inertia.com
    return message.inertia.m, (com.x, com.y, com.z)


UNCOUNTED = 2**64 - 1
"""Number of a message where the middleware does not count them."""


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


def stamp_clock(node) -> StampClock:
    """The steady clock that a node's control goes by, and the way to stamps and back; a jump of the wall clock is logged."""

    def say(size_s: float) -> None:
        node.get_logger().warning(f"the wall clock jumped by {size_s:+.3f} s: stamps follow it, motions do not notice")

    return StampClock(say)


def hear_stream(
    node,
    kind,
    topic: str,
    callback: Callable[[Any, dict], object],
    qos: QoSProfile,
    longest: int = STREAM_BYTES,
    refuse: Callable[[InputError], object] | None = None,
):
    """Subscribe to what may come while the arm moves; returns the subscription.

    A message of more than ``longest`` [bytes] is dropped as bytes, and that is said: to convert 100 000 points would hold up all
    else for most of a second.

    Args:
        callback: called with (message, info).
        refuse: called with what is wrong with a message that is dropped; by default that is logged.
    """

    def take(data: bytes, info: dict) -> None:
        try:
            message = stream_message(kind, topic, data, longest)
        except InputError as error:
            if refuse is None:
                node.get_logger().error(str(error), throttle_duration_sec=1.0)
            else:
                refuse(error)
            return
        callback(message, info)

    return node.create_subscription(kind, topic, take, qos, raw=True)


def stream_message(kind, topic: str, data: bytes, longest: int = STREAM_BYTES):
    """The message of a topic in ``data``.

    Raises:
        InputError: it is longer than ``longest`` [bytes], or none.
    """
    if len(data) > longest:
        text = f"{topic}: a message of {len(data)} bytes is ignored, at most {longest} are taken"
        raise InputError(text, subject=topic, value=len(data), limit=longest)
    try:
        return deserialize_message(data, kind)
    except RuntimeError as error:
        raise InputError(f"{topic}: {len(data)} bytes that are no message are ignored", subject=topic) from error


def steady_timer(node, period_s: float, callback: Callable[[], None]):
    """A timer of the steady clock: those of rclpy's default clock stand still while the wall clock makes up for a step back."""
    return node.create_timer(period_s, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def require_no_simulated_time(parameters: Iterable[Parameter]) -> None:
    """Raise a ConfigurationError where one of ``parameters`` makes a node go by the topic /clock: the arm does not."""
    if any(one.name == "use_sim_time" and one.value is True for one in parameters):
        raise ConfigurationError(
            "use_sim_time is true: the arm is driven by this machine's steady clock, not by /clock; leave it false",
            subject="use_sim_time",
            value=True,
        )


def require_known_parameters(node: Node) -> None:
    """Look at the parameters that the node was given at the start and does not have: ROS ignores those without a word.

    Parameters for all nodes (``/**``) may be another one's, so an unknown name is only logged; but one that looks like a
    name of this node is a mistake.  Those in config/picker.yaml may be for another kind of arm.

    Simulated time is refused here, too, now and later.

    Raises:
        ConfigurationError: such a name; use_sim_time.
    """
    require_no_simulated_time([node.get_parameter("use_sim_time")])
    node.add_on_set_parameters_callback(refuser(require_no_simulated_time))
    all_of_node = node.get_parameters_by_prefix("")
    declared = [name for name in all_of_node if node.describe_parameter(name).description or name.startswith("qos_overrides.")]
    unknown = [name for name in all_of_node if name not in declared and name not in OF_RCLPY]
    for name in unknown:
        meant = difflib.get_close_matches(name, declared, 1, ALIKE)
        if meant:
            raise ConfigurationError(f"parameter {name} does not exist, did you mean {meant[0]}?", subject=name)
        node.undeclare_parameter(name)
    if unknown := sorted(set(unknown) - _packaged()):
        node.get_logger().warning(f"not parameters of this node, ignored: {shown(', '.join(unknown))}")


def _packaged() -> set[str]:
    """Names of the parameters that the package itself gives to nodes of any kind of arm."""
    sections = read_yaml(resource("config/picker.yaml"), "parameters", ConfigurationError).values()
    return {name for section in sections for name in section["ros__parameters"]}


def listen(args, stop: list[int]) -> None:
    """Initialise ROS and listen to signals: ``stop`` gets the number of each signal of ``ENDS``.

    rclpy's own signal handling loses the last message, so it is switched off and a flag takes its place.

    Raises:
        ConfigurationError: environment or arguments with which ROS does not start.
    """
    prepare_transport()
    process.hear_signals(stop)
    start_ros(args)


def shutdown_ros() -> None:
    """Shut ROS down; a signal that comes while Python winds up would look like a crash."""
    rclpy.try_shutdown()
    for number in process.ENDS:
        signal.signal(number, signal.SIG_IGN)


def is_running(node) -> bool:
    """Whether a node has neither failed nor done its work, and ROS is there."""
    return not getattr(node, "finished", False) and getattr(node, "failure", None) is None and rclpy.ok()


def exit_code_of(error: Exception) -> int:
    """Print the error, as the last line before the end, what ROS itself says as short; returns its exit code."""
    if isinstance(error, RCLError):
        error = PickerError(f"ROS fails: {' '.join(str(error).split())}")
    return process.exit_code_of(error)


class SpinAlone(SingleThreadedExecutor):
    """Executor of one node; ``spin_once`` returns a few times a second, so that signals are noticed."""

    def __init__(self, node: Node):
        super().__init__(context=node.context)
        self.add_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        super().spin_once(LOOK_S if timeout_sec is None else timeout_sec)


def close(node, executor, hurried: Callable[[], bool]) -> int:
    """A node's last word, while it can still publish; then it is gone; the exit code where some of that fails."""
    last_word = getattr(node, "close", lambda _hurried: None)
    shutdown = getattr(executor, "shutdown", lambda: None)  # else its destructor may come too late, and complain
    return process.steps(lambda: last_word(hurried), shutdown, node.destroy_node, code_of=exit_code_of)


def made(make_node: Callable[[], Any]):
    """The node, or a ConfigurationError where ROS makes none of that name, in that namespace."""
    try:
        return make_node()
    except RCLError as error:
        raise ConfigurationError(f"the node cannot be made: {' '.join(str(error).split())}") from error


def run(make_node: Callable[[], object], args=None, make_executor: Callable = SpinAlone) -> int:
    """Spin a node until SIGINT or SIGTERM; returns the exit code for the shell.

    The node may have ``close(hurried)`` (its last word, called before it is destroyed, while it can still publish;
    ``hurried()`` turns true at a second signal), ``finished`` (true: it has done its work) and ``failure`` (a PickerError
    that ends it).
    """
    stop: list[int] = []
    node, executor, code = None, None, 0
    try:
        listen(args, stop)
        node = made(make_node)
        executor = make_executor(node)
        process.tame_collector()
        while not stop and is_running(node):
            executor.spin_once()
        if getattr(node, "failure", None) is not None:
            raise node.failure
    except ExternalShutdownException:
        pass
    except Exception as error:
        code = exit_code_of(error)
    finally:
        if node is not None:
            code = close(node, executor, lambda: len(stop) > 1) or code
        code = process.steps(shutdown_ros, code_of=exit_code_of) or code
    return code
