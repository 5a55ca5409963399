"""``picker calibrate --simulated``: the whole way with an arm whose numbers are hidden, and what it was worth."""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Mapping
from pathlib import Path

from picker_dynamics.errors import InputError


def add_parser(commands) -> None:
    """Register ``calibrate`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser("calibrate", help="find masses, zeros and stiffness of an arm with scale, ruler and inclinometer",
                              description="Rehearse a calibration on a simulated arm with hidden numbers, read with the noise of "
                              "real instruments; show what it finds and what that is worth.")
    one.add_argument("--simulated", action="store_true", required=True, help="an arm with hidden numbers (the only bench so far)")
    one.add_argument("--plant-error", type=float, default=0.15, metavar="SHARE", help="bound of the hidden errors (default 0.15)")
    one.add_argument("--seed", type=int, default=0, help="of the hidden errors and of the noise")
    one.add_argument("--out", default="out/calibration", help="folder for URDF, servo-map overlay and report.json")
    one.add_argument("--json", action="store_true", help="print the report as JSON")
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Walk the whole way; exit code 0 only if the tip holds better than before."""
    import numpy as np
    from rich.console import Console

    from picker_dynamics import description, servo_map
    from picker_dynamics.calibration import evaluate, walk, write_back
    from picker_dynamics.calibration.poses import Weight
    from picker_dynamics.calibration.simulated import SimulatedBench
    from picker_dynamics.resources import resource
    from picker_dynamics.sim.plant import Plant

    if options.seed < 0:
        raise InputError(f"seed is {options.seed}, must be >= 0", joint="seed", value=options.seed, limit=0)
    console = Console(stderr=options.json)
    arm = description.load(resource("urdf/picker.urdf"))
    believed = servo_map.load(resource("config/servos.yaml"), arm.joint_names)
    simulated = servo_map.load(resource("config/servos.yaml"), arm.joint_names, resource("config/servos.sim.yaml"))
    bench = SimulatedBench.with_errors(arm, simulated, plant_error=options.plant_error, seed=options.seed)
    weights = [Weight(), Weight(0.2), Weight(0.4), Weight(0.3, WRIST)]
    when = datetime.date.today().isoformat()
    with console.status("calibrating") as status:
        found = walk.calibrate(arm, believed, bench, weights, seed=options.seed, when=when, tell=status.update)
        status.update("moving the arm as it was believed to be, and as it was found to be")
        paths = evaluate.usual_paths(arm, simulated)

        def hold(beliefs, servos):
            return evaluate.errors(Plant(arm, bench.plant.servo_map, plant_error=bench.plant.error), beliefs, servos, paths)

        before, after = hold(arm, believed), hold(found.description, found.servos)
        uncertain = evaluate.tip_uncertainty(found, [path.end for path in paths])
    out = Path(options.out)
    overlay = write_back.overlay_text(found.servos, found.figures, when)
    files = {"arm.urdf": found.description.urdf, "servos.calibrated.yaml": overlay}
    report = {"seed": options.seed, "plant_error": options.plant_error, "joints": _joints(found, bench.plant, believed),
              "links": _links(found, bench.plant), "misfit": found.fit.misfit,
              "visits": len({one.visit for one in found.fit.readings}),
              "hold_mm": {name: {"median": 1e3 * float(np.median(one.hold)), "max": 1e3 * float(one.hold.max())}
                          for name, one in (("before", before), ("after", after))},
              "tip_uncertainty_95_mm": 1e3 * uncertain}
    for name, text in (*files.items(), ("report.json", json.dumps(report, indent=2) + "\n")):
        backup = write_back.write(out / name, text)
        if backup is not None:
            console.print(f"{out / name} was there already: kept as {backup.name}")
    if options.json:
        print(json.dumps(report))
    else:
        _show(console, report, out)
    return 0 if np.median(after.hold) < np.median(before.hold) else 1


WRIST = (-0.08, 0.0, 0.0)
"""The wrist axis in the picker's tool frame [m], where a weight bears on shoulder and elbow alone."""


def _joints(found, plant, believed) -> dict:
    """What was found of each servo, and the truth [rad, N·m/rad]."""
    rows = {}
    for column, (joint, one) in enumerate((name, found.figures[name]) for name in plant.joint_names):
        true, was = plant.servo_map.servos[column], believed.servos[column]
        entries = {"zero_rad": (one.zero, -was.direction * (true.zero - was.zero)),
                   "scale": (one.scale, true.horn_angles[-1] / was.horn_angles[-1] - 1.0)}
        if one.stiffness is not None:
            entries["stiffness_nm_rad"] = one.stiffness, float(plant.servo.stiffness[column])
            entries["deadband_rad"] = one.deadband, float(plant.servo.deadband[column])
        rows[joint] = {key: _entry(*pair) for key, pair in entries.items()}
    return rows


def _links(found, plant) -> dict:
    rows = {}
    for name, one in found.links.items():
        link, error = plant.description.links[name], plant.error
        entries = {"mass_kg": (one.mass, link.mass * error.mass[name]), "centre_m": (one.distance, float(link.com[0]))}
        if one.inertia is not None:
            entries["inertia_kg_m2"] = one.inertia, float(link.inertia[1, 1] * error.inertia[name])
        rows[name] = {key: _entry(*pair) for key, pair in entries.items()}
    return rows


def _entry(measured, truth: float) -> dict:
    return {"found": measured.value, "sd": measured.sd, "truth": truth}


def _show(console, report: Mapping, out: Path) -> None:
    from rich.table import Table

    for title, rows in (("servos", report["joints"]), ("links", report["links"])):
        table = Table(title=title, title_justify="left")
        for heading in ("", "figure", "found", "± (95 %)", "truth"):
            table.add_column(heading, justify="left" if heading in ("", "figure") else "right")
        for name, figures in rows.items():
            for key, one in figures.items():
                table.add_row(name, key, *(f"{value:.4g}" for value in (one["found"], 1.96 * one["sd"], one["truth"])))
                name = ""
        console.print(table)
    hold = report["hold_mm"]
    console.print(f"tip at rest, median (worst): before {hold['before']['median']:.1f} ({hold['before']['max']:.1f}) mm, "
                  f"after {hold['after']['median']:.1f} ({hold['after']['max']:.1f}) mm", soft_wrap=True)
    console.print(f"with these readings the tip is within {report['tip_uncertainty_95_mm']:.1f} mm (95 %), pulse steps and "
                  f"friction aside; {report['visits']} visits of poses, misfit {report['misfit']:.2f}", soft_wrap=True)
    console.print(f"to use it: picker up --urdf {out}/arm.urdf --servo-overlay {out}/servos.calibrated.yaml", soft_wrap=True)
