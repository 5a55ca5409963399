"""Remote session: an arm of another process, by its socket or over TCP; calls and answers as ``served.ServedSession`` has them.

A thread takes in what comes; whoever waits is woken by it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from typing import Any

from picker_dynamics.errors import LinkError

from .address import HOST, host_and_port, require_namespace, socket_path
from .entry import error_of
from .session import ANSWER_S, BEAT_S, Session

STATE_S = 0.02
"""How often states come [s]."""

NOBODY = "no running arm answers (is 'picker up' running, by this user, in this namespace and ROS_DOMAIN_ID?)"


class RemoteSession(Session):
    """Connection to the running arm of a namespace; use as a context manager.

    Args:
        host: 'HOST:PORT' of an arm on another machine; '' for one of this user here.  token: that such an arm wants to hear.

    Raises:
        LinkError: none answers, or the token is another.
    """

    def __init__(self, namespace: str = "", host: str = "", token: str = ""):
        require_namespace(namespace)
        super().__init__()
        self.namespace, self.lost = namespace.strip("/"), ""
        self._numbers = itertools.count(1)
        self._answers: dict[int, Future[Any]] = {}
        self._news, self._sending, self._count = threading.Condition(), threading.Lock(), 0
        self._stream = _connected(namespace, host)
        threading.Thread(target=self._read, name="session", daemon=True).start()
        try:
            if host:
                self.call("token", token=token)
            self._begin()
        except BaseException:
            self.close()
            raise
        self.subscribe(False)

    @property
    def now_s(self) -> float:
        return time.monotonic()

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
                    if "id" in message:
                        self._answer(message)
                    else:
                        self.take(*next(iter(message.items())))
                    self._wake()
        except (OSError, ValueError) as error:
            self.lost = f"the connection to the arm broke: {error}"
        self.lost = self.lost or "the process of the arm has ended"
        for answer in list(self._answers.values()):
            answer.set_exception(LinkError(self.lost))
        self._wake()

    def _wake(self) -> None:
        with self._news:
            self._count += 1
            self._news.notify_all()

    def _answer(self, message: dict[str, Any]) -> None:
        self.hear_epoch(message.get("epoch", -1))
        answer = self._answers.pop(message["id"], None)
        if answer is not None and "error" in message:
            answer.set_exception(error_of(message["text"], message))
        elif answer is not None:
            answer.set_result(message["result"])

    def wait_at_most(self, seconds: float, condition: Callable[[], object]) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            seen, self._looked_s = self._count, time.monotonic()
            if met := condition():
                return bool(met)
            if self.lost:
                raise LinkError(self.lost)
            if self._looked_s >= deadline:
                return False
            with self._news:
                self._news.wait_for(lambda seen=seen: self._count != seen, min(deadline - self._looked_s, 0.1))  # type: ignore[misc]

    # -- out -------------------------------------------------------------------------------------------------

    def call(self, name: str, /, **arguments: Any) -> Any:
        number, answer = next(self._numbers), Future[Any]()
        self._answers[number] = answer
        self._send({"call": name, "id": number, "epoch": self.epoch, **arguments})
        try:
            return answer.result(ANSWER_S)
        except LateError:
            raise LinkError(f"the arm does not answer to {name}") from None
        finally:
            self._looked_s = time.monotonic()

    def tell(self, name: str, /, **arguments: Any) -> None:
        self._send({"call": name, "epoch": self.epoch, **arguments})

    def subscribe(self, everything: bool) -> None:
        self.tell("subscribe", period_s=STATE_S, all=everything)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            if self.lost:
                raise LinkError(self.lost)
            with self._sending:
                self._stream.sendall((json.dumps(message) + "\n").encode())
        except OSError as error:
            raise LinkError(self.lost or f"the connection to the arm broke: {error}") from error

    def _start_beats(self) -> None:
        def beat() -> None:
            with contextlib.suppress(LinkError):  # whoever waits notices it, too
                while self.driving:
                    self.beat()
                    time.sleep(BEAT_S)

        threading.Thread(target=beat, name="driver", daemon=True).start()


def _connected(namespace: str, host: str) -> socket.socket:
    try:
        if host:
            return socket.create_connection(host_and_port(host, HOST), ANSWER_S)  # silence of that length ends it later, too
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(str(socket_path(namespace)))
    except OSError as error:
        raise LinkError(f"no running arm answers at {host}: {error}" if host else NOBODY, host or namespace) from error
    return stream
