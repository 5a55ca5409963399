"""``picker status``: where the arm is, what that costs it, what it carries, what is wrong, and the next sensible command."""

from __future__ import annotations

import json
import sys
from typing import Any

from picker_dynamics.robot.units import figure, told

from . import options as shared

WATCH_S = 1.0
"""How often it is looked anew [s]."""

FORGET = "\033[H\033[J"
"""Cursor to the top, and all below it gone."""


def add_parser(commands) -> None:
    """Register ``status``."""
    parser = commands.add_parser("status", help="show pose, torques, faults and the next command")
    shared.add(parser, "--namespace", "--host", "--json")
    parser.add_argument("--watch", action="store_true", help="refresh once a second until Ctrl-C")


def run(options) -> int:
    """Tell, once or again and again; returns the exit code."""
    with shared.client(options) as client:
        while True:
            found = client.facts()
            said = json.dumps(found, indent=2, ensure_ascii=False) if options.json else "\n".join(lines(found))
            print((FORGET if options.watch and sys.stdout.isatty() else "") + said, flush=True)
            if not options.watch:
                return 0
            client.spin(WATCH_S)


def lines(found: dict[str, Any]) -> list[str]:
    """State of the arm for a person: degrees, millimetres, grams, per cent."""
    said = [": ".join(dict.fromkeys((part, *found[part].values()))) for part in ("hardware", "controller")]
    if found["moved_by"]:
        said.append(f"moved by: {found['moved_by']}")
    if "joints" in found:
        tip = ", ".join(f"{1e3 * x:.0f}" for x in found["tip_m"])
        said.append(f"tip {found['tool']} at {tip} mm ({found['provenance'] or 'not known how'})")
        width = max(12, 1 + max(map(len, found["joints"])))
        for name, joint in found["joints"].items():
            warm = f", {joint['celsius']:.0f} °C" if joint["celsius"] is not None else ""
            unit = "N·m" if joint["unit"] == "rad" else "N"
            said.append(
                f"  {name:<{width}}{told(joint['position'], joint['unit']):>12} {figure(joint['torque']):>6} {unit:<3}, "
                f"{joint['of_stall']:4.0%} of {found['torque_limit']}, {joint['margin']:4.0%} left of hold limit{warm}"
            )
    figures = (
        ("payload_kg", 1e3, "payload {:.0f} g"),
        ("compensation", "", "compensation {}"),
        ("supply_v", 1.0, "supply {:.1f} V"),
        ("supply_a", 1.0, "{:.1f} A (estimated)"),
    )
    carried = [
        text.format(factor * found[name] if factor else found[name]) for name, factor, text in figures if found[name] is not None
    ]
    return [*said, ", ".join(carried), *(f"! {fault}" for fault in found["faults"]), f"next: {found['next']}"]
