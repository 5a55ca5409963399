"""Facts about a running arm, ready for JSON: where the arm is, what that costs it, what is wrong, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from picker_dynamics.board.session import what_enables

from .entry import Condition

STATES = {
    "offline": "wait; where it stays so, check cable, power and port: the board is connected again by itself",
    "enabling": "wait: the arm is being enabled",
}
PHASES = {"executing": "wait, or picker stop", "streaming": "wait, or picker move --preempt"}
"""State of the hardware, and phase of an enabled arm -> the next sensible command."""


def facts(hardware: Mapping[str, str], controller: Mapping[str, str], condition: Condition) -> dict[str, Any]:
    """Facts about outputs, reference and parts; SI units.

    Args:
        hardware, controller: newest values of both, with ``message``.
        condition: of the arm's parts.
    """
    return {
        "hardware": {"state": hardware["state"], "message": hardware["message"]},
        "controller": {"phase": controller["phase"], "message": controller["message"]},
        "moved_by": controller.get("lease", ""),
        "provenance": hardware.get("provenance", ""),
        "payload_kg": condition.payload_kg,
        "compensation": condition.value("dynamics", "compensation"),
        "supply_v": (condition.number("hardware: supply", "measured_mv") or 0.0) / 1000.0 or None,
        "supply_a": condition.number("hardware: supply", "ampere"),
        "faults": condition.troubles,
        "next": next_command(hardware, controller),
    }


def next_command(hardware: Mapping[str, str], controller: Mapping[str, str]) -> str:
    """The next sensible command, in words."""
    by_state, by_phase = STATES.get(hardware.get("state", "")), PHASES.get(controller.get("phase", ""))
    return by_state or what_enables(hardware) or by_phase or "picker home, picker move, or picker park before it is switched off"


def first_command(hardware: Mapping[str, str], controller: Mapping[str, str]) -> str:
    """Command to begin with on an arm that was just started, in words; empty as long as it is on the way there by itself."""
    if hardware.get("state") == "idle" and hardware.get("problem"):  # it says what it waits for
        return f"{what_enables(hardware)}, then picker home"
    taken = hardware.get("commanded") == "true" and controller.get("phase") == "holding"
    return "try picker home" if taken and not what_enables(hardware) else ""
