"""Options that several commands share, each written once."""

from __future__ import annotations

import argparse

from picker_dynamics.bringup.bringup import BOARDS

SHARED = {
    "--arm": {
        "default": "",
        "metavar": "NAME",
        "help": "an arm of config/arms.yaml, for example rrp (default: picker; for a command to a running graph: the arm it has)",
    },
    "--baud": {"type": int, "default": 500_000, "help": "speed of the serial line (default 500000)"},
    "--board": {
        "default": "virtual",
        "choices": BOARDS,
        "help": "what is simulated: virtual (the firmware's model, default) or avr (the real firmware on an Uno)",
    },
    "--json": {"action": "store_true", "help": "print JSON"},
    "--namespace": {"default": "", "help": "ROS namespace of the running graph"},
    "--plant-error": {"type": float, "default": 0.0, "metavar": "SHARE"},
    "--port": {"default": "", "help": "serial port of the board, for example /dev/ttyACM0"},
    "--seed": {"type": int, "default": 0},
    "--servo-overlay": {"default": "", "help": "file with differences from the servo map, for example a calibration"},
    "--servos": {"default": "", "help": "servo map (default: config/servos.yaml)"},
    "--tip-speed": {"type": float, "default": None, "metavar": "M_S"},
    "--urdf": {"default": "", "help": "URDF of the arm (default: the picker's)"},
}


def add(parser: argparse._ActionsContainer, *names: str, **changed) -> None:
    """Add options of ``SHARED``; ``changed`` are argument settings that are others here, the help for example."""
    for name in names:
        parser.add_argument(name, **SHARED[name] | changed)
