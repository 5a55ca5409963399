"""Figure of panels, of a study, a demo or a recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Panel = tuple[Sequence[tuple[Any, Any, dict[str, Any]]], dict[str, Any]]
"""Curves (x, y, style), and settings of their axes: ``width`` in a style makes bars, ``least`` is what the y axis spans."""


def draw(path: Path, title: str, columns: int, panels: Sequence[Panel]) -> None:
    """Write a figure of panels, row by row, with one legend, as the ending of ``path`` says."""
    rows, size = -(-len(panels) // columns), (max(4.5 * columns, 8.0), 1.2 + 3.2 * -(-len(panels) // columns))
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    figure.suptitle(title)
    for one, (curves, settings) in zip(axes.flat, panels):
        for x, y, style in curves:
            (one.bar if "width" in style else one.plot)(x, y, **({} if "width" in style else {"lw": 1.3}) | style)
        least, (low, high) = settings.get("least", 0.0), one.get_ylim()
        if high - low < least:
            one.set_ylim(0.5 * (low + high - least), 0.5 * (low + high + least))
        one.set(**{name: value for name, value in settings.items() if name != "least"})
        one.grid(True, alpha=0.25)
    handles = {label: handle for one in axes.flat for handle, label in zip(*one.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig(path, dpi=120)
    plt.close(figure)
