"""The RRP study as numbers, which summary.json and the terminal have, its requirements, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from picker_dynamics.trajectory.profiles import NAMES

from ..report import draw
from ..results import Columns
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

FLOOR_PERCENT = 1e-5
ERROR = {
    "xlabel": "time [s]",
    "xlim": (0, TOTAL_S),
    "ylabel": "tool error [% of path]",
    "yscale": "log",
    "ylim": (FLOOR_PERCENT, 1e4),
}


def tables(comparison: dict, profiles: dict, open_loop: dict) -> dict[str, Columns]:
    """All results by title; errors of the tool in per cent of the path."""
    found: dict[str, Columns] = {}
    for mode in MODES:
        for what, value in (
            (f"worst error from {LATE_S:g} s on", lambda case: case.worst_from(LATE_S)),
            (f"error at {TOTAL_S:g} s", lambda case: case.error_at(TOTAL_S)),
        ):
            found[f"{what} [%], 1 cm too high at first, {mode}"] = {
                f"{load:g} kg": {name: value(comparison[name, load, mode]) for name in LAWS} for load in LOADS_KG
            }
    found["worst error of each velocity profile [%], on the path at first, continuous"] = {
        profile: {f"{name}, {load:g} kg": case.worst_from(0.0) for (name, load, by), case in profiles.items() if by == profile}
        for profile in NAMES
    }
    cases = {f"{load:g} kg, {start}": case for (load, start), case in open_loop.items()}
    found[f"feed-forward alone, assumed load {BELIEVED_KG:g} kg: error [%], and when it passes [s]"] = {
        "on arrival": {name: case.error_at(MOVE_S) for name, case in cases.items()},
        f"at {TOTAL_S:g} s": {name: case.error_at(TOTAL_S) for name, case in cases.items()},
    } | {f"passes {percent} %": {name: case.passes(percent) for name, case in cases.items()} for percent in (0.5, 100.0)}
    found["requirements, worst of all loads"] = requirements(comparison)
    return found


def requirements(comparison: dict) -> dict[str, dict[str, Any]]:
    """Worst value over the loads, limit, and whether it is met, of each requirement."""
    ideal = {kg: total_variation(*rrp.planned_efforts(rrp.path(), kg), LATE_S) for kg in LOADS_KG}

    def variation(case: Case) -> float:
        return float((total_variation(case.run.t, case.run.tau, LATE_S) / ideal[case.load_kg]).max())

    worst, limits = {}, {}
    for (law, mode), end_percent in END_PERCENT.items():
        asked = {
            f"error from {LATE_S:g} s on, %": (WITHIN_PERCENT, lambda case: case.worst_from(LATE_S)),
            f"error at {TOTAL_S:g} s, %": (end_percent, lambda case: case.error_at(TOTAL_S)),
            "total variation of effort, ideal = 1": (VARIATION_RATIO, variation),
        }
        if law == "adaptive":
            asked["load estimate, kg off"] = ESTIMATE_KG, lambda case: abs(float(case.run.state[-1, 0]) - case.load_kg)
        for what, (limit, value) in asked.items():
            name = f"{law}, {mode}: {what}"
            worst[name], limits[name] = max(value(comparison[law, load, mode]) for load in LOADS_KG), limit
    return {"worst": worst, "limit": limits, "met": {name: worst[name] <= limit for name, limit in limits.items()}}


def figures(comparison: dict, profiles: dict, open_loop: dict, out: Path) -> None:
    """Write the errors of all laws in both modes and with each profile, and of feed-forward alone, to ``out``."""
    loads = dict(zip(LOADS_KG, matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, len(LOADS_KG)))))

    def error(case: Case, **style) -> tuple:
        return case.run.t, np.maximum(case.error, FLOOR_PERCENT), style

    limit = [LATE_S, TOTAL_S], [WITHIN_PERCENT] * 2, {"color": "0.2", "ls": "--", "label": f"{WITHIN_PERCENT} %"}
    for mode, file in (("continuous", "tool_error"), ("sampled", "tool_error_sampled")):
        panels = []
        for name, law in LAWS.items():
            curves = [error(comparison[name, kg, mode], color=colour, label=f"{kg:g} kg") for kg, colour in loads.items()]
            panels.append(([*curves, limit], ERROR | {"title": law}))
        title = (
            f"Assumed load {BELIEVED_KG:g} kg, carrying 0 to 1 kg, started 1 cm too high, {mode}; the path ends at {MOVE_S:g} s"
        )
        draw(out / f"{file}.png", title, 3, panels)
    panels = []
    for name, law in LAWS.items():
        curves = [error(profiles[name, 1.0, profile], label=profile) for profile in NAMES]
        panels.append((curves, ERROR | {"title": law}))
    draw(
        out / "profiles.png", f"Velocity profiles, assumed load {BELIEVED_KG:g} kg, carrying 1 kg, started on the path", 3, panels
    )
    styles = dict(zip(rrp.STARTS, ("-", "--", "-.")))
    curves = [
        error(case, color="#1e8449" if load == BELIEVED_KG else "#c0392b", ls=styles[start], label=f"{load:g} kg, {start}")
        for (load, start), case in open_loop.items()
    ]
    title = f"Feed-forward alone, assumed load {BELIEVED_KG:g} kg: the arm falls away from its path"
    draw(out / "feed_forward.png", title, 1, [(curves, ERROR)])
