"""Entry point of the ``picker`` command: its parser, made of all commands, and its exit codes."""

from __future__ import annotations

import argparse
import sys

from picker_dynamics import __version__
from picker_dynamics.errors import PickerError, shown

from . import (
    arm_commands,
    calibrate,
    check,
    compare,
    demo,
    doctor,
    find_port,
    firmware,
    identify,
    new,
    plot,
    record,
    status,
    study,
    up,
    weigh,
)
from .terminal import INTERRUPTED

COMMANDS = (
    up,
    arm_commands,
    status,
    new,
    check,
    demo,
    study,
    record,
    plot,
    firmware,
    find_port,
    doctor,
    calibrate,
    weigh,
    compare,
    identify,
)
"""Modules with ``add_parser``, in the order of the help; they load what is heavy when they are run."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code (errors.py lists them)."""
    options = parser().parse_args(arguments)
    try:
        code = options.run(options)
        sys.stdout.flush()  # while what keeps it from being written can still be said
        return code
    except PickerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # the disk is full, a folder may not be written
        print(f"error: {shown(_words(error))}", file=sys.stderr)
        return PickerError.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def _words(error: OSError) -> str:
    return ": ".join(str(word) for word in (error.filename, error.strerror or error) if word)


class _Parser(argparse.ArgumentParser):
    """One whose complaints are as short as all others, whatever was typed."""

    def error(self, message: str):
        super().error(shown(message))


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = _Parser(prog="picker", description="Control of a servo arm that goes where it is told.")
    top.add_argument("--version", action="version", version=f"picker_dynamics {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_parser(commands)
    return top


if __name__ == "__main__":
    sys.exit(main())
