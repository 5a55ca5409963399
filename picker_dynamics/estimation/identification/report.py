"""Results of an identification as JSON, and as the arm's URDF with a remark at each number.

In the URDF's text other ``<inertial>`` and ``<dynamics>`` elements stand, and how sure each number is.  A body of several welded
links was found as one: its ``<inertial>`` stands in the link that the joint moves, the others have none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import rigid_groups

from ..calibration.measured import NORMAL_95
from ..urdf_text import element, inertial
from .columns import Columns
from .consistent import ConsistentFit
from .inertia import NAMES, of_description
from .inertia import body as body_of
from .procedure import Identified, Prediction

FIGURES = ("mass", "cx", "cy", "cz", "ixx", "ixy", "iyy", "ixz", "iyz", "izz")
FIGURE_UNITS = ("kg", *3 * ("m",), *6 * ("kg·m²",))

_INERTIAL = re.compile(r"[ \t]*<inertial\b.*?</inertial>[ \t]*\n?", re.DOTALL)
_DYNAMICS = re.compile(r"[ \t]*<dynamics\b[^>]*?(?:/>|>.*?</dynamics>)[ \t]*\n?", re.DOTALL)

NOTHING_M = 1e-9

AGREES = 1e-5
"""Largest rounding of what is written, as a share of a body's largest entry of the same unit."""

UNTOLD = 0.7
"""A figure still as uncertain as this share of what it was before is the URDF's, not the data's."""


def as_json(found: Identified, sources: list[str], when: str) -> dict:
    """Identified parameters, ready for JSON; intervals are standard deviations (``sd``)."""
    columns, base, bodies = found.bodies.columns, found.base, found.bodies
    joints = columns.description.joint_names
    rows = zip(base.base.names, base.beta.tolist(), base.sd.tolist(), (100.0 * base.effect).tolist())
    return {
        "when": when,
        "sources": sources,
        "joint_names": list(joints),
        "drives": list(columns.drives),
        "parameters": dict(zip(columns.names, bodies.pi.tolist())),
        "parameters_sd": dict(zip(columns.names, bodies.sd.tolist())),
        "links": {joint.child: _figures(bodies.figures(i)) for i, joint in enumerate(columns.description.movable)},
        "base_parameters": [dict(zip(("name", "value", "sd", "effect_percent"), row)) for row in rows],
        "open": list(base.open),
        "condition": base.condition,
        "misfit": found.misfit,
        "outliers": base.outliers,
        "spikes": found.spikes,
        "independent_samples": found.equations,
        "noise": dict(zip(joints, base.sigma.tolist())),
        "residual_percent": dict(zip(joints, map(_percent, found.residual))),
        "systematic_percent": dict(zip(joints, map(_percent, base.systematic))),
        "tip_speed": found.tip_speed,
        "tried": [{"name": one.name, "kept": one.kept, "log_odds": _finite(one.odds)} for one in found.trials],
        "payload": _payload(bodies),
        "far_from_urdf": dict(found.strained),
    }


def _finite(value: float) -> float | None:
    """JSON knows no nan."""
    return float(value) if math.isfinite(value) else None


def _percent(share: float) -> float | None:
    return _finite(100.0 * share)


def _payload(bodies: ConsistentFit) -> dict | None:
    figures = bodies.load_figures()
    if figures is None:
        return None
    values = {name: {"value": float(value), "sd": float(sd)} for name, value, sd in zip(FIGURES, *figures)}
    return {"link": bodies.columns.description.movable[bodies.carrier].child, **values}


def payload_text(bodies: ConsistentFit) -> str:
    """The payload in words, empty where none was found."""
    found = _payload(bodies)
    if found is None:
        return ""
    centre = " ".join(
        f"{1e3 * found[name]['value']:.0f}±{1e3 * NORMAL_95 * found[name]['sd']:.0f}" for name in ("cx", "cy", "cz")
    )
    mass = found["mass"]
    return f"{mass['value']:.3g} ± {NORMAL_95 * mass['sd']:.2g} kg at {centre} mm in the frame of {found['link']}"


def _figures(figures) -> dict:
    return {
        name: {"value": float(value), "sd": float(sd), "told": bool(sd < UNTOLD * before)}
        for name, value, sd, before in zip(FIGURES, *figures)
    }


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


