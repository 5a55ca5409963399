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
    shared.add(demo, "--seed")
    demo.add_argument(
        "--horn-error",
        type=shared.number(0.0, 2.0),
        metavar="SHARE",
        help="servo horns askew as in picker calibrate --simulated, as a share of it (default 0; --calibrated: as there)",
    )
    demo.add_argument(
        "--calibrated",
        default="",
        metavar="FOLDER",
        help="believe the numbers that picker calibrate --simulated found for this --plant-error and --seed",
    )
    shared.add(demo, "--board", "--urdf", "--servos", "--servo", "--view")
    demo.add_argument("--out", default="out/demo", help="folder for figures, pick.gif and summary.json")
    demo.set_defaults(run=run)


def run(options) -> int:
    """The whole demo; exit code 0 only if every pick was near enough, the impossible was refused, and nothing faulted."""
    if options.view:
        from picker_dynamics.scripting.view.server import require_page

        require_page()
    from picker_dynamics.scripting.equipment import Equipment

    from . import animation, figures
    from .measure import MODES, measured, plant_of, tip_error_rows
    from .picking import pick_all
    from .scene import load_scene
    from .sides import sides

    begin_s, out = time.monotonic(), Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    known, log = sides(options, out), out / "nodes.log"
    arm, servos = known.believed
    scene = load_scene(resource("config/demo.yaml"), arm, servos)
    try:
        live = pick_all(scene, Equipment(arm, servos), known.graph, log)
    except PickerError:
        print(f"the log of the arm's process: {log}")
        raise
    print("measuring the same motions with each compensation mode, faster than real time, on the same servo model and plant")
    modes = {mode: measured(scene, plant_of(known), *known.believed, mode) for mode in MODES}
    summary = live | {"board": options.board} | tip_error_rows(modes)
    if known.folder:
        others = {name: measured(scene, plant_of(known), *numbers, "full") for name, numbers in known.others().items()}
        summary["calibration"] = {"folder": known.folder, **tip_error_rows(others | {"calibrated": modes["full"]})}
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
    """The result for a person: tables of tip errors, and what became of the picks."""
    said = table("Tip error of the simulated arm, by compensation [mm]", summary)
    if "calibration" in summary:
        said += table("The same by the numbers that are believed, compensation full [mm]", summary["calibration"])
    loop, good = summary["loop"], sum(pick["ok"] for pick in summary["picks"])
    return [
        *said,
        f"berries picked within {1e3 * tolerance_m:.0f} mm: {good} of {len(summary['picks'])}",
        f"control loop {loop['rate_hz']} Hz, jitter p99 {loop['jitter_p99_ms']} ms, latency at most "
        f"{loop['latency_max_ms']} ms, missed {loop['missed']}",
        *(f"fault: {fault}" for fault in summary["faults"]),
    ]


def table(title: str, found: dict) -> list[str]:
    """Errors at rest and on the way, a row for each."""
    rows = [
        f"{name:>12} {hold['median']:14.2f} {hold['max']:14.2f} {found['tracking_rms_mm'][name]:14.2f}"
        for name, hold in found["hold_error_mm"].items()
    ]
    return ["", title, f"{'':12} {'rest, median':>14} {'rest, worst':>14} {'moving, rms':>14}", *rows, ""]


def passed(summary: dict) -> bool:
    """Whether every berry was picked near enough, the impossible was refused, and nothing faulted."""
    picks = [pick["ok"] for pick in summary["picks"]]
    return bool(picks) and all(picks) and bool(summary["refused"]) and not summary["faults"]
