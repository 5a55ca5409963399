"""The figures of a recording: positions, tracking error, torque against its limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.robot.units import told_in

from .reader import ArmRecording, Bounds, Series
from .tracking import tracking_error, with_gaps

REFERENCE, STATE, SETPOINT = "#1f1f1f", "#2471a3", "#e67e22"
EVENTS = {"accepted": "0.6", "refused": "#c0392b", "aborted": "#c0392b"}
"""Outcome of a goal -> colour of a vertical line at its time."""

WIDTH, ROW = 10.0, 1.8

Line = tuple[str, Series, dict[str, Any]]
"""Label, values, and style of a line in each row."""


def draw(recorded: ArmRecording, limits: Bounds | None, folder: Path, stem: str) -> list[Path]:
    """Write STEM_position.png, STEM_error.png and STEM_torque.png; returns the paths of those that there is data for."""
    error = tracking_error(recorded.reference, recorded.state)
    kinds: dict[str, tuple[str, list[Line]]] = {
        "position": (
            "Where each joint was, should be, and was told to be",
            [
                ("set-point sent to the servo", recorded.setpoint, {"color": SETPOINT, "lw": 0.9}),
                ("reference", recorded.reference, {"color": REFERENCE, "lw": 1.2, "ls": "--"}),
                ("state", recorded.state, {"color": STATE, "lw": 1.2}),
            ],
        ),
        "error": (
            "Tracking error: state less reference, at the times of the states",
            [("error", error, {"color": STATE, "lw": 1.0})] if np.isfinite(error.values).any() else [],
        ),
        "torque": (
            "Torque against what the joint may give: at stall (-), moving (--), holding (:)",
            [
                ("reported", recorded.state_torque, {"color": STATE, "lw": 1.0}),
                ("asked for", recorded.torque, {"color": SETPOINT, "lw": 1.0}),
            ],
        ),
    }
    start = min(series.t[0] for series in (recorded.reference, recorded.state, recorded.setpoint, recorded.torque) if len(series))
    paths = []
    for kind, (title, lines) in kinds.items():
        if there := [line for line in lines if len(line[1])]:
            paths.append(folder / f"{stem}_{kind}.png")
            figure = _figure(recorded, limits, start, title, there, kind == "torque")
            figure.savefig(paths[-1], dpi=130)
            plt.close(figure)
    return paths


def _figure(recorded: ArmRecording, limits: Bounds | None, start: float, title: str, lines: list[Line], torque: bool) -> Any:
    """Figure with a row for each joint: ``lines``, and with them its limits of torque, or when goals began and ended badly."""
    count = len(recorded.joint_names)
    figure, axes = plt.subplots(count, 1, figsize=(WIDTH, 0.8 + ROW * count), sharex=True, layout="constrained", squeeze=False)
    axes[0, 0].set_title(title)
    axes[-1, 0].set_xlabel("time [s]")
    for joint, row in enumerate(axes[:, 0]):
        row.grid(True, alpha=0.25)
        factor, unit = told_in(limits.units[joint]) if limits else (1.0, "rad or m")
        if torque:
            factor, unit = 1.0, "N" if unit == "mm" else "N·m"
            for limit, style in zip(limits[:3] if limits else (), ("-", "--", ":")):
                for bound in (-limit[joint], limit[joint]):
                    row.axhline(bound, color="0.45", ls=style, lw=1.0)
        else:
            for event in recorded.events:
                if colour := EVENTS.get(event.outcome):
                    row.axvline(event.t - start, color=colour, lw=0.8, ls=":")
        for label, series, style in lines:
            broken = with_gaps(series)
            row.plot(broken.t - start, factor * broken.values[:, joint], label=label, **style)
        row.set_ylabel(f"{recorded.joint_names[joint]}\n[{unit}]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure
