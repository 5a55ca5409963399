"""The demo from beginning to end: pick on the live graph, measure without ROS, report."""

from __future__ import annotations

import json
import time
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.resources import resource
from picker_dynamics.scripting.equipment import Equipment
from picker_dynamics.scripting.view.server import require_page

from . import animation, report
from .estimates import sides
from .measure import measure, measure_tip_errors
from .picking import pick_all
from .scene import load_scene


def run(options) -> int:
    """The whole demo; exit code 0 only if every pick was near enough and nothing faulted.

    Args:
        options: ``board`` (virtual or avr), ``plant_error`` (share), ``seed``, ``out`` (folder); and, not needed,
            ``calibrated`` (folder of a rehearsed calibration whose numbers are believed), ``horn_error`` (share),
            ``view`` (whether the page shows the arm meanwhile).
    """
    if not 0.0 <= options.plant_error <= 0.5:
        raise ConfigurationError(f"--plant-error is {options.plant_error}, must be 0 to 0.5", None, options.plant_error, 0.5)
    if getattr(options, "view", False):
        require_page()
    begin = time.monotonic()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    known = sides(options, out)
    arm, servos = known.believed
    scene = load_scene(resource("config/demo.yaml"), arm, servos)
    show = report.Progress()
    log = out / "nodes.log"
    try:
        live = pick_all(scene, Equipment(arm, servos), known.graph, log, show)
    except PickerError:
        show.say(f"what the nodes said: {log}")
        raise
    show.say(
        "measuring the same poses and paths with each compensation mode, faster than real time, on the same servo model and plant"
    )
    measured = measure(scene, known, show)
    tip_errors = measure_tip_errors(scene, known, show) if known.folder else {}
    summary = report.summarise(live, measured, options.board, known.folder, tip_errors)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    report.draw(measured, servos, out)
    show.step("drawing pick.gif")
    animation.draw(scene, arm, measured, out)
    show.table(summary, scene.tolerance_m)
    if tip_errors:
        show.tip_errors(summary)
    passed = report.passed(live)
    show.say(
        f"{'everything went well' if passed else 'NOT everything went well'}; {time.monotonic() - begin:.0f} s; "
        f"figures, pick.gif and numbers in {out}/"
    )
    return 0 if passed else 1
