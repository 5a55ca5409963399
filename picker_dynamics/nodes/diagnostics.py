"""Diagnostics: entries of a report as DiagnosticStatus and DiagnosticArray (REP 107), and a limit to floods."""

from __future__ import annotations

from collections.abc import Iterable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from picker_dynamics.errors import NAME_MAX, shown
from picker_dynamics.session.entry import Entry


def sender_in(header) -> str:
    """Sender that a message names in its ``frame_id``, cut: it comes back in texts and statuses."""
    return shown(header.frame_id, NAME_MAX)


class Flood:
    """Lets pass what is said up to a rate [1/s], of which a second's worth may come at once; ``missed`` counts the others."""

    def __init__(self, rate_hz: float):
        self._rate_hz = self._credit = rate_hz
        self._last_s, self.missed = -float("inf"), 0

    def lets_pass(self, now_s: float) -> bool:
        self._credit = min(self._credit + self._rate_hz * (now_s - self._last_s), self._rate_hz)
        self._last_s = now_s
        if self._credit < 1.0:
            self.missed += 1
            return False
        self._credit -= 1.0
        return True


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
