"""Facts about a running arm, ready for JSON: where the arm is, what that costs it, what is wrong, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from picker_dynamics.board.session import what_enables

from .entry import OK, Entry, number_in

STATES = {
    "offline": "wait; where it stays so, check cable, power and port: the board is connected again by itself",
    "enabling": "wait: the arm is being enabled",
}
PHASES = {"executing": "wait, or picker stop", "streaming": "wait, or picker move --preempt"}
"""State of the hardware, and phase of an enabled arm -> the next sensible command."""


def facts(
    hardware: Mapping[str, str], controller: Mapping[str, str], parts: Mapping[str, Entry], joints: Sequence[str]
) -> dict[str, Any]:
    """Facts about outputs, reference and parts of an arm; SI units, but for names that say another.

    Args:
        hardware, controller: newest values of both, with ``message``.
        parts: newest entries.
    """

    def value(part: str, key: str) -> str | None:
        return parts[part].values.get(key) if part in parts else None

    return {
        "hardware": {name: hardware[name] for name in ("state", "message")},
        "controller": {name: controller[name] for name in ("phase", "message")},
        "moved_by": controller.get("lease", ""),
        "provenance": hardware.get("provenance", ""),
        "next": next_command(hardware, controller),
        "compensation": value("dynamics", "compensation"),
        "supply_v": (number_in(value("hardware: supply", "measured_mv")) or 0.0) / 1000.0 or None,
        "supply_a": number_in(value("hardware: supply", "ampere")),
        "faults": [f"{name}: {one.message}" for name, one in parts.items() if one.level != OK],
        "celsius": [number_in(value("hardware: temperature", f"celsius.{name}")) for name in joints],
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
