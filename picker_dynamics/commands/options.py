"""Options that several commands share, each written once, and the client of the running arm that they name."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from picker_dynamics.bringup.options import CHOICES
from picker_dynamics.errors import InputError, LinkError, shown
from picker_dynamics.robot.units import LENGTH, MASS, TIP_M, quantity


def number(
    low: float, high: float, units: Mapping[str, float] | None = None, usual: str = "", kind: type = float
) -> Callable[[str], float]:
    """Type of an option: a number from ``low`` to ``high``, perhaps with one of ``units`` (without: the ``usual`` one)."""

    def read(text: str) -> float:
        try:
            value = quantity("", text, units, usual) if units else kind(text)
        except (InputError, ValueError):
            value = float("nan")
        if not low <= value <= high:  # NaN is not
            may = f" {usual}, or one with its unit ({', '.join(units)})" if units else ""
            what = "whole number" if kind is int else "number"
            least, most = (end / (units[usual] if units else 1.0) for end in (low, high))
            raise argparse.ArgumentTypeError(f"{shown(text.strip(), 40)!r}, must be a {what} from {least:g} to {most:g}{may}")
        return value

    return read


whole = partial(number, kind=int)
"""Type of an option: a whole number; the rest as for ``number``."""


def mass(most_kg: float = 5.0) -> Callable[[str], float]:
    """Type of an option: a mass in grams, or with its unit [kg]; kilograms without one are noticed."""
    read = number(0.0, most_kg, MASS, "g")

    def checked(text: str) -> float:
        value, word = read(text), text.strip()
        if 0.0 < value < 1e-3 and not word[-1:].isalpha():
            raise argparse.ArgumentTypeError(f"{word!r} is less than a gram: give grams, or {word}kg")
        return value

    return checked


ANY = number(-1e6, 1e6)
"""Where what is done with the number says which it may be."""

METRES = number(-TIP_M, TIP_M, LENGTH, "m")
"""A coordinate of the tip [m]."""

SEED = whole(0, 2**31 - 1)

SHARED: dict[str, dict[str, Any]] = {
    "--arm": {"default": "", "metavar": "NAME", "help": "name of an arm in config/arms.yaml, for example rrp (default: picker)"},
    "--arms": {"default": "", "metavar": "FILE", "help": "file like config/arms.yaml with an entry for the arm"},
    "--baud": {"type": whole(0, 10_000_000), "default": 500_000, "help": "speed of the serial line (default 500000)"},
    "--board": {
        "default": "virtual",
        "choices": CHOICES["board"],
        "help": "simulated board: virtual (model of the firmware, default) or avr (the real firmware on an Uno)",
    },
    "--check": {
        "action": "store_true",
        "help": "only check whether the motion is possible, and print its torques; nothing moves",
    },
    "--host": {"default": "", "metavar": "HOST:PORT", "help": "an arm on another machine (docs/network.md)"},
    "--json": {"action": "store_true", "help": "print JSON"},
    "--namespace": {"default": "", "help": "ROS namespace of the running arm"},
    "--payload": {"type": mass(), "metavar": "GRAMS", "help": "payload at the tool, in grams or with its unit"},
    "--plant-error": {"type": ANY, "default": 0.0, "metavar": "SHARE", "help": "largest error of the simulated arm"},
    "--port": {"default": "", "help": "serial port of the board, for example /dev/ttyACM0"},
    "--seed": {"type": SEED, "default": 0, "help": "seed of random numbers (default 0)"},
    "--servo": {
        "default": "typical",
        "choices": CHOICES["servo"],
        "help": "simulated servos: typical (friction and play, default) or ideal",
    },
    "--servo-overlay": {"default": "", "help": "file with changes to the servo map, for example a calibration"},
    "--servos": {"default": "", "help": "servo map (default: config/servos.yaml)"},
    "--tip-speed": {"type": ANY, "default": None, "metavar": "M_S", "help": "largest speed of the tip [m/s]"},
    "--view": {"action": "store_true", "help": "show the arm in the browser, as picker view does"},
    "--urdf": {"default": "", "help": "URDF of the arm (default: the picker's)"},
    "--wait": {"type": number(0.0, 600.0), "default": 0.0, "metavar": "S", "help": "wait up to S seconds for the arm to start"},
}

LOOK_S = 0.05
"""How often an arm that is coming up is looked for [s]."""


def add(parser: argparse._ActionsContainer, *names: str, **changed) -> None:
    """Add options of ``SHARED``; ``changed`` are argument settings that are others here, the help for example."""
    for name in names:
        parser.add_argument(name, **SHARED[name] | changed)


def reached(host: str = "") -> tuple[str, str]:
    """Host and token of an arm on another machine, the host by default as the environment says; '' for one on this machine."""
    from picker_dynamics.session.address import HOST, TOKEN

    return host or os.environ.get(HOST, ""), os.environ.get(TOKEN, "")


def client(options):
    """Session with the running arm of the namespace, or of ``--host``."""
    from picker_dynamics.session.remote import RemoteSession

    return RemoteSession(options.namespace, *reached(options.host))


def equipment(running):
    """The arm behind a client, as it says."""
    from picker_dynamics.scripting.equipment import Equipment

    return Equipment(*running.running_arm())


def scripted(running):
    """The arm behind a client as an ``Arm``, whose end closes the client."""
    from picker_dynamics.scripting.arm import Arm

    return Arm(equipment(running), running)


def waited_for(make, longest_s: float, over=lambda: False):
    """What ``make`` makes, as soon as an arm answers; None: somebody ended that.

    Raises:
        LinkError: none has answered within ``longest_s``.
    """
    ends_s = time.monotonic() + longest_s
    while not over():
        try:
            return make()
        except LinkError:
            if time.monotonic() > ends_s:
                raise
        time.sleep(LOOK_S)
    return None
