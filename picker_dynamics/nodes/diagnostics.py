"""Diagnostics: DiagnosticStatus and DiagnosticArray from plain values (REP-107)."""

from __future__ import annotations

import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from picker_dynamics.errors import NAME_MAX, shown

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE

PERIOD_S = 1.0
"""How often diagnostics are published [s]."""

AT_ONCE_HZ = 5.0
"""How often what has changed is diagnosed at once, however fast it changes [1/s]; else once a second."""


def sender_in(header) -> str:
    """Sender that a message names in its ``frame_id``, cut: it comes back in texts and statuses."""
    return shown(header.frame_id, NAME_MAX)


class Flood:
    """Lets pass what is said up to a rate, and as many at once as come in one second of it; counts the others.

    Args:
        rate_hz: [1/s].

    Attributes:
        missed: how many did not pass, in all.
    """

    def __init__(self, rate_hz: float, clock: Callable[[], float] = time.monotonic):
        self._rate_hz, self._clock = rate_hz, clock
        self._credit, self._last_s = rate_hz, clock()
        self.missed = self._said = 0

    def lets_pass(self) -> bool:
        now_s = self._clock()
        self._credit = min(self._credit + self._rate_hz * (now_s - self._last_s), self._rate_hz)
        self._last_s = now_s
        if self._credit < 1.0:
            self.missed += 1
            return False
        self._credit -= 1.0
        return True

    def withheld(self) -> str:
        """Remark on the messages that did not pass since this was asked last."""
        new, self._said = self.missed - self._said, self.missed
        return f" (and {new} more)" if new else ""


def status(level, name: str, message: str, hardware_id: str = "", **values) -> DiagnosticStatus:
    """Diagnostic status; ``values`` become its key-value pairs, numbers with all their digits, texts cut (``errors.shown``)."""
    pairs = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=shown(message), hardware_id=hardware_id, values=pairs)


def name_of(node) -> str:
    """A node's name for its entries: fully qualified, without the leading slash."""
    return node.get_fully_qualified_name().lstrip("/")


def array(stamp, *statuses: DiagnosticStatus) -> DiagnosticArray:
    """Array of statuses for ``/diagnostics``."""
    message = DiagnosticArray(status=list(statuses))
    message.header.stamp = stamp
    return message


def values_of(message: DiagnosticStatus) -> dict[str, str]:
    """The key-value pairs of a status."""
    return {pair.key: pair.value for pair in message.values}


def _text(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, float) else shown(value)


def number_in(text: str | None) -> float | None:
    """A value as a number; None where it is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
