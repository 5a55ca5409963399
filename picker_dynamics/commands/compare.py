"""``picker compare BEFORE AFTER``: which numbers differ, and how far off the tip of a simulated arm is with either."""

from __future__ import annotations

import argparse
import json

from . import options as shared
from . import terminal

WHERE = "a folder of picker calibrate, URDF[,OVERLAY], or 'shipped'"


def add_parser(commands) -> None:
    """Register ``compare``; imports nothing heavy."""
    one = commands.add_parser(
        "compare",
        help="compare two calibrations of an arm",
        description="Compare two sets of numbers for one arm. Exit code 0 when AFTER is no worse than BEFORE.",
    )
    one.add_argument("before", help=WHERE)
    one.add_argument("after", help=WHERE)
    shared.add(one, "--servos", help="servo map under the overlays (default: config/servos.yaml)")
    truth = one.add_mutually_exclusive_group()
    truth.add_argument("--truth", default="", metavar="WHERE", help=f"numbers of the true arm: {WHERE} (default: AFTER)")
    hidden = "take a true arm with random errors up to this share, as in picker demo"
    shared.add(truth, "--plant-error", default=None, help=hidden)
    shared.add(one, "--seed", default=1, help="seed of the random errors (default 1)")
    poses = "random poses of the simulated arm (default 10); 0: compare numbers only"
    one.add_argument("--poses", type=shared.whole(0, 1_000_000), default=10, help=poses)
    shared.add(one, "--json")


def run(options: argparse.Namespace) -> int:
    """Compare; exit code 0 when AFTER is no worse, 1 otherwise."""
    from picker_dynamics.estimation.calibration import compare
    from picker_dynamics.estimation.calibration.arm_estimate import given
    from picker_dynamics.estimation.rehearsal import SimulatedBench
    from picker_dynamics.sim.plant import Plant

    console = terminal.console(options)
    before, after = (compare.load(name, options.servos) for name in (options.before, options.after))
    differences, errors, called = compare.differences(before, after), None, ""
    if options.poses:
        if options.plant_error is None:
            true = compare.load(options.truth, options.servos) if options.truth else after
            truth, called = Plant(true.description, true.servos), f"the arm of {true.name}"
        else:
            hidden = {"plant_error": options.plant_error, "seed": options.seed, "horn_error": 0.0}
            truth = SimulatedBench.with_errors(*given(simulated=True), **hidden).plant
            called = f"the simulated arm (plant error {options.plant_error:g}, seed {options.seed})"
        with console.status(f"moving {called} with either set of numbers"):
            errors = compare.tip_errors(before, after, truth, poses=options.poses)
    report = {
        "before": before.name,
        "after": after.name,
        "truth": called,
        "differences": differences,
        "errors_mm": errors and errors.summary(),
        "no_worse": errors is None or errors.no_worse,
    }
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _show(console, report)
    return 0 if report["no_worse"] else 1


def _show(console, report: dict) -> None:
    differ = f"numbers that differ: {len(report['differences'])}"
    table = terminal.table(differ, "", "figure", "before", "after", left=("", "figure"))
    for one in report["differences"]:
        table.add_row(one["where"], one["figure"], f"{one['before']:.5g}", f"{one['after']:.5g}")
    console.print(table)
    if not report["errors_mm"]:
        return
    kinds = [(kind, what) for kind in ("hold", "tracking") for what in ("median", "max")]
    told = [f"{kind}, {what}" for kind in ("at rest", "on the way") for what in ("median", "worst")]
    table = terminal.table(f"tip error of {report['truth']} [mm]", "controlled with", *told, left=("controlled with",))
    for side, errors in report["errors_mm"].items():
        table.add_row(side, *(f"{errors[kind][what]:.2f}" for kind, what in kinds))
    console.print(table)
    console.print("after is no worse than before" if report["no_worse"] else "after is WORSE than before")
