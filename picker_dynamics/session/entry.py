"""Entry of a report: the condition of one part of an arm as plain data, as diagnostic_msgs/DiagnosticStatus has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from picker_dynamics import errors
from picker_dynamics.errors import PickerError, shown

OK, WARN, ERROR, STALE = range(4)


@dataclass(frozen=True)
class Entry:
    """Condition of one part: level, text for people, and figures as texts."""

    level: int
    name: str
    message: str
    hardware_id: str
    values: Mapping[str, str]


def entry(level: int, name: str, message: object, hardware_id: str = "", **values: Any) -> Entry:
    """Entry with ``values`` as texts: numbers with all their digits, texts cut (``errors.shown``)."""
    return Entry(level, name, shown(message), hardware_id, {key: _text(value) for key, value in values.items()})


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, float) else shown(value)


def about_error(error: PickerError | None) -> dict[str, Any]:
    """Kind of an error, and the joint, value and limit that it is about; nothing without an error."""
    if error is None:
        return {}
    return {"error": type(error).__name__, "joint": error.subject or "", "value": error.value, "limit": error.limit}


def error_of(text: str, about: Mapping[str, Any], kind: type[PickerError] | None = None) -> PickerError:
    """Error that was told elsewhere, by what ``about_error`` says of it; of another ``kind`` where that is given."""
    made: Any = kind or getattr(errors, about.get("error") or "", PickerError)
    facts = about.get("joint"), about.get("value"), about.get("limit")
    try:
        found: PickerError = made(text, *facts)
        return found
    except TypeError:
        return PickerError(text, *facts)


def number_in(text: str | None) -> float | None:
    """A value as a number; None where it is none."""
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
