"""Sheets to print: one for the arm to stand on, with a tag, and one with tags for its hand; where everything is on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import MissingDependencyError

from .edges import CELLS
from .tags import Placed, Tag

BASE = Placed(Tag(0, 0.08), np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.12, 0.085, 0.0]))
"""Tag of the base sheet, in the frame of the arm's base: its right is the base's -y, up is x."""

HAND, HAND_SIZES_M = 1, (0.03, 0.04, 0.06)
"""Number of the tag on the hand, and edges to choose from [m].  Its x axis is glued along the hand, towards the tool."""

TOUCH_M = (0.20, -0.03, 0.0)
"""Middle of the cross that the tip touches, in the frame of the arm's base [m]."""

PAGE_MM, ORIGIN_MM, RULER_MM = (210.0, 297.0), (145.0, 75.0), 100.0
"""A4; where the base's origin is on it, from the lower left corner; length of the ruler."""

GREY, CUT = "0.45", {"color": "0.6", "lw": 0.5, "ls": (0, (4, 4))}


def write_sheet(path: str | Path) -> None:
    """Write the sheets, two pages of A4 at true scale, as a PDF.

    Raises:
        MissingDependencyError: matplotlib or OpenCV is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_pdf import PdfPages
    except ImportError as error:
        raise MissingDependencyError('the sheet needs matplotlib: pip install "picker_dynamics[camera]"', "matplotlib") from error
    pages = base_page(), hand_page()
    with PdfPages(path, metadata={"Title": "Tags of an arm's camera", "CreationDate": None}) as file:
        for page in pages:
            file.savefig(page)


def base_page() -> Any:
    """Figure of the sheet that the arm stands on."""
    figure, axes = _page()
    (x0, y0), (width, height) = ORIGIN_MM, PAGE_MM
    axes.plot([10, width - 10], [y0, y0], [x0, x0], [10, height - 12], color=GREY, lw=0.6)
    axes.annotate("", (x0, height - 10), (x0, height - 30), arrowprops={"arrowstyle": "-|>", "color": GREY})
    axes.annotate("", (10, y0), (30, y0), arrowprops={"arrowstyle": "-|>", "color": GREY})
    axes.text(x0 + 1, height - 50, "x of the arm's base", color=GREY, fontsize=7, rotation=90, va="top")
    axes.text(11, y0 + 2, "y", color=GREY, fontsize=7)
    for radius in (30, 40, 50, 60):
        around = np.linspace(0.0, 2.0 * np.pi, 181)
        axes.plot(
            x0 + radius * np.cos(around), y0 + radius * np.sin(around), color="0.7", lw=0.5, ls="-" if radius == 60 else ":"
        )
        axes.text(x0 + 0.71 * radius, y0 - 0.71 * radius, f"{radius}", color=GREY, fontsize=6, ha="center", va="center")
    axes.text(x0 + 2, y0 + 2, "origin of base_link", color=GREY, fontsize=7)
    right, up = x0 - 1e3 * BASE.position[1], y0 + 1e3 * BASE.position[0]
    _draw_tag(axes, BASE.tag, right, up)
    _label(axes, BASE.tag, right, up - 0.5e3 * BASE.tag.size_m - 9)
    x, y = x0 - 1e3 * TOUCH_M[1], y0 + 1e3 * TOUCH_M[0]
    axes.plot([x - 8, x + 8], [y, y], color="black", lw=0.4)
    axes.plot([x, x], [y - 8, y + 8], color="black", lw=0.4)
    axes.text(x + 2, y + 2, f"touch\nx {1e3 * TOUCH_M[0]:.0f}\ny {1e3 * TOUCH_M[1]:.0f} mm", fontsize=7)
    _ruler(axes, 15, 258)
    lines = (
        "Sheet under the arm",
        "Print at 100 % (not: fit to page), on stiff paper; measure ruler and black square.",
        "Put the base on the lines, x ahead; tape both to a level table.",
    )
    axes.text(15, 284, "\n".join(lines), va="top", fontsize=8, linespacing=1.6)
    return figure


def hand_page() -> Any:
    """Figure of the sheet with tags for the hand."""
    figure, axes = _page()
    for size, up in zip(HAND_SIZES_M, (215, 150, 70)):
        tag, right = Tag(HAND, size), 70.0
        reach = 0.5e3 * size * (1.0 + 2.0 / CELLS) + 3.0
        axes.plot([right + reach * s for s in (-1, 1, 1, -1, -1)], [up + reach * s for s in (-1, -1, 1, 1, -1)], **CUT)
        _draw_tag(axes, tag, right, up)
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):  # where its axes leave the card
            axes.plot([right + reach * x, right + (reach - 2) * x], [up + reach * y, up + (reach - 2) * y], color="black", lw=0.5)
        axes.annotate("", (right + reach + 22, up), (right + reach + 2, up), arrowprops={"arrowstyle": "-|>", "color": "black"})
        axes.text(right + reach + 25, up, "to the tool", va="center", fontsize=7)
        axes.text(right + reach - 1.5, up + 6, "tool", rotation=90, ha="center", va="center", fontsize=5)
        _label(axes, tag, right, up - reach - 5)
    _ruler(axes, 15, 258)
    lines = (
        "Tags for the hand: take the largest that fits",
        "Print at 100 %; measure ruler and black square.  Glue it flat on stiff card, cut along the dashes, and fix it",
        "to the last link, its arrow along the line from the wrist's axis to the tool.",
    )
    axes.text(15, 284, "\n".join(lines), va="top", fontsize=8, linespacing=1.6)
    return figure


def _page() -> tuple[Any, Any]:
    """A figure of A4 and its axes [mm]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE_MM[0] / 25.4, PAGE_MM[1] / 25.4))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, PAGE_MM[0]), ylim=(0.0, PAGE_MM[1]))
    axes.set_axis_off()
    return figure, axes


def _draw_tag(axes: Any, tag: Tag, x: float, y: float) -> None:
    """Draw a tag with its middle at (x, y) [mm], its white margin over what is below."""
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path as Outline

    size, cell = 1e3 * tag.size_m, 1e3 * tag.size_m / CELLS
    for edge, colour in ((size + 2.0 * cell, "white"), (size, "black")):
        axes.add_patch(Rectangle((x - 0.5 * edge, y - 0.5 * edge), edge, edge, color=colour, lw=0, zorder=3))
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    white = [square + [column, CELLS - 1 - row] for row, column in np.argwhere(tag.cells)]
    codes = [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY] * len(white)
    corner = np.array([x, y]) - 0.5 * size  # one path of all cells: no seams between them
    axes.add_patch(PathPatch(Outline(np.concatenate(white) * cell + corner, codes), color="white", lw=0, zorder=4))


def _label(axes: Any, tag: Tag, x: float, y: float) -> None:
    axes.text(x, y, f"AprilTag 36h11, number {tag.number}, {1e3 * tag.size_m:.0f} mm", ha="center", va="top", fontsize=7)


def _ruler(axes: Any, x: float, y: float) -> None:
    """Draw the ruler from (x, y) [mm] to the right."""
    axes.plot([x, x + RULER_MM], [y, y], color="black", lw=0.6)
    for at in np.arange(0.0, RULER_MM + 1.0, 10.0):
        axes.plot([x + at, x + at], [y, y + (4 if at % 50 == 0 else 2)], color="black", lw=0.4)
    axes.text(x + RULER_MM + 3, y, f"{RULER_MM:.0f} mm", va="bottom", fontsize=7)
