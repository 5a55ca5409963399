"""``picker prove``: new poses, held by the numbers before and after a calibration, and where the camera sees the tip then."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path

from picker_dynamics.errors import refuse_if

from . import options as shared
from . import terminal

DESCRIPTION = """\
Show how far the tip was off before the calibration, and is now, at new poses: by the camera that calibrated the arm
(picker calibrate --camera), which has not been moved since.  Writes prove.json and prove.png beside the calibration."""


def add_parser(commands) -> None:
    """Register ``prove``."""
    one = commands.add_parser("prove", help="show by camera what a calibration is worth", description=DESCRIPTION)
    where = one.add_mutually_exclusive_group()
    shared.add(where, "--port")
    where.add_argument("--simulated", "--sim", action="store_true", help="prove a calibration of a simulated arm")
    shared.add(one, "--baud", "--arm", "--urdf", "--servos", "--servo-overlay")
    one.add_argument("--camera", default="0", metavar="DEVICE", help="the camera (default 0); sim with a simulated arm")
    one.add_argument("--out", default="", help="folder of the calibration (default: out/calibration; with --sim out/rehearsal)")
    one.add_argument("--poses", type=shared.whole(1, 100), default=10, metavar="N", help="number of new poses (default 10)")
    shared.add(one, "--seed", "--json")


def run(options: argparse.Namespace, *, ask=None) -> int:
    """Hold the poses twice, and print what the camera saw.

    Raises:
        InputError: there is no calibration by camera in that folder.
        PickerError: as of ``picker calibrate``.
    """
    from picker_dynamics.controller.parameters import DYNAMICS
    from picker_dynamics.estimation.calibration import by_itself, prove
    from picker_dynamics.estimation.calibration.questions import Context, Terminal
    from picker_dynamics.estimation.calibration.seen import Viewer
    from picker_dynamics.estimation.calibration.session import NAME

    from .calibrate_by_itself import connected, enabled, opened_port, viewer
    from .calibration import measures, opened

    options.simulated = options.simulated or options.camera == "sim"
    options.out = options.out or ("out/rehearsal" if options.simulated else "out/calibration")
    console = terminal.console(options)
    refuse_if(not (Path(options.out) / NAME).exists(), f"no calibration in {options.out}: run picker calibrate --camera", "out")
    measures(options)
    session, estimate = opened(options, anew=False)
    done = "stations" in session.done and session.value("stations", "look")
    refuse_if(not done, f"no calibration by camera in {options.out}: run picker calibrate --camera", "out")
    options.tag, weight_kg = session.settings["tag"], session.settings["weight"]
    person = Terminal(console, (lambda _prompt: "yes") if options.simulated else ask or input)
    context = Context(session, person, None, int(session.settings["seed"]), datetime.date.today().isoformat(), step="stations")

    def tell(text: str) -> None:
        person.tell(text, "hint")

    arm, hidden = connected(options, session, estimate, ask)
    try:
        look = viewer(options, context, estimate, arm, hidden)
        found = by_itself.looked_at(context, look, weight_kg)
        now = by_itself.estimated(estimate, found, context.when)
        wanted = prove.new_poses(look, found, options.poses, options.seed)
        enabled(context, arm, estimate)
        arm.set(DYNAMICS, {"compensation": "full"})
        tell("with the numbers before the calibration:")
        before = prove.held(look, found, wanted, tell)
    finally:
        arm.close()
    numbers = now.description, now.known_servos
    arm = hidden.hand_over(*numbers, "full", plant_error=hidden.plant.error) if hidden else opened_port(options, *numbers, "full")
    try:
        enabled(context, arm, now)
        tell("with the numbers of the calibration:")
        again = Viewer(arm, look.eye, look.model)
        again.first = look.first
        after = prove.held(again, found, wanted, tell)
    finally:
        arm.close()
    report = prove.report(before, after)
    from . import prove_figure

    prove_figure.draw(Path(options.out) / "prove.png", report, look.eye.picture)
    (Path(options.out) / "prove.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report) if options.json else "\n".join(prove.table(before, after)))
    return 0
