"""Control laws on the RRP arm: time to simulate 3 s, and how well they do: ``python -m benchmarks.study``.

Times are medians over ``rounds`` of one law and load after the other, so that a busy machine slows all alike; SciPy is
loaded before.
"""

from __future__ import annotations

import json
from statistics import median

from picker_dynamics.commands.study import rrp
from picker_dynamics.commands.study.rrp_summary import WALL_S


def run(rounds: int = 3) -> dict:
    """Seconds per simulation, errors in per cent of the path, total variation of the efforts; ready for JSON."""
    way = rrp.path()
    for mode in rrp.MODES:
        rrp.simulate("computed_torque", rrp.BELIEVED_KG, mode, way, duration_s=0.1)
    cases = [
        {
            (name, load, mode): rrp.simulate(name, load, mode, way)
            for name in rrp.LAWS
            for load in rrp.LOADS_KG
            for mode in rrp.MODES
        }
        for _ in range(rounds)
    ]
    return {
        "simulated_s": rrp.TOTAL_S,
        "rounds": rounds,
        "limit_s": WALL_S,
        "laws": {name: {mode: _figures(cases, name, mode) for mode in rrp.MODES} for name in rrp.LAWS},
    }


def _figures(cases: list[dict], name: str, mode: str) -> dict:
    wall = {load: median(round_[name, load, mode].run.wall_s for round_ in cases) for load in rrp.LOADS_KG}
    runs = [cases[0][name, load, mode] for load in rrp.LOADS_KG]
    figures = {
        "wall_s": {"median": round(median(wall.values()), 4), "worst_load": round(max(wall.values()), 4)},
        "worst_late_percent": float(f"{max(case.worst_from(rrp.LATE_S) for case in runs):.3g}"),
        "worst_end_percent": float(f"{max(case.error_at(rrp.TOTAL_S) for case in runs):.3g}"),
        "total_variation_at_1_kg": rrp.total_variation(runs[-1].run.t, runs[-1].run.tau).round(1).tolist(),
    }
    if name == "adaptive":
        figures["worst_estimate_kg"] = float(f"{max(abs(case.run.state[-1, 0] - case.load_kg) for case in runs):.3g}")
    return figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
