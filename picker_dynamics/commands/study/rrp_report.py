"""The RRP study for a person: a table per question, and its figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

from picker_dynamics.trajectory.profiles import NAMES as PROFILES

from ..terminal import table
from . import rrp
from .rrp import BELIEVED_KG, LATE_S, LAWS, LOADS_KG, MODES, MOVE_S, TOTAL_S
from .rrp_summary import WALL_S, WITHIN_PERCENT

COLOURS = {
    "feed_forward": "#7f8c8d",
    "computed_torque": "#2471a3",
    "pd_gravity": "#e6a117",
    "pid": "#8e44ad",
    "robust": "#c0392b",
    "adaptive": "#1e8449",
}
JOINTS = ("theta1 [N·m]", "theta2 [N·m]", "d3 [N]")
FLOOR_PERCENT = 1e-5
LOAD_COLOURS = dict(zip(LOADS_KG, plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(LOADS_KG)))))


def show(summary: dict, console: Console) -> None:
    """Print the tables of a summary."""
    setup, laws, open_loop, wall = (summary[key] for key in ("setup", "laws", "open_loop", "wall_s"))
    loads, late = [f"{load:g}" for load in setup["loads_kg"]], f"from {LATE_S:g} s on"

    def by_law(title: str, headings, cells_of, *more) -> None:
        """Print a table of one row a law, and more; ``cells_of``: a law's name -> the cells."""
        _print(console, title, ("law", *headings), [*([title, *cells_of(name)] for name, title in LAWS.items()), *more])

    console.print(
        f"RRP arm, tool {setup['path_m']:.3f} m straight in {setup['move_s']:g} s and held to {TOTAL_S:g} s; the laws "
        f"are told a load of {BELIEVED_KG:g} kg. Errors of the tool in % of the path.",
        soft_wrap=True,
    )
    for mode, how in (("continuous", "continuous time"), ("sampled", "sampled at 1 kHz and held")):
        for quantity, what in (("worst_late_percent", f"worst {late}"), ("end_percent", f"at {TOTAL_S:g} s")):
            by_law(
                f"1 cm too high at first, {how}: {what} [%]",
                [f"{load} kg" for load in loads],
                lambda name: [number(laws[name][mode][load][quantity]) for load in loads],  # noqa: B023
            )

    def efforts(name: str) -> list[str]:
        case = laws[name]["sampled"]["1"]
        forms = (("peak_effort", "{:.0f}"), ("total_variation", "{:.0f}"), ("total_variation_late", "{:.1f}"))
        return [", ".join(map(form.format, case[key])) for key, form in forms]

    ideal = ", ".join(f"{x:.1f}" for x in summary["ideal_total_variation_late"]["1"])
    title = "1 kg, 1 cm too high at first, sampled: efforts [N·m, N·m, N]"
    by_law(title, ("peak", "total variation", late), efforts, ("the ideal motion", "", "", ideal))
    two, profiles = (f"{BELIEVED_KG:g}", "1"), summary["profiles"]
    by_law(
        f"on the path at first, continuous time: worst error [%], {two[0]} kg | 1 kg",
        profiles,
        lambda name: [" | ".join(number(one[name][load]["worst_percent"]) for load in two) for one in profiles.values()],
    )
    rows = [
        (
            name,
            number(run["at_arrival_percent"]),
            number(run["end_percent"]),
            *("never" if when is None else f"{when:.2f} s" for when in list(run.values())[-2:]),
        )
        for name, run in open_loop["runs"].items()
    ]
    headings = ("true load, start", "on arrival", f"at {TOTAL_S:g} s", "over 0.5 %", "over 100 %")
    _print(console, f"feed-forward alone, continuous time, told {BELIEVED_KG:g} kg: error [%]", headings, rows)
    poles, times = open_loop["unstable_pole_1_s"][two[0]], min(open_loop["error_grows_times"].values())
    console.print(
        f"Feed-forward alone DIVERGES: held by constant efforts this arm falls, its fastest pole is at +{poles['begin']:.2f} to "
        f"+{poles['end']:.2f} 1/s, and what is off at the start is off {times:.0f} times as much after {TOTAL_S:g} s. Only with "
        "the exact load and the exact start does the arm follow. So the 0.3-0.5 % that the reference notes give for a wrong "
        "load cannot be had without feedback.",
        soft_wrap=True,
    )
    rows = [
        (
            *(row["law"], row["mode"], f"{row['what']}, {row['unit']}", number(row["worst"]), f"{row['limit']:g}"),
            "met" if row["met"] else "NOT MET",
        )
        for row in summary["requirements"]
    ]
    _print(console, "requirements, worst of all loads", ("law", "mode", "what", "worst", "limit", ""), rows)
    title = f"seconds to simulate {TOTAL_S:g} s, median; limit {WALL_S:g}"
    by_law(title, MODES, lambda name: [f"{wall[name][mode]['median']:.2f}" for mode in MODES])


