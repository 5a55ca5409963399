"""What was found, for people (tables), for programs (JSON) and for whoever reads the URDF (remarks)."""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import InputError

from ..calibration.measured import NORMAL_95
from . import parameters, write_back
from .columns import DRIVE_UNITS, Columns
from .procedure import Identified, Prediction

FIGURES = ("mass", "cx", "cy", "cz", "ixx", "ixy", "iyy", "ixz", "iyz", "izz")
FIGURE_UNITS = ("kg", *3 * ("m",), *6 * ("kg·m²",))

UNTOLD = 0.7
"""A figure still as uncertain as this share of what it was before is the URDF's, not the data's."""


def as_json(found: Identified, sources: list[str], when: str) -> dict:
    """All of it, ready for JSON; intervals are standard deviations (``sd``)."""
    columns, base, bodies = found.bodies.columns, found.base, found.bodies
    rows = zip(base.base.names, base.beta.tolist(), base.sd.tolist(), (100.0 * base.effect).tolist())
    return {
        "when": when,
        "sources": sources,
        "joint_names": list(columns.description.joint_names),
        "drives": list(columns.drives),
        "parameters": dict(zip(columns.names, bodies.pi.tolist())),
        "parameters_sd": dict(zip(columns.names, bodies.sd.tolist())),
        "links": {joint.child: _figures(bodies.figures(i)) for i, joint in enumerate(columns.description.movable)},
        "base_parameters": [dict(zip(("name", "value", "sd", "effect_percent"), row)) for row in rows],
        "open": list(base.open),
        "condition": base.condition,
        "misfit": bodies.cost,
        "outliers": base.outliers,
        "spikes": found.spikes,
        "independent_samples": found.equations,
        "noise": dict(zip(columns.description.joint_names, base.sigma.tolist())),
        "residual_percent": dict(zip(columns.description.joint_names, (100.0 * found.residual).tolist())),
    }


def _figures(figures) -> dict:
    return {
        name: {"value": float(value), "sd": float(sd), "told": bool(sd < UNTOLD * before)}
        for name, value, sd, before in zip(FIGURES, *figures)
    }


def parameters_of(columns: Columns, content: dict) -> np.ndarray:
    """pi (p,) out of such JSON.

    Raises:
        InputError: it is of another arm, or none.
    """
    try:
        values = content["parameters"]
        return np.array([float(values[name]) for name in columns.names])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no result of `picker identify fit` for this arm: {error}", value=str(error)) from error


def urdf_text(found: Identified, when: str) -> str:
    """The arm's URDF with what was found, each link and joint with its remark."""
    columns, bodies = found.bodies.columns, found.bodies
    remarks = {}
    for i, joint in enumerate(columns.description.movable):
        _, sd, before = bodies.figures(i)
        half = NORMAL_95 * sd
        untold = [name for name, one, was in zip(FIGURES, sd, before) if not one < UNTOLD * was]
        told = "" if not untold else f"; not told by the torques, nearly as it was: {', '.join(untold)}"
        centre = " ".join(f"{1e3 * value:.2g}" for value in half[1:4])
        moments = " ".join(f"{value:.1e}" for value in half[4:])
        remarks[joint.child] = (
            f"identified {when} from torques, 95 %: mass ± {half[0]:.2g} kg, centre ± {centre} mm, "
            f"moments ± {moments} kg m2{told}"
        )
        sds = {kind: columns.drive(kind, bodies.sd)[i] for kind in columns.drives}
        if "viscous" in sds:
            remarks[joint.name] = (
                f"identified {when}, 95 %: damping ± {NORMAL_95 * sds['viscous']:.2g}, "
                f"friction ± {NORMAL_95 * sds['coulomb']:.2g}"
            )
    viscous, coulomb = (
        columns.drive(kind, bodies.pi) if kind in columns.drives else believed
        for kind, believed in (("viscous", columns.description.damping), ("coulomb", columns.description.friction))
    )
    return write_back.urdf_text(columns.description, bodies.bodies, viscous, coulomb, remarks)


def show(console, found: Identified) -> None:
    """Tables of links, joints and base parameters."""
    from rich.table import Table

    columns, bodies, base = found.bodies.columns, found.bodies, found.base

    def table(title: str, *headings: str) -> Table:
        made = Table(title=title, title_justify="left")
        for heading in headings:
            made.add_column(
                heading, justify="left" if heading in ("link", "joint", "figure", "unit", "") else "right", overflow="fold"
            )
        return made

    links = table("links", "link", "figure", "URDF", "found", "± (95 %)", "unit", "")
    believed = columns.believed()[: columns.bodies].reshape(-1, parameters.COUNT)
    for i, joint in enumerate(columns.description.movable):
        name, was = joint.child, parameters.figures(believed[i])
        for row in zip(FIGURES, FIGURE_UNITS, was, *bodies.figures(i)):
            figure, unit, old, value, sd, before = row
            links.add_row(
                name,
                figure,
                f"{old:.4g}",
                f"{value:.4g}",
                f"{NORMAL_95 * sd:.2g}",
                unit,
                "" if sd < UNTOLD * before else "not told",
            )
            name = ""
    console.print(links)
    if columns.drives:
        drives = table("joints", "joint", "figure", "found", "± (95 %)", "unit")
        for i, (name, unit) in enumerate(zip(columns.description.joint_names, columns.description.position_units)):
            for kind in columns.drives:
                value, sd = columns.drive(kind, bodies.pi)[i], columns.drive(kind, bodies.sd)[i]
                drives.add_row(name, kind, f"{value:.4g}", f"{NORMAL_95 * sd:.2g}", DRIVE_UNITS[unit][kind])
                name = ""
        console.print(drives)
    residual = ", ".join(f"{name} {100.0 * share:.1f} %" for name, share in zip(columns.description.joint_names, found.residual))
    console.print(
        f"{base.base.count} base parameters from {found.equations} independent samples, condition "
        f"{base.condition:.0f}; misfit {bodies.cost:.2f} (1: all but the noise is explained); {base.outliers} "
        f"outliers, {found.spikes} spikes",
        soft_wrap=True,
    )
    console.print(f"what is left of the (filtered) efforts: {residual}", soft_wrap=True)
    for name in base.open:
        console.print(f"open: {name}", soft_wrap=True)


def prediction_json(result: Prediction, joint_names) -> dict:
    """Root mean squares per joint and overall."""
    rows = zip(joint_names, result.error.tolist(), result.effort.tolist(), (100.0 * result.shares).tolist())
    joints = {name: {"rms_error": error, "rms_effort": effort, "percent": percent} for name, error, effort, percent in rows}
    return {"joints": joints, "overall_percent": 100.0 * result.overall}


def show_prediction(console, result: Prediction, description) -> None:
    """The same as a table."""
    from rich.table import Table

    table = Table(title="predicted against measured, RMS", title_justify="left")
    for heading in ("joint", "error", "effort", "unit", "error / effort"):
        table.add_column(heading, justify="left" if heading in ("joint", "unit") else "right")
    for name, error, effort, unit, share in zip(
        description.joint_names, result.error, result.effort, description.effort_units, result.shares
    ):
        table.add_row(name, f"{error:.4g}", f"{effort:.4g}", unit, f"{100.0 * share:.2f} %")
    console.print(table)
    console.print(f"overall {100.0 * result.overall:.2f} %")
