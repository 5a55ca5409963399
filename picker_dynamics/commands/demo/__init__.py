"""``picker demo``: pick three berries with the virtual arm through the real ROS graph, then measure what it was worth."""

from __future__ import annotations

from .. import options as shared


def add_parser(commands) -> None:
    """Register ``demo``."""
    demo = commands.add_parser("demo", help="pick three berries with the virtual arm, and measure")
    shared.add(demo, "--plant-error", help="how far the arm differs from its URDF, 0 to 0.5")
    shared.add(demo, "--seed")
    demo.add_argument(
        "--horn-error",
        type=shared.ANY,
        default=None,
        metavar="SHARE",
        help="servo horns askew as in picker calibrate "
        "--simulated, as a share of it (default 0; with --calibrated what that arm had)",
    )
    demo.add_argument(
        "--calibrated",
        default="",
        metavar="FOLDER",
        help="believe the numbers that picker calibrate --simulated found for this --plant-error and --seed",
    )
    shared.add(demo, "--board", "--urdf", "--servos")
    shared.add(demo, "--servo", default="", help="what the servos are like: typical (default), or ideal")
    demo.add_argument("--out", default="out/demo", help="folder for figures, pick.gif and summary.json")
    shared.add(demo, "--view")
    demo.set_defaults(run=run)


def run(options) -> int:
    """The whole demo; exit code 0 only if every pick was near enough and nothing faulted."""
    from .tour import run

    return run(options)
