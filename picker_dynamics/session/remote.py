"""Remote session: an arm that runs in another process, by its socket; calls and answers as ``served.ServedSession`` has them.

A thread takes in what comes; whoever waits is woken by it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from picker_dynamics import errors
from picker_dynamics.errors import LinkError, PickerError

from .address import OccupiedError, require_namespace, socket_path
from .entry import Entry

ANSWER_S = 5.0
"""How long a running arm has to answer [s]."""

NOBODY = "no running arm answers (is 'picker up' running, by this user, in this namespace and ROS_DOMAIN_ID?)"

PORT = 8643
"""Of an arm that is reached over TCP, where nobody says another."""


def _raised(error: dict[str, Any]) -> PickerError:
    """The error that a call raised there."""
    kind = {"OccupiedError": OccupiedError}.get(error.get("type", ""), getattr(errors, error.get("type", ""), PickerError))
    about = {what: error.get(what) for what in ("subject", "value", "limit")}
    try:
        return kind(error["text"], **about)
    except TypeError:
        return PickerError(error["text"], **about)


SessionT = TypeVar("SessionT", bound="RemoteSession")


class RemoteSession:
    """Connection to a running arm; use as a context manager.

    Args:
        namespace: of the arm.
        host: 'HOST' or 'HOST:PORT' of a machine whose ``picker up`` listens; '' for this one.
        token: that such an arm wants to know.

    Attributes:
        state, velocity, effort, desired, torque: newest of the joints, n numbers each; None: not known.
        state_s: when the newest state was, on the arm's clock [s]; heard_s: when it came, on the monotonic clock.
        payload_kg: that the tool is believed to carry.

    Raises:
        LinkError: no arm answers.  ConfigurationError: a namespace that ROS would not take.
    """

    def __init__(self, namespace: str = "", host: str = "", token: str = ""):
        require_namespace(namespace)
        self.namespace = namespace.strip("/")
        self.lost = ""
        self.state: list[float] | None = None
        self.velocity: list[float] | None = None
        self.effort: list[float] | None = None
        self.desired: list[float] | None = None
        self.torque: list[float] | None = None
        self.state_s, self.heard_s, self.payload_kg = 0.0, -math.inf, 0.0
        self.on_states: Callable[[list[list[Any]]], None] | None = None
        self.on_cycles: Callable[[dict[str, Any]], None] | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self._news, self._sending = threading.Condition(), threading.Lock()
        self._stream = _connected(self.namespace, host)
        if host:
            self._send({"token": token})
        threading.Thread(target=self._read, name="session", daemon=True).start()

    def __enter__(self: SessionT) -> SessionT:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; the arm goes on."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()

    # -- in --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            with self._stream.makefile("rb") as lines:
                for line in lines:
                    message = json.loads(line)
                    with self._news:
                        self._take(message)
                        self._news.notify_all()
        except (OSError, ValueError) as error:
            self.lost = f"the connection to the arm broke: {error}"
        with self._news:
            self.lost = self.lost or "the process of the arm has ended"
            self._news.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
        elif "states" in message:
            self._see(message["states"])
        elif "cycles" in message and self.on_cycles is not None:
            self.on_cycles(message)
        elif "event" in message:
            self.on_event(_entry(message["event"]))
        elif "payload_kg" in message:
            self.payload_kg = float(message["payload_kg"])
        elif "hardware" in message:
            self.on_hardware(_entry(message["hardware"]))

    def _see(self, rows: list[list[Any]]) -> None:
        time_s, *vectors = rows[-1]
        self.state, self.velocity, self.effort, desired, self.torque = vectors
        self.desired = desired if desired is not None else self.desired
        self.state_s, self.heard_s = time_s, time.monotonic()
        if self.on_states is not None:
            self.on_states(rows)

    def on_event(self, event: Entry) -> None:
        """Take an event of the arm; called by the thread that reads."""

    def on_hardware(self, status: Entry) -> None:
        """Take the state of the outputs; called by the thread that reads."""

    # -- waiting ---------------------------------------------------------------------------------------------

    def wait_at_most(self, seconds: float, condition: Callable[[], object]) -> bool:
        """Wait until ``condition()``, or for so long; returns whether it came true.

        Raises:
            LinkError: the arm's process is gone.
        """
        deadline = time.monotonic() + seconds
        with self._news:
            while not (met := condition()):
                if self.lost:
                    raise LinkError(self.lost)
                left_s = deadline - time.monotonic()
                if left_s <= 0.0:
                    return False
                self._news.wait(min(left_s, 0.1))
        return bool(met)

    def wait(self, condition: Callable[[], object], complaint: str | Callable[[], str], timeout_s: float | None = None) -> None:
        """Wait until ``condition()``, for ``ANSWER_S`` by default, or raise a LinkError with ``complaint``."""
        if not self.wait_at_most(ANSWER_S if timeout_s is None else timeout_s, condition):
            raise LinkError(complaint if isinstance(complaint, str) else complaint())

    def spin(self, duration_s: float) -> None:
        """Let time pass; raises a LinkError where the arm's process is gone."""
        self.wait_at_most(duration_s, lambda: False)

    # -- asking ----------------------------------------------------------------------------------------------

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Make a call and return its result.

        Raises:
            PickerError: as the call there; LinkError: no answer comes.
        """
        number = self.ask(name, **arguments)
        self.wait(lambda: number in self._answers, f"the arm does not answer to {name}")
        return self._result(number)

    def ask(self, name: str, /, **arguments: Any) -> int:
        """Make a call without waiting; ``answered`` says what became of it by the number that is returned."""
        number = next(self._numbers)
        self._send({"call": name, "id": number, **arguments})
        return number

    def answered(self, number: int) -> bool:
        return number in self._answers

    def result(self, number: int) -> Any:
        """Result of a call that is answered; raises as the call there."""
        with self._news:
            return self._result(number)

    def _result(self, number: int) -> Any:
        answer = self._answers.pop(number)
        if (error := answer.get("error")) is not None:
            raise _raised(error)
        return answer["result"]

    def tell(self, name: str, /, **arguments: Any) -> None:
        """Make a call of which nobody wants to know what became."""
        self._send({"call": name, **arguments})

    def subscribe(self, period_s: float, everything: bool = False, whole: bool = False) -> None:
        """Have states come every ``period_s`` [s].

        Args:
            everything: all since the last message, not the newest alone.
            whole: all cycles with state, reference and command, to ``on_cycles`` (``server`` has the layout).
        """
        self.tell("subscribe", period_s=period_s, all=everything, whole=whole)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            with self._sending:
                self._stream.sendall((json.dumps(message) + "\n").encode())
        except OSError as error:
            raise LinkError(self.lost or f"the connection to the arm broke: {error}") from error


def _entry(fields: dict[str, Any]) -> Entry:
    return Entry(**fields)


def _connected(namespace: str, host: str) -> socket.socket:
    try:
        if host:
            name, colon, port = host.rpartition(":") if host.count(":") == 1 else (host, "", "")
            return socket.create_connection((name or host, int(port) if colon else PORT), ANSWER_S)
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(str(socket_path(namespace)))
        return stream
    except (OSError, ValueError) as error:
        raise LinkError(f"{host}: {error}" if host else NOBODY, subject=host or namespace) from error
