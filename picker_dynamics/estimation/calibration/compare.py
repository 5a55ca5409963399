"""Comparison of two sets of numbers for one arm, before and after a calibration: which differ, and how far the tip is off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from picker_dynamics.errors import ConfigurationError, JointNamesError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import Plant

from .arm_estimate import given
from .evaluate import TipErrorReport, tip_error_report, usual_paths
from .servo_figures import horn_slope, own_figures
from .write_back import OVERLAY_NAME, URDF_NAME

SHIPPED = "shipped"
"""Names the picker's own URDF and servo map, where a folder or file is asked for."""

SAME = 1e-6
"""Numbers that differ by less than this share are the same: the rounding of a file."""


@dataclass(frozen=True)
class Numbers:
    """Numbers believed of an arm; ``name``: their source."""

    name: str
    description: ArmDescription
    servos: ServoMap


def load(name: str, servos: str = "") -> Numbers:
    """Read one side of a comparison.

    Args:
        name: a folder with ``arm.urdf`` and ``servos.calibrated.yaml``; ``URDF`` or ``URDF,OVERLAY``; or ``shipped``.
        servos: servo map under the overlay, default config/servos.yaml.

    Raises:
        ConfigurationError: a file that is missing, or a servo map that is wrong.
        DescriptionError: a URDF that is wrong.
    """
    if name == SHIPPED:
        return Numbers(name, *given(servos=servos))
    folder = Path(name)
    urdf, _, overlay = (str(folder / URDF_NAME), ",", str(folder / OVERLAY_NAME)) if folder.is_dir() else name.partition(",")
    for path in filter(None, (urdf, overlay)):
        if not Path(path).is_file():
            why = f"no such file: {path}; give a folder that picker calibrate wrote, URDF[,OVERLAY], or {SHIPPED}"
            raise ConfigurationError(why, value=path)
    return Numbers(name, *given(urdf, servos, overlay))


def differences(before: Numbers, after: Numbers) -> list[dict[str, Any]]:
    """The numbers that differ, joint by joint, then link by link: ``where``, ``figure`` (with its unit), ``before``, ``after``.

    Raises:
        JointNamesError: arms with other joints or links.
    """
    old, new = _figures(before), _figures(after)
    if list(old) != list(new):
        other = ", ".join(sorted({where for where, _ in set(old) ^ set(new)}))
        raise JointNamesError(f"{before.name} and {after.name} are not the same arm: only one of them has {other}")
    return [
        {"where": where, "figure": figure, "before": value, "after": new[where, figure]}
        for (where, figure), value in old.items()
        if abs(new[where, figure] - value) > SAME * max(abs(value), abs(new[where, figure]))
    ]


def _figures(one: Numbers) -> dict[tuple[str, str], float]:
    """Every number, by joint or link and its name with its unit."""
    found: dict[tuple[str, str], float] = {}
    for joint, servo in zip(one.description.movable, one.servos.servos):
        figures = {"direction": servo.direction, "deg_per_ms": 1e3 * math.degrees(horn_slope(servo)), **own_figures(servo)}
        figures |= {"lower_rad": joint.lower, "upper_rad": joint.upper}
        found |= {(joint.name, key): float(value) for key, value in figures.items()}
    for name, link in one.description.links.items():
        found[name, "mass_kg"] = link.mass
        for i, axis in enumerate("xyz"):
            found[name, f"centre_{axis}_mm"] = 1e3 * float(link.com[i])
            found[name, f"i{axis}{axis}_kg_m2"] = float(link.inertia[i, i])
    return found | {("board", "oscillator_hz"): one.servos.oscillator_hz}


def tip_errors(before: Numbers, after: Numbers, truth: Plant, *, poses: int) -> TipErrorReport:
    """Move the true arm through random poses, controlled with either set.

    Args:
        truth: the arm, hidden errors included.
        poses: how many.
    """
    for one in (before, after):
        if truth.joint_names != one.description.joint_names:
            raise JointNamesError(f"the true arm has the joints {', '.join(truth.joint_names)}, not those of {one.name}")
    sides = [(one.description, one.servos) for one in (before, after)]
    return tip_error_report(truth, sides, usual_paths(truth.description, truth.servo_map, poses))
