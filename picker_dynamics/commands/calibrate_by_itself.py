"""``picker calibrate`` of an arm that is looked at by its own servos or by a camera: it moves by itself, a person watches."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

from picker_dynamics.errors import MissingDependencyError, PickerError, refuse_if
from picker_dynamics.files.formats import read_json

from . import terminal
from .calibration import opened

RATE_HZ = 100.0
"""Of the control loop of an arm that calibrates itself."""

CAMERAS_NAME = "cameras.yaml"


def run(options, console, ask) -> int:
    """Have an arm calibrate itself; arguments, result and errors as of ``calibrate.run``."""
    from picker_dynamics.estimation.calibration import by_itself, measured
    from picker_dynamics.estimation.calibration.questions import Context, LeaveError, Terminal
    from picker_dynamics.estimation.calibration.steps import result

    session, estimate = opened(options, options.simulated or options.restart)
    for name, unit in (("weight", "g"), ("tag", "mm")):
        kept, asked = session.settings.get(name, 0.0), getattr(options, name)
        why = f"{session.path} was begun with {1e3 * kept:g} {unit}: give that, another --out, or --restart"
        refuse_if(kept != asked, why, name, asked, kept)
    person = Terminal(console, (lambda _prompt: "yes") if options.simulated else ask or input)
    arm, hidden = connected(options, session, estimate, ask)
    named = {"urdf": options.urdf, "servos": options.servos, "servo-overlay": options.servo_overlay}
    context = Context(
        session, person, None, int(session.settings["seed"]), datetime.date.today().isoformat(), files=named, step="stations"
    )
    person.tell(f"All that is read is kept in {session.path}; Ctrl-C ends, the same command goes on.", "hint")
    try:
        context.take_off()
        enabled(context, arm, estimate)
        looker = measured.Stander(arm) if options.camera is None else viewer(options, context, estimate, arm, hidden)
        estimate = by_itself.run(context, estimate, looker, options.weight)
        session.finish("stations")
        context.step = result.NAME
        result.run_step(context, estimate)
        if options.camera is not None:
            _write_camera(context, estimate)
    except LeaveError as error:
        person.tell(str(error), "warning")
        return 0
    except KeyboardInterrupt:
        person.tell(f"\ninterrupted: the arm holds, and what was read is kept in {session.path}", "warning")
        return terminal.INTERRUPTED
    finally:
        arm.close()
    path = Path(options.out) / result.REPORT_NAME
    if hidden is not None:
        report = hidden.judged(read_json(path, "report"))
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        console.print("\n".join(result.table(report)), markup=False, soft_wrap=True)
    if options.json:
        print(path.read_text(encoding="utf-8").rstrip())
    return 0


def connected(options, session, estimate, ask=None):
    """The arm under its controller, which does not compensate, and what is hidden of it; not enabled where it is a real one.

    Raises:
        InputError: neither a port nor a simulated arm is asked for, or nobody is there to watch a real one.
        PickerError: no arm at that port.
    """
    from picker_dynamics.estimation.hidden_arm import HiddenArm

    why = "give --port, or --sim for a simulated arm with hidden numbers"
    refuse_if(not (options.port or options.simulated), why, "port")
    why = "it needs a terminal; --sim runs unattended"
    refuse_if(options.port and ask is None and not sys.stdin.isatty(), why, "input")
    if not options.simulated:
        return opened_port(options, estimate.description, estimate.servos, "none"), None
    files, crooked = (options.urdf, options.servos, options.servo_overlay), 0.0 if options.camera is None else 1.0
    hidden = HiddenArm(*files, float(session.settings["plant_error"]), int(session.settings["seed"]), crooked)
    return hidden.session, hidden


def opened_port(options, description, servos, compensation: str):
    """The arm at the port, under a controller that believes so."""
    from picker_dynamics.robot.arm_text import Known
    from picker_dynamics.session.local import open_port

    return open_port(Known(description, servos), options.port, compensation, "", RATE_HZ)


def enabled(context, arm, estimate) -> None:
    """Enable the arm, after a yes: outputs that run are taken over, others start at the rest pose."""
    text = "The arm moves by itself for about five minutes, wherever it reaches. Is it fixed, is all free, are hands away?"
    context.agree("move", text, "nothing was moved")
    if arm.hardware["state"] == "active":
        return
    if problem := arm.arm.outputs.board_problem:
        context.agree("board", f"{problem}. It keeps to its own limits. Go on with it?", "nothing was moved")
        arm.accept_board()
    try:
        arm.enable(at_rest_pose=False)
    except PickerError:
        if estimate.servos.bus is not None:
            raise
        context.tell(
            "The servos have no power yet: each one jumps to its rest pose when its output starts. Put the arm at its rest pose, "
            "folded, as near as you can. Keep the switch of the servo supply at hand.",
            "warning",
        )
        context.agree("on", "Is it there? yes switches the servos on, one after the other.", "the servos are off")
        arm.enable(at_rest_pose=True)
    arm.wait_holding()


def viewer(options, context, estimate, arm, hidden):
    """A camera's view of the arm: the first look was taken, and each joint moves."""
    from picker_dynamics.estimation.calibration import seen

    tags = seen.printed(estimate.description, options.tag)
    if hidden is None:
        eye: seen.Eye = seen.Webcam(options.camera, context.tell)
    else:
        from picker_dynamics.estimation.hidden_arm import RenderedEye, SimulatedEye

        try:
            eye = RenderedEye(hidden, *tags, context.seed)
        except MissingDependencyError as error:
            context.tell(f"{error}; tags are drawn without the arm", "hint")
            eye = SimulatedEye(hidden, *tags, context.seed)
    return seen.begin(context, estimate, arm, eye, tags, bool(options.tag))


def _write_camera(context, estimate) -> None:
    """Write where the camera stands, for ``pick --listen``."""
    from picker_dynamics.estimation.calibration.write_back import cameras_text, write

    fit = estimate.fit
    path = context.folder / CAMERAS_NAME
    write(path, cameras_text(fit.model.seen_by(fit.unknowns), estimate.description.root, context.when))
    context.tell(f"Written: {path}, where the camera is: picker pick --listen --cameras {path}", "good")
