"""``picker compare BEFORE AFTER``: which numbers differ, and how far off the tip of a simulated or real arm is with either."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from picker_dynamics.errors import InputError

from . import options as shared
from . import terminal

WHERE = "a folder of picker calibrate, URDF[,OVERLAY], or 'shipped'"
RULER_POSES = 5
SIDES = {"before": "before", "after": "after", "floor": "its own numbers"}


def add_parser(commands) -> None:
    """Register ``compare``; imports nothing heavy."""
    one = commands.add_parser(
        "compare",
        help="what a calibration has changed, and what it is worth",
        description="Compare two sets of numbers for one arm. Exit code 0 when AFTER is no worse than BEFORE.",
    )
    one.add_argument("before", help=WHERE)
    one.add_argument("after", help=WHERE)
    shared.add(one, "--servos", help="servo map under the overlays (default: config/servos.yaml)")
    truth = one.add_mutually_exclusive_group()
    truth.add_argument("--truth", default="", metavar="WHERE", help=f"the true arm: {WHERE} (default: AFTER)")
    hidden = "the true arm is the simulated one with hidden errors up to this share, as in picker demo"
    shared.add(truth, "--plant-error", default=None, help=hidden)
    shared.add(one, "--seed", default=1, help="of the hidden errors (default 1)")
    horns = "hidden errors of the horns' zeros and scales too, as a share of those of picker calibrate (default 0)"
    one.add_argument("--horn-error", type=shared.ANY, default=0.0, metavar="SHARE", help=horns)
    poses = "random poses at which the simulated arm holds (default 10); 0: none, only the numbers"
    one.add_argument("--poses", type=shared.whole(0, 1_000_000), default=10, help=poses)
    ruler = "pairs of distances of the real tip from its target [mm]; without any they are asked for, pose by pose"
    one.add_argument("--ruler", nargs="*", metavar="BEFORE,AFTER", help=ruler)
    one.add_argument("--figure", default="", metavar="FILE", help="draw the errors into an image")
    shared.add(one, "--json")
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare; exit code 0 when AFTER is no worse, 1 otherwise."""
    from picker_dynamics.estimation.calibration import compare
    from picker_dynamics.sim.plant import Plant

    pairs = None if options.ruler is None else [_pair(text) for text in options.ruler]
    console = terminal.console(options)
    before, after = (compare.load(name, options.servos) for name in (options.before, options.after))
    differences, errors, called = compare.differences(before, after), None, ""
    if options.poses:
        if options.plant_error is None:
            true = compare.load(options.truth, options.servos) if options.truth else after
            truth, called = Plant(true.description, true.servos), f"the arm of {true.name}"
        else:
            truth, called = compare.hidden_truth(options.plant_error, options.seed, options.horn_error)
        with console.status(f"moving {called} with either set of numbers"):
            errors = compare.tip_errors(before, after, truth, poses=options.poses, floor=options.plant_error is not None)
    if pairs == []:
        pairs = _asked(before, after, console)
    ruler = None if pairs is None else compare.ruler_report(pairs)
    report = {
        "before": before.name,
        "after": after.name,
        "truth": called,
        "differences": [vars(one) | {"percent": one.percent} for one in differences],
        "errors_mm": errors and errors.summary(),
        "tip_uncertainty_95_mm": {"before": before.tip_mm, "after": after.tip_mm},
        "ruler": ruler and vars(ruler),
        "no_worse": all(one.no_worse for one in (errors, ruler) if one is not None),
    }
    if options.figure and errors:
        _draw(errors, Path(options.figure))
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _show(console, report)
    return 0 if report["no_worse"] else 1


def _pair(text: str) -> tuple[float, float]:
    try:
        before, after = (float(part) for part in text.split(","))
    except ValueError as error:
        why = f"--ruler {text!r}: must be BEFORE,AFTER in millimetres, for example 12.5,1.5"
        raise InputError(why, subject="ruler", value=text) from error
    return before, after


def _asked(before, after, console) -> list[tuple[float, float]]:
    """Have a person move the real arm to a few poses with either set, and read the ruler there [mm]."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.calibration.evaluate import usual_paths

    poses = [path.end for path in usual_paths(after.description, after.servos, RULER_POSES)]
    places, columns = RigidBody(after.description).forward_kinematics(poses), []
    for numbers in (before, after):
        console.print(f"Bring the real arm up with {numbers.name}, enable it, and read how far the tip is from each point:")
        columns.append([])
        for q, place in zip(poses, places):
            joints = " ".join(f"{name}={math.degrees(angle):.2f}" for name, angle in zip(after.description.joint_names, q))
            target = ", ".join(f"{1e3 * x:.1f}" for x in place)
            console.print(f"picker move --joints {joints}\n  the tip should be at {target} mm (base_link)")
            try:
                columns[-1].append(float(console.input("distance [mm]: ").replace("mm", "").replace(",", ".")))
            except (EOFError, ValueError) as error:
                raise InputError("a distance in millimetres was expected, for example 3.5", subject="ruler") from error
    return list(zip(*columns))


def _show(console, report: dict) -> None:
    differ = f"numbers that differ: {len(report['differences'])}"
    table = terminal.table(differ, "", "figure", "before", "after", "change", left=("", "figure"))
    for one in report["differences"]:
        change = "" if one["percent"] is None else f"{one['percent']:+.1f} %"
        table.add_row(one["where"], one["figure"], f"{one['before']:.5g}", f"{one['after']:.5g}", change)
    console.print(table)
    if report["errors_mm"]:
        kinds = [(kind, what) for kind in ("hold", "tracking") for what in ("median", "max")]
        told = [f"{kind}, {what}" for kind in ("at rest", "on the way") for what in ("median", "worst")]
        table = terminal.table(f"tip error of {report['truth']} [mm]", "controlled with", *told, left=("controlled with",))
        for side, errors in report["errors_mm"].items():
            table.add_row(SIDES[side], *(f"{errors[kind][what]:.2f}" for kind, what in kinds))
        console.print(table)
    for side, stated in report["tip_uncertainty_95_mm"].items():
        if stated is not None:
            console.print(f"{side}: its readings state the tip within {stated:.1f} mm (95 %)", soft_wrap=True)
    if report["ruler"]:
        (low, high), nearer = report["ruler"]["interval_mm"], report["ruler"]["nearer_mm"]
        told = f"on the ruler the tip is {nearer:.1f} mm nearer than before (95 %: {low:.1f} ... {high:.1f})"
        console.print(told, soft_wrap=True)
    if report["errors_mm"] or report["ruler"]:
        console.print("after is no worse than before" if report["no_worse"] else "after is WORSE than before")


def _draw(report, path: Path) -> None:
    from picker_dynamics.recording.figures import plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, kind, title in zip(panels, ("hold", "tracking"), ("at rest after each motion", "on the way, rms")):
        for side, errors in vars(report).items():
            if errors is not None:
                axes.semilogy(1e3 * getattr(errors, kind), "o-", label=SIDES[side])
        axes.set(xlabel="motion", ylabel="tip error [mm]", title=title)
        axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
