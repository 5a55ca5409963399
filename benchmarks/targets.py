"""What the figures are held against: path into the results, which side is good, and the bound."""

from __future__ import annotations

TARGETS: tuple[tuple[str, str, float], ...] = (
    ("dynamics.batch_compiled_speedup", "at least", 15.0),
    ("dynamics.single_compiled_speedup", "at least", 1.0),
    ("dynamics.chain_6_joints.single_compiled_speedup", "at least", 0.2),
    ("dynamics.chain_7_joints.single_compiled_speedup", "at least", 0.2),
    ("hold.exact.full.hold_mm.median", "at most", 1.5),
    ("hold.exact.full.times_smaller", "at least", 15.0),
    ("hold.masses_15_percent_more.full.times_smaller", "at least", 5.0),
    ("hold.masses_15_percent_less.full.times_smaller", "at least", 5.0),
    ("hold.plant_error.poses_worse_than_none", "at most", 0),
    ("loop.200_hz.median_of_runs.latency_ms.p99", "at most", 2.5),
    ("loop.200_hz.median_of_runs.period.reference.jitter_p99_ms", "at most", 0.5),
    ("loop.200_hz.median_of_runs.cpu_percent.nodes", "at most", 40.0),
    ("loop.200_hz.median_of_runs.memory_mb.trajectory_controller", "at most", 150.0),
    ("loop.200_hz.median_of_runs.memory_mb.dynamics", "at most", 150.0),
    ("loop.200_hz.median_of_runs.memory_mb.hardware", "at most", 150.0),
    ("study.laws.robust.sampled.wall_s.worst_load", "at most", 0.5),
    ("study.laws.adaptive.sampled.wall_s.worst_load", "at most", 0.5),
    ("study.laws.adaptive.continuous.wall_s.worst_load", "at most", 0.5),
)


def judged(results: dict) -> list[dict]:
    """Each target whose benchmark ran: figure, bound, and whether it is met."""
    rows = []
    for path, side, bound in TARGETS:
        keys = path.split(".")
        if keys[0] in results:
            value = results
            for key in keys:
                value = value[key]
            met = value >= bound if side == "at least" else value <= bound
            rows.append({"figure": path, "value": value, side.replace(" ", "_"): bound, "met": met})
    return rows
