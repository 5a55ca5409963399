"""URDF linter: whether an arm with these masses, inertias and limits can exist, as findings with link, value and reason.

What people have shipped: every inertia 1.0, an arm that needs no torque at the shoulder, 42.9 kg instead
of 7.2 kg.  Such files load everywhere and move nothing as they should.  ``description`` refuses what is
malformed; here is judged what can be read but is wrong, or at least unlikely.  A finding is fatal where the
arm cannot be simulated at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError

from .description import LIMITLESS, SLOW, ArmDescription, Joint, Link
from .kinematic_tree import joint_frames, point_jacobians, pose_in, sample_poses
from .model import GRAVITY, Array
from .shapes import corners, uniform_body

TRIANGLE_SLACK = 1e-3
"""Share by which principal moments may break the triangle inequality: the rounding of printed numbers."""

INERTIA_FACTOR = (1.0 / 50.0, 4.0)
"""Inertia over that of a uniform body of the drawn shape; weight at both ends of a slender link gives 3."""

DENSITY = (20.0, 12000.0)
"""Plausible mean density [kg/m³]: a hollow printed part to lead."""

OUTSIDE = 0.1
"""How far outside of the drawing a centre of mass may be, as a share of the drawing's size."""

DRAWN_M = 0.002
"""How far what is drawn may stick out of the collision shapes [m]: simplified meshes do; what is kept clear is more than that."""

MOST_TURNS = 4.0 * math.pi
"""Position limits beyond this [rad] look like degrees."""

SAMPLES = 400
"""Random poses that are looked at."""

BALANCED = 1e-6
"""A joint whose holding torque never exceeds this share of weight times size is balanced in every pose."""

UPRIGHT = 1e-6
"""An axis tilted less than this [rad] is vertical and feels no weight."""


@dataclass(frozen=True)
class Finding:
    """Something wrong, or unlikely, about a link or the joint that carries it.

    Attributes:
        link: the link; for a joint its child link.
        what: which of its numbers.
        value: that number with its unit, as text.
        reason: why it cannot be, or is unlikely.
        fatal: no simulation is possible with it.
    """

    link: str
    what: str
    value: str
    reason: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"link {self.link}: {self.what} is {self.value}: {self.reason}"


def lint(description: ArmDescription) -> tuple[Finding, ...]:
    """Judge masses, inertias, shapes, limits and holding torques of an arm.

    Returns:
        The findings: link by link, then joint by joint in the description's order, then the arm under
        gravity; none for an arm in order.

    Raises:
        MissingDependencyError: coal, which measures shapes, is not installed.
    """
    if not description.n:
        return (Finding(description.root, "movable joints", "0", "nothing can move", fatal=True),)
    found: list[Finding] = []
    for name in (description.root, *(joint.child for joint in description.joints)):
        found += [*link_findings(description, name), *_of_shapes(description, name)]
    inertia = driven_inertia(description, sample_poses(description, 5)).max(axis=0)
    for j, joint in enumerate(description.movable):
        found += [*_of_limits(joint), *_of_masses(description, j, float(inertia[j]))]
    if not any(finding.fatal for finding in found):
        found += _of_gravity(description)
    return tuple(found)


def holding_torque(description: ArmDescription, q: ArrayLike) -> Array:
    """Torque [N·m] (force [N] if sliding) that holds the arm still at q (..., n), by virtual work, (..., n).

    tau = sum over the links of  m g dz/dq    z: height of the centre of mass
    """
    masses, _, linear, _, _ = _moved(description, q)
    torque: Array = GRAVITY * np.einsum("l,...lj->...j", masses, linear[..., 2, :])
    return torque


def driven_inertia(description: ArmDescription, q: ArrayLike) -> Array:
    """Inertia that each joint moves, M_jj(q) [kg·m² or kg], (..., n): masses and inertias beyond it, about or along its axis."""
    masses, inertias, linear, angular, rotations = _moved(description, q)
    own = rotations.swapaxes(-1, -2) @ angular
    inertia: Array = np.einsum("l,...lij->...j", masses, linear**2) + (own * (inertias @ own)).sum(axis=(-3, -2))
    return inertia


