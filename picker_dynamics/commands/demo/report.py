"""Report of the demo: progress while it runs, a table at the end, two figures, and the summary that programs read."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from rich.status import Status

from picker_dynamics.estimation.calibration.evaluate import ABOVE_FLOOR_M, TIMES_SMALLER
from picker_dynamics.robot.servo_map import ServoMap

from ..terminal import table
from .measure import ModeResult
from .picking import Live

MM = 1e3
COLOURS = {"none": "#c0392b", "gravity": "#e6a117", "full": "#1e8449"}


class Progress:
    """Lines for what is done, and one moving line for what is being done (on a terminal)."""

    def __init__(self):
        self.console = Console(highlight=False)
        self._status: Status | None = None

    def step(self, text: str) -> None:
        """Show what is being done now."""
        if not self.console.is_terminal:
            return
        if self._status is None:
            self._status = self.console.status(text)
            self._status.start()
        self._status.update(text)

    def say(self, text: str) -> None:
        """Print what was done; it stays on the screen."""
        self._end_step()
        self.console.print(text, soft_wrap=True)

    def _end_step(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _errors(self, title: str, first: str, rows) -> None:
        """A table of tip errors; rows of what it is, errors at rest, and on the way [mm]."""
        shown = table(title, first, "at rest, median", "at rest, worst", "on the way, rms", left=(first,))
        for name, hold, tracking in rows:
            shown.add_row(name, f"{hold['median']:.2f}", f"{hold['max']:.2f}", f"{tracking:.2f}")
        self.console.print(shown)

    def table(self, summary: dict, tolerance_m: float) -> None:
        """The result, for a person."""
        self._end_step()
        self._errors(
            "Tip error, measured on the simulated arm itself [mm]",
            "compensation",
            [(mode, hold, summary["tracking_rms_mm"][mode]) for mode, hold in summary["hold_error_mm"].items()],
        )
        ends = summary["approaches"]
        each = "; ".join(
            f"{one['to']} {one['else_mm']:.1f} -> {one['off_mm']:.1f} mm ({one['joints']})" for one in ends["motions"]
        )
        self.say(
            f"motions that ended by lowering, as friction would leave the tip uncertain: {len(ends['motions'])} of {ends['of']}, "
            f"{ends['percent']:.1f} % of their time{': ' if each else ''}{each}"
        )
        good = sum(pick["ok"] for pick in summary["picks"])
        loop = summary["loop"]
        self.say(
            f"berries picked within {MM * tolerance_m:.0f} mm: {good} of {len(summary['picks'])}; "
            f"control loop {loop['rate_hz']} Hz, jitter p99 {loop['jitter_p99_ms']} ms, "
            f"latency p99 {loop['latency_p99_ms']} ms, missed {loop['missed']}"
        )
        for fault in summary["faults"]:
            self.say(f"fault: {fault}")

    def tip_errors(self, summary: dict) -> None:
        """Tip errors with the calibrated numbers and with others, for a person."""
        found = summary["calibration"]
        hold = found["hold_error_mm"] | {"": summary["hold_error_mm"]["full"]}
        tracking = found["tracking_rms_mm"] | {"": summary["tracking_rms_mm"]["full"]}
        rows = [("as shipped", "shipped"), ("as configured", "configured"), ("calibrated", ""), ("its own: the floor", "floor")]
        self._errors(
            "The same with the numbers of a calibration and without, compensation full [mm]",
            "numbers",
            [(title, hold[key], tracking[key]) for title, key in rows],
        )
        self.say(
            f"calibrated, the tip holds {found['times_smaller']:.1f} times nearer than as shipped, "
            f"{found['above_floor_mm']:.2f} mm above the floor"
        )


# -- for programs ------------------------------------------------------------------------------------------


def summarise(
    live: Live,
    measured: dict[str, ModeResult],
    board: str = "virtual",
    folder: str = "",
    tip_errors: dict[str, ModeResult] | None = None,
) -> dict:
    """The summary as it is written to summary.json; lengths in mm where the key says so, else SI.

    Args:
        live, measured: what happened on the graph, and what was measured by mode.
        board: which one ran, virtual or avr.
        folder: of the calibration whose numbers were believed, "" without one.
        tip_errors: of the same tour with other numbers, by what they are.
    """
    return {
        "board": board,
        "picks": [{"target_m": pick.target_m, "tip_error_mm": _mm(pick.tip_error_m), "ok": pick.ok} for pick in live.picks],
        **_tip_errors(measured),
        "approaches": _approaches(measured["full"]),
        "cross_check_worst": live.cross_check_worst,
        "loop": live.loop,
        "refused": live.refused,
        "faults": live.faults,
    } | ({"calibration": _calibration(measured["full"], folder, tip_errors)} if tip_errors else {})


def _tip_errors(results: dict[str, ModeResult]) -> dict:
    return {
        "hold_error_mm": {
            name: {"median": _mm(np.median(one.hold)), "max": _mm(one.hold.max())} for name, one in results.items()
        },
        "tracking_rms_mm": {name: _mm(one.tracking_rms) for name, one in results.items()},
    }


def _approaches(result: ModeResult) -> dict:
    """The motions of the tour that ended by one, and what the tip is uncertain by for the side of friction, without and with."""
    made = [(kind, one) for kind, _, one in result.motions if one is not None and one.joints]
    whole_s, added_s = sum(duration_s for _, duration_s, _ in result.motions), sum(one.duration_s for _, one in made)
    return {
        "motions": [
            {
                "to": kind,
                "joints": ", ".join(result.names[j] for j in one.joints),
                "else_mm": _mm(one.else_m),
                "off_mm": _mm(one.off_m),
            }
            for kind, one in made
        ],
        "of": len(result.motions),
        "percent": round(100.0 * added_s / (whole_s - added_s), 2) if whole_s > added_s else 0.0,
    }


def _calibration(after: ModeResult, folder: str, tip_errors: dict[str, ModeResult]) -> dict:
    """Tip errors with the calibrated numbers beside those with others."""
    found, floor, shipped = (float(np.median(one.hold)) for one in (after, tip_errors["floor"], tip_errors["shipped"]))
    return {
        "folder": folder,
        **_tip_errors(tip_errors),
        "above_floor_mm": _mm(found - floor),
        "times_smaller": round(shipped / found, 2),
        "reached": found <= floor + ABOVE_FLOOR_M and found <= shipped / TIMES_SMALLER,
    }


def _mm(length_m: float) -> float:
    return round(MM * float(length_m), 3)


def passed(live: Live) -> bool:
    """Whether every berry was picked near enough, the impossible was refused, and nothing faulted."""
    return bool(live.picks) and all(pick.ok for pick in live.picks) and bool(live.refused) and not live.faults


# -- figures -----------------------------------------------------------------------------------------------


def draw(measured: dict[str, ModeResult], servos: ServoMap, out: Path) -> list[Path]:
    """Write tip_error.png (where the tip was off) and torque.png (how hard the servos worked); returns their paths."""
    return [_save(_tip_error(measured), out / "tip_error.png"), _save(_torque(measured["full"], servos), out / "torque.png")]


def _save(figure, path: Path) -> Path:
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _tip_error(measured: dict[str, ModeResult]):
    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    for mode, result in measured.items():
        label = f"{mode}: {_mm(np.median(result.hold)):.1f} mm median at rest"
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


def _torque(result: ModeResult, servos: ServoMap):
    n = servos.n
    figure, rows = plt.subplots(n, 1, figsize=(10, 1.7 * n), sharex=True, layout="constrained", squeeze=False)
    rows = rows[:, 0]
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
