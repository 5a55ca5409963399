"""``picker status``: where the arm is, what that costs it, what it carries, what is wrong, and the next sensible command."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from picker_dynamics.bringup.options import require_namespace
from picker_dynamics.scripting.facts import facts

from . import options as shared
from .arm_commands import running

STATE_S, WATCH_S = 0.3, 1.0
"""How long a first state may take, and how often it is looked anew [s]."""

FORGET = "\033[H\033[J"
"""Cursor to the top, and all below it gone."""


def add_parser(commands) -> None:
    """Register ``status``."""
    parser = commands.add_parser("status", help="where the arm is, what it costs, what is wrong, what to do next")
    shared.add(parser, "--namespace", "--arm", "--urdf", "--servos", "--json")
    parser.add_argument("--watch", action="store_true", help="keep it on the screen until Ctrl-C")
    parser.set_defaults(run=run)


def run(options) -> int:
    """Tell, once or again and again; returns the exit code."""
    from picker_dynamics.session.arm_client import ArmClient

    require_namespace(options.namespace)
    with ArmClient(options.namespace, *shared.reached()) as client:
        arm = running(options, client)
        client.wait_at_most(STATE_S, lambda: client.state is not None)
        while True:
            found = facts(client, client.condition(), arm)
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
        tip = ", ".join(f"{_seen(1e3 * x, 0):.0f}" for x in found["tip_m"])
        said.append(f"tip at {tip} mm ({found['provenance'] or 'not known how'})")
        width = max(12, 1 + max(map(len, found["joints"])))
        said += [_joint(f"{name:<{width}}", joint, found["torque_limit"]) for name, joint in found["joints"].items()]
    carried = [] if found["payload_kg"] is None else [f"payload {1e3 * found['payload_kg']:.0f} g"]
    carried += [f"compensation {found['compensation']}"] if found["compensation"] else []
    carried += [f"supply {found['supply_v']:.1f} V"] if found["supply_v"] else []
    carried += [f"{found['supply_a']:.1f} A (estimated)"] if found["supply_a"] is not None else []
    return [*said, ", ".join(carried), *(f"! {fault}" for fault in found["faults"]), f"next: {found['next']}"]


def _joint(name: str, joint: dict[str, Any], most: str) -> str:
    slides = joint["unit"] == "m"
    place = f"{_seen(1e3 * joint['position'], 1):8.1f} mm " if slides else f"{_seen(math.degrees(joint['position']), 1):8.1f} deg"
    torque = f"{_seen(joint['torque'], 2):7.2f} {'N  ' if slides else 'N·m'}"
    warm = f", {joint['celsius']:.0f} °C" if joint["celsius"] is not None else ""
    return f"  {name}{place}{torque}, {joint['of_stall']:4.0%} of {most}, {joint['margin']:4.0%} left to hold{warm}"


def _seen(value: float, digits: int) -> float:
    """As it will be told: no zero has a sign."""
    return round(value, digits) + 0.0