def _moved(description: ArmDescription, q: ArrayLike) -> tuple[Array, Array, Array, Array, Array]:
    """Links that move: masses (l,), inertias (l, 3, 3), Jacobians of their centres and turning (..., l, 3, n), rotations."""
    moved = [(name, carrier) for name, (carrier, _) in description.transforms.links.items() if carrier >= 0]
    frames, links = joint_frames(description, q), [description.links[name] for name, _ in moved]
    poses = [pose_in(description, frames, name) for name, _ in moved]
    centres = np.stack([pose.apply(link.com) for pose, link in zip(poses, links)], axis=-2)
    linear, angular = point_jacobians(description, frames, [carrier for _, carrier in moved], centres)
    masses, inertias = np.array([link.mass for link in links]), np.array([link.inertia for link in links])
    return masses, inertias, linear, angular, np.stack([pose.rotation for pose in poses], axis=-3)


# -- one link: could any body have this inertial, and could the body that is drawn? -----------------------------------------


def link_findings(description: ArmDescription, name: str) -> Iterator[Finding]:
    """Findings about the ``<inertial>`` of one link."""
    link = description.links[name]
    if not link.has_inertial:
        if any(joint.movable for joint in description.path_to(name)) and (link.visuals or link.collisions):
            yield Finding(name, "inertial", "missing", "the link is drawn and moves, but weighs nothing")
        return
    if name == description.root:
        yield Finding(name, "mass", f"{link.mass:g} kg", "the root never moves; KDL rejects its inertia")
    if link.mass == 0.0:
        if np.any(link.inertia):
            yield Finding(name, "mass", "0 kg", "a body with inertia has mass")
        return
    least, middle, largest = moments = np.linalg.eigvalsh(link.inertia).tolist()
    told = "{:.3g}, {:.3g}, {:.3g} kg·m² (principal)".format(*moments)
    if least < -TRIANGLE_SLACK * abs(largest):
        yield Finding(name, "inertia", told, "a principal moment is negative, which no body has", fatal=True)
        return
    if np.allclose(moments, 1.0, rtol=1e-9):
        yield Finding(name, "inertia", told, "1.0 on the diagonal is a placeholder; measure it, or compute it from the shape")
    if least + middle < largest * (1.0 - TRIANGLE_SLACK):
        why = f"breaks the triangle inequality, {least + middle:.3g} < {largest:.3g}: no body has it, and MuJoCo refuses it"
        yield Finding(name, "inertia", told, why)
    drawn = (*link.collisions, *link.visuals)
    if not drawn or any(shape.kind == "mesh" for shape in drawn):
        return
    volume, specific = uniform_body(link.solid)
    density, points = link.mass / volume, np.concatenate([corners(shape) for shape in drawn])
    if not DENSITY[0] <= density <= DENSITY[1]:
        why = f"{density:.3g} kg/m³ for the {volume * 1e6:.3g} cm³ that are drawn, plausible are {DENSITY[0]:g} to {DENSITY[1]:g}"
        yield Finding(name, "mass", f"{link.mass:g} kg", why)
    lowest, highest = points.min(axis=0), points.max(axis=0)
    outside = float(np.max(np.maximum(lowest - link.com, link.com - highest)))
    if outside > OUTSIDE * np.max(highest - lowest):
        value = "({:.3g}, {:.3g}, {:.3g}) m".format(*link.com)
        yield Finding(name, "centre of mass", value, f"{outside:.3g} m outside of what is drawn")
        return
    share = largest / (link.mass * float(np.linalg.eigvalsh(specific)[2]))
    if not INERTIA_FACTOR[0] <= share <= INERTIA_FACTOR[1]:
        yield Finding(name, "inertia", told, f"{share:.3g} times that of a uniform body of the drawn shape")


def _of_shapes(description: ArmDescription, name: str) -> Iterator[Finding]:
    """What is drawn of a link, against the shapes that motions are held clear of."""
    from .collision import drawn_outside  # coal: only who lints needs it

    try:
        outside, place = drawn_outside(description, description.links[name])
    except DescriptionError as error:
        yield Finding(name, "mesh", str(error.value), f"{str(error).partition(': ')[2]}: missing in pictures and collisions")
        return
    if outside > DRAWN_M:
        value = "{:.3g} mm outside of its collision shapes, at ({:.3f}, {:.3f}, {:.3f}) m".format(1e3 * outside, *place)
        yield Finding(name, "what is drawn", value, "motions are held clear of collision shapes alone")


# -- one joint: its limits, and the mass that it drives --------------------------------------------------------------------


