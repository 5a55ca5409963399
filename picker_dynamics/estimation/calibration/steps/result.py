"""Result step: figures with their intervals, what they mean at the tip, and the files, checked before they are written."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import yaml

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.errors import ConfigurationError, refuse_if
from picker_dynamics.files.formats import parse_yaml, read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_map

from ..arm_estimate import ArmEstimate
from ..compare import SHIPPED
from ..evaluate import tip_uncertainty, usual_paths
from ..measured import NORMAL_95, Measured
from ..readings import position
from ..servo_figures import horn_slope
from ..session import SIMULATED
from ..step_context import StepContext
from ..write_back import OVERLAY_NAME, URDF_NAME, check_result, overlay_text, urdf_text, write_result

NAME, TITLE, MINUTES = "result", "what came out, and the files", 1
REPORT_NAME = "report.json"


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Tell and write; nothing is written of a result that fails the check."""
    servos, report = estimate.known_servos, figures(estimate)
    refuse_if(
        not (estimate.figures or estimate.links or estimate.limits or estimate.remarks or estimate.rest_us),
        "nothing was measured yet: run a step first",
        "result",
    )
    context.tell("\n".join(table(report)))
    if estimate.fit is not None or not estimate.loaded:
        with context.busy("how sure is the tip?"):
            report["tip_uncertainty_95_mm"] = 1e3 * tip_uncertainty(
                estimate, [path.end for path in usual_paths(estimate.known_description, estimate.known_servos)]
            )
        context.tell(
            f"With these readings the tip is within {report['tip_uncertainty_95_mm']:.1f} mm (95 %), pulse steps and "
            "friction aside.",
            "good",
        )
    if estimate.fit is None and estimate.loaded:
        context.tell(
            "Without the step droop nobody knows zeros, stiffness and friction well: the tip is as uncertain as before.",
            "warning",
        )
    given = servo_map.load(context.servos or resource("config/servos.yaml"), servos.joint_names)
    overlay = merged(
        overlay_text(servos, estimate.figures, context.when, before=given, remarks=estimate.remarks), context.overlay
    )
    urdf = urdf_text(estimate.description, {}, context.when, limits=estimate.limits)
    with context.busy("picker check"):
        for finding in check_result(urdf, overlay, servos=context.servos or None):
            context.tell(f"picker check: {finding}", "warning")
    texts = {URDF_NAME: urdf, OVERLAY_NAME: overlay, REPORT_NAME: json.dumps(report, indent=2) + "\n"}
    backups = write_result(context.folder, texts)
    for name, backup in backups.items():
        context.tell(f"{context.folder / name} was there already: kept as {backup.name}", "hint")
    context.note("files", [str(context.folder / name) for name in texts])
    new_urdf, new_overlay = context.folder / URDF_NAME, context.folder / OVERLAY_NAME
    context.tell(f"Written: {new_urdf}, {new_overlay}, {context.folder / REPORT_NAME}; picker check has passed.", "good")
    if context.session.arm.get("kind") == SIMULATED:
        context.tell(
            "This was a rehearsal: a simulated arm's numbers tell nothing of a real one, so flash none of them.", "warning"
        )
        return estimate
    shown = replace(context, urdf=str(new_urdf))
    flashed = servo_map.load(context.servos or resource("config/servos.yaml"), servos.joint_names, context.overlay or None)
    if board_limits(servos) != board_limits(flashed) or servos.oscillator_hz != given.oscillator_hz:
        context.tell(
            f"The board has to know the new figures: {shown.command('firmware header', str(new_overlay))}, then flash.", "warning"
        )
    before = ",".join(filter(None, (context.urdf or (context.overlay and str(resource("urdf/picker.urdf"))), context.overlay)))
    under = f" --servos {context.servos}" if context.servos else ""
    context.tell(
        f"To use it: {shown.command('up', str(new_overlay))} --port PORT\nWhat it is worth: picker compare {before or SHIPPED} "
        f"{context.folder}{under} --ruler",
        "hint",
    )
    return estimate


