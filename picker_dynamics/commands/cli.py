"""Entry point of the ``picker`` command: its parser, made of all commands, and its exit codes."""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from textwrap import fill

from picker_dynamics import __version__
from picker_dynamics.errors import DescriptionError, MissingDependencyError, PickerError, shown
from picker_dynamics.robot.units import ANGLE, LENGTH, MASS

from .terminal import INTERRUPTED, interruptible

GROUPS = {
    "Run an arm": {
        "up": ("up", "--sim --view"),
        "status": ("status", "--watch"),
        "view": ("view", "--no-browser"),
        "enable": ("arm_commands", "--yes"),
        "stop": ("arm_commands", ""),
        "reset": ("arm_commands", ""),
        "relax": ("arm_commands", ""),
        "disable": ("arm_commands", ""),
    },
    "Move it": {
        "home": ("arm_commands", ""),
        "park": ("arm_commands", ""),
        "move": ("arm_commands", "0.26 0.08 0.17 --straight"),
        "jog": ("arm_commands", "shoulder -5"),
        "payload": ("arm_commands", "25g"),
        "pick": ("pick", "0.26 0.08 0.17"),
        "place": ("pick", "0.10 -0.20 0.11 --check"),
        "drive": ("drive", ""),
        "guide": ("drive", ""),
        "follow": ("follow", "--leader /dev/ttyACM1"),
        "teach": ("teach", "tour"),
        "replay": ("teach", "tour --speed 0.5"),
    },
    "Set up your arm": {
        "new": ("new", "my_arm"),
        "check": ("check", "my_arm/my_arm.urdf"),
        "find-port": ("find_port", ""),
        "firmware": ("firmware", "build"),
        "doctor": ("doctor", "--port /dev/ttyACM0"),
        "servos": ("servos", "scan --port /dev/ttyACM0"),
    },
    "Measure it": {
        "calibrate": ("calibrate", "--camera sim"),
        "prove": ("prove", "--camera sim"),
        "weigh": ("weigh", "--set"),
        "compare": ("compare", "shipped out/calibration"),
        "identify": ("identify", ""),
    },
    "Show and record": {
        "demo": ("demo", "--arm so101"),
        "study": ("study", "rrp"),
        "record": ("record", "--duration 10 -o walk.mcap"),
        "plot": ("plot", "walk.mcap"),
    },
}
"""Commands as the help lists them: the module that has it (loaded without the others), and words of an example."""

COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

UNITS = "|".join(map(re.escape, ANGLE | LENGTH | MASS))
VALUE = re.compile(rf"(?!-(\d+|\d*\.\d+)$)-[\d.,]*\d[\d.,]*(e[-+]?\d+)?({UNITS})?", re.IGNORECASE)
"""A number with a minus in front that argparse would take for an option, as it has a unit or an exponent."""

