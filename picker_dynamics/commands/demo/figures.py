"""Figures of the demo: where the tip was off, and how the joints of the compensated arm did."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from picker_dynamics.recording.reader import ArmRecording, Bounds, Series
from picker_dynamics.robot.servo_map import ServoMap

from .. import plot
from ..report import draw as draw_panels
from .measure import ModeResult

WIDTH = 0.28
"""Of a bar; poses are 1 apart."""

COLOURS = {"none": "#c0392b", "gravity": "#e6a117", "full": "#1e8449"}


def draw(measured: dict[str, ModeResult], servos: ServoMap, out: Path) -> None:
    """Write tip_error.png, and of the compensated arm the figure of ``picker plot``, full.png."""
    bars = []
    for k, (mode, result) in enumerate(measured.items()):
        label = f"{mode}: {1e3 * np.median(result.hold):.1f} mm median"
        style = {"color": COLOURS[mode], "label": label, "width": WIDTH}
        poses = np.arange(1, len(result.hold) + 1)
        bars.append((poses + (k - 1) * WIDTH, 1e3 * result.hold, style))
    axes = {"xlabel": "pose of the tour", "ylabel": "tip error at rest [mm]", "xticks": poses, "xlim": (0.4, len(poses) + 0.6)}
    draw_panels(out / "tip_error.png", "Distance of the tip from where it should rest, by compensation mode", 1, [(bars, axes)])
    run, units, stall = measured["full"].recording, ("rad",) * servos.n, servos.stall_torque
    q_ref, q, setpoint, tau_ref, tau = (Series(run.t, x) for x in (run.q_ref, run.q, run.setpoint, run.tau_ref, run.tau))
    limits = Bounds(stall, servos.peak_share * stall, servos.hold_share * stall, units)
    plot.draw(ArmRecording(servos.joint_names, q_ref, q, setpoint, tau_ref, tau), limits, out / "full.png")
