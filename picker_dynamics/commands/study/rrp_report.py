"""The RRP study for a person: a table per question."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .rrp import BELIEVED_KG, LATE_S, LAWS, TOTAL_S
from .rrp_summary import WALL_S


def show(summary: dict, console: Console) -> None:
    """Print the tables of a summary."""
    setup = summary["setup"]
    console.print(
        f"RRP arm, tool {setup['path_m']:.3f} m straight in {setup['move_s']:g} s and held to {TOTAL_S:g} s; the laws "
        f"are told a load of {BELIEVED_KG:g} kg. Errors of the tool in % of the path.",
        soft_wrap=True,
    )
    for mode, title in (("continuous", "continuous time"), ("sampled", "sampled at 1 kHz and held")):
        console.print(
            _by_load(summary, mode, "worst_late_percent", f"1 cm too high at first, {title}: worst from {LATE_S:g} s on [%]")
        )
        console.print(_by_load(summary, mode, "end_percent", f"1 cm too high at first, {title}: at {TOTAL_S:g} s [%]"))
    console.print(_efforts(summary))
    console.print(_profiles(summary))
    _open_loop(summary["open_loop"], console)
    console.print(_requirements(summary))
    console.print(_wall(summary))


def number(value: float) -> str:
    """Short, whatever its size."""
    if abs(value) < 1e-5:
        return "<1e-5"
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.2g}" if abs(value) < 1.0 else f"{value:.3g}"


def _table(title: str, first: str, headings) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _by_load(summary: dict, mode: str, quantity: str, title: str) -> Table:
    loads = [f"{load:g}" for load in summary["setup"]["loads_kg"]]
    table = _table(title, "law", [f"{load} kg" for load in loads])
    for name, law in LAWS.items():
        table.add_row(law, *(number(summary["laws"][name][mode][load][quantity]) for load in loads))
    return table


def _efforts(summary: dict) -> Table:
    table = _table(
        "1 kg, 1 cm too high at first, sampled: efforts [N·m, N·m, N]",
        "law",
        ["peak", "total variation", f"from {LATE_S:g} s on"],
    )
    for name, title in LAWS.items():
        case = summary["laws"][name]["sampled"]["1"]
        table.add_row(
            title,
            *(", ".join(f"{x:.0f}" for x in case[key]) for key in ("peak_effort", "total_variation")),
            ", ".join(f"{x:.1f}" for x in case["total_variation_late"]),
        )
    table.add_row("the ideal motion", "", "", ", ".join(f"{x:.1f}" for x in summary["ideal_total_variation_late"]["1"]))
    return table


def _profiles(summary: dict) -> Table:
    profiles = list(summary["profiles"])
    table = _table(f"on the path at first, continuous time: worst error [%], {BELIEVED_KG:g} kg | 1 kg", "law", profiles)
    for name, title in LAWS.items():
        table.add_row(
            title,
            *(
                " | ".join(
                    number(summary["profiles"][profile][name][load]["worst_percent"]) for load in (f"{BELIEVED_KG:g}", "1")
                )
                for profile in profiles
            ),
        )
    return table


def _open_loop(open_loop: dict, console: Console) -> None:
    table = _table(
        f"feed-forward alone, continuous time, told {BELIEVED_KG:g} kg: error [%]",
        "true load, start",
        ["on arrival", f"at {TOTAL_S:g} s", "over 0.5 %", "over 100 %"],
    )
    for name, run in open_loop["runs"].items():
        passes = (run[f"passes_{percent}_percent_s"] for percent in ("0.5", "100"))
        table.add_row(
            name,
            number(run["at_arrival_percent"]),
            number(run["end_percent"]),
            *("never" if when is None else f"{when:.2f} s" for when in passes),
        )
    console.print(table)
    poles = open_loop["unstable_pole_1_s"][f"{BELIEVED_KG:g}"]
    times = min(open_loop["error_grows_times"].values())
    console.print(
        f"Feed-forward alone DIVERGES: held by constant efforts this arm falls, its fastest pole is at +{poles['begin']:.2f} to "
        f"+{poles['end']:.2f} 1/s, and what is off at the start is off {times:.0f} times as much after {TOTAL_S:g} s. Only with "
        "the exact load and the exact start does the arm follow. So the 0.3-0.5 % that the reference notes give for a wrong "
        "load cannot be had without feedback.",
        soft_wrap=True,
    )


def _requirements(summary: dict) -> Table:
    table = Table(title="requirements, worst of all loads", title_justify="left")
    for heading in ("law", "mode", "what", "worst", "limit", ""):
        table.add_column(heading, justify="right" if heading in ("worst", "limit") else "left")
    for row in summary["requirements"]:
        table.add_row(
            row["law"],
            row["mode"],
            f"{row['what']}, {row['unit']}",
            number(row["worst"]),
            f"{row['limit']:g}",
            "met" if row["met"] else "NOT MET",
        )
    return table


def _wall(summary: dict) -> Table:
    modes = ("continuous", "sampled")
    table = _table(f"seconds to simulate {TOTAL_S:g} s, median; limit {WALL_S:g}", "law", modes)
    for name, wall in summary["wall_s"].items():
        table.add_row(LAWS[name], *(f"{wall[mode]['median']:.2f}" for mode in modes))
    return table
