"""The demo's two figures: where the tip was off, and how hard the servos worked."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.robot.servo_map import ServoMap

from .measure import ModeResult

COLOURS = {"none": "#c0392b", "gravity": "#e6a117", "full": "#1e8449"}


def draw(measured: dict[str, ModeResult], servos: ServoMap, out: Path) -> list[Path]:
    """Write tip_error.png and torque.png; returns their paths."""
    return [_save(_tip_error(measured), out / "tip_error.png"), _save(_torque(measured["full"], servos), out / "torque.png")]


def _save(figure, path: Path) -> Path:
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _tip_error(measured: dict[str, ModeResult]):
    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    for mode, result in measured.items():
        label = f"{mode}: {1e3 * _median(result):.1f} mm median at rest"
        axes.plot(result.recording.t, 1e3 * result.recording.tip_error, color=COLOURS[mode], label=label, lw=1.2)
    axes.set(
        xlabel="time [s]",
        ylabel="tip error [mm]",
        title="How far the tip is from where it was told to be, by compensation mode",
        xlim=(0, measured["full"].recording.t[-1]),
        yscale="log",
        ylim=(0.05, 100),
    )
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(loc="upper right", framealpha=0.95, ncols=3)
    return figure


def _median(result: ModeResult) -> float:
    return float(sorted(result.hold)[len(result.hold) // 2])


def _torque(result: ModeResult, servos: ServoMap):
    n = servos.n
    figure, rows = plt.subplots(n, 1, figsize=(10, 1.7 * n), sharex=True, layout="constrained")
    recording = result.recording
    for joint, axes in enumerate(rows):
        peak, hold = (share[joint] * servos.stall_torque[joint] for share in (servos.peak_share, servos.hold_share))
        stall = servos.stall_torque[joint]
        for limit, style, name in ((stall, "-", "stall"), (peak, "--", "peak limit"), (hold, ":", "hold limit")):
            for sign in (-1, 1):
                axes.axhline(sign * limit, color="0.45", ls=style, lw=1, label=name if sign > 0 else None)
        axes.plot(recording.t, recording.tau[:, joint], color="#2471a3", lw=1, label="servo (true)")
        axes.plot(recording.t, recording.tau_ref[:, joint], color="#e67e22", lw=1, ls="--", label="model (asked)")
        axes.set(ylabel=f"{servos.joint_names[joint]}\n[N·m]", ylim=(-1.2 * stall, 1.2 * stall))
        axes.grid(True, alpha=0.25)
    rows[0].set_title("Torque against limit, compensation full")
    rows[0].legend(loc="upper right", ncols=5, fontsize=8, framealpha=0.95)
    rows[-1].set(xlabel="time [s]", xlim=(0, recording.t[-1]))
    return figure
