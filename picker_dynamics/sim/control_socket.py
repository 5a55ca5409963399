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
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

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


class ControlServer:
    """Server of the control socket, which answers requests without ever blocking.

    Args:
        path: of the socket to make.
        answer: from a request to its reply.

    Raises:
        LinkError: the socket cannot be made.
    """

    def __init__(self, path: str | Path, answer: Callable[[dict], dict]):
        self.path, self._answer = Path(path), answer
        self._pending: dict[socket.socket, bytearray] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        os.fchmod(self._listener.fileno(), 0o600)  # nobody else connects, whatever folder it is in
        try:
            self._bind()
        except OSError as error:
            self._listener.close()
            raise LinkError(f"cannot make the control socket {self.path}: {error.strerror or error}", value=str(path)) from error

    def _bind(self) -> None:
        """Who finds the path can connect: it is there when somebody listens, and not before."""
        made = Path(f"{self.path}~{os.getpid()}")
        self._listener.bind(str(made))
        try:
            self._listener.listen(8)
            try:
                os.link(made, self.path)
            except FileExistsError:
                if not self._abandoned():
                    raise
                self.path.unlink()
                os.link(made, self.path)
        finally:
            made.unlink()

    def _abandoned(self) -> bool:
        """A socket on which nobody listens, left behind by a board that was killed."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(str(self.path)) == errno.ECONNREFUSED

    @property
    def readers(self) -> list[socket.socket]:
        """Sockets to wait on with select."""
        return [self._listener, *self._pending]

    def serve(self, ready) -> None:
        """Take what has arrived on ``ready``, those of ``readers`` that select found."""
        for source in ready:
            if source is self._listener:
                client, _ = source.accept()
                client.setblocking(False)
                self._pending[client] = bytearray()
            elif source in self._pending:
                self._read(source)

    def _read(self, client: socket.socket) -> None:
        try:
            data = client.recv(65_536)
        except OSError:
            data = b""
        pending = self._pending[client]
        pending += data
        while data and b"\n" in pending:
            line, _, rest = pending.partition(b"\n")
            pending[:] = rest
            try:
                client.sendall(json.dumps(self._reply(line)).encode() + b"\n")
            except OSError:  # gone, or it does not read
                data = b""
        if not data or len(pending) > REQUEST_MAX:
            self._pending.pop(client)
            client.close()

    def _reply(self, line: bytes) -> dict:
        try:
            request = parse_json(line)
        except InputError as error:
            return {"ok": False, "error": f"not JSON: {error}"}
        if not isinstance(request, dict):
            return {"ok": False, "error": "a request is a JSON object"}
        return self._answer(request)

    def close(self) -> None:
        """Close all connections and remove the socket."""
        for client in (*self._pending, self._listener):
            client.close()
        self.path.unlink(missing_ok=True)


class BoardControl:
    """Client of the control socket; a context manager.

    Args:
        path: of the socket.
        timeout_s: for connecting and for each answer [s].

    Raises:
        LinkError: nobody listens there, or no answer came in time.
    """

    def __init__(self, path: str | Path, timeout_s: float = 5.0):
        self.path, self._timeout_s = str(path), timeout_s
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(self._timeout_s)
        try:
            self._socket.connect(self.path)
        except OSError as error:
            self._socket.close()
            raise LinkError(f"no virtual board at {self.path}: {error.strerror or error}", value=self.path) from error
        self._lines = self._socket.makefile("rb")

    def command(self, command: str, **arguments) -> dict:
        """Send one request and return its reply.

        Raises:
            InputError: the board did not accept it.
            LinkError: the board is gone.
        """
        try:
            self._socket.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise LinkError(f"the virtual board at {self.path} does not answer: {error}", value=self.path) from error
        except BaseException:  # interrupted: the reply that is on its way would be taken for that to the next request
            self.close()
            with contextlib.suppress(LinkError):  # the next request says that the board is gone
                self._connect()
            raise
        if not line:
            raise LinkError(f"the virtual board at {self.path} is gone", value=self.path)
        reply = json.loads(line)
        if not reply.pop("ok"):
            raise InputError(f"the virtual board refuses {command}: {reply['error']}", subject=command)
        return reply

    def truth(self) -> Truth:
        """Truth about the arm: where it really is."""
        reply = self.command("truth")
        values = {f.name: reply[f.name] for f in fields(Truth)}
        for name in ("q", "v", "tip", "torque", "setpoint", "pulses_us"):
            values[name] = np.array(values[name], dtype=float)  # None becomes NaN
        return Truth(**{**values, "faults": tuple(values["faults"])})

    def attach(self, mass_kg: float, com=(0.0, 0.0, 0.0)) -> None:
        """Weld a berry to the tool; ``com`` (3,) [m], tool frame."""
        self.command("attach", mass_kg=mass_kg, com=[float(x) for x in com])

    def detach(self) -> None:
        """Let the berry go that is on the tool."""
        self.command("detach")

    def plant_error(self) -> dict:
        """Plant's differences from the URDF and the servo map: factors and added friction."""
        return self.command("plant_error")

    def wire(self, drop: float = 0.0, corrupt: float = 0.0) -> None:
        """Lose and damage these shares of all bytes from now on, in both directions."""
        self.command("wire", drop=drop, corrupt=corrupt)

    def reset(self, *, keep_outputs: bool = True, fault: str | None = None) -> None:
        """Restart the board, with its boot silence; ``fault`` is latched from the start, for example RESTARTED."""
        self.command("reset", keep_outputs=keep_outputs, fault=fault)

    def unplug(self, seconds: float) -> None:
        """Pull the cable, and put it back ``seconds`` later; the board keeps running."""
        self.command("unplug", seconds=seconds)

    def clock(self, jump_s: float = 0.0, drift_ppm: float | None = None) -> None:
        """Let the board's clock jump forward, or change its drift."""
        self.command("clock", jump_s=jump_s, drift_ppm=drift_ppm)

    def supply(self, volt: float) -> None:
        """Set what the source of the servos' supply gives without load."""
        self.command("supply", volt=volt)

    def cause(self, fault: str, present: bool) -> None:
        """Let the cause of a fault (by name, for example OUTPUT_FAILED) appear or go."""
        self.command("cause", fault=fault, present=present)

    def quit(self) -> None:
        """End the board."""
        self.command("quit")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> BoardControl:
        return self

    def __exit__(self, *_exception) -> None:
        self.close()
