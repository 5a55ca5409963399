"""Believed payload at the tool: a body of unknown mass, welded to what bears the tool, that a recording may ask for.

Efforts cannot tell it from the link that carries it.  What tells them apart is that a link is about as the URDF says
(``consistent.PRIOR``), while a payload may be nearly anything: a tenth of the arm's mass, about the tool, give or take
(``consistent.LOAD_PRIOR``).
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.dynamics.lagrangian.bodies import Body
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses, rigid_groups

from . import parameters

MASS_SHARE = 0.1
"""Of the mass of all that moves."""

SIZE_SHARE = 0.1
"""Of the arm's length, root mean square about the tool in each direction."""


def carrier(description: ArmDescription) -> int | None:
    """Index of the body that bears the tool; None: no joint moves it."""
    groups = rigid_groups(description)
    for i, joint in enumerate(description.movable):
        if description.tool in groups[joint.child]:
            return i
    return None


def believed(description: ArmDescription, body: int) -> np.ndarray:
    """Standard parameters pi (10,) of the payload in the frame of ``body``, which bears the tool."""
    poses = link_poses(description, np.zeros(description.n))
    own, tool = (poses[name] for name in (description.movable[body].child, description.tool))
    length = sum(float(np.linalg.norm(joint.xyz)) for joint in description.path_to(description.tool))
    mass = MASS_SHARE * max(float(parameters.of_description(description)[:, 0].sum()), 1e-2)
    spread = max(SIZE_SHARE * length, 1e-3) ** 2
    return parameters.standard(Body(mass, own.rotation.T @ (tool.position - own.position), 2.0 * mass * spread * np.eye(3)))