def urdf_text(found: Identified, when: str) -> str:
    """The arm's URDF with what was found, each link and joint with its remark."""
    columns, bodies = found.bodies.columns, found.bodies
    remarks, load = {}, payload_text(found.bodies)
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
        if load and i == bodies.carrier:
            remarks[joint.child] += f"; with a payload, 95 %: {load}"
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
    return with_bodies(columns.description, bodies.bodies, viscous, coulomb, remarks)


def prediction_json(result: Prediction, joint_names) -> dict:
    """Root mean squares per joint and overall: moving, resting, everything."""
    joints = {
        name: {
            "rms_error": _finite(result.error[i]),
            "rms_effort": _finite(result.effort[i]),
            "percent": _percent(result.shares[i]),
            "moving_percent": _percent(result.moving[i]),
            "resting_rms_error": _finite(result.resting_error[i]),
            "resting_rms_effort": _finite(result.resting_effort[i]),
        }
        for i, name in enumerate(joint_names)
    }
    overall = {"overall_percent": result.overall, "resting_percent": result.resting, "everything_percent": result.everything}
    return {"joints": joints, **{name: _percent(share) for name, share in overall.items()}}


def with_bodies(
    description: ArmDescription,
    bodies: np.ndarray,
    viscous: np.ndarray,
    coulomb: np.ndarray,
    remarks: Mapping[str, str] | None = None,
) -> str:
    """The URDF with bodies ``bodies`` (n, 10) and friction (n,) [N·m·s/rad, N·m].

    Args:
        remarks: comment for a link or joint, by name.

    Raises:
        DescriptionError: a link or joint that is not found in the text, or text that then says something else.
    """
    text, remarks = description.urdf, dict(remarks or {})
    groups = rigid_groups(description)
    for joint, pi, damping, friction in zip(description.movable, bodies, viscous, coulomb):
        leader, *others = groups[joint.child]
        text = _replaced(text, "link", leader, _INERTIAL, _inertial_text(pi, remarks.get(leader, "")), description.source)
        for other in others:
            if description.links[other].has_inertial:
                note = f"    <!-- its mass is part of {leader}'s, with which it was identified as one body -->\n"
                text = _replaced(text, "link", other, _INERTIAL, note, description.source)
        comment = f"  <!-- {remarks[joint.name]} -->" if joint.name in remarks else ""
        dynamics = f'    <dynamics damping="{damping:.8g}" friction="{friction:.8g}"/>{comment}\n'
        text = _replaced(text, "joint", joint.name, _DYNAMICS, dynamics, description.source)
    _require_said(parse(text, description.source), bodies)
    return text


def _inertial_text(pi: np.ndarray, remark: str) -> str:
    body = body_of(pi)
    com = np.where(np.abs(body.com) < NOTHING_M, 0.0, body.com)
    return f"    {inertial(body.mass, com, body.inertia, remark, '.9g', '.9e')}\n"


def _replaced(text: str, tag: str, name: str, inner: re.Pattern, new: str, source: str) -> str:
    """The text with ``new`` in place of what ``inner`` finds in the element, or at its end; comments are left alone."""
    inside = element(text, tag, name)
    if inside is None:
        raise DescriptionError(f"{tag} {name}: not found in the text of {source}", subject=name)
    blank, begin, end = inside
    if end < begin:
        return f"{text[:end]}>\n{new}  </{tag}>{text[begin:]}"
    old = inner.search(blank, begin, end)
    if old is None:
        line = blank.rfind("\n", begin, end) + 1
        if line and not blank[line:end].strip():
            return text[:line] + new + text[line:]
        return f"{text[:end]}\n{new}  {text[end:]}"
    lead = "" if old.start() == 0 or text[old.start() - 1] == "\n" else "\n"
    return text[: old.start()] + lead + new + text[old.end() :]


def _require_said(written: ArmDescription, bodies: np.ndarray) -> None:
    said = of_description(written)
    sizes = np.repeat(
        [np.abs(bodies[:, :1]).max(axis=1), np.abs(bodies[:, 1:4]).max(axis=1), np.abs(bodies[:, 4:]).max(axis=1)],
        (1, 3, 6),
        axis=0,
    ).T
    off = np.abs(said - bodies) - AGREES * np.maximum(sizes, 1e-9)
    if off.max() > 0.0:
        body, entry = np.unravel_index(int(off.argmax()), off.shape)
        joint = written.movable[body]
        raise DescriptionError(
            f"link {joint.child}: {NAMES[entry]} would read {said[body, entry]:g} where "
            f"{bodies[body, entry]:g} was found: its text is too unusual to be changed",
            subject=joint.child,
        )
