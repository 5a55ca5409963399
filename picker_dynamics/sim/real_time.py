"""A simulation behind a port in real time: its cable, its side door, and the pace at which it lives."""

from __future__ import annotations

import math
import select
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from picker_dynamics.errors import LinkError, PickerError

from .control_socket import ControlServer
from .pty_port import PtyPort

CATCH_UP_S = 0.5
"""How far behind real time a simulation may fall and still make it up [s]."""


class RealTime(ABC):
    """Runs a simulation by a process or a thread, paced to absolute times; who inherits it says what a tick does.

    It joins a ``PtyPort`` (the cable) and a ``ControlServer`` (the side door) to the ``plant``.

    Args:
        link: name of the port to make.
        control: path of the control socket to make, or None.
        seed: of injected faults.

    Raises:
        LinkError: port or control socket cannot be made.
    """

    plant: Any
    skipped_s: float

    def __init__(self, link: str | Path, control: str | Path | None = None, seed: int = 0):
        self.port = PtyPort(link, seed)
        try:
            self.control = None if control is None else ControlServer(control, self.answer)
        except LinkError:
            self.port.close()
            raise
        self._lock, self._stopped, self._leaving = threading.RLock(), False, False
        self._epoch, self._wake_s = time.monotonic(), 0.0
        self._unplug_s, self._plug_in_at_s = 0.0, math.inf
        self.behind_max_s = 0.0

    @property
    @abstractmethod
    def time_s(self) -> float:
        """Time since the start that has been lived through [s]."""

    @property
    @abstractmethod
    def nominal_v(self) -> float:
        """Nominal voltage of the supply [V]."""

    @abstractmethod
    def _next_look(self) -> float:
        """When to look at wire and clock again, if nobody writes before [s]."""

    @abstractmethod
    def _tick(self, now_s: float) -> None:
        """Live until ``now_s``, taking what came by the port and sending what is said."""

    @property
    def commands(self) -> dict[str, Callable[..., dict[str, Any] | None]]:
        """What the control socket takes: the truth, a berry of ``mass_kg`` (0: none) at ``com`` [m], and faults.

        ``wire`` loses and damages these shares of all bytes from then on, in both directions; ``unplug`` pulls the cable for so
        many seconds, what is simulated keeps running; ``supply`` sets what the source gives without load [V].
        """
        return {
            "truth": self._truth,
            "attach": lambda mass_kg, com=(0.0, 0.0, 0.0): self.plant.attach(mass_kg, com),
            "wire": self._wire,
            "unplug": self._unplug,
            "supply": self._feed,
        }

    def run(self) -> None:
        """Run in real time until ``stop`` is called, then remove port and socket."""
        self._epoch = time.monotonic()
        try:
            while not (self._stopped or (self._leaving and self.port.descriptor is None)):
                self._wake_s = self._next_look()
                ready = self.wait(self._epoch + self._wake_s)
                with self._lock:
                    self.catch_up(time.monotonic() - self._epoch)
                if self.control is not None and self.control in ready:
                    self.control.handle_request()
        finally:
            self.port.close()
            if self.control is not None:
                self.control.close()

    def stop(self) -> None:
        """End ``run``; may be called from a signal handler or another thread."""
        self._stopped = True

    def stop_when_free(self) -> None:
        """End ``run`` as soon as nobody has the port open; may be called from a signal handler."""
        self._leaving = True

    def catch_up(self, now_s: float) -> None:
        """Live until a time since the start [s]."""
        if self._unplug_s:  # not where it was asked for: another thread may be waiting for the port
            self.port.unplug()
            self._unplug_s, self._plug_in_at_s = 0.0, now_s + self._unplug_s
        if now_s >= self._plug_in_at_s:
            self._plug_in_at_s = math.inf
            self.port.plug_in()
        self._tick(now_s)

    def wait(self, until_s: float) -> list[Any]:
        """Sleep until a time or until somebody writes; what is readable."""
        readers = [one for one in (self.control, self.port.descriptor) if one is not None]
        return select.select(readers, [], [], max(0.0, until_s - time.monotonic()))[0]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Reply to a request of the control socket; may be called directly, from any thread."""
        arguments, commands = dict(request), self.commands
        command = commands.get(arguments.pop("command", None))
        if command is None:
            return {"ok": False, "error": f"the command must be one of {', '.join(commands)}"}
        try:
            with self._lock:
                return {"ok": True, **(command(**arguments) or {})}
        except (PickerError, TypeError, ValueError, KeyError) as error:
            return {"ok": False, "error": str(error)}

    def _truth(self) -> dict[str, Any]:
        plant = self.plant
        return {
            "time_s": plant.time,
            "monotonic_s": self._epoch + self.time_s,
            "q": plant.q.tolist(),
            "v": plant.v.tolist(),
            "tip": plant.tip.tolist(),
            "torque": plant.torque.tolist(),
            "setpoint": [None if math.isnan(angle) else angle for angle in plant.setpoint.tolist()],
            "payload_kg": plant.payload,
            "behind_max_s": self.behind_max_s,
            "skipped_s": self.skipped_s,
        }

    def _feed(self, volt: float) -> None:
        self.plant.feed(volt / self.nominal_v)

    def _wire(self, drop: float = 0.0, corrupt: float = 0.0) -> None:
        self.port.wire.drop, self.port.wire.corrupt = float(drop), float(corrupt)

    def _unplug(self, seconds: float) -> None:
        self._unplug_s = float(seconds)
