"""``picker calibrate``: a guided session at a terminal, with a real board or a simulated arm; goes on where it was left."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

from picker_dynamics.errors import refuse_if
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot.units import LENGTH, MASS

from . import options as shared
from . import terminal
from .calibration import measures, opened

STEP_NAMES = ("map", "droop", "result")
DESCRIPTION = """\
Find zeros and stiffness of your own arm, roughly, in half an hour: you read an inclinometer (a phone) and a ruler, about 40
times.  A webcam finds more in a quarter of an hour: --camera.  Every answer is saved at once: Ctrl-C ends at any time, the same
command continues there.  Nothing moves before you confirm.  docs/calibration.md explains each step, and the exit codes.

An arm whose servos measure (--arm so101) calibrates itself within five minutes, without instruments: it goes to twenty poses,
from above and from below.  A known weight makes stiffness and masses absolute: --weight (docs/so101.md)."""

TAG_M = shared.number(0.01, 0.2, LENGTH, "mm")
"""Type of a tag's edge."""

WEIGHT_KG = shared.number(0.01, 1.0, MASS, "g")
"""Type of a mass that is hung on."""


def add_parser(commands) -> None:
    """Register ``calibrate``; imports nothing heavy."""
    one = commands.add_parser(
        "calibrate", help="calibrate an arm by camera, by its own servos, or by hand", description=DESCRIPTION
    )
    where = one.add_mutually_exclusive_group()
    shared.add(where, "--port")
    rehearse = "rehearse: simulated arm with hidden errors, simulated answers"
    where.add_argument("--simulated", "--sim", action="store_true", help=rehearse)
    shared.add(one, "--baud", "--arm", "--urdf", "--servos")
    shared.add(one, "--servo-overlay", help="changes to the servo map, as the board was flashed")
    one.add_argument("--out", default="", help="folder for all files (default: out/calibration; with --simulated out/rehearsal)")
    steps = f"run only this step; repeatable: {', '.join(STEP_NAMES)}"
    one.add_argument("--step", action="append", choices=STEP_NAMES, metavar="NAME", help=steps)
    known = "known mass to hang on the tool point when asked, for arms whose servos measure (default: none)"
    one.add_argument("--weight", type=WEIGHT_KG, default=0.0, metavar="GRAMS", help=known)
    camera = "calibrate by a camera: a device (default 0), URL or folder of pictures, or sim for a simulated arm and camera"
    one.add_argument("--camera", nargs="?", const="0", default=None, metavar="DEVICE", help=camera)
    one.add_argument("--print", default="", metavar="FILE.pdf", help="write the sheets with the tags to print, and end")
    tag = "measured edge of the hand tag's black square; link lengths are then found too"
    one.add_argument("--tag", type=TAG_M, default=0.0, metavar="MM", help=tag)
    one.add_argument("--restart", action="store_true", help="begin anew; the session that is there is kept as a backup")
    settle = "time to come to rest before a reading (default 2.5 s)"
    one.add_argument("--settle", type=shared.number(0.0, 60.0), default=2.5, metavar="S", help=settle)
    shared.add(one, "--seed", help="seed of the random poses; with --simulated also of hidden errors and noise")
    shared.add(one, "--plant-error", default=0.15, help="largest hidden error, with --simulated")
    shared.add(one, "--json", help="print the report as JSON; messages go to standard error")


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
    from picker_dynamics.estimation.calibration import guided
    from picker_dynamics.estimation.calibration.questions import Context, LeaveError

    if options.print:
        from picker_dynamics.camera.sheet import write_sheet

        write_sheet(options.print)
        print(f"written: {options.print}; print it at 100 %, and measure its ruler")
        return 0
    options.simulated = options.simulated or options.camera == "sim"
    options.out = options.out or ("out/rehearsal" if options.simulated else "out/calibration")
    console = terminal.console(options)
    if measures(options) or options.camera is not None:
        refuse_if(options.step, "an arm that is looked at by its servos or a camera has no steps: leave --step out", "step")
        from . import calibrate_by_itself

        return calibrate_by_itself.run(options, console, ask)
    refuse_if(options.weight, "--weight needs --camera, or servos on a bus (docs/calibration.md)", "weight")
    _with_servos(options, console)
    session, estimate = opened(options, options.simulated or options.restart)  # a rehearsal's arm is another one each time
    simulation, person, mover = _answering(options, console, estimate.servos, ask)
    context = Context(
        session,
        person,
        mover,
        int(session.settings["seed"]),
        datetime.date.today().isoformat(),
        options.settle,
        {"urdf": options.urdf, "servos": options.servos, "servo-overlay": options.servo_overlay},
    )
    person.tell(f"Every answer is kept in {session.path}; back takes the last one back, Ctrl-C ends.", "hint")
    try:
        estimate = guided.run_steps(context, estimate, options.step or ())
    except LeaveError as error:
        person.tell(f"{error}", "warning")
        return 0
    except KeyboardInterrupt:
        holds = "the arm holds, and " if mover is not None else ""
        person.tell(f"\ninterrupted: {holds}every answer is kept in {session.path}. The same command continues here.", "warning")
        return terminal.INTERRUPTED
    finally:
        if mover is not None:
            mover.let_go()
    return _ended(options, console, estimate, simulation)


