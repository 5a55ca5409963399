"""``picker demo``: pick three berries with the virtual arm as a robot would, then measure what compensation was worth."""

from __future__ import annotations

import json
import time
from pathlib import Path

from picker_dynamics.errors import PickerError
from picker_dynamics.resources import resource

from .. import options as shared


def add_parser(commands) -> None:
    """Register ``demo``."""
    demo = commands.add_parser("demo", help="pick three berries with the virtual arm, and measure")
    shared.add(
        demo, "--plant-error", type=shared.number(0.0, 0.5), help="how far the arm differs from its URDF, 0 to 0.5 (default 0)"
    )
    shared.add(demo, "--seed", "--board", "--servo", "--view")
    demo.add_argument("--out", default="out/demo", help="folder for figures, pick.gif and summary.json")
    demo.set_defaults(run=run)


def run(options) -> int:
    """The whole demo; exit code 0 only if every pick was near enough, the impossible was refused, and nothing faulted."""
    if options.view:
        from picker_dynamics.scripting.view.server import require_page

        require_page()
    import numpy as np

    from picker_dynamics.bringup.options import Options
    from picker_dynamics.robot import servo_arm
    from picker_dynamics.scripting.equipment import Equipment

    from . import animation, figures
    from .measure import MODES, measured, mm
    from .picking import pick_all
    from .scene import SURROUNDINGS, load_scene

    begin_s, out = time.monotonic(), Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    log = out / "nodes.log"
    arm, servos = servo_arm.load(overlay=options.servo)
    scene = load_scene(resource("config/demo.yaml"), arm, servos)
    same = {name: getattr(options, name) for name in ("board", "plant_error", "seed", "servo", "view")}
    try:
        summary = pick_all(scene, Equipment(arm, servos), Options(scene=str(SURROUNDINGS), **same), log)
    except PickerError:
        print(f"the log of the arm's process: {log}")
        raise
    print("measuring the same motions with each compensation mode, faster than real time, on the same servo model and plant")
    modes = {mode: measured(scene, arm, servos, mode, options.plant_error, options.seed) for mode in MODES}
    summary |= {
        "board": options.board,
        "hold_error_mm": {mode: {"median": mm(np.median(one.hold)), "max": mm(one.hold.max())} for mode, one in modes.items()},
        "tracking_rms_mm": {mode: mm(one.tracking_rms) for mode, one in modes.items()},
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    figures.draw(modes, servos, out)
    print("drawing pick.gif")
    animation.draw(scene, arm, modes, out)
    print("\n".join(lines(summary, scene.tolerance_m)))
    good = passed(summary)
    print(
        f"{'everything went well' if good else 'NOT everything went well'}; {time.monotonic() - begin_s:.0f} s; "
        f"figures, pick.gif and numbers in {out}/"
    )
    return 0 if good else 1


def lines(summary: dict, tolerance_m: float) -> list[str]:
    """The result for a person: a table of tip errors, and what became of the picks."""
    rows = [
        f"{mode:>12} {hold['median']:14.2f} {hold['max']:14.2f} {summary['tracking_rms_mm'][mode]:14.2f}"
        for mode, hold in summary["hold_error_mm"].items()
    ]
    loop, good = summary["loop"], sum(pick["ok"] for pick in summary["picks"])
    return [
        "tip error of the simulated arm [mm]",
        f"compensation {'rest, median':>14} {'rest, worst':>14} {'moving, rms':>14}",
        *rows,
        f"berries picked within {1e3 * tolerance_m:.0f} mm: {good} of {len(summary['picks'])}",
        f"control loop {loop['rate_hz']} Hz, jitter p99 {loop['jitter_p99_ms']} ms, latency at most "
        f"{loop['latency_max_ms']} ms, missed {loop['missed']}",
        *(f"fault: {fault}" for fault in summary["faults"]),
    ]


def passed(summary: dict) -> bool:
    """Whether every berry was picked near enough, the impossible was refused, and nothing faulted."""
    picks = [pick["ok"] for pick in summary["picks"]]
    return bool(picks) and all(picks) and bool(summary["refused"]) and not summary["faults"]
