"""Measured links against the arm as drawn: how far a link reaches, and whether its body could be what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import Pose, link_poses
from picker_dynamics.robot.lint import Finding
from picker_dynamics.robot.lint.links import link_findings
from picker_dynamics.robot.lint.shapes import corners

from .mass_properties import LinkProperties
from .write_back import urdf_text

REACH_SLACK = 1.1
"""How much further a real link may reach than the drawing."""

MASS_RATIO = (0.6, 1.7)
"""Measured mass over the URDF's beyond which one of them is of other parts: a servo is left off, or weighed twice."""


def reach(
    description: ArmDescription, link: str, holds: Sequence[str] = (), pose: Mapping[str, float] | None = None
) -> float | None:
    """How far a link, or an assembly, reaches from its joint axis by the URDF [m], with ``REACH_SLACK``: no balance point and no
    radius of gyration is beyond it.

    Args:
        description: the arm.
        link: the link whose joint axis counts.
        holds: further links that move with it.
        pose: of the joints between them [rad], by name; others at 0.

    Returns:
        None where neither a joint nor a simple shape tells: nothing drawn, or a mesh.
    """
    poses, inside = poses_in(description, link, pose), (link, *holds)
    points = [poses[name].apply(point) for name in inside for point in _drawn(description, name)]
    points += [poses[joint.child].position for joint in description.joints if joint.parent in inside]
    axis = next((joint.axis for joint in description.joints if joint.child == link and joint.movable), np.array([0.0, 1.0, 0.0]))
    farthest = max((float(np.linalg.norm(np.cross(axis, point))) for point in points), default=0.0)
    return REACH_SLACK * farthest or None


def geometry_findings(description: ArmDescription, links: Mapping[str, LinkProperties]) -> tuple[Finding, ...]:
    """What ``picker check`` says of the measured links: density of what is drawn, centre of mass inside of it, radius of
    gyration within it, triangle inequality; and masses far from the URDF's.

    Args:
        description: the arm as drawn, with the masses believed before.
        links: what was measured.
    """
    measured = parse(urdf_text(description, links, ""), description.source)
    found: list[Finding] = []
    for name, one in links.items():
        found += link_findings(measured, name)
        found += _mass_findings(name, one, description.links[name].mass)
    return tuple(found)


def poses_in(description: ArmDescription, link: str, pose: Mapping[str, float] | None = None) -> dict[str, Pose]:
    """Poses of all links in the frame of ``link``.

    Args:
        pose: joint positions by name [rad or m]; others at 0.
    """
    pose = pose or {}
    for name in pose:
        description.joint(name)
    poses = link_poses(description, np.array([pose.get(name, 0.0) for name in description.joint_names]))
    here = poses[link]
    return {
        name: Pose(here.rotation.T @ one.rotation, here.rotation.T @ (one.position - here.position))
        for name, one in poses.items()
    }


def _drawn(description: ArmDescription, name: str) -> Iterator[np.ndarray]:
    link = description.links[name]
    for shape in (*link.collisions, *link.visuals):
        if shape.kind != "mesh":
            yield from corners(shape)


def _mass_findings(name: str, one: LinkProperties, believed: float) -> Iterator[Finding]:
    ratio = one.mass.value / believed if believed else 1.0
    if not MASS_RATIO[0] <= ratio <= MASS_RATIO[1]:
        yield Finding(
            name,
            "mass",
            f"{one.mass.value:.4g} kg",
            f"{ratio:.2g} times the {believed:g} kg of the URDF: was it "
            f"weighed {'without its servo' if ratio < 1.0 else 'with another link'}, or was the URDF a guess?",
        )
