"""What keys mean to who drives an arm: steps, the stop, and a line of words for what must not happen by a slip.

    arrows        tip forwards, back (x), left, right (y)      page up, page down: up, down (z)     t, g: hand up, down
    1 ... 9, 0    choose a joint                               + -: move it
    o, c          open, close the gripper                      . ,: larger, smaller steps
    space         stop, latched, whatever is being typed       p: payload in grams; : reset, enable; then Enter

A key that is held down repeats itself, and the terminal tells nobody that it is one press: a key for a step that comes again
within ``REPEAT_S`` is a repetition, and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

REPEAT_S = 0.2
"""Nobody means the same key twice within so short a time [s]; keyboards repeat one every 0.02 to 0.1 s."""

SIZES = 1, 5, 20
"""Of a step [mm or degrees]."""

LINE_MAX = 80
"""Longest line of words."""

BACKSPACES = "\x7f\x08"


class Action(NamedTuple):
    """What a key asks for.

    Attributes:
        what: ``tip`` (a step along x, y, z of the base frame, or in pitch: ``which`` 0 to 3), ``joint`` (a step of that one),
            ``gripper`` (+1 opens it), ``words`` (a line that was typed), ``stop``, ``quit`` or ``help``.
        which: axis or joint.
        sign: direction of a step.
        words: of the line.
    """

    what: str
    which: int = 0
    sign: int = 0
    words: tuple[str, ...] = ()


STEPS = {
    "up": Action("tip", 0, 1),
    "down": Action("tip", 0, -1),
    "left": Action("tip", 1, 1),
    "right": Action("tip", 1, -1),
    "page up": Action("tip", 2, 1),
    "page down": Action("tip", 2, -1),
    "t": Action("tip", 3, 1),
    "g": Action("tip", 3, -1),
    "o": Action("gripper", 0, 1),
    "c": Action("gripper", 0, -1),
}
OTHERS = {"q": Action("quit"), "\x04": Action("quit"), "h": Action("help"), "?": Action("help")}
LINES = {":": "", "p": "payload "}
"""Keys that begin a line, and with what: a space cannot be typed."""

ADDS, TAKES = "+=", "-_"


@dataclass
class Panel:
    """Choices of a person who drives: size of the steps, joint, the line that is being typed (None: none).

    Args:
        joints: how many the arm has.
        lines: keys that begin a line, and with what.
    """

    joints: int
    lines: Mapping[str, str] = field(default_factory=lambda: LINES)
    size: int = 1
    joint: int = 0
    line: str | None = None
    repeated: int = 0
    _seen: dict[str, float] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """Size of a step [mm or degrees]."""
        return SIZES[self.size]

    def press(self, key: str, now_s: float) -> Action | None:
        """Action of a key that was pressed at ``now_s``, in order of time; None: nothing that concerns the arm."""
        if key == " ":
            self.line = None
            return Action("stop")  # however often, whatever is being typed
        if self.line is not None:
            return self._typed(key)
        if key in self.lines:
            self.line = self.lines[key]
        elif key in ".,":
            self.size = min(max(self.size + (1 if key == "." else -1), 0), len(SIZES) - 1)
        elif key in "1234567890":
            chosen = (int(key) - 1) % 10
            self.joint = chosen if chosen < self.joints else self.joint
        elif key in OTHERS:
            return OTHERS[key]
        elif (step := self._step(key)) is not None:
            since_s = now_s - self._seen.get(key, -REPEAT_S)
            self._seen[key] = now_s
            if not 0.0 <= since_s < REPEAT_S:
                return step
            self.repeated += 1
        return None

    def _step(self, key: str) -> Action | None:
        if key in ADDS + TAKES:
            return Action("joint", self.joint, 1 if key in ADDS else -1)
        return STEPS.get(key)

    def _typed(self, key: str) -> Action | None:
        line = self.line or ""
        if key in "\r\n":
            self.line = None
            return Action("words", words=tuple(line.split())) if line.strip() else None
        if key == "\x1b":
            self.line = None
        elif key in BACKSPACES:
            self.line = line[:-1]
        elif len(key) == 1 and key.isprintable() and len(line) < LINE_MAX:
            self.line = line + key
        return None
