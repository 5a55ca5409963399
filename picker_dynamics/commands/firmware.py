"""``picker firmware header`` and ``picker firmware build``: the firmware for your arm."""

from __future__ import annotations

from pathlib import Path

from picker_dynamics.board.firmware import BACKENDS
from picker_dynamics.errors import ConfigurationError


def add_parser(commands) -> None:
    """Register ``firmware`` and its two verbs with an argparse sub-parser group; imports nothing heavy."""
    firmware = commands.add_parser("firmware", help="write the firmware's header for your arm, and compile it")
    verbs = firmware.add_subparsers(dest="verb", required=True, metavar="VERB")
    header = verbs.add_parser("header", help="write arm_config.h from servo map and URDF")
    build = verbs.add_parser("build", help="compile the firmware for an arm; prints where the .hex is")
    for one in (header, build):
        one.add_argument("--urdf", default="", help="URDF of the arm (default: the picker's)")
        one.add_argument("--servos", default="", help="servo map (default: config/servos.yaml)")
        one.add_argument(
            "--servo-overlay", default="", help="file with differences from the servo map, for example a calibration"
        )
    header.add_argument(
        "--output",
        default="",
        metavar="FILE",
        help="where to write it, - for the terminal (default: firmware/picker_firmware/arm_config.h)",
    )
    header.set_defaults(run=run_header)
    build.add_argument("--backend", default="pca9685", choices=BACKENDS, help="what makes the pulses (default pca9685)")
    build.add_argument("--baud", type=int, default=500_000, help="speed of the serial line (default 500000)")
    build.add_argument("--out", default=None, metavar="FOLDER", help="where to build (default: a folder of build/firmware)")
    build.set_defaults(run=run_build)


def run_header(options) -> int:
    """Write the header."""
    from picker_dynamics.board.firmware.header import header_text
    from picker_dynamics.resources import resource

    servo_map, arm, sources = _arm(options)
    text = header_text(servo_map, arm, sources)
    if options.output == "-":
        print(text, end="")
        return 0
    path = Path(options.output or resource("firmware/picker_firmware/picker_firmware.ino").with_name("arm_config.h"))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror}", subject="output", value=str(path)) from error
    print(f"{path}: {servo_map.n} joints of {arm.name}")
    return 0


def run_build(options) -> int:
    """Compile the firmware."""
    from picker_dynamics.board.firmware import toolchain

    servo_map, arm, _ = _arm(options)
    elf = toolchain.build(servo_map, arm, options.backend, options.out, baud=options.baud)
    print(elf.with_suffix(".hex"))
    return 0


def _arm(options):
    """Servo map, description, and what to call the files they come from."""
    from picker_dynamics.resources import resource
    from picker_dynamics.robot import description, servo_map

    files = {
        "servos": options.servos or "config/servos.yaml",
        "servo_overlay": options.servo_overlay,
        "urdf": options.urdf or "urdf/picker.urdf",
    }
    for name in ("servos", "servo_overlay", "urdf"):
        given = getattr(options, name)
        if given and not Path(given).is_file():
            raise ConfigurationError(f"{name}: no such file: {given}", subject=name, value=given)
    arm = description.load(options.urdf or resource(files["urdf"]))
    servos = servo_map.load(options.servos or resource(files["servos"]), arm.joint_names, options.servo_overlay or None)
    names = [Path(name).name if getattr(options, key) else name for key, name in files.items() if name]
    return servos, arm, names
