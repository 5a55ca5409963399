"""What the demo says: progress while it runs, a table at the end, and the summary that programs read."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.status import Status
from rich.table import Table

from picker_dynamics.demo.measure import ModeResult
from picker_dynamics.demo.picking import Live

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
        self.console.print(f"berries picked within {MM * tolerance_m:.0f} mm: {good} of {len(summary['picks'])}; "
                           f"control loop {loop['rate_hz']} Hz, jitter p99 {loop['jitter_p99_ms']} ms, "
                           f"latency p99 {loop['latency_p99_ms']} ms, missed {loop['missed']}", soft_wrap=True)
        for fault in summary["faults"]:
            self.console.print(f"fault: {fault}", soft_wrap=True)


def summarise(live: Live, measured: dict[str, ModeResult]) -> dict:
    """The summary as it is written to summary.json; lengths in mm where the key says so, else SI."""
    return {
        "picks": [{"target_m": pick.target_m, "tip_error_mm": _mm(pick.tip_error_m), "ok": pick.ok} for pick in live.picks],
        "hold_error_mm": {mode: {"median": _mm(np.median(result.hold)), "max": _mm(result.hold.max())}
                          for mode, result in measured.items()},
        "tracking_rms_mm": {mode: _mm(result.tracking_rms) for mode, result in measured.items()},
        "cross_check_worst": live.cross_check_worst,
        "loop": live.loop,
        "refused": live.refused,
        "faults": live.faults,
    }


def _mm(length_m: float) -> float:
    return round(MM * float(length_m), 3)


def passed(live: Live) -> bool:
    """Every berry was picked near enough, the impossible was refused, and nothing faulted."""
    return bool(live.picks) and all(pick.ok for pick in live.picks) and bool(live.refused) and not live.faults
