"""Keyboard of a terminal, key by key: cbreak mode ending with the program, however that ends, and rests while it is suspended."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import tty
from contextlib import suppress

from picker_dynamics.errors import InputError

ENDS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

MOST = 1024
"""Bytes that are read at once."""

NAMED = {"A": "up", "B": "down", "C": "right", "D": "left", "5~": "page up", "6~": "page down"}
"""Ends of the escape sequences that mean a key here."""

SEQUENCE = re.compile(r"\x1b[\[O](?P<end>[0-9;?]*[ -/]*[@-~])|\x1b[^\[O]|.", re.S)
"""One key: an escape sequence as a whole, one with Alt, or a character."""

BEGUN = re.compile(r"\x1b[\[O][0-9;?]*$")
"""A sequence whose end has not come yet."""


def keys_in(text: str) -> list[str]:
    """The keys in what a terminal sent: characters, and names for some others; sequences that mean nothing here are left out."""
    keys = []
    for found in SEQUENCE.finditer(text):
        end = found["end"]
        if end is not None:
            keys += [NAMED[end]] if end in NAMED else []
        elif len(found[0]) == 1:
            keys.append(found[0])
    return keys


class Keyboard:
    """Keys of standard input, as a context manager; the terminal is as it was before when that ends.

    Signals that end a program (Ctrl-C, SIGTERM, SIGHUP) are noted, for whoever reads keys to end.  Suspended (Ctrl-Z), it
    gives the terminal back; continued, it forgets what was typed meanwhile.

    Raises:
        InputError: standard input is no terminal.

    Attributes:
        ended: such a signal came.
        resumed: it was suspended and goes on; whoever looks sets it back.
    """

    def __init__(self) -> None:
        if not sys.stdin.isatty():
            raise InputError("keys are read from a terminal, and standard input is none: start it in one", subject="stdin")
        self._file, self.ended, self.resumed, self._begun = sys.stdin.fileno(), False, False, ""

    def __enter__(self) -> Keyboard:
        self._before = termios.tcgetattr(self._file)
        self._handlers = {number: signal.signal(number, self._end) for number in ENDS}
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._suspend)
        self._begin()
        return self

    def __exit__(self, *exception: object) -> None:
        self._restore()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _begin(self) -> None:
        tty.setcbreak(self._file, termios.TCSAFLUSH)

    def _restore(self) -> None:
        with suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(self._file, termios.TCSAFLUSH, self._before)

    def _end(self, *_: object) -> None:
        self.ended = True

    def _suspend(self, *_: object) -> None:
        self._restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # stands here until it is continued
        signal.signal(signal.SIGTSTP, self._suspend)
        self._begin()
        self.resumed = True

    def keys(self, wait_s: float) -> list[str]:
        """Keys that were pressed, after at most ``wait_s``.

        Raises:
            EOFError: the terminal is gone, or the program is to end.
        """
        if self.ended:
            raise EOFError
        if not select.select([self._file], [], [], wait_s)[0]:
            return []
        try:
            data = os.read(self._file, MOST)
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        text = self._begun + data.decode("utf-8", "replace")
        begun = BEGUN.search(text)
        self._begun = begun[0] if begun else ""
        return keys_in(text.removesuffix(self._begun))
