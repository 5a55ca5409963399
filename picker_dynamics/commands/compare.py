"""``picker compare BEFORE AFTER``: which numbers differ, and how far off the tip of a simulated or real arm is with either."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path

from picker_dynamics.errors import InputError, refuse_if

from . import options as shared

WHERE = "a folder of picker calibrate, URDF[,OVERLAY], or 'shipped'"
RULER_POSES = 5


def add_parser(commands) -> None:
    """Register ``compare`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser(
        "compare",
        help="what a calibration has changed, and what it is worth",
        description="Compare two sets of numbers for one arm. Exit code 0 when AFTER is no worse than BEFORE.",
    )
    one.add_argument("before", help=WHERE)
    one.add_argument("after", help=WHERE)
    one.add_argument("--servos", default="", help="servo map under the overlays (default: config/servos.yaml)")
    truth = one.add_mutually_exclusive_group()
    truth.add_argument("--truth", default="", metavar="WHERE", help=f"the true arm: {WHERE} (default: AFTER)")
    truth.add_argument(
        "--plant-error",
        type=shared.ANY,
        default=None,
        metavar="SHARE",
        help="the true arm is the simulated one with hidden errors up to this share, as in picker demo",
    )
    one.add_argument("--seed", type=shared.SEED, default=1, help="of the hidden errors (default 1)")
    one.add_argument(
        "--horn-error",
        type=shared.ANY,
        default=0.0,
        metavar="SHARE",
        help="hidden errors of the horns' zeros and scales too, as a share of those of picker calibrate (default 0)",
    )
    one.add_argument(
        "--poses",
        type=shared.whole(0, 1_000_000),
        default=10,
        help="random poses at which the simulated arm holds (default 10); 0: none, only the numbers",
    )
    one.add_argument(
        "--ruler",
        nargs="*",
        metavar="BEFORE,AFTER",
        help="pairs of distances of the real tip from its target [mm]; without any they are asked for, pose by pose",
    )
    one.add_argument("--figure", default="", metavar="FILE", help="draw the errors into an image")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare; exit code 0 when AFTER is no worse, 1 otherwise."""
    from rich.console import Console

    from picker_dynamics.estimation.calibration import compare

    for name in ("poses", "seed"):
        value = getattr(options, name)
        refuse_if(value < 0, f"{name} is {value}, must be >= 0", name, value, 0)
    pairs = None if options.ruler is None else [_pair(text) for text in options.ruler]
    console = Console(stderr=options.json, highlight=False)
    before, after = (compare.load(name, options.servos) for name in (options.before, options.after))
    changed = compare.differences(before, after)
    errors, called = None, ""
    if options.poses:
        if options.plant_error is None:
            truth, called = compare.truth(compare.load(options.truth, options.servos) if options.truth else after)
        else:
            truth, called = compare.hidden_truth(options.plant_error, options.seed, options.horn_error)
        with console.status(f"moving {called} with either set of numbers"):
            errors = compare.tip_errors(before, after, truth, poses=options.poses, floor=options.plant_error is not None)
    if pairs == []:
        pairs = _ask(before, after, console.print, console.input)
    ruler = None if pairs is None else compare.ruler_report(pairs)
    no_worse = all(one.no_worse for one in (errors, ruler) if one is not None)
    report = {
        "before": before.name,
        "after": after.name,
        "truth": called,
        "differences": [vars(one) | {"percent": one.percent} for one in changed],
        "errors_mm": errors and errors.summary(),
        "tip_uncertainty_95_mm": {"before": before.tip_mm, "after": after.tip_mm},
        "ruler": ruler and vars(ruler),
        "no_worse": no_worse,
    }
    if options.figure and errors:
        _draw(errors, Path(options.figure))
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _show(console, report)
    return 0 if no_worse else 1


def _pair(text: str) -> tuple[float, float]:
    try:
        before, after = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(
            f"--ruler {text!r}: must be BEFORE,AFTER in millimetres, for example 12.5,1.5", subject="ruler", value=text
        ) from error
    return before, after


def _ask(before, after, say: Callable[[str], None], read: Callable[[str], str]) -> list[tuple[float, float]]:
    """Have a person move the real arm to a few poses with either set, and read the ruler there [mm]."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.calibration.evaluate import usual_paths

    poses = [path.end for path in usual_paths(after.description, after.servos, RULER_POSES)]
    places = RigidBody(after.description).forward_kinematics(poses)
    readings = []
    for numbers in (before, after):
        say(f"Bring the real arm up with {numbers.name}, enable it, and read how far the tip is from each point:")
        column = []
        for q, place in zip(poses, places):
            joints = " ".join(f"{name}={math.degrees(angle):.2f}" for name, angle in zip(after.description.joint_names, q))
            say(
                f"picker move --joints {joints}\n"
                f"  the tip should be at {', '.join(f'{1e3 * x:.1f}' for x in place)} mm (base_link)"
            )
            column.append(_distance(read))
        readings.append(column)
    return list(zip(*readings))


def _distance(read: Callable[[str], str]) -> float:
    try:
        typed = read("distance [mm]: ").replace("mm", "").replace(",", ".")
        return float(typed)
    except (EOFError, ValueError) as error:
        raise InputError("a distance in millimetres was expected, for example 3.5", subject="ruler") from error


SIDES = {"before": "before", "after": "after", "floor": "its own numbers"}


def _table(title: str, headings, left: int):
    """An empty table whose first ``left`` columns are texts."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < left else "right")
    return table


def _show(console, report: dict) -> None:
    table = _table(f"numbers that differ: {len(report['differences'])}", ("", "figure", "before", "after", "change"), 2)
    last = None
    for one in report["differences"]:
        change = "" if one["percent"] is None else f"{one['percent']:+.1f} %"
        where = "" if one["where"] == last else one["where"]
        table.add_row(where, one["figure"], f"{one['before']:.5g}", f"{one['after']:.5g}", change)
        last = one["where"]
    console.print(table)
    if report["errors_mm"]:
        _show_errors(console, report)
    for side, stated in report["tip_uncertainty_95_mm"].items():
        if stated is not None:
            console.print(f"{side}: its readings state the tip within {stated:.1f} mm (95 %)", soft_wrap=True)
    if report["ruler"]:
        low, high = report["ruler"]["interval_mm"]
        console.print(
            f"on the ruler the tip is {report['ruler']['nearer_mm']:.1f} mm nearer than before (95 %: {low:.1f} ... {high:.1f})",
            soft_wrap=True,
        )
    if report["errors_mm"] or report["ruler"]:
        console.print("after is no worse than before" if report["no_worse"] else "after is WORSE than before")


def _show_errors(console, report: dict) -> None:
    headings = "controlled with", "at rest, median", "at rest, worst", "on the way, median", "on the way, worst"
    table = _table(f"tip error of {report['truth']} [mm]", headings, 1)
    for side, kinds in report["errors_mm"].items():
        table.add_row(SIDES[side], *(f"{kinds[kind][what]:.2f}" for kind in ("hold", "tracking") for what in ("median", "max")))
    console.print(table)


def _draw(report, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, kind, title in zip(panels, ("hold", "tracking"), ("at rest after each motion", "on the way, rms")):
        for (side, errors), colour in zip(vars(report).items(), ("#c0392b", "#1e8449", "0.6")):
            if errors is None:
                continue
            values = 1e3 * getattr(errors, kind)
            label = f"{SIDES[side]}: median {np.median(values):.1f} mm"
            axes.plot(np.arange(1, len(values) + 1), values, "o-", color=colour, lw=1, ms=4, label=label)
        axes.set(xlabel="motion", ylabel="tip error [mm]", title=title, yscale="log")
        axes.grid(True, which="both", alpha=0.25)
        axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