def raised_moments(link: Link) -> Array | None:
    """Principal moments (3,) [kg·m²], the smallest raised by what rounding took from A + B >= C; None: it took nothing."""
    least, middle, largest = np.linalg.eigvalsh(link.inertia).tolist()
    if not largest * (1.0 - TRIANGLE_SLACK) <= least + middle < largest:
        return None
    return np.array([max((largest - middle) * (1.0 + 1e-12), 1e-9 * largest), middle, largest])


def _of_limits(joint: Joint) -> Iterator[Finding]:
    unit = joint.unit
    span, limits = f"{joint.lower:g} to {joint.upper:g}", f"position limits of joint {joint.name}"
    for name, per, source in (
        ("velocity", f"{unit}/s", "no-load speed"),
        ("effort", "N" if unit == "m" else "N·m", "stall torque"),
    ):
        value, what = getattr(joint, name), f"{name} limit of joint {joint.name}"
        if value > LIMITLESS:
            said = "missing" if math.isinf(value) else f"{value:g} {per}"
            yield Finding(joint.child, what, said, f"nothing bounds it; give the motor's {source}")
        elif value == 0.0 or (name == "velocity" and value < SLOW):
            yield Finding(joint.child, what, f"{value:g} {per}", "the joint could not move")
    if joint.ignored:
        why = "a continuous joint turns without end: make it revolute if they are meant"
        yield Finding(joint.child, limits, f"{joint.ignored} rad", why)
    if joint.lower == joint.upper:
        yield Finding(joint.child, limits, span, "the joint has no range; were lower and upper left out?")
    if joint.type == "revolute" and max(-joint.lower, joint.upper) > MOST_TURNS:
        yield Finding(joint.child, limits, f"{span} rad", "more than two turns; degrees written as radians?")
    if joint.mimic is not None:
        why = "it is treated as a joint of its own: nothing couples the two here"
        yield Finding(joint.child, f"mimic of joint {joint.name}", joint.mimic or "a joint without name", why)


def _of_masses(description: ArmDescription, j: int, inertia: float) -> Iterator[Finding]:
    joint, transforms = description.movable[j], description.transforms
    carriers = {name: carrier for name, (carrier, _) in transforms.links.items() if carrier >= 0}
    body = [description.links[name] for name, carrier in carriers.items() if carrier == j]
    if not any(description.links[name].mass > 0.0 for name, carrier in carriers.items() if transforms.carries[carrier, j]):
        why = "its acceleration would be infinite; give the link an <inertial>"
        yield Finding(joint.child, f"mass driven by joint {joint.name}", "0 kg", why, fatal=True)
    elif not inertia > 0.0:
        why = "points on the axis: its acceleration would be infinite"
        yield Finding(joint.child, f"inertia driven by joint {joint.name}", "0 kg·m²", why, fatal=True)
    elif not any(link.mass > 0.0 and np.any(link.inertia) for link in body):
        why = "MuJoCo refuses a moving body that lacks mass or inertia"
        yield Finding(joint.child, "inertial", f"{sum(link.mass for link in body):g} kg without inertia", why)


# -- gravity: a joint that cannot hold its load, or one that should feel some and does not ----------------------------------


def _of_gravity(description: ArmDescription) -> Iterator[Finding]:
    q = sample_poses(description, SAMPLES)
    masses, _, linear, angular, _ = _moved(description, q)
    weight = GRAVITY * np.einsum("l,slij->sj", masses, np.abs(linear)).max(axis=0)  # that could pull, were it to
    tilt = np.abs(angular[..., :2, :]).max(axis=(0, 1, 2))
    lifts = description.transforms.carries[:-1].sum(axis=0) > 1
    largest = np.abs(holding_torque(description, q)).max(axis=0)
    for j, (joint, unit, worst) in enumerate(zip(description.movable, description.effort_units, largest)):
        what = f"holding torque at joint {joint.name}"
        if 0.0 < joint.effort < worst:
            limit = f"its limit {joint.effort:g} {unit}"
            why = f"in some poses, more than {limit}: a mass, a length or the effort limit is wrong"
            yield Finding(joint.child, what, f"{worst:.3g} {unit}", why)
        if not joint.slides and lifts[j] and tilt[j] >= UPRIGHT and worst <= BALANCED * weight[j]:
            why = "in every pose, although it lifts other joints: masses or centres of mass are missing"
            yield Finding(joint.child, what, f"0 {unit}", why)
