"""Terminal of one's own for a program that reads keys: what is pressed goes in, what it shows comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import threading
import time
from collections.abc import Sequence

SIZE = (40, 160)


class Terminal:
    """A program on a pseudo-terminal that is its own; a context manager, nothing of it survives."""

    def __init__(self, words: Sequence[str], **options):
        self.keyboard, self._its = pty.openpty()
        termios.tcsetwinsize(self.keyboard, SIZE) if hasattr(termios, "tcsetwinsize") else None
        self.before = termios.tcgetattr(self.keyboard)
        self.process = subprocess.Popen(
            words,
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            **options,
        )
        self._shown: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while self.keyboard >= 0:
            try:
                if select.select([self.keyboard], [], [], 0.1)[0]:
                    self._shown.append(os.read(self.keyboard, 65536).decode("utf-8", "replace"))
            except (OSError, ValueError):
                return

    def press(self, keys: str) -> float:
        """Press keys; returns when, on the monotonic clock [s]."""
        pressed_s = time.monotonic()
        os.write(self.keyboard, keys.encode())
        return pressed_s

    @property
    def shown(self) -> str:
        """All that was shown so far."""
        return "".join(self._shown)

    @property
    def cooked(self) -> bool:
        """Whether the terminal reads lines and echoes them, as a shell wants it."""
        return bool(termios.tcgetattr(self._its)[3] & termios.ICANON and termios.tcgetattr(self._its)[3] & termios.ECHO)

    def hang_up(self) -> None:
        """Close it, as a window is closed."""
        keyboard, self.keyboard = self.keyboard, -1
        self._reader.join()
        os.close(keyboard)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.keyboard >= 0:
            self.hang_up()
        os.close(self._its)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_exception) -> None:
        self.close()
