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

REPEAT_S = 0.2
"""Nobody means the same key twice within so short a time [s]; keyboards repeat one every 0.02 to 0.1 s."""

SIZES = 1, 5, 20
"""Of a step [mm or degrees]."""

LINE_MAX = 80
"""Longest line of words."""

BACKSPACES = "\x7f\x08"


@dataclass(frozen=True)
class TipStep:
    """A step of the tip: along which of x, y, z in the base frame (0, 1, 2), or in pitch (3)."""

    axis: int
    sign: int


@dataclass(frozen=True)
class JointStep:
    """A step of a joint; None: of the gripper, ``sign`` +1 opens it."""

    joint: int | None
    sign: int


@dataclass(frozen=True)
class Words:
    """A line that was typed."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Stop:
    """Key's action that latches the stop."""


@dataclass(frozen=True)
class Quit:
    """Key's action that ends driving."""


@dataclass(frozen=True)
class Help:
    """Key's action that tells which keys there are."""


Action = TipStep | JointStep | Words | Stop | Quit | Help

STEPS: Mapping[str, TipStep | JointStep] = {
    "up": TipStep(0, 1),
    "down": TipStep(0, -1),
    "left": TipStep(1, 1),
    "right": TipStep(1, -1),
    "page up": TipStep(2, 1),
    "page down": TipStep(2, -1),
    "t": TipStep(3, 1),
    "g": TipStep(3, -1),
    "o": JointStep(None, 1),
    "c": JointStep(None, -1),
}
OTHERS: Mapping[str, Action] = {"q": Quit(), "\x04": Quit(), "h": Help(), "?": Help()}
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
            return Stop()  # however often, whatever is being typed
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

    def _step(self, key: str) -> TipStep | JointStep | None:
        if key in ADDS + TAKES:
            return JointStep(self.joint, 1 if key in ADDS else -1)
        return STEPS.get(key)

    def _typed(self, key: str) -> Words | None:
        line = self.line or ""
        if key in "\r\n":
            self.line = None
            return Words(tuple(line.split())) if line.strip() else None
        if key == "\x1b":
            self.line = None
        elif key in BACKSPACES:
            self.line = line[:-1]
        elif len(key) == 1 and key.isprintable() and len(line) < LINE_MAX:
            self.line = line + key
        return None
