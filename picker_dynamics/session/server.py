"""Server of a running arm: calls in, answers, events and states out, a line of JSON each, over a socket of this user.

    {"call": "goal", "id": 7, ...}   ->   {"id": 7, "result": null}   or   {"id": 7, "error": {"type": ..., "text": ...}}
    {"event": {...}}  {"hardware": {...}}  {"controller": {...}}  {"payload_kg": ...}
    {"states": [[t, q, v, effort, reference, torque], ...]}
    {"cycles": [{"state": [t, q, v, effort], "reference": [t, q, v, a], "command": [t, setpoint, effort]}, ...], "ahead_s": ...,
     "payload": [mass, x, y, z], "dropped": ...}

A connection has two threads, one that reads and carries out, one that writes; the control loop waits for neither.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import socket
import struct
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import InputError, LinkError, PickerError

from .report import Report
from .running_arm import RunningArm
from .served import ServedSession

LINE_BYTES = 1_000_000
"""The longest call: more would hold up the control loop while it is decoded."""

CONNECTIONS = 40
EVENTS_KEPT, STATES_KEPT = 1000, 2000
TOLD_AGAIN = 10
"""Events of goals that a new connection is told of."""

SLOW_S = 5
"""A client that takes nothing for so long is left [s]."""


class Server:
    """Serves ``arm`` at a path of the file system, or over TCP at ``host`` to who knows ``token``.

    Args:
        path: of the socket; one that a crash has left there is replaced.
        host: address and port to listen at besides; '' for none.
    """

    def __init__(self, arm: RunningArm, report: Report, path: Path, host: tuple[str, int] | None = None, token: str = ""):
        self.session, self.arm, self._report, self.path = ServedSession(arm, report), arm, report, path
        self._token = token
        self._connections: set[_Connection] = set()
        self._events: deque[dict[str, Any]] = deque(maxlen=TOLD_AGAIN)
        self._lock = threading.Lock()
        self._closed = False
        path.unlink(missing_ok=True)
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            local.bind(str(path))
        finally:
            os.umask(before)
        self._listeners = [(local, "")]
        if host is not None:
            try:
                self._listeners.append((socket.create_server(host), token))
            except OSError as error:
                raise LinkError(f"cannot listen at {host[0]}:{host[1]}: {error.strerror}", subject="host") from error
        for listener, secret in self._listeners:
            listener.listen()
            threading.Thread(target=self._accept, args=(listener, secret), name="server", daemon=True).start()
        report.listeners.append(self._publish)
        self._end = arm.session.subscribe(self._hear)

    def close(self) -> None:
        """End all connections and remove the socket."""
        if self._closed:
            return
        self._closed = True
        self._end()
        self._report.listeners.remove(self._publish)
        for listener, _ in self._listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.path.unlink(missing_ok=True)
        for one in tuple(self._connections):
            one.close()

    def _accept(self, listener: socket.socket, secret: str) -> None:
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            if len(self._connections) >= CONNECTIONS:
                stream.close()
                continue
            with self._lock:
                self._connections.add(_Connection(self, stream, secret, list(self._events)))

    def leave(self, connection: _Connection) -> None:
        with self._lock:
            self._connections.discard(connection)

    def _publish(self, what: str, content: Any) -> None:
        """Hand what is new to all connections."""
        if what == "event" and content["values"].get("goal"):
            self._events.append(content)
        with self._lock:
            for one in self._connections:
                one.put({what: content})

    def _hear(self, cycle: Cycle) -> None:
        for one in tuple(self._connections):
            one.keep(cycle)

    def cycles(self, cycles: list[Cycle], dropped: int) -> dict[str, Any]:
        """All of these cycles, how far the wall clock is ahead of their times [s], the payload, and how many were dropped."""
        payload = self.arm.controller.payload
        rows = [_whole(cycle) for cycle in cycles]
        ahead_s = time.time() - self.arm.clock.now()
        return {"cycles": rows, "ahead_s": ahead_s, "payload": [payload.mass, *payload.com], "dropped": dropped}


class _Connection:
    """One client."""

    def __init__(self, server: Server, stream: socket.socket, secret: str, events: list[dict[str, Any]]):
        self._server, self._stream, self._secret = server, stream, secret
        stream.settimeout(None)
        self._cycles: deque[Cycle] = deque(maxlen=STATES_KEPT)
        self._out: deque[Any] = deque({"event": event} for event in events)
        self._news = threading.Event()
        self._period_s, self._all, self._whole, self._over = 0.0, False, False, False
        self._dropped = 0
        self._news.set()
        for target in (self._read, self._write):
            threading.Thread(target=target, name="connection", daemon=True).start()

    def keep(self, cycle: Cycle) -> None:
        """Keep a cycle for a subscriber; of more than ``STATES_KEPT`` the oldest is dropped, and counted."""
        self._dropped += len(self._cycles) == STATES_KEPT
        self._cycles.append(cycle)

    def put(self, message: Any) -> None:
        """Have a message written; a client that takes none is left."""
        if len(self._out) >= EVENTS_KEPT:
            self.close()
            return
        self._out.append(message)
        self._news.set()

    def close(self) -> None:
        self._over = True
        self._news.set()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        with contextlib.suppress(OSError), self._stream.makefile("rb") as lines:
            trusted = not self._secret
            while not self._over and (line := lines.readline(LINE_BYTES + 1)):
                if len(line) > LINE_BYTES:
                    self.put({"error": {"type": "InputError", "text": f"a call of more than {LINE_BYTES} bytes is not taken"}})
                    break
                if not line.strip():
                    continue
                if not trusted:
                    trusted = self._knows(line)
                    if not trusted:
                        break
                    continue
                if (answer := self._carried_out(line)) is not None:
                    self.put(answer)
        self.close()
        self._server.leave(self)

    def _knows(self, line: bytes) -> bool:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return hmac.compare_digest(str(json.loads(line)["token"]).encode(), self._secret.encode())
        return False

    def _carried_out(self, line: bytes) -> dict[str, Any] | None:
        """Carry out a call; returns its answer, None where nobody wants one."""
        asked: Any = None
        try:
            asked = json.loads(line)
            name, number = asked.pop("call"), asked.pop("id", None)
            if name == "subscribe":
                self._period_s, self._all, result = float(asked["period_s"]), bool(asked.get("all")), None
                self._whole, self._dropped = bool(asked.get("whole")), 0
                self._cycles.clear()
                self._news.set()
            elif name.startswith("_") or not callable(call := getattr(self._server.session, name, None)):
                raise InputError(f"there is no call {name!r}", subject="call")
            else:
                result = call(**asked)
        except PickerError as error:
            known = {
                "type": type(error).__name__,
                "text": str(error),
                "subject": error.subject,
                "value": error.value,
                "limit": error.limit,
            }
            return {"id": number, "error": known}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            number = asked.get("id") if isinstance(asked, dict) else None
            return {"id": number, "error": {"type": "InputError", "text": f"no call: {type(error).__name__}: {error}"}}
        return None if number is None else {"id": number, "result": result}

    def _write(self) -> None:
        # Of sending alone: a timeout of the socket would end a client that asks nothing for so long.
        self._stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SLOW_S, 0))
        try:
            while not self._over:
                if not self._news.wait(self._period_s or None) and not self._period_s:
                    continue
                self._news.clear()
                parts = [json.dumps(self._out.popleft(), default=str) for _ in range(len(self._out))]
                if self._period_s and self._cycles:
                    parts.append(json.dumps(self._taken()))
                if parts:
                    self._stream.sendall(("\n".join(parts) + "\n").encode())
        except (OSError, IndexError):
            pass
        self.close()
        self._stream.close()

    def _taken(self) -> dict[str, Any]:
        """Cycles since the last message, whole or their states, or the newest state alone."""
        cycles = [self._cycles.popleft() for _ in range(len(self._cycles))]
        if self._whole:
            return self._server.cycles(cycles, self._dropped)
        return {"states": [row(one) for one in (cycles if self._all else cycles[-1:])]}


def _whole(cycle: Cycle) -> dict[str, Any]:
    """State, reference and command of a cycle, each with its time [s]; None: there is none."""
    state, reference, command = cycle.state, cycle.tick.reference, cycle.command
    return {
        "state": state and [state.time_s, *_lists(state.q, state.v, state.effort)],
        "reference": reference and [reference.time_s, *_lists(reference.q, reference.v, reference.a)],
        "command": command and [command.time_s, *_lists(command.setpoint, command.effort)],
    }


def _lists(*vectors: Any) -> list[Any]:
    return [None if one is None else one.tolist() for one in vectors]


def row(cycle: Cycle) -> list[Any]:
    """Time [s], then position, velocity, effort, reference and torque, (n,) each or None."""
    state, reference, command = cycle.state, cycle.tick.reference, cycle.command
    measured = (None, None, None) if state is None else (state.q, state.v, state.effort)
    vectors = (*measured, None if reference is None else reference.q, None if command is None else command.effort)
    return [cycle.now_s if state is None else state.time_s, *_lists(*vectors)]