def figures(estimate: ArmEstimate) -> dict:
    """All figures found, ready for JSON: value and standard deviation, SI units; springs, gaps and torques are the
    servo's own, whatever it drives."""
    servos, joints = estimate.known_servos, {}
    for name, one in estimate.figures.items():
        column = servos.joint_names.index(name)
        servo, was = servos.servos[column], estimate.given.servos[column]
        way = servo.per_turn
        entries = {
            f"zero_{servo.position_unit}": one.zero
            and Measured(float(servo.to_angle(0.5 * (servo.pulses_us[0] + servo.pulses_us[-1]))), one.zero.sd),
            "scale": one.scale and Measured(horn_slope(servo) / horn_slope(was) - 1.0, one.scale.sd),
            "stiffness_nm_rad": one.stiffness and one.stiffness.times(way**2),
            "gap_rad": one.gap and one.gap.times(1.0 / way),
            "load_friction": one.load_friction,
            "coulomb_nm": one.coulomb and one.coulomb.times(way),
        }
        joints[name] = _found(entries)
    links = {
        name: _found({"mass_kg": one.mass, "centre_m": one.distance, "inertia_kg_m2": one.inertia})
        for name, one in estimate.links.items()
    }
    slides = {servo.joint for servo in servos.servos if servo.slides}
    report = {
        "joints": joints,
        "links": links,
        "limits_rad": {name: list(ends) for name, ends in estimate.limits.items() if name not in slides},
        "limits_m": {name: list(ends) for name, ends in estimate.limits.items() if name in slides},
        "rest_rad": servos.rest.tolist(),
        "oscillator_hz": servos.oscillator_hz,
    }
    if estimate.fit is not None:
        report |= {
            "misfit": estimate.fit.misfit,
            "visits": len({one.visit for one in estimate.fit.readings}),
            "outliers": list(estimate.fit.outliers),
        }
    return report


def _found(entries: dict[str, Measured | None]) -> dict:
    return {key: {"found": one.value, "sd": one.sd} for key, one in entries.items() if one is not None}


UNITS = {
    "zero_rad": ("mid-travel at", 180.0 / math.pi, "deg"),
    "zero_m": ("mid-travel at", 1e3, "mm"),
    "scale": ("scale error", 100.0, "%"),
    "stiffness_nm_rad": ("stiffness", 1.0, "N·m/rad"),
    "gap_rad": ("gap", 180.0 / math.pi, "deg"),
    "load_friction": ("load friction", 1.0, ""),
    "coulomb_nm": ("friction", 1.0, "N·m"),
    "mass_kg": ("mass", 1e3, "g"),
    "centre_m": ("centre of mass", 1e3, "mm"),
    "inertia_kg_m2": ("inertia", 1e6, "kg·mm²"),
}


def table(report: dict) -> list[str]:
    """Figures with their 95 % intervals, one a line; ``truth`` beside them where it is known."""
    lines = []
    for kind in ("joints", "links"):
        for name, entries in report[kind].items():
            for key, one in entries.items():
                what, factor, unit = UNITS[key]
                truth = f"   truth {factor * one['truth']:.4g}" if "truth" in one else ""
                value, half = factor * one["found"], factor * NORMAL_95 * one["sd"]
                lines.append(f"  {name:<10} {what:<15} {value:>9.4g} ± {half:<8.2g} {unit}{truth}")
                name = ""
    for kind in ("limits_rad", "limits_m"):
        for name, (low, high) in report[kind].items():
            ends = (position(end, kind == "limits_m") for end in (low, high))
            lines.append(f"  {name:<10} {'limits':<15} {' ... '.join(ends)}")
    return lines


def merged(overlay: str, before: str) -> str:
    """An overlay's text with what an earlier overlay has besides: one file is to be used, not two."""
    if not before:
        return overlay
    mine, theirs = parse_yaml(overlay), read_yaml(before, "servo map", ConfigurationError)
    lines = overlay.rstrip("\n").split("\n")
    for section in ("board", "defaults"):
        left = {key: value for key, value in theirs.get(section, {}).items() if key not in mine.get(section, {})}
        if left:
            entries = [f"  {key}: {_flow(value)}  # as before" for key, value in left.items()]
            if f"{section}:" not in lines:
                lines.insert(1, f"{section}:")
            at = 1 + lines.index(f"{section}:")
            lines[at:at] = entries
    for joint, entries in theirs.get("joints", {}).items():
        known = (mine.get("joints") or {}).get(joint, {})
        left = [f"    {key}: {_flow(value)}  # as before" for key, value in entries.items() if key not in known]
        at = next((i for i, line in enumerate(lines) if line.startswith(f"  {joint}:")), None)
        if at is not None:
            lines[at + 1 : at + 1] = left
        elif left:
            lines = [line for line in lines if line != "joints: {}"]
            lines += ([] if "joints:" in lines else ["joints:"]) + [f"  {joint}:", *left]
    return "\n".join(lines) + "\n"


def _flow(value) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).replace("\n...", "").strip()
