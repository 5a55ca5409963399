"""The ``picker`` command: bring the arm up, move it, check a URDF, show it all in a demo."""

from __future__ import annotations

import argparse
import signal
import sys

from picker_dynamics import __version__
from picker_dynamics.bringup import bringup
from picker_dynamics.errors import PickerError

from . import bench_commands, doctor, firmware, plot, record, study, weigh
from . import calibrate as calibration
from . import compare as comparison
from . import identify as identification


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code (errors.py lists them)."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except PickerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(prog="picker", description="Control of a servo arm that goes where it is told.")
    top.add_argument("--version", action="version", version=f"picker_dynamics {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_up(commands)
    _add_bench_commands(commands)
    _add_check(commands)
    _add_demo(commands)
    study.add_parser(commands)
    record.add_parser(commands)
    plot.add_parser(commands)
    firmware.add_parser(commands)
    doctor.add_parser(commands)
    calibration.add_parser(commands)
    weigh.add_parser(commands)
    comparison.add_parser(commands)
    identification.add_parser(commands)
    return top


def _arm_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arm",
        default="",
        metavar="NAME",
        help="an arm of config/arms.yaml, for example rrp (default: picker; for a command to a running graph: the arm it has)",
    )
    parser.add_argument("--urdf", default="", help="URDF of the arm (default: the picker's)")
    parser.add_argument("--servos", default="", help="servo map (default: config/servos.yaml)")


def _board_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--board",
        default="virtual",
        choices=bringup.BOARDS,
        help="what is simulated: virtual (the firmware's model, default) or avr (the real firmware on an Uno)",
    )


def _add_up(commands) -> None:
    up = commands.add_parser("up", help="start the board (or its simulation) and the three nodes; Ctrl-C ends them")
    where = up.add_mutually_exclusive_group()
    where.add_argument("--sim", action="store_true", help="virtual board and arm (the default)")
    where.add_argument("--port", default="", help="serial port of the board, for example /dev/ttyACM0")
    _board_option(up)
    _arm_options(up)
    up.add_argument("--servo-overlay", default="", help="file with differences from the servo map, for example a calibration")
    up.add_argument("--params-file", default="", help="ROS parameter file (default: config/picker.yaml)")
    up.add_argument("--namespace", default="", help="ROS namespace; two arms side by side need two")
    up.add_argument(
        "--compensation", default="", choices=("", *bringup.COMPENSATION), metavar="MODE", help="none, gravity or full"
    )
    up.add_argument("--payload-mass", type=float, default=None, metavar="KG")
    up.add_argument("--rate", type=float, default=None, metavar="HZ", help="rate of the reference, 10 to 500 (default 100)")
    up.add_argument("--tip-speed", type=float, default=None, metavar="M_S", help="largest speed of the tip (default 0.25)")
    up.add_argument(
        "--on-shutdown",
        default="",
        choices=("", *bringup.ON_SHUTDOWN),
        metavar="WHAT",
        help="what the arm does at Ctrl-C: hold, park or relax",
    )
    up.add_argument("--plant-error", type=float, default=0.0, metavar="SHARE", help="simulate an arm that differs from its URDF")
    up.add_argument("--seed", type=int, default=0)
    up.add_argument("--markers", action="store_true", help="also publish what RViz and Foxglove show beside the model")
    up.add_argument("--one-process", action="store_true", help="all nodes in one process, for many arms on one machine")
    up.add_argument("--log-level", default="info", choices=("debug", "info", "warn", "error"))
    up.set_defaults(run=_up)