CHOICE = re.compile(r"argument .*: invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)
"""Message of argparse on a word that is not among its choices."""

FEW = 8
"""Up to this number of choices all of them are listed."""


SHOWS = ("rich", "matplotlib", "PIL")
"""Packages of the extra ``demo``, with which results are shown; other packages are asked for where they are used."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code (docs/motion.md and errors.py list them)."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    try:
        options = parser(words[0] if words else "").parse_args(words)
        with interruptible():
            code = options.run(options)
        sys.stdout.flush()  # while what keeps it from being written can still be said
        return code
    except PickerError as error:
        urdf = getattr(options, "urdf", "") if isinstance(error, DescriptionError) and words[0] != "check" else ""
        print(f"error: {error}{f' (all findings: picker check {shown(urdf)})' if urdf else ''}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # who reads it has enough: | head
        return PickerError.exit_code
    except (MemoryError, ImportError) as error:
        name = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and name in SHOWS:
            print(
                f'error: {name} is not installed; picker {words[0]} needs it: pip install "picker_dynamics[demo]"',
                file=sys.stderr,
            )
            return MissingDependencyError.exit_code
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            raise
        why = str(error).strip().rpartition("\n")[2] or "out of memory"  # NumPy's has 30 lines
        print(f"error: {why}: a process may take {limit >> 20} MB of memory here (ulimit -v)", file=sys.stderr)
        return PickerError.exit_code
    except OSError as error:  # the disk is full, a folder may not be written
        print(f"error: {shown(_words(error))}", file=sys.stderr)
        return PickerError.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _drop_unread()


def _drop_unread() -> None:
    """Drop what nobody reads any more, about which Python would complain at its end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # said above, or by Python at its end
        pass


def _words(error: OSError) -> str:
    return ": ".join(str(word) for word in (error.filename, error.strerror or error) if word)


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are one line with the way out, whatever was typed."""

    def parse_known_args(self, args=None, namespace=None):
        """Parse as argparse does; negative numbers with a unit or an exponent are values: ``-5mm``, ``-1e-2``.

        argparse takes no word with a space in front for an option.  Words that a command does not know are its own error.
        """
        words = list(sys.argv[1:] if args is None else args)
        end = words.index("--") if "--" in words else len(words)
        words[:end] = [f" {word}" if VALUE.fullmatch(word) else word for word in words[:end]]
        found, unknown = super().parse_known_args(words, namespace)
        if unknown:
            near = _meant(unknown[0].partition("=")[0], re.findall(r"--[a-z-]+", self.format_usage()))
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return found, unknown

    def error(self, message: str):
        """Print one line and end with exit code 2."""
        if match := CHOICE.fullmatch(message):
            choices = re.findall(r"[\w-]+", match[2])
            if near := _meant(match[1], choices):
                message = f"no {match[1]!r}{near}"
            elif len(choices) > FEW:
                message = f"no {match[1]!r}"
        self.exit(2, f"error: {shown(message)} (see {self.prog} --help)\n")


class Picker(_Parser):
    """``picker`` itself, with its commands in groups."""

    def __init__(self):
        more = "picker help COMMAND: its options, and an example; picker --version"
        super().__init__(prog="picker", description="Control a servo arm, real or simulated.", epilog=more)
        self.add_argument("--version", action="version", version=f"picker_dynamics {__version__}")
        self.commands = self.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
        self.texts: dict[str, str] = {}

    @property
    def choices(self) -> Mapping[str, argparse.ArgumentParser]:
        """Parser of each command."""
        return self.commands.choices

    def add_parser(self, name: str, *, help: str, **settings) -> argparse.ArgumentParser:
        """Add a command; what the list says of it is also its description, where it has none, and it ends with its example."""
        self.texts[name] = help
        said = {"description": f"{help[0].upper()}{help[1:]}.", "epilog": f"example: picker {name} {COMMANDS[name][1]}".rstrip()}
        return self.commands.add_parser(name, help=help, **said | settings)

    def format_help(self) -> str:
        """Usage and commands."""
        text = f"{self.format_usage()}\n{self.description}\n"
        for group, names in GROUPS.items():
            entries = [(name, self.texts[name]) for name in names if name in self.texts]
            lines = [fill(said, 78, initial_indent=f"    {name:<10} ", subsequent_indent=" " * 15) for name, said in entries]
            text += "\n".join(["", f"{group}:", *lines, ""] if lines else [])
        return f"{text}\n{self.epilog}\n"


def _meant(word: str, choices: list[str]) -> str:
    """Question for the choice that a misspelt word resembles; '' if none does."""
    near = get_close_matches(word, choices, 1)
    return f": did you mean {near[0]}?" if near else ""


def parser(command: str = "") -> Picker:
    """Parser of all commands and their options; with the name of a command that there is, those of its module alone."""
    top = Picker()
    wanted = dict.fromkeys(module for name, (module, _) in COMMANDS.items() if command in (name, "") or command not in COMMANDS)
    for module in wanted:
        loaded = import_module(f"{__package__}.{module}")
        loaded.add_parser(top)
        for name, (of, _) in COMMANDS.items():
            if of == module:
                top.choices[name].set_defaults(run=loaded.run)
    return top


if __name__ == "__main__":
    sys.exit(main())
