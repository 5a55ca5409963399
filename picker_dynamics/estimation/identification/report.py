"""Results of an identification as JSON, and the rows of what was found that JSON, tables and remarks have alike."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InputError

from . import inertia
from .columns import DRIVE_UNITS, Columns
from .consistent import ConsistentFit
from .procedure import EVERYTHING, MOVING, RESTING, Identified, Prediction

FIGURES = {"mass": "kg", **dict.fromkeys(("cx", "cy", "cz"), "m")}
FIGURES |= dict.fromkeys(("ixx", "ixy", "iyy", "ixz", "iyz", "izz"), "kg·m²")
"""Figures of a body with their units."""

UNTOLD = 0.7
"""A figure still as uncertain as this share of what it was before is the URDF's, not the data's."""


class Row(NamedTuple):
    """A figure that was found of a link or joint: what it was, its value and standard deviation, whether the data tell it."""

    name: str
    figure: str
    before: float
    value: float
    sd: float
    unit: str
    told: bool


def link_rows(bodies: ConsistentFit) -> list[Row]:
    """Figures of all links."""
    rows, believed = [], inertia.of_description(bodies.columns.description)
    for i, joint in enumerate(bodies.columns.description.movable):
        each = zip(FIGURES.items(), inertia.figures(believed[i]).tolist(), *bodies.figures(i).tolist())
        for (figure, unit), was, value, sd, before in each:
            rows.append(Row(joint.child, figure, was, value, sd, unit, sd < UNTOLD * before))
    return rows


def joint_rows(bodies: ConsistentFit) -> list[Row]:
    """Drive parameters of all joints."""
    columns, believed = bodies.columns, bodies.columns.believed()
    return [
        Row(
            name,
            kind,
            *(float(columns.drive(kind, of)[i]) for of in (believed, bodies.pi, bodies.sd)),
            DRIVE_UNITS[kind][unit],
            True,
        )
        for i, (name, unit) in enumerate(zip(columns.description.joint_names, columns.description.position_units))
        for kind in columns.drives
    ]


def as_json(found: Identified, sources: list[str], when: str) -> dict:
    """Identified parameters, ready for JSON; intervals are standard deviations (``sd``)."""
    columns, base, bodies = found.bodies.columns, found.base, found.bodies
    joints, links = columns.description.joint_names, {}
    for row in link_rows(bodies):
        links.setdefault(row.name, {})[row.figure] = {"value": row.value, "sd": row.sd, "told": row.told}
    rows = zip(base.base.names, base.beta.tolist(), base.sd.tolist(), (100.0 * base.effect).tolist())
    return {
        "when": when,
        "sources": sources,
        "joint_names": list(joints),
        "drives": list(columns.drives),
        "parameters": dict(zip(columns.names, bodies.pi.tolist())),
        "parameters_sd": dict(zip(columns.names, bodies.sd.tolist())),
        "links": links,
        "base_parameters": [dict(zip(("name", "value", "sd", "effect_percent"), row)) for row in rows],
        "open": base.open,
        "condition": base.condition,
        "misfit": found.misfit,
        "outliers": base.outliers,
        "spikes": found.spikes,
        "independent_samples": found.equations,
        "noise": dict(zip(joints, base.sigma.tolist())),
        "residual_percent": dict(zip(joints, map(_finite, 100.0 * found.residual))),
        "systematic_percent": dict(zip(joints, map(_finite, 100.0 * base.systematic))),
        "tip_speed": found.tip_speed,
        "rotors_log_odds": None if found.odds is None else _finite(found.odds),
        "far_from_urdf": bodies.strained,
    }


def _finite(value: float) -> float | None:
    """JSON knows no nan."""
    return float(value) if math.isfinite(value) else None


def parameters_of(columns: Columns, content: dict) -> np.ndarray:
    """Parameters pi (p,) out of a report's JSON.

    Raises:
        InputError: it is of another arm, or none.
    """
    try:
        values = content["parameters"]
        return np.array([float(values[name]) for name in columns.names])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no result of `picker identify fit` for this arm: {error}", value=str(error)) from error


def prediction_json(result: Prediction, joint_names) -> dict:
    """Root mean squares per joint and overall: moving, resting, everything."""
    quantities = {
        "rms_error": result.error[MOVING],
        "rms_effort": result.effort[MOVING],
        "percent": 100.0 * result.shares[MOVING],
        "moving_percent": 100.0 * result.moving,
        "resting_rms_error": result.error[RESTING],
        "resting_rms_effort": result.effort[RESTING],
    }
    overall = {"overall_percent": MOVING, "resting_percent": RESTING, "everything_percent": EVERYTHING}
    return {
        "joints": {name: {key: _finite(x[i]) for key, x in quantities.items()} for i, name in enumerate(joint_names)},
        **{name: _finite(100.0 * result.overall[which]) for name, which in overall.items()},
    }
