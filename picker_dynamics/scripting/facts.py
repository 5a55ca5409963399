"""Facts about a running graph, ready for JSON: where the arm is, what that costs it, what is wrong, and what to do next."""

from __future__ import annotations

from typing import Any

import numpy as np

from picker_dynamics.board.session import what_enables

from .equipment import Equipment


def facts(client: Any, told: Any, arm: Equipment) -> dict[str, Any]:
    """Facts about an arm that runs, ready for JSON; SI units."""
    hardware, controller = dict(client.hardware), dict(client.controller)
    found: dict[str, Any] = {
        "arm": client.arm_name,
        "hardware": {"state": hardware["state"], "message": hardware["message"]},
        "controller": {"phase": controller["phase"], "message": controller["message"]},
        "moved_by": controller.get("lease", ""),
        "provenance": hardware.get("provenance", ""),
        "payload_kg": told.payload_kg,
        "compensation": told.value("dynamics", "compensation"),
        "supply_v": _volts(told.number("hardware: supply", "measured_mv")),
        "supply_a": told.number("hardware: supply", "ampere"),
        "faults": told.troubles,
        "next": next_command(hardware, controller),
    }
    if client.state is not None:
        q, limits = np.array(client.state), arm.limits
        model = arm.model(told.payload_kg or 0.0)
        torque = model.gravity(q)
        found["torque_limit"] = "effort limit" if arm.servos is None else "stall torque"
        found["tip_m"] = [round(float(x), 5) for x in model.forward_kinematics(q)]
        found["joints"] = {
            name: {
                "position": round(float(q[j]), 5),
                "unit": arm.description.position_units[j],
                "torque": round(float(torque[j]), 4),
                "of_stall": round(float(abs(torque[j]) / limits.full[j]), 4),
                "margin": round(float(1.0 - abs(torque[j]) / limits.hold[j]), 4),
                "celsius": told.number("hardware: temperature", f"celsius.{name}"),
            }
            for j, name in enumerate(arm.description.joint_names)
        }
    return found


def _volts(millivolt: float | None) -> float | None:
    return None if not millivolt else millivolt / 1000.0


def next_command(hardware: dict[str, str], controller: dict[str, str]) -> str:
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


def first_command(hardware: dict[str, str], controller: dict[str, str]) -> str:
    """Command to begin with on an arm that was just started, in words; empty as long as it is on the way there by itself."""
    if hardware.get("state") == "idle" and hardware.get("problem"):  # it says what it waits for
        return f"{what_enables(hardware)}, then picker home"
    taken = hardware.get("commanded") == "true" and controller.get("phase") == "holding"
    return "try picker home" if taken and not what_enables(hardware) else ""
