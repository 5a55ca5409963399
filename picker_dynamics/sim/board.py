"""The virtual board as a process: the real protocol on a pseudo-terminal, its servos moving the simulated arm.

    python -m picker_dynamics.sim.board --link /tmp/picker/tty --control /tmp/picker/control [--board avr]

The arm starts unpowered at its rest pose, where an operator has put it, leaning on something; see ``plant``.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from picker_dynamics import lifeline
from picker_dynamics.errors import PickerError
from picker_dynamics.robot import servo_arm

from .real_time import RealTime
from .simulated_board import HOST_TIMEOUT_S
from .virtual_board import BOOT_SILENCE_S, VirtualBoard

BOARDS = ("virtual", "avr")
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="virtual_board", description=__doc__.splitlines()[0])
    for name, default, text in (
        ("--link", None, "name of the port to make, a symbolic link"),
        ("--control", None, "path of the control socket to make"),
        ("--urdf", "", "the arm; default: the picker"),
        ("--servos", "", "its servo map; default: that of a shipped arm, or servos that fit another one"),
        ("--servo-overlay", "", "differences from the servo map, for example config/servos.sim.yaml"),
        ("--plant-error", 0.0, "bound of the relative errors of the simulated arm"),
        ("--seed", 0, "of these errors, and of injected faults"),
        ("--boot-silence", BOOT_SILENCE_S, "silence [s] after the reset that opening the port causes; 0: it causes none"),
        ("--host-timeout", HOST_TIMEOUT_S, "silence of the host [s] after which the board holds"),
    ):
        parser.add_argument(
            name, default=default, required=name == "--link", type=type("" if default is None else default), help=text
        )
    boards = "virtual: the firmware's model in Python; avr: the real firmware on a simulated Uno"
    parser.add_argument("--board", default="virtual", choices=BOARDS, help=boards)
    parser.add_argument(
        "--linger",
        action="store_true",
        help="at SIGINT or SIGHUP, or when the parent ends, go on until nobody has the port open (the host may be parking); "
        "SIGTERM ends at once",
    )
    return parser.parse_args(argv)


def build(options: argparse.Namespace) -> RealTime:
    """The board, or bus where the servo map has one, that the command line describes.

    Raises:
        PickerError: a file, value or path that cannot be used, MuJoCo missing, or with ``avr`` the tools to build it.
    """
    from .plant import Plant  # not before it is needed: clients of this module do without MuJoCo

    arm, servos = servo_arm.load(options.urdf, options.servos, options.servo_overlay)
    firmware, avr = None, options.board == "avr"
    if avr:
        from .avr_firmware import avr_firmware

        firmware = avr_firmware(arm, servos, options.host_timeout)
    make = partial(Plant, arm, servos, plant_error=options.plant_error, seed=options.seed, support=True)
    place: dict[str, Any] = {"control": options.control, "seed": options.seed}
    if servos.bus:
        from .bus_in_memory import SERVO_S, BusInMemory
        from .virtual_bus import VirtualBus

        plant = make(quantise=False, dt=SERVO_S)
        return VirtualBus(BusInMemory(plant, servos), options.link, **place)
    timing = {"boot_silence_s": options.boot_silence, "host_timeout_s": options.host_timeout}
    return VirtualBoard(make(quantise=not avr), servos, options.link, firmware=firmware, **timing, **place)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a virtual board until a signal or the end of its parent."""
    options = _arguments(argv)
    heard: list[int] = []
    boards: list[RealTime] = []

    def hear(number: int, _frame: object) -> None:
        heard.append(number)
        for board in boards:
            board.stop_when_free() if options.linger and number != signal.SIGTERM else board.stop()

    for number in ENDS:  # before the board is built, so that it is also taken apart
        signal.signal(number, hear)
    owned = lifeline.PARENT in os.environ  # by a graph, of which nobody is left when its terminal closes
    orphaned = lifeline.end_with_parent(signal.SIGINT)
    try:
        board = build(options)
        boards.append(board)
        for early in heard[:]:
            hear(early, None)
        errors = f", every number off by up to {options.plant_error:.0%}" if options.plant_error else ""
        kind = "simulated Uno" if options.board == "avr" else "virtual board"
        with suppress(OSError):  # who would have read it has ended
            print(f"{kind}: {board.plant.description.name} on {options.link} (process {os.getpid()}){errors}", flush=True)
        board.run()
    except PickerError as error:
        print(f"virtual board: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        for number in ENDS:  # one more, while Python winds up, would look like a crash
            signal.signal(number, signal.SIG_IGN)
        if orphaned.is_set() or (owned and signal.SIGHUP in heard):
            with suppress(OSError):  # somebody's files are in it
                Path(options.link).parent.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
