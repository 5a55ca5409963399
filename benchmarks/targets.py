"""Targets of the benchmarks: path into the results, which side is good, and the bound."""

from __future__ import annotations

TARGETS: tuple[tuple[str, str, float], ...] = (
    ("dynamics.batch_compiled_speedup", "at least", 15.0),
    ("dynamics.single_compiled_speedup", "at least", 1.0),
    ("dynamics.chain_6_joints.single_compiled_speedup", "at least", 0.2),
    ("dynamics.chain_7_joints.single_compiled_speedup", "at least", 0.2),
    ("hold.typical.full.hold_mm.median", "at most", 1.6),
    ("hold.typical.full.hold_mm.max", "at most", 3.5),
    ("hold.typical.full.times_smaller", "at least", 12.0),
    ("hold.typical.after_steps_of_a_degree.hold_mm.median", "at most", 1.8),
    ("hold.typical.after_steps_of_a_degree.hold_mm.max", "at most", 4.0),
    ("hold.typical.after_reversals.hold_mm.median", "at most", 1.8),
    ("hold.typical.after_reversals.hold_mm.max", "at most", 4.0),
    ("hold.typical.with_25_g_taken_at_rest.hold_mm.median", "at most", 1.8),
    ("hold.typical.with_25_g_taken_at_rest.hold_mm.max", "at most", 4.0),
    ("hold.typical.first_motion_after_enabling.hold_mm.median", "at most", 1.8),
    ("hold.typical.first_motion_after_enabling.hold_mm.max", "at most", 4.0),
    ("hold.typical.tour.longer_percent", "at most", 5.0),
    ("hold.typical.full.tracking_rms_mm.median", "at most", 1.8),
    ("hold.typical.supply_10_percent_down.measured.full.hold_mm.median", "at most", 2.0),
    ("hold.typical_assumed.full.hold_mm.median", "at most", 2.8),
    ("hold.typical_assumed.full.hold_mm.max", "at most", 6.0),
    ("hold.typical_assumed.poses_worse_than_none", "at most", 0),
    ("hold.ideal.full.hold_mm.median", "at most", 1.29),
    ("hold.ideal.full.times_smaller", "at least", 21.0),
    ("hold.masses_15_percent_more.full.times_smaller", "at least", 5.0),
    ("hold.masses_15_percent_less.full.times_smaller", "at least", 5.0),
    ("hold.plant_error.poses_worse_than_none", "at most", 0),
    ("guard.ms.median", "at most", 0.15),
    ("loop.200_hz.median_of_runs.latency_ms.p99", "at most", 2.5),
    ("loop.200_hz.median_of_runs.period.reference.jitter_p99_ms", "at most", 0.5),
    ("loop.200_hz.median_of_runs.cpu_percent.nodes", "at most", 40.0),
    ("loop.200_hz.median_of_runs.memory_mb.trajectory_controller", "at most", 150.0),
    ("loop.200_hz.median_of_runs.memory_mb.dynamics", "at most", 150.0),
    ("loop.200_hz.median_of_runs.memory_mb.hardware", "at most", 150.0),
    ("bringup.enabled_s.max", "at most", 5.0),
    ("soak.calm_stop_ms.p99", "at most", 20.0),
    ("soak.recovery_s.max", "at most", 3.0),
    ("soak.board.dropped_without_cause", "at most", 0),
    ("soak.board.repeated", "at most", 0),
    ("soak.board.worst_step_share", "at most", 1.0),
    ("arms.missed_percent", "at most", 1.0),
    ("firmware.size.pca9685.flash_bytes", "at most", 12_000),
    ("firmware.size.timer.flash_bytes", "at most", 12_000),
    ("firmware.size.pca9685.static_ram_bytes", "at most", 1_000),
    ("firmware.size.timer.static_ram_bytes", "at most", 1_000),
    ("firmware.blocked_us", "at most", 40.0),
    ("firmware.busy.pca9685.parse_to_queue_ms", "at most", 0.3),
    ("firmware.busy.timer.parse_to_queue_ms", "at most", 0.3),
    ("firmware.busy.pca9685.cpu_percent", "at most", 35.0),
    ("firmware.busy.timer.cpu_percent", "at most", 35.0),
    ("firmware.lost_frames.500000.lost", "at most", 0),
    ("firmware.lost_frames.115200.lost", "at most", 0),
    ("firmware.pulse_error.pca9685.worst_counts", "at most", 0.5),
    ("firmware.pulse_error.timer.worst_us", "at most", 7.0),
    ("firmware.jitter.worst_eighths_us", "at most", 0),
    ("firmware.lost_host.standstill_ms", "at most", 500.0),
    ("firmware.lost_host.largest_step_share_of_limit", "at most", 1.0),
    ("firmware.conformance.pca9685.failed", "at most", 0),
    ("firmware.conformance.timer.failed", "at most", 0),
    ("firmware.conformance.pca9685.wall_s", "at most", 60.0),
    ("firmware.conformance.timer.wall_s", "at most", 60.0),
    ("payload.error_g.p95", "at most", 3.0),
    ("study.laws.robust.sampled.wall_s.worst_load", "at most", 0.5),
    ("study.laws.adaptive.sampled.wall_s.worst_load", "at most", 0.5),
    ("study.laws.adaptive.continuous.wall_s.worst_load", "at most", 0.5),
    ("calibration.found.figures.mass.p99", "at most", 2.0),
    ("calibration.found.figures.centre.p99", "at most", 2.0),
    ("calibration.found.figures.inertia.p99", "at most", 10.0),
    ("calibration.found.figures.stiffness.p99", "at most", 8.0),
    ("calibration.found.figures.zero.p99", "at most", 0.3),
    ("calibration.found.least_coverage_percent", "at least", 90.0),
    ("calibration.found.most_coverage_percent", "at most", 98.0),
    ("calibration.moved.worst_above_floor_mm", "at most", 1.0),
    ("calibration.moved.worst_share_of_before", "at most", 0.333),
    ("calibration.moved.seconds_each", "at most", 180.0),
    ("calibration_moved.worst_above_floor_mm", "at most", 1.0),
    ("calibration_moved.worst_share_of_before", "at most", 0.333),
    ("calibration_moved.figures.stiffness.worst", "at most", 8.0),
    ("calibration_moved.figures.zero.worst", "at most", 0.3),
    ("identification.arms.rrp.worst_percent", "at most", 2.0),
    ("identification.arms.three_link.worst_percent", "at most", 2.0),
    ("identification.arms.chain_3.worst_percent", "at most", 2.0),
    ("identification.arms.chain_4.worst_percent", "at most", 2.0),
    ("identification.arms.chain_5.worst_percent", "at most", 2.0),
    ("identification.arms.chain_6.worst_percent", "at most", 2.0),
    ("identification.coverage.percent", "at least", 90.0),
    ("xl330_gain_400.load_friction.held_out_rad", "at most", 0.040),
    ("sts3250_sin_sin.load_friction.held_out_rad", "at most", 0.009),
    ("ur10e.held_out.sec50.overall_percent", "at most", 5.7),
    ("ur10e.held_out.point_to_point.sliding_percent", "at most", 5.0),
    ("ur10e.intervals.within_percent", "at least", 90.0),
    ("ur10e.intervals.within_percent", "at most", 98.0),
)


def judged(results: dict) -> list[dict]:
    """Each target whose benchmark ran, and could: figure, bound, and whether it is met."""
    rows = []
    for path, side, bound in TARGETS:
        keys = path.split(".")
        if keys[0] in results and "not_run" not in results[keys[0]]:
            value = results
            for key in keys:
                value = value[key]
            if value is None:  # nothing of the kind happened in so short a run, or there is no such recording
                continue
            met = value >= bound if side == "at least" else value <= bound
            rows.append({"figure": path, "value": value, side.replace(" ", "_"): bound, "met": met})
    return rows
