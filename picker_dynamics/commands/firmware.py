"""``picker firmware header`` and ``picker firmware build``: the firmware for your arm."""

from __future__ import annotations

from pathlib import Path

from picker_dynamics.board.firmware import BACKENDS
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm

from . import options as shared

FILES = {"servos": "config/servos.yaml", "servo_overlay": "", "urdf": "urdf/picker.urdf"}
"""What an arm's numbers come from, and what there is without the option."""


def add_parser(commands) -> None:
    """Register ``firmware`` and its two verbs."""
    firmware = commands.add_parser("firmware", help="write the firmware header of your arm, and compile the firmware")
    verbs = firmware.add_subparsers(dest="verb", required=True, metavar="VERB")
    header = verbs.add_parser("header", help="write arm_config.h from servo map and URDF")
    build = verbs.add_parser("build", help="compile the firmware; prints the path of the .hex file")
    for one in (header, build):
        shared.add(one, "--urdf", "--servos", "--servo-overlay")
    where = "where to write it, - for the terminal (default: firmware/picker_firmware/arm_config.h)"
    header.add_argument("--output", default="", metavar="FILE", help=where)
    build.add_argument("--backend", default="pca9685", choices=BACKENDS, help="source of the pulses (default pca9685)")
    shared.add(build, "--baud")
    build.add_argument("--out", default=None, metavar="FOLDER", help="folder to build in (default: below build/firmware)")


def run(options) -> int:
    """Write the header, or compile the firmware; returns the exit code."""
    from picker_dynamics.board.firmware import toolchain
    from picker_dynamics.board.firmware.header import header_text

    arm, servos = _arm(options)
    if options.verb == "build":
        elf = toolchain.build(servos, arm, options.backend, options.out, baud=options.baud)
        print(elf.with_suffix(".hex"))
        return 0
    sources = (Path(getattr(options, name)).name or usual for name, usual in FILES.items())
    text = header_text(servos, arm, list(filter(None, sources)))
    if options.output == "-":
        print(text, end="")
        return 0
    path = Path(options.output or resource("firmware/picker_firmware/picker_firmware.ino").with_name("arm_config.h"))
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {servos.n} joints of {arm.name}")
    return 0


def _arm(options):
    """Description and servo map, which on a board are never assumed."""
    if servo_arm.assumes(arm := servo_arm.read_arm(options.urdf), options.servos):
        raise ConfigurationError(
            f"a board that drives {arm.name} needs its servo map: give --servos; only simulated ones are assumed", "servos"
        )
    return servo_arm.load(options.urdf, options.servos, options.servo_overlay)
