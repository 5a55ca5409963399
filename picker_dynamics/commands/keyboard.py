"""Keyboard of a terminal, key by key."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from picker_dynamics.errors import InputError

MOST = 1024
"""Bytes that are read at once."""

NAMED = {"A": "up", "B": "down", "C": "right", "D": "left", "5~": "page up", "6~": "page down"}
"""Ends of the escape sequences that mean a key here."""

SEQUENCE = re.compile(r"\x1b[\[O](?P<end>[0-9;?]*[ -/]*[@-~])|\x1b[^\[O]|(?P<key>.)", re.S)
"""One key: an escape sequence as a whole, one with Alt, or a character."""


def keys_in(text: str) -> list[str]:
    """The keys in what a terminal sent: characters, and names for some others; sequences that mean nothing here are left out."""
    found = (one["key"] or NAMED.get(one["end"] or "", "") for one in SEQUENCE.finditer(text))
    return [key for key in found if key]


@contextmanager
def keyboard() -> Iterator[Callable[[float], list[str]]]:
    """Read standard input key by key; yields what returns the keys that were pressed, after at most so long [s].

    That raises an EOFError where the terminal is gone; at the end the terminal is as it was before.

    Raises:
        InputError: standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise InputError("keys are read from a terminal, and standard input is none: start it in one", subject="stdin")
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)

    def keys(wait_s: float) -> list[str]:
        if not select.select([file], [], [], wait_s)[0]:
            return []
        try:
            data = os.read(file, MOST)
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        return keys_in(data.decode("utf-8", "replace"))

    tty.setcbreak(file)
    try:
        yield keys
    finally:
        with suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(file, termios.TCSAFLUSH, before)
