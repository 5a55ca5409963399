"""``picker demo``: pick three berries with a virtual arm as a robot would, then measure what compensation was worth."""

from __future__ import annotations

import json
from pathlib import Path

from picker_dynamics.errors import PickerError, refuse_if

from .. import options as shared


def add_parser(commands) -> None:
    """Register ``demo``."""
    demo = commands.add_parser("demo", help="pick three berries in simulation and measure the error")
    shared.add(
        demo,
        "--plant-error",
        type=shared.number(0.0, 0.5),
        help="largest relative error of the simulated arm, 0 to 0.5 (default 0)",
    )
    shared.add(demo, "--arm", "--seed", "--board", "--servo", "--view")
    demo.add_argument("--out", default="out/demo", help="folder for figures, pick.gif and summary.json")


def run(options) -> int:
    """The whole demo; exit code 0 only if every pick was near enough, the impossible was refused, and nothing faulted."""
    if options.view:
        from picker_dynamics.scripting.view.server import require_page

        require_page()
    import numpy as np

    from picker_dynamics.bringup.options import Options
    from picker_dynamics.robot import servo_arm
    from picker_dynamics.scripting.equipment import Equipment

    from ..results import show_columns
    from ..terminal import console
    from . import animation, figures, scene
    from .measure import MODES, measured
    from .picking import pick_all

    same = {name: getattr(options, name) for name in ("arm", "board", "plant_error", "seed", "servo", "view")}
    bringing = Options(scene=str(scene.SURROUNDINGS), **same)
    refuse_if(
        bringing.torque_controlled, f"arm {options.arm} has torque-controlled joints: the demo is for servos", "arm", options.arm
    )
    out = Path(options.out)
    log = out / "nodes.log"
    arm, servos = servo_arm.load(bringing.servo_urdf, overlay=options.servo)
    tour = scene.load_scene(arm, servos)
    try:
        summary = pick_all(tour, Equipment(arm, servos), bringing, log)
    except PickerError:
        if log.exists():
            print(f"the log of the arm's process: {log}")
        raise
    print("measuring the same motions with each compensation mode, faster than real time, on the same servo model and plant")
    modes = {mode: measured(tour, arm, servos, mode, options.plant_error, options.seed) for mode in MODES}
    hold_mm = {mode: 1e3 * one.hold for mode, one in modes.items()}
    summary |= {
        "board": options.board,
        "hold_error_mm": {
            mode: {"median": round(float(np.median(x)), 3), "max": round(float(x.max()), 3)} for mode, x in hold_mm.items()
        },
        "tracking_rms_mm": {mode: round(1e3 * one.tracking_rms, 3) for mode, one in modes.items()},
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    figures.draw(modes, servos, out)
    print("drawing pick.gif")
    animation.draw(tour, arm, modes, out)
    rest = {f"rest, {which}": {mode: one[which] for mode, one in summary["hold_error_mm"].items()} for which in ("median", "max")}
    columns = rest | {"moving, rms": summary["tracking_rms_mm"]}
    show_columns(console(options), "tip error of the simulated arm (mm), by compensation", columns)
    good, picked = passed(summary), sum(pick["ok"] for pick in summary["picks"])
    print(f"berries picked within {1e3 * tour.tolerance_m:.0f} mm: {picked} of {len(summary['picks'])}")
    print("control loop: " + ", ".join(f"{name} {value}" for name, value in summary["loop"].items()))
    print("\n".join([*(f"fault: {fault}" for fault in summary["faults"]), f"figures, pick.gif and numbers in {out}/"]))
    print("everything went well" if good else "NOT everything went well")
    return 0 if good else 1


def passed(summary: dict) -> bool:
    """Whether every berry was picked near enough, the impossible was refused, and nothing faulted."""
    picks = [pick["ok"] for pick in summary["picks"]]
    return bool(picks) and all(picks) and bool(summary["refused"]) and not summary["faults"]
