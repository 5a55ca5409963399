"""Exception tree of the package: every error carries its subject, value and limit.

Every message is one line that a person at the bench can act on.  ``exit_code`` is what the
``picker`` command and the nodes return to the shell when the error ends them.  What users or other programs
have put into a message is cut and escaped here, whatever its length.
"""

from __future__ import annotations

from typing import Any

TEXT_MAX = 1000
"""Longest message, and longest text in one [characters]."""

NAME_MAX = 200
"""Longest name [characters]: of a joint, a goal, a sender."""


def shown(text: object, most: int = TEXT_MAX) -> str:
    """A text as it may be printed, whoever wrote it: cut in the middle, control characters escaped."""
    text = str(text)
    if len(text) > most:
        tail = most // 4
        text = f"{text[: most - tail]} … ({len(text)} characters) … {text[-tail:]}"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text)


class PickerError(Exception):
    """Base of every error raised on purpose by this package.

    Args:
        message: One line naming joint, value and limit.
        subject: What the error is about: a joint, a link, a parameter, an option.
        value: The offending value, in SI units or radians.
        limit: The limit that it broke, in the same unit.
    """

    exit_code = 1

    def __init__(self, message: str, subject: str | None = None, value: Any = None, limit: Any = None):
        super().__init__(shown(message))
        self.subject = None if subject is None else shown(subject, NAME_MAX)
        self.value = shown(value) if isinstance(value, str) else value
        self.limit = limit


class DescriptionError(PickerError):
    """A URDF that is malformed, unphysical, or of a kind that is not supported."""

    exit_code = 3


class ConfigurationError(PickerError):
    """A servo map or parameter file that is incomplete or contradicts the arm."""

    exit_code = 4


class InputError(PickerError, ValueError):
    """A value that cannot be used: wrong shape, not finite, out of range."""

    exit_code = 5


def refuse_if(wrong: object, message: str, subject: str | None = None, value: object = None, limit: object = None) -> None:
    """Raise an InputError with that message if something is ``wrong``."""
    if wrong:
        raise InputError(message, subject=subject, value=value, limit=limit)


class PictureError(InputError):
    """A picture in which tags cannot be measured."""


class JointNamesError(InputError):
    """A joint that is missing, unknown or named twice."""


class LimitError(InputError):
    """A position, velocity, acceleration or pulse beyond its limit."""


class TrajectoryError(InputError):
    """Trajectory points that are out of order, in the past or incomplete."""


class UnreachableError(InputError):
    """A tool pose that no joint configuration reaches."""


class SingularityError(InputError):
    """A configuration in which joint values or rates cannot be told from the tool's."""


class InfeasibleError(PickerError):
    """A motion that needs more torque than the servos may give.

    ``value`` and ``limit`` are torques [N·m] (forces [N] for a sliding joint).

    Args:
        time_s: When along the motion the limit is broken first [s].
    """

    exit_code = 6

    def __init__(self, message: str, *about: Any, time_s: float, **named: Any):
        super().__init__(message, *about, **named)
        self.time_s = time_s


class GoalRefusedError(PickerError):
    """A goal that the controller refused or aborted; the message is the controller's."""

    exit_code = 6


class GoalAbortedError(GoalRefusedError):
    """A goal was begun and did not come to its end."""


class GoalCancelledError(GoalAbortedError):
    """A goal that was begun, and that somebody cancelled."""


class ClosedError(PickerError):
    """An ``Arm`` that was closed: it moves and answers no more."""


class BlockedError(PickerError):
    """Nobody may move the arm now: a node is not heard, or another one takes its place."""


class CrossCheckError(PickerError):
    """Two models of one URDF disagree: nothing may move."""

    exit_code = 7


class ProtocolError(PickerError):
    """Bytes that are no valid frame, or a message that may not be sent."""

    exit_code = 8


class VersionError(ProtocolError):
    """The board speaks another version of the protocol."""


class LinkError(PickerError):
    """The serial link cannot be used: no such port, busy, silent, or pulled."""

    exit_code = 9


class NoPortError(LinkError):
    """A serial port that does not exist."""


class BoardFaultError(PickerError):
    """The board reports a latched fault."""

    exit_code = 10


class CameraError(PickerError):
    """No camera, or one that gives no pictures any more."""

    exit_code = 16


class RecordingError(PickerError):
    """A recording that can be written no more, or that cannot be read."""

    exit_code = 13


class MissingDependencyError(PickerError, ImportError):
    """An optional package is not installed; the message says how to get it."""

    exit_code = 11
