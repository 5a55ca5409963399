"""Connection to a servo board or bus: a thread looks for it as long as a connection is wanted, so that nothing waits for it."""

from __future__ import annotations

import threading
from typing import Protocol

from picker_dynamics.board.session import Routine, State
from picker_dynamics.errors import PickerError

JOIN_S = 0.05


class Closes(Protocol):
    """What a session talks through."""

    def close(self) -> None:
        """Close the port."""


class Connects(Protocol):
    """Session whose outputs are at the other end of a port: ``HardwareSession``, ``BusSession``."""

    state: State
    problem: str
    cancelled: threading.Event

    @property
    def link(self) -> Closes:
        """What it talks through."""

    def connect(self, give_up_s: float = ...) -> None:
        """Open the port and find the outputs, again and again until ``cancelled`` is set, or for so long [s]."""

    def release(self) -> None:
        """Take no commands any more, and hold."""

    def disconnect(self) -> None:
        """Close the port; the outputs hold what they have."""


class Connection:
    """Connects ``session`` again whenever its outputs are lost.

    Attributes:
        wanted: a connection is wanted.
    """

    def __init__(self, session: Connects, port: str):
        self.session, self._port = session, port
        self._thread: threading.Thread | None = None
        self.wanted = False
        self._failure: Exception | None = None

    def open(self) -> None:
        """Open the port and shake hands, in a thread, until a board for this arm answers."""
        self.session.problem = Routine(f"connecting to {self._port}")
        self.session.cancelled.clear()
        self.wanted = True
        self.look()

    def _connect(self) -> None:
        try:
            self.session.connect()
        except PickerError as error:
            self.session.problem = str(error)
        except Exception as error:  # a thread's exception would only be printed
            self._failure = error

    def look(self) -> None:
        """Look for the board again where it was lost; raises an error that nobody foresaw."""
        if self._failure is not None:
            raise self._failure
        looking = self._thread is not None and self._thread.is_alive()
        if self.wanted and not looking and self.session.state is State.OFFLINE:
            self._thread = threading.Thread(target=self._connect, name="connect", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Close the port; the board holds what it has."""
        self.wanted = False
        self.session.cancelled.set()
        while self._thread is not None and self._thread.is_alive():
            self.session.link.close()  # a handshake under way would take its time
            self._thread.join(JOIN_S)
        self.session.disconnect()
