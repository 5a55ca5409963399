"""Lint rules about one joint: its limits, and the mass that it drives."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..description import ArmDescription, Joint
from ..kinematic_tree import rigid_groups, sample_poses, subtree
from .finding import Finding
from .gravity import driven_inertia

MOST_TURNS = 4.0 * math.pi
"""Position limits beyond this [rad] look like degrees."""


def joint_findings(joint: Joint) -> Iterator[Finding]:
    """Findings about the ``<limit>`` and ``<mimic>`` of a movable joint."""
    rate, load = ("m/s", "N") if joint.type == "prismatic" else ("rad/s", "N·m")
    for name, unit, source in (("velocity", rate, "no-load speed"), ("effort", load, "stall torque")):
        value, what = getattr(joint, name), f"{name} limit of joint {joint.name}"
        if math.isinf(value):
            yield Finding(joint.child, what, "missing", f"nothing bounds it; give the motor's {source}")
        elif value == 0.0:
            yield Finding(joint.child, what, f"0 {unit}", "the joint could not move")
    what, value = f"position limits of joint {joint.name}", f"{joint.lower:g} to {joint.upper:g}"
    if joint.lower == joint.upper:
        yield Finding(joint.child, what, value, "the joint has no range; were lower and upper left out?")
    if joint.type == "revolute" and max(-joint.lower, joint.upper) > MOST_TURNS:
        yield Finding(joint.child, what, f"{value} rad", "more than two turns; degrees written as radians?")
    if joint.mimic is not None:
        yield Finding(
            joint.child,
            f"mimic of joint {joint.name}",
            joint.mimic or "a joint without name",
            "it is treated as a joint of its own: nothing couples the two here",
        )


def driven_findings(description: ArmDescription, joint: Joint) -> Iterator[Finding]:
    """A joint that drives no mass at all, or a body of its own that has none."""
    driven = [description.links[name] for name in subtree(description, joint.child)]
    body = [description.links[name] for name in rigid_groups(description)[joint.child]]
    if not any(link.mass > 0.0 for link in driven):
        yield Finding(
            joint.child,
            f"mass driven by joint {joint.name}",
            "0 kg",
            "its acceleration would be infinite; give the link an <inertial>",
            fatal=True,
        )
    elif not driven_inertia(description, sample_poses(description, 5))[:, description.movable.index(joint)].max() > 0.0:
        yield Finding(
            joint.child,
            f"inertia driven by joint {joint.name}",
            "0 kg·m²",
            "points on the axis: its acceleration would be infinite",
            fatal=True,
        )
    elif not any(link.mass > 0.0 and np.any(link.inertia) for link in body):
        mass = sum(link.mass for link in body)
        yield Finding(
            joint.child, "inertial", f"{mass:g} kg without inertia", "MuJoCo refuses a moving body that lacks mass or inertia"
        )
