"""The figures of a recording: positions, tracking error, torque against its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.robot.units import told_in

from .reader import ArmRecording, Bounds, Series
from .tracking import tracking_error, with_gaps

REFERENCE, STATE, SETPOINT, REFUSED = "#1f1f1f", "#2471a3", "#e67e22", "#c0392b"
BAD = ("refused", "aborted")
WIDTH, ROW = 10.0, 1.8


def draw(recorded: ArmRecording, limits: Bounds | None, folder: Path, stem: str) -> list[Path]:
    """Write STEM_position.png, STEM_error.png and STEM_torque.png; returns the paths of those that there is data for."""
    start = min(series.t[0] for series in (recorded.reference, recorded.state, recorded.setpoint, recorded.torque) if len(series))
    paths = []
    for name, draw_it in (("position", _position), ("error", error_figure), ("torque", _torque)):
        figure = draw_it(recorded, limits, start)
        if figure is not None:
            paths.append(folder / f"{stem}_{name}.png")
            figure.savefig(paths[-1], dpi=130)
            plt.close(figure)
    return paths


Line = tuple[str, Series, dict[str, Any]]
"""Label, values, and style of a line in each row."""


def _rows(
    recorded: ArmRecording, limits: Bounds | None, start: float, title: str, lines: Sequence[Line], goals: bool = True
) -> Any:
    """Figure with a row for each joint: goals as vertical lines (grey: taken; red: refused or ended badly), and ``lines``."""
    count = len(recorded.joint_names)
    figure, axes = plt.subplots(count, 1, figsize=(WIDTH, 0.8 + ROW * count), sharex=True, layout="constrained", squeeze=False)
    axes[0, 0].set_title(title)
    axes[-1, 0].set_xlabel("time [s]")
    outcomes = ((("accepted",), "0.6", "goal accepted"), (BAD, REFUSED, "goal refused or aborted")) if goals else ()
    for joint, row in enumerate(axes[:, 0]):
        row.grid(True, alpha=0.25)
        for kinds, colour, name in outcomes:
            for number, event in enumerate(one for one in recorded.events if one.outcome in kinds):
                row.axvline(event.t - start, color=colour, lw=0.8, ls=":", label=None if number else name)
        factor, unit = told_in(limits.units[joint]) if limits else (1.0, "rad or m")
        if not goals:
            factor, unit = 1.0, "N" if limits and limits.units[joint] == "m" else "N·m"
        for label, series, style in lines:
            if len(series):
                broken = with_gaps(series)
                row.plot(broken.t - start, factor * broken.values[:, joint], label=label, **style)
        row.set_ylabel(f"{recorded.joint_names[joint]}\n[{unit}]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def _position(recorded: ArmRecording, limits: Bounds | None, start: float) -> Any:
    lines = (
        ("set-point sent to the servo", recorded.setpoint, {"color": SETPOINT, "lw": 0.9}),
        ("reference", recorded.reference, {"color": REFERENCE, "lw": 1.2, "ls": "--"}),
        ("state", recorded.state, {"color": STATE, "lw": 1.2}),
    )
    return _rows(recorded, limits, start, "Where each joint was, should be, and was told to be", lines)


def error_figure(recorded: ArmRecording, limits: Bounds | None, start: float) -> Any:
    """Tracking error of each joint; None where there is none."""
    error = tracking_error(recorded.reference, recorded.state)
    if not np.isfinite(error.values).any():
        return None
    title = "Tracking error: state less reference, at the times of the states"
    figure = _rows(recorded, limits, start, title, [("error", error, {"color": STATE, "lw": 1.0})])
    for row in figure.axes:
        row.axhline(0.0, color="0.5", lw=0.8)
    return figure


def _torque(recorded: ArmRecording, limits: Bounds | None, start: float) -> Any:
    if not len(recorded.torque) and not len(recorded.state_torque):
        return None
    lines = (
        ("reported", recorded.state_torque, {"color": STATE, "lw": 1.0}),
        ("asked for", recorded.torque, {"color": SETPOINT, "lw": 1.0}),
    )
    figure = _rows(recorded, limits, start, "Torque against what the joint may give", lines, goals=False)
    if limits is None:
        return figure
    for joint, row in enumerate(figure.axes):
        for limit, style in ((limits.stall, "-"), (limits.peak, "--"), (limits.hold, ":")):
            for bound in (-limit[joint], limit[joint]):
                row.axhline(bound, color="0.45", ls=style, lw=1.0)
        row.set_ylim(-1.2 * limits.stall[joint], 1.2 * limits.stall[joint])
    figure.axes[0].set_title("Torque against what the joint may give: at stall (-), moving (--), holding (:)")
    return figure
