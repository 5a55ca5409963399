"""Diagnostics: entries of a report as DiagnosticStatus and DiagnosticArray (REP 107)."""

from __future__ import annotations

from collections.abc import Iterable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from picker_dynamics.errors import NAME_MAX, shown
from picker_dynamics.session.entry import Entry


def sender_in(header) -> str:
    """Sender that a message names in its ``frame_id``, cut: it comes back in texts and statuses."""
    return shown(header.frame_id, NAME_MAX)


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
