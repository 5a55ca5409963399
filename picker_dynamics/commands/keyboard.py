"""Keyboard of a terminal, key by key, and what keys mean to who drives an arm.

    arrows        tip forwards, back (x), left, right (y)      page up, page down: up, down (z)     t, g: hand up, down
    1 ... 9, 0    choose a joint                               + -: move it
    o, c          open, close the gripper                      . ,: larger, smaller steps
    space         stop, latched                                h: these lines                       q: end

A key that is held down repeats itself, and the terminal tells nobody that it is one press: a key for a step that comes again
within ``REPEAT_S`` is a repetition, and counts for nothing.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from picker_dynamics.errors import InputError

MOST = 1024
"""Bytes that are read at once."""

NAMED = {"A": "up", "B": "down", "C": "right", "D": "left", "5~": "page up", "6~": "page down"}
"""Ends of the escape sequences that mean a key here."""

SEQUENCE = re.compile(r"\x1b[\[O](?P<end>[0-9;?]*[ -/]*[@-~])|\x1b[^\[O]|(?P<key>.)", re.S)
"""One key: an escape sequence as a whole, one with Alt, or a character."""

REPEAT_S = 0.2
"""Nobody means the same key twice within so short a time [s]; keyboards repeat one every 0.02 to 0.1 s."""

SIZES = 1, 5, 20
"""Of a step [mm or degrees]."""


class Action(NamedTuple):
    """What a key asks for: a step (``tip`` along x, y, z of the base frame or in pitch, ``which`` 0 to 3; ``joint``;
    ``gripper``, +1 opens it), ``stop``, ``quit``, ``help``, or the key itself where it means nothing here.
    """

    what: str
    which: int = 0
    sign: int = 0


TIP = {"up": (0, 1), "down": (0, -1), "left": (1, 1), "right": (1, -1), "page up": (2, 1), "page down": (2, -1)}
STEPS = {key: Action("tip", *way) for key, way in (TIP | {"t": (3, 1), "g": (3, -1)}).items()}
STEPS |= {"o": Action("gripper", 0, 1), "c": Action("gripper", 0, -1)}
JOINT = {"+": 1, "=": 1, "-": -1, "_": -1}
OTHERS = {" ": "stop", "q": "quit", "\x04": "quit", "h": "help", "?": "help"}


class Keys:
    """Keys of a person who drives an arm of so many joints.

    Attributes:
        step: size of a step [mm or degrees].
        joint: that is chosen.
    """

    def __init__(self, joints: int):
        self.joints, self.step, self.joint = joints, SIZES[1], 0
        self._pressed: dict[str, float] = {}

    def press(self, key: str, now_s: float) -> Action | None:
        """Action of a key that was pressed at ``now_s``, in order of time; None: nothing that concerns the arm."""
        if key in ".,":
            self.step = SIZES[min(max(SIZES.index(self.step) + (1 if key == "." else -1), 0), len(SIZES) - 1)]
        elif key in "1234567890":
            chosen = (int(key) - 1) % 10
            self.joint = chosen if chosen < self.joints else self.joint
        elif key in STEPS or key in JOINT:
            since_s = now_s - self._pressed.get(key, -REPEAT_S)
            self._pressed[key] = now_s
            if not 0.0 <= since_s < REPEAT_S:
                return STEPS.get(key) or Action("joint", self.joint, JOINT[key])
        else:
            return Action(OTHERS.get(key, key))
        return None


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
        raise InputError("keys are read from a terminal: start the command in one", "stdin")
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)

    def keys(wait_s: float) -> list[str]:
        if not select.select([file], [], [], wait_s)[0]:
            return []
        data = os.read(file, MOST)
        if not data:
            raise EOFError
        return keys_in(data.decode("utf-8", "replace"))

    tty.setcbreak(file)
    try:
        yield keys
    finally:
        with suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(file, termios.TCSAFLUSH, before)
