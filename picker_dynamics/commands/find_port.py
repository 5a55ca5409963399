"""``picker find-port``: which serial port the board is on, found by unplugging it."""

from __future__ import annotations

from collections.abc import Callable

from picker_dynamics.board.link import serial_ports
from picker_dynamics.errors import LinkError


def add_parser(commands) -> None:
    """Register ``find-port``."""
    commands.add_parser("find-port", help="find the serial port of the board: unplug it when asked, press Enter")


def run(_options) -> int:
    """Ask, and print the port; returns the exit code."""
    print(found_port())
    return 0


def found_port(ask: Callable[[str], str] = input, ports: Callable[[], dict[str, str]] = serial_ports) -> str:
    """The port that a person unplugs, with the next command.

    Raises:
        LinkError: there is none, none went away, or several did.
    """
    before = ports()
    if not before:
        raise LinkError("no serial port: plug the board in (the cable must carry data, not power alone), then try again")
    listed = "\n".join(f"  {device}  {said}" for device, said in before.items())
    try:
        ask(f"Serial ports:\n{listed}\nUnplug the board, then press Enter: ")
    except EOFError as error:
        raise LinkError(f"no terminal to press Enter in; the ports are {', '.join(before)}") from error
    gone = sorted(set(before) - set(ports()))
    if len(gone) != 1:
        what = "no port went away" if not gone else f"{len(gone)} ports went away: {', '.join(gone)}"
        raise LinkError(f"{what}: unplug the board alone, and wait a second before Enter")
    return f"the board is on {gone[0]}: plug it in again, then picker doctor --port {gone[0]}"
