"""Client of a running graph: a node that spins itself, waits for what it hears, and calls services of others."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future

from picker_dynamics.errors import LinkError, PickerError
from picker_dynamics.nodes.runtime import made
from picker_dynamics.nodes.transport import joined_ros, leave_ros

ANSWER_S = 5.0
"""How long a running graph has to answer [s]."""

SILENCE_S = 1.0
"""So long a service may be silent before one looks whether it was carried out all the same [s]."""

PLAIN = {
    "start_parameter_services": False,
    "enable_rosout": False,
    "parameter_overrides": [Parameter("start_type_description_service", value=False)],
}
"""Nobody asks a client for parameters or types: what it does not offer need not be discovered."""


ENDING = signal.SIGHUP, signal.SIGTERM, signal.SIGINT
"""Signals of which a command or a script may make an exception."""


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that come meanwhile are handled afterwards: an executor that is interrupted in taking a message stays deaf."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple] = []
    before = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, lambda *told: came.append(told))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in came:
            before[number](number, frame)


class GraphClient(Node):
    """A client of one graph; use as a context manager.

    Args:
        namespace: the graph's.
    """

    def __init__(self, namespace: str = ""):
        with joined_ros():
            made(lambda: super(GraphClient, self).__init__(f"picker_client_{uuid.uuid4().hex[:8]}", namespace=namespace, **PLAIN))
        self._spinner = SingleThreadedExecutor()  # its own: rclpy's is one for all threads

    def __enter__(self):
        return self

    def __exit__(self, *_exception) -> None:
        self._spinner.shutdown()
        self.destroy_node()
        leave_ros()

    # -- waiting -------------------------------------------------------------------------------------------

    def wait(self, condition, complaint: str | Callable[[], str], timeout_s: float | None = None) -> None:
        """Spin until ``condition()``, or ``complaint``; by default for ANSWER_S.

        Raises:
            LinkError: it did not come true in time.
        """
        if not self.wait_at_most(ANSWER_S if timeout_s is None else timeout_s, condition):
            raise LinkError(complaint if isinstance(complaint, str) else complaint())

    def spin_once(self, longest_s: float) -> None:
        """Let the next message come in, if one does so soon."""
        self._spinner.add_node(self)
        with _undisturbed():
            self._spinner.spin_once(longest_s)

    def spin(self, duration_s: float) -> None:
        """Let messages come in for a while."""
        deadline = time.monotonic() + duration_s
        while time.monotonic() < deadline:
            self.spin_once(min(0.05, max(0.0, deadline - time.monotonic())))

    def wait_at_most(self, seconds: float, condition) -> bool:
        """Spin until ``condition()``, or for so long; returns whether it came true.  NaN: for ever."""
        deadline = time.monotonic() + seconds
        while not (met := condition()) and not time.monotonic() >= deadline:
            self.spin_once(0.02)
        return bool(met)

    @contextmanager
    def hearing(self, kind, name: str, qos=10) -> Iterator[list]:
        """The messages of a topic that come meanwhile."""
        heard: list = []
        subscription = self.create_subscription(kind, name, heard.append, qos)
        try:
            yield heard
        finally:
            self.destroy_subscription(subscription)

    # -- asking --------------------------------------------------------------------------------------------

    def call(self, kind, name: str, request, seen: Callable[[], bool] = lambda: False, repeat: bool = False):
        """Call a service and return its response, or None where ``seen()``, after a silence, that it was carried out.

        Over a network that loses packets an answer is lost for good where the server has not found the caller yet.

        Args:
            repeat: ask again after each silence; for what may be done twice, whatever somebody else did in between.

        Raises:
            LinkError: nobody offers it, or no answer comes.
        """
        client = self.create_client(kind, name)
        asked: list[Future] = []
        try:
            self.wait(client.service_is_ready, f"service {name} is not there (is 'picker up' running?)")
            deadline = time.monotonic() + ANSWER_S
            while not any(future.done() for future in asked):
                if time.monotonic() > deadline:
                    raise LinkError(f"service {name} does not answer")
                if asked and seen():
                    return None
                if repeat or not asked:
                    asked.append(client.call_async(request))
                self.wait_at_most(SILENCE_S, lambda: any(future.done() for future in asked))
            if len(asked) > 1:  # what is on its way still is carried out: a stop, after what this client does next
                self.wait_at_most(SILENCE_S, lambda: all(future.done() for future in asked))
            return next(future for future in asked if future.done()).result()
        finally:
            self.destroy_client(client)

    def set_parameters(self, node: str, **values) -> None:
        """Set parameters of a node; dots in names are written as two underscores."""
        self._set(node, [Parameter(_dotted(name), value=value).to_parameter_msg() for name, value in values.items()])

    def _set(self, node: str, parameters: list[ParameterMessage]) -> None:
        request = SetParameters.Request(parameters=parameters)
        for result in self.call(SetParameters, f"{node}/set_parameters", request, repeat=True).results:
            if not result.successful:
                raise PickerError(f"{node}: {result.reason}")

    def get_parameters(self, node: str, names: list[str]) -> list[ParameterValue]:
        """Values of a node's parameters."""
        return self.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names), repeat=True).values

    @contextmanager
    def meanwhile(self, node: str, **values) -> Iterator[None]:
        """Parameters of a node have other values until this ends; names as for ``set_parameters``."""
        names = [_dotted(name) for name in values]
        before = self.get_parameters(node, names)
        self.set_parameters(node, **values)
        try:
            yield
        finally:
            self._set(node, [ParameterMessage(name=name, value=value) for name, value in zip(names, before)])


def _dotted(name: str) -> str:
    return name.replace("__", ".")
