"""Recordings that a page asks for: by ``picker record`` in a process of its own, so that writing costs the view nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

from picker_dynamics import lifeline
from picker_dynamics.errors import PickerError, RecordingError
from picker_dynamics.recording.writer import checked_path
from picker_dynamics.session.remote import RemoteSession
from picker_dynamics.session.session import Session

LONGEST_S = 3600.0
"""A recording that nobody ends ends by itself [s]."""

END_S = 20.0
"""The last of it is on the disk long before [s]."""


class Recorder:
    """Makes one recording at a time of an arm that runs in a process of its own.

    Args:
        say: called with the words and level of one that ended by itself.

    Attributes:
        path: of the file that is written now; empty: none.
    """

    def __init__(self, session: Session, say: Callable[..., None]):
        self.path, self._session, self._say = "", session, say
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def begin(self) -> str:
        """Record from now on; errors as those of the command, as far as they are known at once."""
        if not isinstance(self._session, RemoteSession):
            raise PickerError("a script's own arm is recorded by the script: with arm.record()", subject="record")
        with self._lock:
            if self._process is not None:
                raise PickerError(f"already recorded to {self.path}", subject="record")
            namespace = self._session.namespace
            path = str(checked_path(None, namespace).resolve())
            command = [sys.executable, "-m", "picker_dynamics", "record", "-o", path, "--duration", f"{LONGEST_S:g}"]
            command += ["--namespace", namespace] if namespace else []
            pipe, around = subprocess.PIPE, os.environ | lifeline.children()
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=around
            )
            self.path = path
        return f"recording, {LONGEST_S:.0f} s at most, to {path}"

    def end(self) -> str:
        """End it, and wait until the file is whole; what is in it.

        Raises:
            PickerError: nothing is recorded.
            RecordingError: nobody said anything, or it could not be written.
        """
        with self._lock:
            if self._process is None:
                raise PickerError("nothing is being recorded", subject="record")
            self._process.send_signal(signal.SIGINT)
            return self._ended(self._process)

    def look(self) -> None:
        """Say what became of a recording that ended by itself."""
        if self._process is None or self._process.poll() is None:
            return
        with contextlib.suppress(PickerError):  # ended meanwhile
            try:
                self._say(self.end())
            except RecordingError as error:
                self._say(str(error), "error")

    def close(self) -> None:
        """End the recording where there is one."""
        with contextlib.suppress(PickerError):
            self.end()

    def _ended(self, process: subprocess.Popen[str]) -> str:
        try:
            said = process.communicate(timeout=END_S)[0].strip().rpartition("\n")[2]
        except subprocess.TimeoutExpired:
            raise RecordingError(f"the recording to {self.path} does not end", subject="record") from None
        self._process, self.path = None, ""
        if process.returncode:
            raise RecordingError(said or "the recording broke off", subject="record")
        return f"recorded: {said}"
