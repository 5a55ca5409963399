"""Control socket of the virtual board, which a real one does not have: the true state, the payload, and faults on demand.

One JSON object a line over a UNIX socket; each request names a ``command`` and gets one line back, with ``ok``
and, where that is false, ``error``.  ``BoardControl`` is the client; it needs no MuJoCo.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import socketserver
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import InputError, LinkError
from picker_dynamics.files.formats import parse_json

REQUEST_MAX = 65_536
"""Longest line [bytes]; a client that sends more is cut off."""


@dataclass(frozen=True)
class Truth:
    """The simulated arm and its board at one instant; vectors in the order of the joints.

    Attributes:
        time_s: of the simulation, from its start.
        monotonic_s: of this machine (``time.monotonic``), at that instant.
        q, v: (n,) [rad], [rad/s].
        tip: (3,) [m], base frame.
        torque: (n,) of the servos [N·m].
        setpoint: (n,) after quantisation [rad]; NaN where the output is off.
        pulses_us: (n,) [us]; NaN where the output is off.
        payload_kg: welded to the tool.
        live, owned: bit per joint.  state, faults: as in the telemetry, by name.
        boot_id: of the board.
        behind_max_s, skipped_s: how late the simulation was at worst, and how much time it left out to catch up.
    """

    time_s: float
    monotonic_s: float
    q: np.ndarray
    v: np.ndarray
    tip: np.ndarray
    torque: np.ndarray
    setpoint: np.ndarray
    pulses_us: np.ndarray
    payload_kg: float
    live: int
    owned: int
    state: str
    faults: tuple[str, ...]
    boot_id: int
    behind_max_s: float
    skipped_s: float


class ControlServer(socketserver.ThreadingUnixStreamServer):
    """Server of the control socket: whoever waits for it to be readable calls ``handle_request``; each client has a thread.

    Args:
        path: of the socket to make.
        answer: from a request to its reply, in any thread.

    Raises:
        LinkError: the socket cannot be made.
    """

    daemon_threads, block_on_close = True, False

    def __init__(self, path: str | Path, answer: Callable[[dict[str, Any]], dict[str, Any]]):
        self.path, self.answer = Path(path), answer
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(path)) == errno.ECONNREFUSED:  # left behind by a board that was killed
                    self.path.unlink()
            super().__init__(str(path), _Client)
        except OSError as error:
            raise LinkError(f"cannot make the control socket {path}: {error.strerror or error}", value=str(path)) from error

    def server_bind(self) -> None:
        os.fchmod(self.fileno(), 0o600)  # nobody else connects, whatever folder it is in
        super().server_bind()

    def close(self) -> None:
        """Accept nobody any more, and remove the socket."""
        self.server_close()
        self.path.unlink(missing_ok=True)


class _Client(socketserver.StreamRequestHandler):
    server: ControlServer

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # gone, or it does not read
            while (line := self.rfile.readline(REQUEST_MAX)).endswith(b"\n"):
                self.wfile.write(json.dumps(self._reply(line)).encode() + b"\n")

    def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            request = parse_json(line)
        except InputError as error:
            return {"ok": False, "error": f"not JSON: {error}"}
        return self.server.answer(request) if isinstance(request, dict) else {"ok": False, "error": "a request is a JSON object"}


class BoardControl:
    """Client of the control socket; each request is a connection of its own.

    Args:
        path: of the socket.
        timeout_s: for connecting and for the answer [s].

    Raises:
        LinkError: nobody listens there.
    """

    def __init__(self, path: str | Path, timeout_s: float = 5.0):
        self.path, self._timeout_s = str(path), timeout_s
        self._connected().close()

    def __enter__(self) -> BoardControl:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is open between two requests."""

    def _connected(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(self._timeout_s)
        try:
            made.connect(self.path)
        except OSError as error:
            made.close()
            raise LinkError(f"no virtual board at {self.path}: {error.strerror or error}", value=self.path) from error
        return made

    def command(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send one request of ``VirtualBoard.commands`` and return its reply.

        Raises:
            InputError: the board did not accept it.
            LinkError: the board is gone.
        """
        try:
            with self._connected() as made, made.makefile("rb") as lines:
                made.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
                reply: dict[str, Any] = json.loads(lines.readline())
        except (OSError, ValueError) as error:
            raise LinkError(f"the virtual board at {self.path} does not answer: {error}", value=self.path) from error
        if not reply.pop("ok"):
            raise InputError(f"the virtual board refuses {command}: {reply['error']}", command)
        return reply

    def truth(self) -> Truth:
        """Truth about the arm: where it really is."""
        reply = self.command("truth")
        for name in ("q", "v", "tip", "torque", "setpoint", "pulses_us"):
            reply[name] = np.array(reply[name], dtype=float)  # None becomes NaN
        return Truth(**reply | {"faults": tuple(reply["faults"])})

    def attach(self, mass_kg: float, com: Iterable[float] = (0.0, 0.0, 0.0)) -> None:
        """Weld a berry to the tool, in place of what is there; 0 kg: let go.  ``com`` (3,) [m], tool frame."""
        self.command("attach", mass_kg=mass_kg, com=[float(x) for x in com])
