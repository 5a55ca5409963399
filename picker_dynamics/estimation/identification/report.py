"""Results of an identification, ready for JSON; intervals are standard deviations (``sd``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.description import ArmDescription

from . import inertia
from .columns import DRIVE_UNITS, Columns
from .consistent import ConsistentFit
from .procedure import Identified, Prediction

FIGURES = {"mass": "kg", **dict.fromkeys(("cx", "cy", "cz"), "m")}
FIGURES |= dict.fromkeys(("ixx", "ixy", "iyy", "ixz", "iyz", "izz"), "kg·m²")
"""Figures of a body with their units."""

UNTOLD = 0.7
"""A figure still as uncertain as this share of what it was before is the URDF's, not the data's."""


def links(bodies: ConsistentFit) -> dict[str, Any]:
    """Figures of all links by name: what the URDF has, value, standard deviation, whether the data tell it."""
    found: dict[str, Any] = {}
    believed = inertia.figures(inertia.of_description(bodies.columns.description))
    for i, joint in enumerate(bodies.columns.description.movable):
        each = zip(FIGURES.items(), believed[i].tolist(), *bodies.figures(i).tolist())
        found[joint.child] = {
            figure: {"urdf": was, "value": value, "sd": sd, "unit": unit, "told": sd < UNTOLD * before}
            for (figure, unit), was, value, sd, before in each
        }
    return found


def joints(bodies: ConsistentFit) -> dict[str, Any]:
    """Drive parameters of all joints by name, alike."""
    columns = bodies.columns
    of_kind = {kind: [columns.drive(kind, x) for x in (columns.believed(), bodies.pi, bodies.sd)] for kind in columns.drives}
    return {
        name: {
            kind: dict(zip(("urdf", "value", "sd"), (float(x[i]) for x in three)))
            | {"unit": DRIVE_UNITS[kind][unit], "told": True}
            for kind, three in of_kind.items()
        }
        for i, (name, unit) in enumerate(zip(columns.description.joint_names, columns.description.position_units))
    }


def as_json(found: Identified, sources: list[str], when: str) -> dict[str, Any]:
    """Identified parameters, ready for JSON."""
    columns, base, bodies = found.bodies.columns, found.base, found.bodies
    names = columns.description.joint_names
    rows = zip(base.base.names, base.beta.tolist(), base.sd.tolist(), (100.0 * base.effect).tolist())
    return {
        "when": when,
        "sources": sources,
        "joint_names": list(names),
        "drives": list(columns.drives),
        "parameters": dict(zip(columns.names, bodies.pi.tolist())),
        "parameters_sd": dict(zip(columns.names, bodies.sd.tolist())),
        "links": links(bodies),
        "joints": joints(bodies),
        "base_parameters": [dict(zip(("name", "value", "sd", "effect_percent"), row)) for row in rows],
        "open": base.open,
        "condition": base.condition,
        "misfit": found.misfit,
        "independent_samples": found.equations,
        "noise": dict(zip(names, base.sigma.tolist())),
        "residual_percent": dict(zip(names, map(_finite, 100.0 * found.residual))),
        "systematic_percent": dict(zip(names, map(_finite, 100.0 * base.systematic))),
        "tip_speed": found.tip_speed,
        "far_from_urdf": bodies.strained,
    }


def _finite(value: float) -> float | None:
    """JSON knows no nan."""
    return float(value) if math.isfinite(value) else None


def parameters_of(content: dict[str, Any], description: ArmDescription) -> tuple[Columns, np.ndarray]:
    """Parameters pi (p,) out of such a result, and which they are.

    Raises:
        InputError: it is of another arm, or none.
    """
    try:
        columns = Columns(description, "rotor" in content["drives"])
        return columns, np.array([float(content["parameters"][name]) for name in columns.names])
    except (KeyError, TypeError, ValueError) as error:
        what = f"no result of `picker identify fit` for this arm: {type(error).__name__}: {error}"
        raise InputError(what, value=str(error)) from error


def prediction_json(result: Prediction, joint_names: Sequence[str]) -> dict[str, Any]:
    """Root mean squares per joint while it moves, and overall."""
    shares = 100.0 * result.error / result.effort
    rows = zip(joint_names, result.error, result.effort, shares, 100.0 * result.moving)
    names = "rms_error", "rms_effort", "percent", "moving_percent"
    joints = {joint: dict(zip(names, map(_finite, row))) for joint, *row in rows}
    return {"joints": joints, "overall_percent": _finite(100.0 * result.overall)}
