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
from typing import NamedTuple

REPEAT_S = 0.2
"""Nobody means the same key twice within so short a time [s]; keyboards repeat one every 0.02 to 0.1 s."""

SIZES = 1, 5, 20
"""Of a step [mm or degrees]."""


class Action(NamedTuple):
    """What a key asks for.

    Attributes:
        what: ``tip`` (a step along x, y, z of the base frame, or in pitch: ``which`` 0 to 3), ``joint`` (a step of that one),
            ``gripper`` (+1 opens it), ``words`` (a line that was typed), ``repeated``, ``stop``, ``quit`` or ``help``.
        which: axis or joint.
        sign: direction of a step.
        words: of the line.
    """

    what: str
    which: int = 0
    sign: int = 0
    words: tuple[str, ...] = ()


TIP = {"up": (0, 1), "down": (0, -1), "left": (1, 1), "right": (1, -1), "page up": (2, 1), "page down": (2, -1)}
STEPS = {key: Action("tip", *way) for key, way in (TIP | {"t": (3, 1), "g": (3, -1)}).items()}
STEPS |= {"o": Action("gripper", 0, 1), "c": Action("gripper", 0, -1)}
JOINT = {"+": 1, "=": 1, "-": -1, "_": -1}
OTHERS = {"q": Action("quit"), "\x04": Action("quit"), "h": Action("help"), "?": Action("help")}
LINES = {":": "", "p": "payload "}
"""Keys that begin a line, and with what: a space cannot be typed."""


class Panel:
    """Choices of a person who drives.

    Args:
        joints: how many the arm has.
        lines: keys that begin a line, and with what.

    Attributes:
        step: size of a step [mm or degrees].
        joint: that is chosen.
        line: that is being typed; None: none.
    """

    def __init__(self, joints: int, lines: Mapping[str, str] = LINES):
        self.joints, self.lines = joints, lines
        self.step, self.joint, self.line = SIZES[1], 0, None
        self._pressed: dict[str, float] = {}

    def press(self, key: str, now_s: float) -> Action | None:
        """Action of a key that was pressed at ``now_s``, in order of time; None: nothing that concerns the arm."""
        if key == " ":
            self.line = None
            return Action("stop")  # however often, whatever is being typed
        if self.line is not None:
            return self._typed(key, self.line)
        if key in self.lines:
            self.line = self.lines[key]
        elif key in ".,":
            self.step = SIZES[min(max(SIZES.index(self.step) + (1 if key == "." else -1), 0), len(SIZES) - 1)]
        elif key in "1234567890":
            chosen = (int(key) - 1) % 10
            self.joint = chosen if chosen < self.joints else self.joint
        elif key in STEPS or key in JOINT:
            since_s = now_s - self._pressed.get(key, -REPEAT_S)
            self._pressed[key] = now_s
            step = STEPS.get(key) or Action("joint", self.joint, JOINT[key])
            return Action("repeated") if 0.0 <= since_s < REPEAT_S else step
        return OTHERS.get(key)

    def _typed(self, key: str, line: str) -> Action | None:
        ends = key in "\r\n\x1b"
        if key in "\x7f\x08":
            line = line[:-1]
        elif len(key) == 1 and key.isprintable():
            line += key
        self.line = None if ends else line
        return Action("words", words=tuple(line.split())) if ends and key != "\x1b" and line.strip() else None