def _up(options) -> int:
    from picker_dynamics.bringup.runner import GraphRunner

    stop, runners = [], []

    def hear(received, _frame) -> None:
        stop.append(received)
        if len(stop) > 1:
            for runner in runners:
                runner.hurry()

    ends = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
        ends.append(signal.SIGHUP)
    for number in ends:
        signal.signal(number, hear)
    chosen = bringup.Options(
        hardware="serial" if options.port else "sim",
        arm=options.arm,
        port=options.port,
        namespace=options.namespace,
        urdf=options.urdf,
        servos=options.servos,
        servo_overlay=options.servo_overlay,
        params_file=options.params_file,
        compensation=options.compensation,
        payload_mass=options.payload_mass,
        rate_hz=options.rate,
        tip_speed_limit=options.tip_speed,
        on_shutdown=options.on_shutdown,
        plant_error=options.plant_error,
        seed=options.seed,
        log_level=options.log_level,
        board=options.board,
        markers=options.markers,
        one_process=options.one_process,
    )
    graph = bringup.graph(chosen)
    board = "virtual board" if options.board == "virtual" else "simulated Uno"
    what = f"{board if graph.board else 'board'} at {graph.port}" if graph.port else f"simulated arm {options.arm}"
    print(f"{what}; Ctrl-C ends", flush=True)
    with GraphRunner(graph) as runner:
        runners.append(runner)
        runner.wait(lambda: bool(stop))
    return 0


def _add_bench_commands(commands) -> None:
    def add(name: str, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text)
        command.add_argument("--namespace", default="", help="ROS namespace of the running graph")
        _arm_options(command)
        command.set_defaults(run=bench_commands.run)
        return command

    def moving(name: str, text: str) -> argparse.ArgumentParser:
        command = add(name, text)
        command.add_argument("--duration", type=float, default=0.0, metavar="S", help="at least this long")
        return command

    move = moving("move", "move the tip to a point, or joints where they shall be")
    move.add_argument("--tip", type=float, nargs=3, metavar=("X", "Y", "Z"), help="in base_link [m]")
    move.add_argument("--pitch-deg", type=float, default=None, help="elevation of the hand (default: the nearest to level)")
    move.add_argument(
        "--joints", nargs="+", metavar="NAME=VALUE", help="turning joints in degrees, sliding ones in metres: theta1=20 d3=0.1"
    )
    moving("home", "move to the home pose of the servo map, or of config/arms.yaml")
    moving("park", "move to the rest pose of the servo map; an arm without servos: home")
    jog = moving("jog", "move one joint by some degrees, a sliding one by some metres")
    jog.add_argument("joint")
    jog.add_argument("amount", type=float, metavar="AMOUNT")
    add("stop", "latch the stop: decelerate and hold until reset")
    add("reset", "clear stop and faults whose cause is gone; moves nothing")
    add("relax", "cut all pulses to free a pinched hand: the arm falls")
    add("disable", "switch all outputs off: the arm falls")
    add("status", "what the running graph says of itself")
    enable = add("enable", "switch outputs on, or take over those that run")
    enable.add_argument("--yes", action="store_true", help="the arm stands at its rest pose, hands are away")
    payload = add("payload", "tell the dynamics what the scissor holds")
    payload.add_argument("mass", type=float, metavar="KG")


def _add_check(commands) -> None:
    check = commands.add_parser("check", help="lint a URDF and compare the models made from it")
    check.add_argument("urdf", nargs="?", default="", help="URDF file (default: the picker's)")
    check.add_argument("--strict", action="store_true", help="lint findings are errors")
    check.add_argument("--samples", type=int, default=1000)
    check.add_argument("--seed", type=int, default=0)
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(run=_check)


def _check(options) -> int:
    from picker_dynamics.dynamics import check
    from picker_dynamics.resources import resource

    return check.run(
        options.urdf or resource("urdf/picker.urdf"),
        strict=options.strict,
        samples=options.samples,
        seed=options.seed,
        as_json=options.json,
    )


def _add_demo(commands) -> None:
    demo = commands.add_parser("demo", help="pick three berries with the virtual arm, and measure")
    demo.add_argument(
        "--plant-error", type=float, default=0.0, metavar="SHARE", help="how far the arm differs from its URDF, 0 to 0.5"
    )
    demo.add_argument("--seed", type=int, default=0)
    demo.add_argument(
        "--horn-error",
        type=float,
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
    _board_option(demo)
    demo.add_argument("--out", default="out/demo", help="folder for figures and summary.json")
    demo.set_defaults(run=_demo)


def _demo(options) -> int:
    from .demo import run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
