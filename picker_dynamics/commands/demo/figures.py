"""Figures of the demo: where the tip was off, and how the joints of the compensated arm did."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.recording import figures
from picker_dynamics.recording.reader import ArmRecording, Bounds, Series
from picker_dynamics.robot.servo_map import ServoMap

from .measure import ModeResult

COLOURS = {"none": "#c0392b", "gravity": "#e6a117", "full": "#1e8449"}


def draw(measured: dict[str, ModeResult], servos: ServoMap, out: Path) -> None:
    """Write tip_error.png, and of the compensated arm the figures of ``picker plot``: full_position.png, _error, _torque."""
    end_s = measured["full"].recording.t[-1]
    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    for mode, result in measured.items():
        label = f"{mode}: {1e3 * np.median(result.hold):.1f} mm median at rest"
        axes.plot(result.recording.t, 1e3 * result.recording.tip_error, color=COLOURS[mode], label=label, lw=1.2)
    axes.set(xlabel="time [s]", ylabel="tip error [mm]", xlim=(0, end_s), yscale="log", ylim=(0.05, 100))
    axes.set_title("How far the tip is from where it was told to be, by compensation mode")
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(loc="upper right", framealpha=0.95, ncols=3)
    figure.savefig(out / "tip_error.png", dpi=130)
    plt.close(figure)

    run, units = measured["full"].recording, tuple("rad" for _ in servos.joint_names)
    reference, state, setpoint, asked, given = (Series(run.t, x) for x in (run.q_ref, run.q, run.setpoint, run.tau_ref, run.tau))
    stall = servos.stall_torque
    recorded = ArmRecording(servos.joint_names, reference, state, setpoint, asked, given)
    figures.draw(recorded, Bounds(stall, servos.peak_share * stall, servos.hold_share * stall, units), out, "full")
