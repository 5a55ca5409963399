"""``picker calibrate``: a guided session at a terminal, with a real board or a simulated arm; goes on where it was left."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

from picker_dynamics.errors import refuse_if
from picker_dynamics.files.formats import read_json

from . import options as shared
from .terminal import interruptible

INTERRUPTED = 130
STEP_NAMES = ("links", "trim", "map", "limits", "rest", "droop", "result")
DESCRIPTION = """\
Find the numbers of your own arm, step by step: how pulses become angles, how far joints go, what links weigh, how far the arm
sags.  You need a kitchen scale, a ruler, a stopwatch and an inclinometer (a phone).  Every answer is kept at once: Ctrl-C ends
at any time, and the same command goes on there.  Nothing moves without your word.  docs/calibration.md explains each step."""
EXAMPLES = """\
examples:
  picker calibrate --simulated                      rehearse all of it, unattended, on an arm with hidden numbers
  picker calibrate --port /dev/ttyACM0              begin, or go on, with the real arm
  picker calibrate --port /dev/ttyACM0 --step droop only this step; may be repeated
  picker calibrate --step links                     on the table: no board needed
  picker calibrate --port /dev/ttyACM0 --quick      zeros and stiffness within half an hour, without scale and weights
  picker calibrate --list                           what is done and what is open

