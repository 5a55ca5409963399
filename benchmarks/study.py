"""Control laws on the RRP arm: time to simulate 3 s, and how well they do: ``python -m benchmarks.study``."""

from __future__ import annotations

import json
import time
from statistics import median

from picker_dynamics.commands.study import rrp


def run(rounds: int = 3) -> dict:
    """Seconds per simulation, medians over ``rounds``, errors in per cent of the path; ready for JSON."""
    return {
        "simulated_s": rrp.TOTAL_S,
        "rounds": rounds,
        "laws": {name: {mode: _figures(name, mode, rounds) for mode in rrp.MODES} for name in rrp.LAWS},
    }


def _figures(name: str, mode: str, rounds: int) -> dict:
    way, wall_s, cases = rrp.path(), [], []
    for load in rrp.LOADS_KG:
        took = []
        for _ in range(rounds):
            begin_s = time.perf_counter()
            case = rrp.simulate(name, load, mode, way)
            took.append(time.perf_counter() - begin_s)
        cases.append(case)
        wall_s.append(median(took))
    return {
        "wall_s": {"median": round(median(wall_s), 4), "worst_load": round(max(wall_s), 4)},
        "worst_late_percent": float(f"{max(case.worst_from(rrp.LATE_S) for case in cases):.3g}"),
        "worst_end_percent": float(f"{max(case.error_at(rrp.TOTAL_S) for case in cases):.3g}"),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
