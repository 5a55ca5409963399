"""The figures of a recording: positions, tracking error, torque against its limits."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.robot.units import told_in

from .reader import ArmRecording, Series
from .tracking import tracking_error, with_gaps

REFERENCE, STATE, SETPOINT, REFUSED = "#1f1f1f", "#2471a3", "#e67e22", "#c0392b"
BAD = ("refused", "aborted")
WIDTH, ROW = 10.0, 1.8


def draw(recorded: ArmRecording, limits, folder: Path, stem: str) -> list[Path]:
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


def _told_in(limits, joint: int) -> tuple[float, str]:
    """As ``units.told_in``; without limits nobody knows the joint's unit."""
    return told_in(limits.units[joint]) if limits else (1.0, "rad or m")


def _rows(recorded: ArmRecording, title: str):
    count = len(recorded.joint_names)
    figure, axes = plt.subplots(count, 1, figsize=(WIDTH, 0.8 + ROW * count), sharex=True, layout="constrained", squeeze=False)
    axes[0, 0].set_title(title)
    for one in axes[:, 0]:
        one.grid(True, alpha=0.25)
    axes[-1, 0].set_xlabel("time [s]")
    return figure, axes[:, 0]


def _line(axes, series: Series, joint: int, start: float, factor: float = 1.0, **style) -> None:
    if not len(series):
        return
    broken = with_gaps(series)
    axes.plot(broken.t - start, factor * broken.values[:, joint], **style)


def _events(axes, recorded: ArmRecording, start: float) -> None:
    """A line for each goal: grey when it was taken, red when it was refused or ended badly."""
    for outcomes, colour, name in ((("accepted",), "0.6", "goal accepted"), (BAD, REFUSED, "goal refused or aborted")):
        for number, event in enumerate(one for one in recorded.events if one.outcome in outcomes):
            axes.axvline(event.t - start, color=colour, lw=0.8, ls=":", label=None if number else name)


def _legend(figure, axes) -> None:
    """Below everything, where it hides nothing."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)


def _position(recorded: ArmRecording, limits, start: float):
    figure, rows = _rows(recorded, "Where each joint was, should be, and was told to be")
    for joint, axes in enumerate(rows):
        _events(axes, recorded, start)
        factor, unit = _told_in(limits, joint)
        _line(axes, recorded.setpoint, joint, start, factor, color=SETPOINT, lw=0.9, label="set-point sent to the servo")
        _line(axes, recorded.reference, joint, start, factor, color=REFERENCE, lw=1.2, ls="--", label="reference")
        _line(axes, recorded.state, joint, start, factor, color=STATE, lw=1.2, label="state")
        axes.set_ylabel(f"{recorded.joint_names[joint]}\n[{unit}]")
    _legend(figure, rows[0])
    return figure


def error_figure(recorded: ArmRecording, limits, start: float):
    """Tracking error of each joint; None where there is none."""
    error = tracking_error(recorded.reference, recorded.state)
    if not np.isfinite(error.values).any():
        return None
    figure, rows = _rows(recorded, "Tracking error: state less reference, at the times of the states")
    for joint, axes in enumerate(rows):
        _events(axes, recorded, start)
        factor, unit = _told_in(limits, joint)
        _line(axes, error, joint, start, factor, color=STATE, lw=1.0, label="error")
        axes.axhline(0.0, color="0.5", lw=0.8)
        axes.set_ylabel(f"{recorded.joint_names[joint]}\n[{unit}]")
    _legend(figure, rows[0])
    return figure


def _torque(recorded: ArmRecording, limits, start: float):
    if not len(recorded.torque) and not len(recorded.state_torque):
        return None
    figure, rows = _rows(recorded, "Torque against what the joint may give")
    for joint, axes in enumerate(rows):
        if limits is not None:
            bounds = ((limits.stall, "-", "stall"), (limits.peak, "--", "moving"), (limits.hold, ":", "holding"))
            for limit, style, name in bounds:
                for sign in (-1.0, 1.0):
                    axes.axhline(sign * limit[joint], color="0.45", ls=style, lw=1.0, label=name if sign > 0.0 else None)
            axes.set_ylim(-1.2 * limits.stall[joint], 1.2 * limits.stall[joint])
        _line(axes, recorded.state_torque, joint, start, color=STATE, lw=1.0, label="reported")
        _line(axes, recorded.torque, joint, start, color=SETPOINT, lw=1.0, label="asked for")
        axes.set_ylabel(f"{recorded.joint_names[joint]}\n[{'N' if limits and limits.units[joint] == 'm' else 'N·m'}]")
    _legend(figure, rows[0])
    return figure
