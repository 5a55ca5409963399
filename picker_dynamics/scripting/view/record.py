"""Recordings that a page asks for: by ``picker record`` in a process of its own, so that writing costs the view nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from picker_dynamics import lifeline
from picker_dynamics.errors import PickerError, RecordingError
from picker_dynamics.recording.writer import checked_path
from picker_dynamics.session.remote import RemoteSession
from picker_dynamics.session.session import Row, Session

from ..equipment import Equipment
from ..recorded import Recorded

LONGEST_S = 3600.0
"""A recording that nobody ends ends by itself [s]."""

END_S = 20.0
"""The last of it is on the disk long before [s]."""


class Recorder:
    """Makes one recording at a time: of a running graph by a process, of an arm of this process as CSV.

    Args:
        say: called with the words and level of one that ended by itself, on a thread of its own.

    Attributes:
        path: of the file that is written now; empty: none.
    """

    def __init__(self, session: Session, known: Equipment, say: Callable[[str, str], None]):
        self.path, self._session, self._known, self._say = "", session, known, say
        self._process: subprocess.Popen[str] | None = None
        self._states = Recorded(known)
        self._lock, self._ended, self._asked = threading.Lock(), threading.Event(), False
        self._last, self._code = "", 0

    def begin(self) -> str:
        """Record from now on; errors as those of the command, as far as they are known at once."""
        with self._lock:
            if self.path:
                raise PickerError(f"already recorded to {self.path}", subject="record")
            self._asked, self._last = False, ""
            if not isinstance(self._session, RemoteSession):
                self._states = Recorded(self._known)
                self.path = str(Path.cwd() / time.strftime("picker_%Y-%m-%d_%H-%M-%S.csv"))
                self._session.listeners.append(self._add)
                return f"recording, {LONGEST_S:.0f} s at most, to {self.path}"
            namespace = self._session.namespace
            path = str(checked_path(None, namespace).resolve())
            command = [sys.executable, "-m", "picker_dynamics", "record", "-o", path, "--duration", f"{LONGEST_S:g}"]
            command += ["--namespace", namespace] if namespace else []
            self._ended.clear()
            self.path = path
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=os.environ | lifeline.children(),
            )
        threading.Thread(target=self._follow, args=(self._process,), name="recording", daemon=True).start()
        return f"recording, {LONGEST_S:.0f} s at most, to {path}"

    def _add(self, rows: Sequence[Row]) -> None:
        if not self._states.rows or rows[-1][0] - self._states.rows[0][0] < LONGEST_S:
            self._states.rows.extend(rows)

    def end(self) -> str:
        """End it, and wait until the file is whole; what is in it.

        Raises:
            PickerError: nothing is recorded.
            RecordingError: nobody said anything, or it could not be written.
        """
        if not self.path:
            raise PickerError("nothing is being recorded", subject="record")
        if self._process is None:
            self._session.listeners.remove(self._add)
            path, self.path = self.path, ""
            self._states.to_csv(path)
            return f"recorded: {path}: {len(self._states)} samples"
        self._asked = True
        self._process.send_signal(signal.SIGINT)
        if not self._ended.wait(END_S):
            raise RecordingError(f"the recording to {self.path} does not end", subject="record")
        if self._code:
            raise RecordingError(self._words(), subject="record")
        return self._words()

    def close(self) -> None:
        """End the recording where there is one."""
        if self.path:
            with contextlib.suppress(PickerError):
                self.end()

    def _words(self) -> str:
        return f"recorded: {self._last}" if self._code == 0 else self._last or "the recording broke off"

    def _follow(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            self._last = line.strip() or self._last
        self._code = process.wait()
        self.path = ""
        self._ended.set()
        if not self._asked:
            self._say(self._words(), "ok" if self._code == 0 else "error")