exit codes: 0 done (or left on purpose), 1 the simulated arm holds no better than before, 5 a value or file that cannot be used,
9 the link is gone, 10 the board reports a fault, 130 interrupted; what was answered is kept in all cases."""


def add_parser(commands) -> None:
    """Register ``calibrate`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser(
        "calibrate",
        help="find the numbers of an arm with scale, ruler, stopwatch and inclinometer",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = one.add_mutually_exclusive_group()
    where.add_argument("--port", default="", help="serial port of the board, for example /dev/ttyACM0")
    where.add_argument("--simulated", action="store_true", help="an arm with hidden numbers, and a person who is simulated too")
    one.add_argument("--baud", type=shared.whole(0, 1_000_000), default=500_000, help="speed of the serial line (default 500000)")
    one.add_argument("--urdf", default="", help="URDF of the arm (default: the picker's)")
    one.add_argument("--servos", default="", help="servo map (default: config/servos.yaml)")
    one.add_argument("--servo-overlay", default="", help="differences from the servo map, as the board was flashed")
    one.add_argument(
        "--out",
        default="",
        help="folder for the session and for what comes out (default: out/calibration; with --simulated out/rehearsal)",
    )
    one.add_argument(
        "--step",
        action="append",
        choices=STEP_NAMES,
        metavar="NAME",
        help=f"only this step; may be repeated: {', '.join(STEP_NAMES)}",
    )
    one.add_argument(
        "--quick",
        action="store_true",
        help="zeros and stiffness alone, from about 40 answers; masses are the URDF's, limits and rest pose stay",
    )
    one.add_argument("--list", action="store_true", help="what is done and what is open, then end")
    one.add_argument("--restart", action="store_true", help="begin anew; the session that is there is kept as session.json.1 ...")
    one.add_argument(
        "--repeats", type=shared.whole(0, 1_000_000), default=3, metavar="N", help="readings of each link, of a kind (default 3)"
    )
    one.add_argument(
        "--settle", type=shared.ANY, default=2.5, metavar="S", help="coming to rest before a reading (default 2.5 s)"
    )
    one.add_argument(
        "--seed", type=shared.SEED, default=0, help="of the random poses; with --simulated also of hidden errors and noise"
    )
    one.add_argument(
        "--plant-error", type=shared.ANY, default=0.15, metavar="SHARE", help="simulated: bound of the hidden errors"
    )
    one.add_argument(
        "--horn-error",
        type=shared.ANY,
        default=1.0,
        metavar="SHARE",
        help="simulated: hidden errors of the horns' zeros and scales, as a share of the usual 2 deg and 3 %%",
    )
    one.add_argument("--quiet", action="store_true", help="with --simulated: do not show questions and answers")
    one.add_argument("--json", action="store_true", help="print the report as JSON; what happens goes to standard error")
    one.set_defaults(run=run)


def run(options: argparse.Namespace, *, ask=None) -> int:
    """Walk the session on from where it is.

    Args:
        options: from :func:`add_parser`.
        ask: how a line is read from a person, default ``input``; then standard input has to be a terminal.

    Returns:
        Exit code, see the command's help.

    Raises:
        PickerError: a file, value, board or answer that cannot be used; what was answered is kept.
    """
    from rich.console import Console

    from picker_dynamics.estimation.calibration import guided
    from picker_dynamics.estimation.calibration.step_context import LeaveError, StepContext

    _require_sane(options)
    options.out = options.out or ("out/rehearsal" if options.simulated else "out/calibration")
    console = Console(stderr=options.json, highlight=False)
    _with_servos(options, console)
    simulation = _simulation(options, console) if options.simulated and not options.list else None
    session, estimate = _opened(options, simulation)
    if options.list:
        _list(console, session)
        return 0
    person = simulation.person if simulation else _terminal(console, ask)
    mover = simulation.mover if simulation else _board(options, estimate)
    files, settings = (options.urdf, options.servos, options.servo_overlay), session.settings
    context = StepContext(
        session,
        person,
        mover,
        Path(options.out),
        int(settings["seed"]),
        datetime.date.today().isoformat(),
        options.settle,
        int(settings["repeats"]),
        *files,
        quick=bool(settings.get("quick", False)),
    )
    person.tell(_greeting(session), "hint")
    try:
        with interruptible():
            estimate = guided.run_steps(context, estimate, options.step or ())
            guided.leave(context)
    except LeaveError as error:
        person.tell(f"{error}", "warning")
        return 0
    except KeyboardInterrupt:
        holds = "the arm holds, and " if mover is not None else ""
        person.tell(f"\ninterrupted: {holds}every answer is kept in {session.path}. The same command goes on here.", "warning")
        return INTERRUPTED
    finally:
        if mover is not None:
            mover.outputs.let_go()
    return _ended(options, console, estimate, simulation)


def _with_servos(options, console) -> None:
    """An arm without a servo map: its rehearsal goes with assumed servos, put on file beside the session."""
    from picker_dynamics.estimation.calibration.write_back import write
    from picker_dynamics.robot import servo_arm
    from picker_dynamics.robot.servo_file import map_text

    arm = servo_arm.read_arm(options.urdf)
    if not servo_arm.assumes(arm, options.servos):
        return
    refuse_if(
        not options.simulated,
        f"{arm.name} needs its servo map to be calibrated: give --servos (docs/your_arm.md); only rehearsals assume servos",
        "servos",
    )
    path, text = Path(options.out) / "servos.assumed.yaml", map_text(servo_arm.load(options.urdf)[1])
    if not (path.exists() and path.read_text(encoding="utf-8") == text):
        write(path, text)
    options.servos = str(path)
    console.print(f"no servo map of {arm.name} (--servos): servos that fit are assumed, see {path}", style="yellow", markup=False)


def _require_sane(options) -> None:
    for name, least, largest in (("seed", 0, 2**31), ("repeats", 1, 20), ("settle", 0.0, 60.0)):
        value = getattr(options, name)
        refuse_if(not least <= value <= largest, f"{name} is {value}, must be {least} to {largest}", name, value, least)
    refuse_if(options.quick and options.step, "--quick has steps of its own: leave --step out", "quick")
    refuse_if(options.restart and options.list, "--restart and --list do not go together", "restart")


def _opened(options, simulation):
    """The session, and what is believed before its first step."""
    from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate, given
    from picker_dynamics.estimation.calibration.session import NAME, SIMULATED, Session, checksums
    from picker_dynamics.resources import resource

    files = [options.servos or resource("config/servos.yaml"), *([options.servo_overlay] if options.servo_overlay else [])]
    arm, servos = given(options.urdf, options.servos, options.servo_overlay)
    kind = SIMULATED if options.simulated else "a real arm"
    tied = {"kind": kind, "name": arm.name, "urdf": arm.source, "servos": str(files[0]), **checksums(arm.urdf, *files)}
    settings = {"seed": options.seed, "repeats": options.repeats, "quick": options.quick}
    if options.simulated:
        settings |= _hidden(options)
    estimate = ArmEstimate(arm, servos)
    if options.list and not (Path(options.out) / NAME).exists():
        return Session(Path(options.out) / NAME, tied, settings), estimate  # nothing is written to look at it
    session = Session.open(options.out, tied, settings, restart=options.restart)
    if simulation and session.answers:  # its arm is gone
        session = Session.open(options.out, tied, settings, restart=True)
    return session, estimate


def _terminal(console, ask):
    from picker_dynamics.estimation.calibration.person import Terminal

    refuse_if(
        ask is None and not sys.stdin.isatty(),
        "there is nobody to ask: standard input is no terminal; --simulated walks unattended",
        "input",
    )
    return Terminal(console, ask or input)


def _board(options, estimate):
    """The arm on a port; without one nothing can move."""
    if not options.port:
        return None
    from picker_dynamics.board.link import Link
    from picker_dynamics.estimation.calibration.board_bench import BoardOutputs
    from picker_dynamics.estimation.calibration.mover import Mover

    servos = estimate.servos
    outputs = BoardOutputs(Link(options.port, baud=options.baud, joint_names=servos.joint_names), servos)
    outputs.take()
    return Mover(outputs)


def _simulation(options, console):
    from picker_dynamics.estimation.calibration.person import Terminal
    from picker_dynamics.estimation.calibration.rehearsal import Rehearsal

    def show(text: str, style: str) -> None:
        if not (options.quiet and style in ("hint", "")):
            console.print(text, style=Terminal.STYLES[style], markup=False, soft_wrap=True)

    return Rehearsal(options.urdf, options.servos, options.servo_overlay, _hidden(options), show)


def _hidden(options) -> dict:
    return {"plant_error": options.plant_error, "seed": options.seed, "horn_error": options.horn_error}


def _greeting(session) -> str:
    if not session.answers:
        return (
            f"A new session in {session.path}: every answer is kept there at once. At any question, back takes the last "
            "answer back; Ctrl-C ends, and the same command goes on there."
        )
    done = ", ".join(session.done) or "no step"
    return f"Going on with the session of {session.started} in {session.path}: {done} done, {len(session.answers)} answers."


def _list(console, session) -> None:
    from rich.table import Table

    from picker_dynamics.estimation.calibration import guided

    table = Table(title=str(session.path), title_justify="left")
    for heading in ("step", "what", "how far"):
        table.add_column(heading)
    for row in guided.table(session):
        table.add_row(*row)
    console.print(table)


def _ended(options, console, estimate, simulation) -> int:
    report_path, code = Path(options.out) / "report.json", 0
    if simulation is not None and not options.step:
        with console.status("moving the arm as it was believed to be, and as it was found to be"):
            report, code = simulation.judged(estimate, read_json(report_path, "report"))
        report_path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        _show(console, report)
    if options.json:
        refuse_if(not report_path.exists(), f"there is no {report_path} yet: run the step result", "json")
        print(report_path.read_text(encoding="utf-8").rstrip())
    return code


def _show(console, report: dict) -> None:
    """The figures beside the truth, and what the tip does."""
    from picker_dynamics.estimation.calibration.steps.result import table

    console.print("\n".join(table(report)), markup=False, soft_wrap=True)
    hold = report["hold_mm"]
    console.print(
        "tip at rest, median (worst): "
        + ", ".join(f"{name} {hold[name]['median']:.1f} ({hold[name]['max']:.1f}) mm" for name in ("before", "after"))
        + f"; its own true numbers would give {hold['floor']['median']:.1f} mm",
        soft_wrap=True,
    )
    if "tip_uncertainty_95_mm" in report:
        console.print(
            f"the tip was said to be within {report['tip_uncertainty_95_mm']:.1f} mm (95 %); "
            f"{report['answers']} questions were answered"
            + (f", {report['visits']} visits of poses, misfit {report['misfit']:.2f}" if "visits" in report else ""),
            soft_wrap=True,
        )
