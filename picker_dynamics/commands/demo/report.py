"""What the demo says: progress while it runs, a table at the end, and the summary that programs read."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.status import Status
from rich.table import Table

from picker_dynamics.estimation.calibration.evaluate import ABOVE_FLOOR_M, TIMES_SMALLER

from .measure import ModeResult
from .picking import Live

MM = 1e3


class Progress:
    """Lines for what is done, and one moving line for what is being done (on a terminal)."""

    def __init__(self):
        self.console = Console(highlight=False)
        self._status: Status | None = None

    def step(self, text: str) -> None:
        """What is being done now."""
        if not self.console.is_terminal:
            return
        if self._status is None:
            self._status = self.console.status(text)
            self._status.start()
        self._status.update(text)

    def say(self, text: str) -> None:
        """What was done; stays on the screen."""
        self._end_step()
        self.console.print(text, soft_wrap=True)

    def _end_step(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def table(self, summary: dict, tolerance_m: float) -> None:
        """The result, for a person."""
        self._end_step()
        table = Table(title="Tip error, measured on the simulated arm itself [mm]")
        for heading in ("compensation", "at rest, median", "at rest, worst", "on the way, rms"):
            table.add_column(heading, justify="left" if heading == "compensation" else "right")
        for mode, hold in summary["hold_error_mm"].items():
            table.add_row(mode, f"{hold['median']:.2f}", f"{hold['max']:.2f}", f"{summary['tracking_rms_mm'][mode]:.2f}")
        self.console.print(table)
        good = sum(pick["ok"] for pick in summary["picks"])
        loop = summary["loop"]
        self.console.print(
            f"berries picked within {MM * tolerance_m:.0f} mm: {good} of {len(summary['picks'])}; "
            f"control loop {loop['rate_hz']} Hz, jitter p99 {loop['jitter_p99_ms']} ms, "
            f"latency p99 {loop['latency_p99_ms']} ms, missed {loop['missed']}",
            soft_wrap=True,
        )
        for fault in summary["faults"]:
            self.console.print(f"fault: {fault}", soft_wrap=True)

    def worth(self, summary: dict) -> None:
        """What the calibrated numbers are worth, for a person."""
        found, hold = summary["calibration"], summary["hold_error_mm"]["full"]
        rows = [("as shipped", "shipped"), ("as configured", "configured"), ("calibrated", ""), ("its own: the floor", "floor")]
        table = Table(title="The same with the numbers of a calibration and without, compensation full [mm]")
        for heading in ("numbers", "at rest, median", "at rest, worst", "on the way, rms"):
            table.add_column(heading, justify="left" if heading == "numbers" else "right")
        for title, key in rows:
            one = found["hold_error_mm"][key] if key else hold
            tracking = found["tracking_rms_mm"][key] if key else summary["tracking_rms_mm"]["full"]
            table.add_row(title, f"{one['median']:.2f}", f"{one['max']:.2f}", f"{tracking:.2f}")
        self.console.print(table)
        self.console.print(
            f"calibrated, the tip holds {found['times_smaller']:.1f} times nearer than as shipped, "
            f"{found['above_floor_mm']:.2f} mm above the floor",
            soft_wrap=True,
        )


def summarise(
    live: Live,
    measured: dict[str, ModeResult],
    board: str = "virtual",
    folder: str = "",
    worth: dict[str, ModeResult] | None = None,
) -> dict:
    """The summary as it is written to summary.json; lengths in mm where the key says so, else SI.

    Args:
        live, measured: what happened on the graph, and what was measured by mode.
        board: which one ran, virtual or avr.
        folder: of the calibration whose numbers were believed, "" without one.
        worth: the same tour with other numbers, by what they are.
    """
    return {
        "board": board,
        "picks": [{"target_m": pick.target_m, "tip_error_mm": _mm(pick.tip_error_m), "ok": pick.ok} for pick in live.picks],
        "hold_error_mm": {
            mode: {"median": _mm(np.median(result.hold)), "max": _mm(result.hold.max())} for mode, result in measured.items()
        },
        "tracking_rms_mm": {mode: _mm(result.tracking_rms) for mode, result in measured.items()},
        "cross_check_worst": live.cross_check_worst,
        "loop": live.loop,
        "refused": live.refused,
        "faults": live.faults,
    } | ({"calibration": _calibration(measured["full"], folder, worth)} if worth else {})


def _calibration(after: ModeResult, folder: str, worth: dict[str, ModeResult]) -> dict:
    """What the calibrated numbers are worth beside others."""
    median = {name: float(np.median(one.hold)) for name, one in worth.items()}
    found = float(np.median(after.hold))
    return {
        "folder": folder,
        "hold_error_mm": {name: {"median": _mm(median[name]), "max": _mm(one.hold.max())} for name, one in worth.items()},
        "tracking_rms_mm": {name: _mm(one.tracking_rms) for name, one in worth.items()},
        "above_floor_mm": _mm(found - median["floor"]),
        "times_smaller": round(median["shipped"] / found, 2),
        "reached": found <= median["floor"] + ABOVE_FLOOR_M and found <= median["shipped"] / TIMES_SMALLER,
    }


def _mm(length_m: float) -> float:
    return round(MM * float(length_m), 3)


def passed(live: Live) -> bool:
    """Every berry was picked near enough, the impossible was refused, and nothing faulted."""
    return bool(live.picks) and all(pick.ok for pick in live.picks) and bool(live.refused) and not live.faults
