"""Results of a study or a demo for a person: a table by column and row, and a figure of panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from rich.markup import escape

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from .terminal import table

Columns = Mapping[str, Mapping[str, Any]]
"""Heading of a column -> name of a row -> number or word."""

Panel = tuple[Sequence[tuple[Any, Any, dict[str, Any]]], dict[str, Any]]
"""Curves (x, y, style), and settings of their axes."""


def show(console, title: str, columns: Columns, form: Callable[[Any], str] | None = None) -> None:
    """Print a table; every column has the same rows.  ``form`` writes a value."""
    made = table(escape(title), "", *columns, left=("",), title_justify="left")
    for row in next(iter(columns.values())):
        made.add_row(row.replace("_", " "), *((form or _number)(column[row]) for column in columns.values()))
    console.print(made)


def _number(value: Any) -> str:
    """A number in few digits, whatever its size; a word as it is."""
    if value is None or isinstance(value, str | bool):
        return {None: "never", True: "yes", False: "NO"}.get(value, str(value))
    if abs(value) < 1e-5:
        return "<1e-5"
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.2g}" if abs(value) < 1.0 else f"{value:.3g}"


def draw(path: Path, title: str, columns: int, panels: Sequence[Panel]) -> None:
    """Write a figure of panels, row by row, with the legend of the first."""
    rows, size = -(-len(panels) // columns), (max(4.5 * columns, 8.0), 1.2 + 3.2 * -(-len(panels) // columns))
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    figure.suptitle(title)
    for one, (curves, settings) in zip(axes.flat, panels):
        for x, y, style in curves:
            one.plot(x, y, **{"lw": 1.3} | style)
        one.set(**settings)
        one.grid(True, alpha=0.25)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig(path, dpi=120)
    plt.close(figure)