def _with_servos(options, console) -> None:
    """An arm without a servo map: its rehearsal goes with assumed servos, put on file beside the session."""
    from picker_dynamics.estimation.calibration.write_back import write
    from picker_dynamics.robot import servo_arm
    from picker_dynamics.robot.servo_map import map_text

    arm = servo_arm.read_arm(options.urdf)
    if not servo_arm.assumes(arm, options.servos):
        return
    why = f"{arm.name} needs its servo map to be calibrated: give --servos (docs/your_arm.md); only rehearsals assume servos"
    refuse_if(not options.simulated, why, "servos")
    path, text = Path(options.out) / "servos.assumed.yaml", map_text(servo_arm.load(options.urdf)[1])
    if not (path.exists() and path.read_text(encoding="utf-8") == text):
        write(path, text)
    options.servos = str(path)
    console.print(f"no servo map of {arm.name} (--servos): assumed servos, see {path}", style="yellow", markup=False)


def _answering(options, console, servos, ask):
    """The rehearsal, if it is one; who answers; what moves the arm, None without a port."""
    from picker_dynamics.estimation.calibration.questions import STYLES, Terminal

    if options.simulated:
        from picker_dynamics.estimation.rehearsal import Rehearsal

        def show(text: str, style: str) -> None:
            console.print(text, style=STYLES[style], markup=False, soft_wrap=True)

        hidden = {key: getattr(options, key) for key in ("plant_error", "seed")}
        simulation = Rehearsal(options.urdf, options.servos, options.servo_overlay, hidden, show)
        return simulation, simulation.person, simulation.mover
    why = "picker calibrate needs a terminal; --simulated runs unattended"
    refuse_if(ask is None and not sys.stdin.isatty(), why, "input")
    person, mover = Terminal(console, ask or input), None
    if options.port:
        from picker_dynamics.board.link import Link
        from picker_dynamics.estimation.calibration.mover import Mover

        mover = Mover(Link(options.port, baud=options.baud, joint_names=servos.joint_names), servos)
        mover.take()
    return None, person, mover


def _ended(options, console, estimate, simulation) -> int:
    """Judge a rehearsal; print the report where JSON is asked for."""
    from picker_dynamics.estimation.calibration.steps.result import table

    path, code = Path(options.out) / "report.json", 0
    if simulation is not None and not options.step:
        report, code = simulation.judged(estimate, read_json(path, "report"))
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        hold = [f"{name} {one['median']:.1f} ({one['max']:.1f}) mm" for name, one in report["hold_mm"].items()]
        console.print("\n".join(table(report)), markup=False, soft_wrap=True)
        console.print(
            f"tip at rest, median (worst): {', '.join(hold)}; floor: by its own true numbers\n"
            f"{report['answers']} questions were answered",
            soft_wrap=True,
        )
    if options.json:
        refuse_if(not path.exists(), f"there is no {path} yet: run the step result", "json")
        print(path.read_text(encoding="utf-8").rstrip())
    return code
