"""The RRP study as numbers: what programs read in summary.json, and whether the requirements are met."""

from __future__ import annotations

from statistics import median

import numpy as np

from picker_dynamics.trajectory.profiles import NAMES as PROFILES

from . import rrp
from .rrp import BELIEVED_KG, LATE_S, LAWS, LOADS_KG, MODES, MOVE_S, TOTAL_S, Case

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
    way = rrp.path()
    laws = {
        name: {mode: {_load(load): _case(comparison[name, load, mode]) for load in LOADS_KG} for mode in MODES} for name in LAWS
    }
    ideal = {_load(load): _ideal_variation(way, load) for load in LOADS_KG}
    requirements = _requirements(comparison, ideal)
    return {
        "setup": {
            "arm": rrp.ARM,
            "believed_kg": BELIEVED_KG,
            "loads_kg": list(LOADS_KG),
            "path_m": way.length,
            "from_m": way.begin.tolist(),
            "to_m": way.end.tolist(),
            "start_off_m": list(rrp.START_OFF_M),
            "move_s": MOVE_S,
            "total_s": TOTAL_S,
            "period_s": rrp.PERIOD_S,
            "late_s": LATE_S,
            "gains": {
                "computed_torque": {"Kp": rrp.KP, "Kd": rrp.KD},
                "pd_gravity": {"Kp": list(rrp.JOINT_KP), "Kd": list(rrp.JOINT_KD)},
                "pid": {"Kp": list(rrp.JOINT_KP), "Ki": list(rrp.JOINT_KI), "Kd": list(rrp.JOINT_KD)},
                "robust": {"Kp": rrp.KP, "Kd": rrp.KD, "rho": list(rrp.RHO), "epsilon": list(rrp.EPSILON)},
                "adaptive": {"L": rrp.L, "K": list(rrp.K), "gamma": rrp.GAMMA},
            },
        },
        "laws": laws,
        "ideal_total_variation_late": ideal,
        "largest_model_error": {
            _load(load): rrp.largest_model_error(comparison["robust", load, "continuous"], way).round(3).tolist()
            for load in LOADS_KG
        },
        "open_loop": _open_loop(open_loop),
        "profiles": {
            profile: {name: {_load(load): _errors(profiles[profile, name, load]) for load in (BELIEVED_KG, 1.0)} for name in LAWS}
            for profile in PROFILES
        },
        "wall_s": {name: _wall(comparison, name) for name in LAWS},
        "requirements": requirements,
        "passed": all(requirement["met"] for requirement in requirements),
    }


def _load(load_kg: float) -> str:
    return f"{load_kg:g}"


def _errors(case: Case) -> dict:
    return {
        "worst_percent": _digits(case.error.max()),
        "rms_percent": _digits(np.sqrt(np.mean(case.error**2))),
        "worst_late_percent": _digits(case.worst_from(LATE_S)),
        "at_arrival_percent": _digits(case.error_at(MOVE_S)),
        "end_percent": _digits(case.error_at(TOTAL_S)),
    }


def _case(case: Case) -> dict:
    result = _errors(case) | {
        "peak_effort": np.abs(case.run.tau).max(axis=0).round(2).tolist(),
        "total_variation": case.total_variation().round(2).tolist(),
        "total_variation_late": case.total_variation(LATE_S).round(3).tolist(),
        "wall_s": round(case.run.wall_s, 4),
        "law_evaluations": case.run.evaluations,
    }
    if case.law == "adaptive":
        result["load_estimate_kg"] = round(float(case.run.state[-1, 0]), 6)
    return result


def _digits(value) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")


def _ideal_variation(way, load_kg: float) -> list[float]:
    """Total variation from LATE_S on of the efforts that would keep this load exactly on the path."""
    t, tau = rrp.planned_efforts(way, load_kg)
    return np.abs(np.diff(tau[t >= LATE_S - 1e-9], axis=0)).sum(axis=0).round(3).tolist()


def _open_loop(cases: dict) -> dict:
    """Feed-forward alone, and why it cannot do."""
    return {
        "unstable_pole_1_s": {_load(load): rrp.unstable_poles(load) for load in LOADS_KG},
        "error_grows_times": {
            name: _digits(case.error[-1] / case.error[0])
            for name, case in cases.items()
            if case.load_kg == BELIEVED_KG and "high" in name
        },
        "runs": {
            name: _errors(case) | {"passes_0.5_percent_s": case.passes(0.5), "passes_100_percent_s": case.passes(100.0)}
            for name, case in cases.items()
        },
    }


def _wall(comparison: dict, law: str) -> dict:
    seconds = {mode: [comparison[law, load, mode].run.wall_s for load in LOADS_KG] for mode in MODES}
    return {mode: {"median": round(median(values), 4), "max": round(max(values), 4)} for mode, values in seconds.items()}


def _requirements(comparison: dict, ideal: dict) -> list[dict]:
    """Every requirement, the worst value over the loads, and whether it is met."""
    rows = []

    def require(what: str, law: str, mode: str, unit: str, limit: float, value_of) -> None:
        value, load = max((float(value_of(comparison[law, load, mode])), load) for load in LOADS_KG)
        row = {"what": what, "law": law, "mode": mode, "unit": unit, "limit": limit}
        rows.append(row | {"worst": _digits(value), "at_load_kg": load, "met": bool(value <= limit)})

    for (law, mode), end_percent in END_PERCENT.items():
        require(f"error from {LATE_S:g} s on", law, mode, "%", WITHIN_PERCENT, lambda case: case.worst_from(LATE_S))
        require(f"error at {TOTAL_S:g} s", law, mode, "%", end_percent, lambda case: case.error_at(TOTAL_S))
        require(
            "total variation of effort",
            law,
            mode,
            "ideal = 1",
            VARIATION_RATIO,
            lambda case: (case.total_variation(LATE_S) / ideal[_load(case.load_kg)]).max(),
        )
        if law == "adaptive":
            require("load estimate", law, mode, "kg off", ESTIMATE_KG, lambda case: abs(case.run.state[-1, 0] - case.load_kg))
    return rows
