"""Results for a person: what ``--json`` prints, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape

from .terminal import table

Columns = Mapping[str, Mapping[str, Any]]
"""Heading of a column -> name of a row -> number or word."""


def show(content: Mapping, console, leave: tuple[str, ...] = ()) -> None:
    """Print a result on a rich console but for entries ``leave``: dictionaries of dictionaries as tables, all else as lines."""
    for name, value in content.items():
        if name in leave:
            continue
        tables: dict[tuple[str, ...], list] = {}
        for path, one in _rows(value):
            tables.setdefault(tuple(one) if path and isinstance(one, Mapping) else (), []).append((path, one))
        for columns, rows in tables.items():
            if columns:
                shown = table(
                    escape(name.replace("_", " ")), "", *columns, left=("", "unit", "how"), title_justify="left", overflow="fold"
                )
                for path, one in rows:
                    shown.add_row(" ".join(path).replace("_", " "), *map(text, one.values()))
                console.print(shown)
            for path, one in [] if columns else rows:
                console.print(f"{' '.join((name, *path)).replace('_', ' ')}: {text(one)}", soft_wrap=True)


def show_columns(console, title: str, columns: Columns) -> None:
    """Print a table; every column has the same rows."""
    rows = {row: {name: column[row] for name, column in columns.items()} for row in next(iter(columns.values()))}
    show({title: rows}, console)


def _rows(value, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Innermost dictionaries, and what stands beside dictionaries, with the names that lead there."""
    if isinstance(value, Mapping) and any(isinstance(one, Mapping) for one in value.values()):
        for name, one in value.items():
            yield from _rows(one, (*path, name))
    else:
        yield path, value


def text(value) -> str:
    """A value in few characters."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text(one)}" for name, one in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(text, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
