"""Facts about a running arm, ready for JSON: where the arm is, what that costs it, what is wrong, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from picker_dynamics.board.session import what_enables

from .entry import Condition

if TYPE_CHECKING:
    from picker_dynamics.execution.torque_limits import TorqueLimits
    from picker_dynamics.robot.description import ArmDescription
    from picker_dynamics.robot.model import Array, DynamicsModel


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
        "supply_v": _volts(condition.number("hardware: supply", "measured_mv")),
        "supply_a": condition.number("hardware: supply", "ampere"),
        "faults": condition.troubles,
        "next": next_command(hardware, controller),
    }


def joint_facts(
    arm: ArmDescription, model: DynamicsModel, limits: TorqueLimits, q: Array, condition: Condition, servos: bool
) -> dict[str, Any]:
    """Facts about tip and joints at ``q`` (n,) [rad or m], of the arm with its payload; SI units."""
    torque, tip = model.gravity(q), model.forward_kinematics(q)
    return {
        "torque_limit": "stall torque" if servos else "effort limit",
        "tip_m": [round(float(x), 5) for x in tip],
        "joints": {
            name: {
                "position": round(float(q[j]), 5),
                "unit": arm.position_units[j],
                "torque": round(float(torque[j]), 4),
                "of_stall": round(float(abs(torque[j]) / limits.full[j]), 4),
                "margin": round(float(1.0 - abs(torque[j]) / limits.hold[j]), 4),
                "celsius": condition.number("hardware: temperature", f"celsius.{name}"),
            }
            for j, name in enumerate(arm.joint_names)
        },
    }


def _volts(millivolt: float | None) -> float | None:
    return None if not millivolt else millivolt / 1000.0


def next_command(hardware: Mapping[str, str], controller: Mapping[str, str]) -> str:
    """The next sensible command, in words."""
    if hardware.get("state") == "offline":
        return "wait; where it stays so, check cable, power and port: the board is connected again by itself"
    if hardware.get("state") == "enabling":
        return "wait: the arm is being enabled"
    if before := what_enables(hardware):
        return before
    if controller.get("phase") == "executing":
        return "wait, or picker stop"
    if controller.get("phase") == "streaming":
        return "wait, or picker move --preempt"
    return "picker home, picker move, or picker park before it is switched off"


def first_command(hardware: Mapping[str, str], controller: Mapping[str, str]) -> str:
    """Command to begin with on an arm that was just started, in words; empty as long as it is on the way there by itself."""
    if hardware.get("state") == "idle" and hardware.get("problem"):  # it says what it waits for
        return f"{what_enables(hardware)}, then picker home"
    taken = hardware.get("commanded") == "true" and controller.get("phase") == "holding"
    return "try picker home" if taken and not what_enables(hardware) else ""
