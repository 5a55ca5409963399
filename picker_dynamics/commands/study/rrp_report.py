"""The RRP study as numbers, which summary.json and the terminal have, its requirements, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from picker_dynamics.trajectory.profiles import NAMES as PROFILES

from ..report import Columns, draw
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

JOINTS = ("theta1 [N·m]", "theta2 [N·m]", "d3 [N]")
COLOURS = dict(zip(LAWS, ("#7f8c8d", "#2471a3", "#e6a117", "#8e44ad", "#c0392b", "#1e8449")))
FLOOR_PERCENT = 1e-5
TIME = {"xlabel": "time [s]", "xlim": (0, TOTAL_S)}
ERROR = TIME | {"ylabel": "tool error [% of path]", "yscale": "log", "ylim": (FLOOR_PERCENT, 1e4)}


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
    for load in (BELIEVED_KG, 1.0):
        found[f"worst error [%], on the path at first, continuous, {load:g} kg"] = {
            profile: {name: profiles[profile, name, load].worst_from(0.0) for name in LAWS} for profile in PROFILES
        }
    cases = {f"{load:g} kg, {start}": case for (load, start), case in open_loop.items()}
    found[f"feed-forward alone, told {BELIEVED_KG:g} kg: error [%], and when it passes [s]"] = {
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
    """Write all figures to ``out``."""
    way, shades = rrp.path(), matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, len(LOADS_KG)))
    loads = dict(zip(LOADS_KG, shades))

    def error(case: Case, **style) -> tuple:
        return case.run.t, np.maximum(case.error, FLOOR_PERCENT), style

    limit = [LATE_S, TOTAL_S], [WITHIN_PERCENT] * 2, {"color": "0.2", "ls": "--", "label": f"{WITHIN_PERCENT} %"}
    for mode, file in (("continuous", "tool_error"), ("sampled", "tool_error_sampled")):
        panels = [
            (
                [*(error(comparison[name, kg, mode], color=c, label=f"{kg:g} kg") for kg, c in loads.items()), limit],
                ERROR | {"title": law},
            )
            for name, law in LAWS.items()
        ]
        title = f"Told {BELIEVED_KG:g} kg, carrying 0 to 1 kg, started 1 cm too high, {mode}; the path ends at {MOVE_S:g} s"
        draw(out / f"{file}.png", title, 3, panels)

    t, ideal = rrp.planned_efforts(way, 1.0)
    runs = {name: comparison[name, 1.0, "sampled"].run for name in LAWS}
    panels = []
    for j, joint in enumerate(JOINTS):
        curves = [(run.t, run.tau[:, j], {"color": COLOURS[name], "label": LAWS[name]}) for name, run in runs.items()]
        excess = [(x, y - ideal[:, j], style) for x, y, style in curves]
        curves.append((t, ideal[:, j], {"color": "k", "ls": ":", "label": "ideal motion"}))
        panels += [
            (curves, TIME | {"ylabel": joint}),
            (excess, TIME | {"xlim": (0, 1), "title": "less those of the ideal motion"}),
        ]
    draw(out / "efforts.png", "Efforts, carrying 1 kg, told 0.5 kg, started 1 cm too high, sampled at 1 kHz", 2, panels)

    along, heights = (way.end - way.begin) / way.length, []
    for name, law in LAWS.items():
        offset = comparison[name, 1.0, "continuous"].tool - way.begin
        covered = offset @ along
        off_m = (offset - covered[:, None] * along)[:, 2]
        heights.append((100.0 * covered, 1e3 * off_m, {"color": COLOURS[name], "label": law}))
    where = {
        "xlabel": "distance along the path [cm]",
        "ylabel": "height above the path [mm]",
        "xlim": (-2, 70),
        "ylim": (-12, 12),
    }
    draw(out / "path.png", "Tool against its path, carrying 1 kg, told 0.5 kg, started 1 cm too high", 1, [(heights, where)])

    believed = [(comparison["adaptive", kg, "continuous"].run, kg, colour) for kg, colour in loads.items()]
    curves = [(run.t, run.state[:, 0], {"color": colour, "label": f"{kg:g} kg"}) for run, kg, colour in believed]
    panels = [(curves, TIME | {"ylabel": "estimated load [kg]"})]
    draw(out / "load_estimate.png", "What the adaptive law believes it carries, by true load", 1, panels)

    panels = []
    ways = {name: (rrp.path(name), colour) for name, colour in zip(PROFILES, ("#c0392b", "#e6a117", "#2471a3", "#1e8449"))}
    for order, what in enumerate(("s, share of the path", "ds/dt [1/s]", "d²s/dt² [1/s²]")):
        shapes = [
            (t, one.law.sample(t / MOVE_S)[order] / MOVE_S**order, {"color": c, "label": name}) for name, (one, c) in ways.items()
        ]
        panels.append((shapes, TIME | {"title": what}))
    planned = {name: rrp.planned_efforts(one, BELIEVED_KG)[1] for name, (one, _) in ways.items()}
    for j, joint in enumerate(JOINTS):
        efforts = [(t, planned[name][:, j], {"color": c}) for name, (_, c) in ways.items()]
        panels.append((efforts, TIME | {"title": f"planned effort, {joint}"}))
    for law in ("computed_torque", "robust", "adaptive"):
        errors = [error(profiles[name, law, 1.0], color=c) for name, (_, c) in ways.items()]
        panels.append((errors, ERROR | {"title": f"{LAWS[law]}, 1 kg", "ylim": (FLOOR_PERCENT, 10)}))
    draw(out / "profiles.png", f"Profiles: planned for {BELIEVED_KG:g} kg, carrying 1 kg below, started on the path", 3, panels)

    styles = dict(zip(rrp.STARTS, ("-", "--", "-.")))
    curves = [
        error(case, color="#1e8449" if load == BELIEVED_KG else "#c0392b", ls=styles[start], label=f"{load:g} kg, {start}")
        for (load, start), case in open_loop.items()
    ]
    pole, t = rrp.unstable_pole(BELIEVED_KG, rrp.Q_BEGIN), np.linspace(0.5, TOTAL_S, 2)
    curves.append((t, 1e-6 * np.exp(pole * t), {"color": "k", "ls": ":", "label": f"unstable pole, exp({pole:.2f} t)"}))
    draw(
        out / "feed_forward.png",
        f"Feed-forward alone, told {BELIEVED_KG:g} kg: the arm falls away from its path",
        1,
        [(curves, ERROR)],
    )