def _print(console: Console, title: str, headings, rows) -> None:
    made = table(title, *headings, left=("law", "mode", "what", "", "true load, start"), title_justify="left")
    for row in rows:
        made.add_row(*row)
    console.print(made)


def number(value: float) -> str:
    """Number in few digits, whatever its size."""
    if abs(value) < 1e-5:
        return "<1e-5"
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.2g}" if abs(value) < 1.0 else f"{value:.3g}"


# -- figures --------------------------------------------------------------------------------------


def draw(comparison: dict, profiles: dict, open_loop: dict, out: Path) -> None:
    """Write all figures to ``out``."""
    with plt.rc_context({"axes.grid": True, "grid.alpha": 0.25}):
        for name, figure in (
            ("tool_error", _tool_error(comparison, "continuous", "in continuous time")),
            ("tool_error_sampled", _tool_error(comparison, "sampled", "sampled at 1 kHz")),
            ("efforts", _efforts(comparison)),
            ("path", _path(comparison)),
            ("load_estimate", _load_estimate(comparison)),
            ("profiles", _profiles(profiles)),
            ("feed_forward", _feed_forward(open_loop)),
        ):
            figure.savefig(out / f"{name}.png", dpi=120)
            plt.close(figure)


def _panels(title: str, rows: int, columns: int, size, **shared):
    figure, panels = plt.subplots(rows, columns, figsize=size, layout="constrained", **shared)
    figure.suptitle(title)
    return figure, panels


def _error(axes, case, **style) -> None:
    axes.plot(case.run.t, np.maximum(case.error, FLOOR_PERCENT), **style)


def _tool_error(comparison: dict, mode: str, how: str):
    title = f"Told {BELIEVED_KG:g} kg, carrying 0 to 1 kg, started 1 cm too high, {how}; the path ends at {MOVE_S:g} s"
    figure, panels = _panels(title, 2, 3, (12, 7), sharex=True, sharey=True)
    limit = {"color": "0.2", "ls": "--", "lw": 1, "label": f"{WITHIN_PERCENT} % from {LATE_S:g} s on"}
    for axes, (name, law) in zip(panels.flat, LAWS.items()):
        for load, colour in LOAD_COLOURS.items():
            _error(axes, comparison[name, load, mode], color=colour, lw=1.3, label=f"{load:g} kg")
        axes.plot([LATE_S, TOTAL_S], [WITHIN_PERCENT] * 2, **limit)
        axes.axvline(MOVE_S, color="0.6", lw=0.8)
        axes.set(title=law, yscale="log", xlim=(0, TOTAL_S), ylim=(FLOOR_PERCENT, 1e4))
    plt.setp(panels[:, 0], ylabel="tool error [% of path]")
    plt.setp(panels[1], xlabel="time [s]")
    panels[0, 1].legend(fontsize=8, ncols=2, loc="upper right")
    return figure


def _efforts(comparison: dict):
    """1 kg, sampled: efforts, and what is left when those of the ideal motion are taken off."""
    title = "Carrying 1 kg, told 0.5 kg, started 1 cm too high, sampled at 1 kHz"
    figure, panels = _panels(title, 3, 2, (12, 8), sharex="col")
    t, ideal = rrp.planned_efforts(rrp.path(), 1.0)
    for joint, (whole, excess) in enumerate(panels):
        for name, law in LAWS.items():
            run, style = comparison[name, 1.0, "sampled"].run, {"color": COLOURS[name], "lw": 1.1}
            whole.plot(run.t, run.tau[:, joint], label=law, **style)
            excess.plot(run.t, run.tau[:, joint] - ideal[:, joint], **style)
        whole.plot(t, ideal[:, joint], color="k", ls=":", lw=1.2, label="ideal motion with 1 kg")
        whole.set(ylabel=JOINTS[joint], xlim=(0, TOTAL_S))
        excess.set(xlim=(0, 1.0))
    panels[0, 0].set_title("efforts")
    panels[0, 1].set_title("first second, less those of the ideal motion")
    plt.setp(panels[-1], xlabel="time [s]")
    panels[0, 0].legend(fontsize=8, ncols=2)
    return figure


