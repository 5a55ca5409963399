"""Figures of the demo: where the tip was off, and how hard the servos worked."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.robot.servo_map import ServoMap

from .measure import ModeResult

COLOURS = {"none": "#c0392b", "gravity": "#e6a117", "full": "#1e8449"}


def draw(measured: dict[str, ModeResult], servos: ServoMap, out: Path) -> None:
    """Write tip_error.png and torque.png."""
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

    run = measured["full"].recording
    figure, rows = plt.subplots(servos.n, 1, figsize=(10, 1.7 * servos.n), sharex=True, layout="constrained", squeeze=False)
    for joint, axes in enumerate(rows[:, 0]):
        stall = servos.stall_torque[joint]
        limits = {
            "stall": (1.0, "-"),
            "peak limit": (servos.peak_share[joint], "--"),
            "hold limit": (servos.hold_share[joint], ":"),
        }
        for name, (share, style) in limits.items():
            axes.axhline(share * stall, color="0.45", ls=style, lw=1, label=name)
            axes.axhline(-share * stall, color="0.45", ls=style, lw=1)
        axes.plot(run.t, run.tau[:, joint], color="#2471a3", lw=1, label="servo (true)")
        axes.plot(run.t, run.tau_ref[:, joint], color="#e67e22", lw=1, ls="--", label="model (asked)")
        axes.set(ylabel=f"{servos.joint_names[joint]}\n[N·m]", ylim=(-1.2 * stall, 1.2 * stall))
        axes.grid(True, alpha=0.25)
    rows[0, 0].set_title("Torque against limit, compensation full")
    rows[0, 0].legend(loc="upper right", ncols=5, fontsize=8, framealpha=0.95)
    axes.set(xlabel="time [s]", xlim=(0, end_s))
    figure.savefig(out / "torque.png", dpi=130)
    plt.close(figure)
