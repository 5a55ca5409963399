"""``picker record`` for a page: a process of its own, so that writing costs the view nothing, and the file is the command's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

from picker_dynamics import lifeline
from picker_dynamics.errors import PickerError, RecordingError
from picker_dynamics.recording.writer import checked_path

LONGEST_S = 3600.0
"""A recording that nobody ends ends by itself [s]."""

END_S = 20.0
"""The last of it is on the disk long before [s]."""


class RecordProcess:
    """Process that makes one recording at a time of the graph below a namespace.

    Args:
        say: called with the words and level of one that ended by itself, on a thread of its own.

    Attributes:
        path: of the file that is written now; empty: none.
    """

    def __init__(self, namespace: str, say: Callable[[str, str], None]):
        self.path, self._namespace, self._say = "", namespace, say
        self._process: subprocess.Popen[str] | None = None
        self._lock, self._ended, self._asked = threading.Lock(), threading.Event(), False
        self._last, self._code = "", 0

    def begin(self) -> str:
        """Record from now on; errors as those of the command, as far as they are known at once."""
        with self._lock:
            if self.path:
                raise PickerError(f"already recorded to {self.path}", subject="record")
            path = str(checked_path(None, self._namespace).resolve())
            command = [sys.executable, "-m", "picker_dynamics", "record", "-o", path, "--duration", f"{LONGEST_S:g}"]
            command += ["--namespace", self._namespace] if self._namespace else []
            self._ended.clear()
            self._asked, self._last, self.path = False, "", path
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

    def end(self) -> str:
        """End it, and wait until the file is whole; what is in it.

        Raises:
            PickerError: nothing is recorded.
            RecordingError: nobody said anything, or it could not be written.
        """
        if not self.path or self._process is None:
            raise PickerError("nothing is being recorded", subject="record")
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
