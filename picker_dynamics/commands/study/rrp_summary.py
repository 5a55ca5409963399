"""The RRP study as numbers: what programs read in summary.json, and whether the requirements are met."""

from __future__ import annotations

from statistics import median

import numpy as np

from picker_dynamics.trajectory.profiles import NAMES as PROFILES

from . import rrp
from .rrp import BELIEVED_KG, LATE_S, LAWS, LOADS_KG, MODES, MOVE_S, TOTAL_S, Case, total_variation

WITHIN_PERCENT = 0.15
END_PERCENT = {
    ("robust", "continuous"): 0.02,
    ("robust", "sampled"): 0.06,
    ("adaptive", "continuous"): 0.02,
    ("adaptive", "sampled"): 0.02,
}
ESTIMATE_KG = 0.02
VARIATION_RATIO = 1.5
"""Efforts change at most this many times as much as those of the ideal motion, once the start is forgotten."""

WALL_S = 0.5


def summarise(comparison: dict, profiles: dict, open_loop: dict) -> dict:
    """Summary of the study, ready for JSON: errors in per cent of the path, efforts in N·m, N·m, N."""
    way, loads = rrp.path(), {f"{load:g}": load for load in LOADS_KG}
    late = {load: _late_variation(*rrp.planned_efforts(way, kg)) for load, kg in loads.items()}
    requirements = _requirements(comparison, late)
    times = {(name, mode): [comparison[name, kg, mode].run.wall_s for kg in LOADS_KG] for name in LAWS for mode in MODES}
    robust = {load: comparison["robust", kg, "continuous"] for load, kg in loads.items()}
    return {
        "setup": {
            "arm": rrp.ARM,
            "believed_kg": BELIEVED_KG,
            "loads_kg": LOADS_KG,
            "path_m": way.length,
            "from_m": way.begin.tolist(),
            "to_m": way.end.tolist(),
            "start_off_m": rrp.START_OFF_M,
            "move_s": MOVE_S,
            "total_s": TOTAL_S,
            "period_s": rrp.PERIOD_S,
            "late_s": LATE_S,
            "gains": {
                "computed_torque": {"Kp": rrp.KP, "Kd": rrp.KD},
                "pd_gravity": {"Kp": rrp.JOINT_KP, "Kd": rrp.JOINT_KD},
                "pid": {"Kp": rrp.JOINT_KP, "Ki": rrp.JOINT_KI, "Kd": rrp.JOINT_KD},
                "robust": {"Kp": rrp.KP, "Kd": rrp.KD, "rho": rrp.RHO, "epsilon": rrp.EPSILON},
                "adaptive": {"L": rrp.L, "K": rrp.K, "gamma": rrp.GAMMA},
            },
        },
        "laws": {
            name: {mode: {load: _case(comparison[name, kg, mode]) for load, kg in loads.items()} for mode in MODES}
            for name in LAWS
        },
        "ideal_total_variation_late": late,
        "largest_model_error": {load: rrp.largest_model_error(one, way).round(3).tolist() for load, one in robust.items()},
        "open_loop": {
            "unstable_pole_1_s": {load: rrp.unstable_poles(kg) for load, kg in loads.items()},
            "error_grows_times": {
                name: _digits(case.error[-1] / case.error[0])
                for name, case in open_loop.items()
                if case.load_kg == BELIEVED_KG and "high" in name
            },
            "runs": {
                name: _errors(case) | {f"passes_{percent:g}_percent_s": case.passes(percent) for percent in (0.5, 100.0)}
                for name, case in open_loop.items()
            },
        },
        "profiles": {
            profile: {name: {f"{kg:g}": _errors(profiles[profile, name, kg]) for kg in (BELIEVED_KG, 1.0)} for name in LAWS}
            for profile in PROFILES
        },
        "wall_s": {
            name: {
                mode: {"median": round(median(times[name, mode]), 4), "max": round(max(times[name, mode]), 4)} for mode in MODES
            }
            for name in LAWS
        },
        "requirements": requirements,
        "passed": all(requirement["met"] for requirement in requirements),
    }


def _errors(case: Case) -> dict:
    values = {
        "worst": case.error.max(),
        "rms": np.sqrt(np.mean(case.error**2)),
        "worst_late": case.worst_from(LATE_S),
        "at_arrival": case.error_at(MOVE_S),
        "end": case.error_at(TOTAL_S),
    }
    return {f"{name}_percent": _digits(value) for name, value in values.items()}


def _case(case: Case) -> dict:
    run = case.run
    result = _errors(case) | {
        "peak_effort": np.abs(run.tau).max(axis=0).round(2).tolist(),
        "total_variation": total_variation(run.t, run.tau).round(2).tolist(),
        "total_variation_late": _late_variation(run.t, run.tau),
        "wall_s": round(run.wall_s, 4),
        "law_evaluations": run.evaluations,
    }
    if case.law == "adaptive":
        result["load_estimate_kg"] = round(float(run.state[-1, 0]), 6)
    return result


def _digits(value) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")


def _late_variation(t, tau) -> list[float]:
    return total_variation(t, tau, LATE_S).round(3).tolist()


def _requirements(comparison: dict, late: dict) -> list[dict]:
    """Every requirement, the worst value over the loads, and whether it is met."""
    rows = []
    for (law, mode), end_percent in END_PERCENT.items():
        asked = [
            (f"error from {LATE_S:g} s on", "%", WITHIN_PERCENT, lambda case: case.worst_from(LATE_S)),
            (f"error at {TOTAL_S:g} s", "%", end_percent, lambda case: case.error_at(TOTAL_S)),
            (
                "total variation of effort",
                "ideal = 1",
                VARIATION_RATIO,
                lambda case: (total_variation(case.run.t, case.run.tau, LATE_S) / late[f"{case.load_kg:g}"]).max(),
            ),
            ("load estimate", "kg off", ESTIMATE_KG, lambda case: abs(case.run.state[-1, 0] - case.load_kg)),
        ]
        for what, unit, limit, value_of in asked if law == "adaptive" else asked[:-1]:
            value, load = max((float(value_of(comparison[law, load, mode])), load) for load in LOADS_KG)
            row = {"what": what, "law": law, "mode": mode, "unit": unit, "limit": limit}
            rows.append(row | {"worst": _digits(value), "at_load_kg": load, "met": bool(value <= limit)})
    return rows
