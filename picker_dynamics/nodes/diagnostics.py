"""Diagnostics: DiagnosticStatus and DiagnosticArray from plain values (REP-107)."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE


def status(level, name: str, message: str, hardware_id: str = "", **values) -> DiagnosticStatus:
    """A status; ``values`` become its key-value pairs, numbers with all their digits."""
    pairs = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=message, hardware_id=hardware_id, values=pairs)


def name_of(node) -> str:
    """A node's name for its entries: fully qualified, without the leading slash."""
    return node.get_fully_qualified_name().lstrip("/")


def array(stamp, *statuses: DiagnosticStatus) -> DiagnosticArray:
    """Statuses for ``/diagnostics``."""
    message = DiagnosticArray(status=list(statuses))
    message.header.stamp = stamp
    return message


def values_of(message: DiagnosticStatus) -> dict[str, str]:
    """The key-value pairs of a status."""
    return {pair.key: pair.value for pair in message.values}


def _text(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, float) else str(value)
