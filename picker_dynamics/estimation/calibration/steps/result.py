"""Result step: figures with their intervals, what they mean at the tip, and the files, checked before they are written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.errors import refuse_if
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import Servo
from picker_dynamics.robot.units import told

from ..arm_estimate import ArmEstimate
from ..camera_model import CameraModel
from ..evaluate import tip_uncertainty, usual_paths
from ..instruments import lay
from ..questions import Context
from ..readings import NORMAL_95, Measured
from ..servo_figures import horn_slope, own_figures
from ..session import SIMULATED
from ..write_back import OVERLAY_NAME, URDF_NAME, check_result, overlay_text, rewritten, urdf_text, write

NAME, TITLE, MINUTES = "result", "what came out, and the files", 1
INTRODUCTION = "Every figure has its 95 % interval; what fails picker check is not written."
REPORT_NAME = "report.json"

UNITS = {
    "zero_rad": ("mid-travel at", math.degrees(1.0), "deg"),
    "zero_m": ("mid-travel at", 1e3, "mm"),
    "scale": ("scale error", 100.0, "%"),
    "stiffness_nm_rad": ("stiffness", 1.0, "N·m/rad"),
    "gap_rad": ("gap", math.degrees(1.0), "deg"),
    "load_friction": ("load friction", 1.0, ""),
    "coulomb_nm": ("friction", 1.0, "N·m"),
    "axis_0_rad": ("axis turned", math.degrees(1.0), "deg"),
    "axis_1_rad": ("and across", math.degrees(1.0), "deg"),
    "longer_m": ("link before it", 1e3, "mm longer"),
    "mass_kg": ("mass", 1e3, "g"),
    "centre_m": ("centre of mass", 1e3, "mm"),
    "inertia_kg_m2": ("inertia", 1e6, "kg·mm²"),
}
"""How figures of a report are told: what they are, by which factor, in which unit."""


def run_step(context: Context, estimate: ArmEstimate) -> ArmEstimate:
    """Tell and write; nothing is written of a result that fails the check."""
    servos, report = estimate.known_servos, figures(estimate)
    some = estimate.figures or estimate.links or estimate.limits or estimate.servos != estimate.given
    refuse_if(not some, "nothing was measured yet: run a step first", "result")
    context.tell("\n".join(table(report)))
    if estimate.fit is not None or not estimate.loaded:
        poses = [path.end for path in usual_paths(rewritten(estimate.description, {}, limits=estimate.limits), servos)]
        within = report["tip_uncertainty_95_mm"] = 1e3 * tip_uncertainty(estimate, poses)
        context.tell(f"With these readings the tip is within {within:.1f} mm (95 %), pulse steps and friction aside.", "good")
    else:
        context.tell("Without the step droop the tip is as uncertain as before.", "warning")
    base, earlier = context.files.get("servos") or resource("config/servos.yaml"), context.files.get("servo-overlay", "")
    given = servo_map.load(base, servos.joint_names)
    overlay = overlay_text(servos, context.when, before=given, earlier=earlier)
    urdf = urdf_text(estimate.description, {}, context.when, limits=estimate.limits)
    for finding in check_result(urdf, overlay, base):
        context.tell(f"picker check: {finding}", "warning")
    for name, text in {URDF_NAME: urdf, OVERLAY_NAME: overlay, REPORT_NAME: json.dumps(report, indent=2) + "\n"}.items():
        backup = write(context.folder / name, text)
        kept = f"; what was there is kept as {backup.name}" if backup else ""
        context.tell(f"Written: {context.folder / name}{kept}", "good")
    if context.session.arm.get("kind") == SIMULATED:
        context.tell("This was a rehearsal with a simulated arm: do not flash its numbers.", "warning")
        return estimate
    files = {**context.files, "urdf": str(context.folder / URDF_NAME), "servo-overlay": str(context.folder / OVERLAY_NAME)}
    options = " ".join(f"--{option} {value}" for option, value in files.items() if value)
    if not servos.bus and board_limits(servos) != board_limits(servo_map.load(base, servos.joint_names, earlier or None)):
        context.tell(f"The board has to know the new limits: picker firmware header {options}, then flash.", "warning")
    context.tell(f"To use it: picker up {options} --port PORT\nWhat has changed: picker compare BEFORE {context.folder}", "hint")
    return estimate


def figures(estimate: ArmEstimate) -> dict[str, Any]:
    """All figures found, ready for JSON: value and standard deviation, SI units."""
    servos, joints, links = estimate.known_servos, {}, {}
    assert estimate.given is not None
    for servo, was in zip(servos.servos, estimate.given.servos):
        if (one := estimate.figures.get(servo.joint)) is not None:
            joints[servo.joint] = _found(servo_figures(servo, was), vars(one).values())
    if estimate.fit is not None and isinstance(estimate.fit.model, CameraModel):
        for name, joint, key in estimate.fit.model.geometry:
            figure = estimate.fit.figure(joint, name)
            joints[joint][key] = {"found": figure.value, "sd": figure.sd}
    for name, link in estimate.links.items():
        links[name] = _found(link_figures(estimate.description, name), (link.mass, link.distance, link.inertia))
    report: dict[str, Any] = {"joints": joints, "links": links, "limits_rad": {}, "limits_m": {}}
    for name, ends in estimate.limits.items():
        report[f"limits_{servos.servos[servos.joint_names.index(name)].position_unit}"][name] = list(ends)
    report |= {"rest_rad": servos.rest.tolist(), "oscillator_hz": servos.oscillator_hz}
    if (fit := estimate.fit) is not None:
        report |= {"misfit": fit.misfit, "visits": len({one.visit for one in fit.readings}), "outliers": list(fit.outliers)}
    return report


def _found(values: dict[str, float], measured: Iterable[Measured | None]) -> dict[str, dict[str, float]]:
    """Value and standard deviation of what was measured, by key."""
    return {key: {"found": value, "sd": one.sd} for (key, value), one in zip(values.items(), measured) if one is not None}


def servo_figures(servo: Servo, was: Servo) -> dict[str, float]:
    """Figures of a servo, its scale against what it was; springs, gaps and torques are its own, whatever it drives."""
    own, middle = own_figures(servo), 0.5 * (servo.pulses_us[0] + servo.pulses_us[-1])
    return {
        f"zero_{servo.position_unit}": float(servo.to_angle(middle)),
        "scale": horn_slope(servo) / horn_slope(was) - 1.0,
        "stiffness_nm_rad": own["stiffness_nm_rad"],
        "gap_rad": (servo.deadband + 0.5 * servo.play) / servo.per_turn,
        "load_friction": own["load_friction"],
        "coulomb_nm": own["coulomb_nm"],
    }


def link_figures(arm: ArmDescription, name: str) -> dict[str, float]:
    """Mass, and centre and inertia along and about the lines of a link (``instruments.Lay``)."""
    link, along = arm.links[name], lay(arm, name)
    return {"mass_kg": link.mass, "centre_m": along.distance(link.com), "inertia_kg_m2": along.inertia(link.inertia)}


def table(report: dict[str, Any]) -> list[str]:
    """Figures with their 95 % intervals, one a line; ``truth`` beside them where it is known."""
    lines = []
    for name, entries in (*report["joints"].items(), *report["links"].items()):
        for key, one in entries.items():
            what, factor, unit = UNITS[key]
            truth = f"   truth {factor * one['truth']:.4g}" if "truth" in one else ""
            value, half = factor * one["found"], factor * NORMAL_95 * one["sd"]
            lines.append(f"  {name:<10} {what:<15} {value:>9.4g} ± {half:<8.2g} {unit}{truth}")
            name = ""
    for kind in ("limits_rad", "limits_m"):
        for name, ends in report[kind].items():
            lines.append(f"  {name:<10} {'limits':<15} {' ... '.join(told(end, kind[7:]) for end in ends)}")
    return lines