def _path(comparison: dict):
    """Where the tool went: in space, and how far above or below the line."""
    figure, way = plt.figure(figsize=(12, 5.5), layout="constrained"), rrp.path()
    space, side = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    along = (way.end - way.begin) / way.length
    for name, law in LAWS.items():
        case = comparison[name, 1.0, "continuous"]
        space.plot(*case.tool[case.error < 12.0].T, color=COLOURS[name], lw=1.4)
        covered = (case.tool - way.begin) @ along
        off = case.tool - way.begin - covered[:, None] * along
        side.plot(100.0 * covered, 1e3 * off[:, 2], color=COLOURS[name], lw=1.3, label=law)
    space.plot(*np.stack([way.begin, way.end]).T, color="k", ls="--", lw=1)
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="tool in space")
    space.set_box_aspect((1, 1, 1))
    space.view_init(elev=20, azim=-120)
    side.axhline(0.0, color="k", ls="--", lw=1, label="path")
    side.set(xlabel="distance along the path [cm]", ylabel="height above the path [mm]", xlim=(-2, 70), ylim=(-12, 12))
    side.set_title("how far above or below the line")
    side.legend(fontsize=9)
    figure.suptitle("Carrying 1 kg, told 0.5 kg, started 1 cm too high (feed-forward falls out of both pictures)")
    return figure


def _load_estimate(comparison: dict):
    figure, (whole, begin) = _panels("What the adaptive law believes it carries", 1, 2, (11, 4.2), sharey=True)
    for load, colour in LOAD_COLOURS.items():
        run = comparison["adaptive", load, "continuous"].run
        for axes in (whole, begin):
            axes.axhline(load, color=colour, ls="--", lw=0.8)
            axes.plot(run.t, run.state[:, 0], color=colour, lw=1.5, label=f"{load:g} kg")
    whole.set(xlabel="time [s]", ylabel="estimated load [kg]", xlim=(0, TOTAL_S), ylim=(-0.35, 1.15), title="the whole motion")
    begin.set(xlabel="time [s]", xlim=(0, 0.5), title="the first half second")
    whole.legend(title="true load", ncols=5, fontsize=8, loc="lower right")
    return figure


def _profiles(profiles: dict):
    """The profiles, the efforts that inverse dynamics plans for them, and what a law makes of them."""
    title = (
        f"Profiles: planned for {BELIEVED_KG:g} kg, carrying 1 kg below; started on the path "
        "(the constant profile's impulses at both ends cannot be drawn, or followed)"
    )
    figure, panels = _panels(title, 3, 3, (13, 8), sharex=True)
    laws = "computed_torque", "robust", "adaptive"
    for name, colour in zip(PROFILES, ("#c0392b", "#e6a117", "#2471a3", "#1e8449")):
        way, style = rrp.path(name), {"color": colour, "lw": 1.3, "label": name}
        t = np.linspace(-0.1, TOTAL_S, 3101)
        for order, values in enumerate(way.law.sample(t / MOVE_S)):
            panels[0, order].plot(t, values / MOVE_S**order, **style)
        t, tau = rrp.planned_efforts(way, BELIEVED_KG)
        for joint, law in enumerate(laws):
            panels[1, joint].plot(t, tau[:, joint], **style)
            _error(panels[2, joint], profiles[name, law, 1.0], **style)
    titles = "s, share of the path", "ds/dt [1/s]", "d²s/dt² [1/s²]"
    error = {"ylabel": "tool error [% of path]", "yscale": "log", "ylim": (FLOOR_PERCENT, 10), "xlabel": "time [s]"}
    for (first, second, third), title, joint, law in zip(panels.T, titles, JOINTS, laws):
        first.set_title(title)
        second.set_title(f"planned effort, {joint}")
        third.set(title=f"{LAWS[law]}, 1 kg", **error)
    plt.setp(panels, xlim=(-0.1, TOTAL_S))
    panels[0, 0].legend(fontsize=8)
    return figure


def _feed_forward(open_loop: dict):
    figure, axes = plt.subplots(figsize=(9, 5.5), layout="constrained")
    styles = {"on the path": "-", "1 um too high": "--", "1 cm too high": "-."}
    for name, case in open_loop.items():
        colour = "#1e8449" if case.load_kg == BELIEVED_KG else "#c0392b"
        axes.plot(case.run.t, np.maximum(case.error, 1e-9), color=colour, ls=styles[name.split(", ")[1]], lw=1.5, label=name)
    pole, t = rrp.unstable_poles(BELIEVED_KG)["begin"], np.linspace(0.5, TOTAL_S, 2)
    axes.plot(t, 1e-6 * np.exp(pole * t), color="k", ls=":", label=f"slope of the unstable pole, exp({pole:.2f} t)")
    axes.axhspan(0.3, 0.5, color="0.8", zorder=0, label="the 0.3-0.5 % of the reference notes")
    axes.axhline(100.0, color="0.4", lw=0.8)
    axes.set(yscale="log", xlim=(0, TOTAL_S), ylim=(1e-9, 1e4), xlabel="time [s]", ylabel="tool error [% of path]")
    axes.set_title(f"Feed-forward alone, told {BELIEVED_KG:g} kg: the arm falls away from its path")
    figure.legend(fontsize=9, loc="outside lower center", ncols=3)
    return figure
