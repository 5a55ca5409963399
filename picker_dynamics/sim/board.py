"""The virtual board as a process: the real protocol on a pseudo-terminal, its servos moving the simulated arm.

    python -m picker_dynamics.sim.board --link /tmp/picker/tty --control /tmp/picker/control [--board avr]

The arm starts unpowered at its rest pose, where an operator has put it, leaning on something; see ``plant``.
``spawn_board`` starts such a process from Python.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from picker_dynamics import lifeline
from picker_dynamics.errors import LinkError, PickerError
from picker_dynamics.robot import servo_arm

from .control_socket import BoardControl
from .simulated_board import HOST_TIMEOUT_S
from .virtual_board import BAUD, BOOT_SILENCE_S, TICK_S, VirtualBoard

BOARDS = ("virtual", "avr")
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

__all__ = ["BOARDS", "VirtualBoard", "build", "main", "spawn_board"]


@contextmanager
def spawn_board(
    link: str | Path, *arguments: str, control: str | Path | None = None, timeout_s: float = 20.0, stdout=subprocess.DEVNULL
) -> Iterator[BoardControl]:
    """A virtual board as a process of its own, for the duration of a ``with`` block; yields its ``BoardControl``.

    Args:
        link: name of the port to make.
        arguments: more arguments of the command line.
        control: path of the control socket, default beside the port.
        timeout_s: for it to be ready [s].
        stdout: where its output goes, as for ``subprocess``; errors are raised here.

    Raises:
        LinkError: it ended, or is not ready in time; says why.
    """
    control = f"{link}.control" if control is None else control
    command = [sys.executable, "-m", "picker_dynamics.sim.board", "--link", str(link), "--control", str(control), *arguments]
    environment = os.environ | lifeline.children()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        with _ready(process, control, timeout_s) as client:
            yield client
    finally:
        process.terminate()
        try:
            process.communicate(timeout=5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _ready(process: subprocess.Popen, control: str | Path, timeout_s: float) -> BoardControl:
    deadline = time.monotonic() + timeout_s
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return BoardControl(control)
        except LinkError:
            time.sleep(0.02)
    if process.poll() is None:
        raise LinkError(f"the virtual board is not ready after {timeout_s:g} s", value=timeout_s)
    _, errors = process.communicate()
    raise LinkError(f"the virtual board ended with exit code {process.returncode}: {errors.strip()}", value=process.returncode)


def _arguments(argv) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="virtual_board", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--link", required=True, help="name of the port to make, a symbolic link")
    add("--control", help="path of the control socket to make")
    add("--urdf", help="the arm; default: the picker")
    add("--servos", help="its servo map; default: config/servos.yaml, or servos that fit another arm")
    add("--servo-overlay", help="differences from the servo map, for example config/servos.sim.yaml")
    add("--plant-error", type=float, default=0.0, help="bound of the relative errors of the simulated arm")
    add("--seed", type=int, default=0, help="of these errors, and of injected faults")
    add("--payload", type=float, default=0.0, help="mass at the tool from the start [kg]")
    add("--start-pose", default="rest", choices=("rest", "home"), help="of the servo map")
    add("--live", action="store_true", help="the outputs run from the start, as after a reset of the board alone")
    add(
        "--boot-silence",
        type=float,
        default=BOOT_SILENCE_S,
        metavar="S",
        help="silence after the reset that opening the port causes; 0: it causes none",
    )
    add("--host-timeout", type=float, default=HOST_TIMEOUT_S, metavar="S", help="silence of the host after which the board holds")
    add(
        "--board",
        default="virtual",
        choices=BOARDS,
        help="virtual: the firmware's model in Python; avr: the real firmware on a simulated Uno",
    )
    add("--backend", default="pca9685", help="with avr: what makes the pulses, pca9685 or timer")
    add("--baud", type=int, default=BAUD, help="speed; a client at another one gets noise; 0: any")
    add("--tick", type=float, default=TICK_S, metavar="S", help="how often it looks at its wire at least")
    add(
        "--linger",
        action="store_true",
        help="at SIGINT or SIGHUP, or when the parent ends, go on until nobody has the port open (the host may be parking); "
        "SIGTERM ends at once",
    )
    return parser.parse_args(argv)


def build(options: argparse.Namespace, kind: type[VirtualBoard] = VirtualBoard) -> VirtualBoard:
    """The board that the command line describes, of this kind.

    Raises:
        PickerError: a file, value or path that cannot be used, MuJoCo missing, or with ``avr`` the tools to build it.
    """
    from .plant import Plant  # not before it is needed: clients of this module do without MuJoCo

    arm, servos = servo_arm.load(options.urdf or "", options.servos or "", options.servo_overlay or "")
    firmware, pose = None, getattr(servos, options.start_pose)
    if options.board == "avr":
        from .avr_board import avr_firmware

        firmware = avr_firmware(
            arm,
            servos,
            pose if options.live else None,
            backend=options.backend,
            baud=options.baud,
            host_timeout_s=options.host_timeout,
        )
    plant = Plant(
        arm,
        servos,
        plant_error=options.plant_error,
        seed=options.seed,
        payload=options.payload,
        q=pose,
        support=not options.live,
        quantise=firmware is None,
    )
    return kind(
        plant,
        servos,
        options.link,
        control=options.control,
        boot_silence_s=options.boot_silence,
        baud=options.baud,
        live=options.live,
        host_timeout_s=options.host_timeout,
        seed=options.seed,
        firmware=firmware,
        tick_s=options.tick,
    )


def main(argv=None, kind: type[VirtualBoard] = VirtualBoard) -> int:
    """Run a virtual board, or another kind of it, until a signal, the end of its parent, or ``quit``."""
    options = _arguments(argv)
    heard: list[int] = []
    boards: list[VirtualBoard] = []

    def hear(number: int, _frame: object) -> None:
        heard.append(number)
        for board in boards:
            board.stop_when_free() if options.linger and number != signal.SIGTERM else board.stop()

    for number in ENDS:  # before the board is built, so that it is also taken apart
        signal.signal(number, hear)
    owned = lifeline.PARENT in os.environ  # by a graph, of which nobody is left when its terminal closes
    orphaned = lifeline.end_with_parent(signal.SIGINT)
    try:
        board = build(options, kind)
        boards.append(board)
        for number in heard[:]:
            hear(number, None)
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
