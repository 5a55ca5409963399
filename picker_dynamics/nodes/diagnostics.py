"""Diagnostics: entries of a report as DiagnosticStatus and DiagnosticArray (REP 107), and a limit to floods."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from picker_dynamics.errors import NAME_MAX, shown
from picker_dynamics.session.entry import Entry


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


def message_of(entry: Entry, name: str) -> DiagnosticStatus:
    """An entry as a message, under the ``name`` of its node instead of its part's."""
    part, colon, rest = entry.name.partition(":")
    pairs = [KeyValue(key=key, value=value) for key, value in entry.values.items()]
    full = f"{name}{colon}{rest}" if part else name
    return DiagnosticStatus(
        level=bytes([entry.level]), name=full, message=entry.message, hardware_id=entry.hardware_id, values=pairs
    )


def name_of(node) -> str:
    """A node's name for its entries: fully qualified, without the leading slash."""
    return node.get_fully_qualified_name().lstrip("/")


def array(node, entries: Iterable[Entry]) -> DiagnosticArray:
    """Array of the entries of ``node`` for ``/diagnostics``."""
    message = DiagnosticArray(status=[message_of(entry, name_of(node)) for entry in entries])
    message.header.stamp = node.get_clock().now().to_msg()
    return message


def values_of(message: DiagnosticStatus) -> dict[str, str]:
    """The key-value pairs of a status."""
    return {pair.key: pair.value for pair in message.values}
