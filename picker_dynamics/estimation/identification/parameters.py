"""The ten standard parameters of a body, and what they are to a link's mass, centre of mass and inertia.

    pi = (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)

A body is what one joint moves, up to the next joints: the joint's child link with all that fixed joints weld to it.  ``I`` is
about the origin of that link's frame (which is the joint's), not about the centre of mass, and in its axes: so torques are
linear in pi (C. G. Atkeson, C. H. An and J. M. Hollerbach, Estimation of inertial parameters of manipulator loads and links,
International Journal of Robotics Research 5(3), 1986).  SI units.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.dynamics.lagrangian.bodies import Body, welded
from picker_dynamics.robot.description import ArmDescription

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
COUNT = len(NAMES)

_ROW, _COLUMN = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)
"""Where Ixx, Ixy, Iyy, Ixz, Iyz, Izz stand in the tensor."""


def standard(body: Body) -> np.ndarray:
    """Standard parameters pi (10,) of a body."""
    about_origin = body.about(np.zeros(3))
    return np.concatenate([[body.mass], body.mass * body.com, about_origin[_ROW, _COLUMN]])


def tensor(pi: np.ndarray) -> np.ndarray:
    """Inertia about the frame's origin, (..., 3, 3) [kg·m²]."""
    made = np.empty((*pi.shape[:-1], 3, 3))
    made[..., _ROW, _COLUMN] = made[..., _COLUMN, _ROW] = pi[..., 4:]
    return made


def body(pi: np.ndarray) -> Body:
    """The body that has pi (10,); its inertia is about its centre of mass: I - m (c·c 1 - c cᵀ)."""
    mass, centre = float(pi[0]), pi[1:4] / pi[0] if pi[0] else np.zeros(3)
    return Body(mass, centre, tensor(pi) - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre)))


def of_description(description: ArmDescription) -> np.ndarray:
    """Standard parameters pi of all bodies as the URDF has them, (n, 10), in the order of the joints."""
    return np.array([standard(welded(description, joint.child)) for joint in description.movable]).reshape(-1, COUNT)


def figures(pi: np.ndarray) -> np.ndarray:
    """Mass [kg], centre of mass [m] and inertia about it [kg·m²], (10,), in the order of pi."""
    one = body(pi)
    return np.concatenate([[one.mass], one.com, one.inertia[_ROW, _COLUMN]])


def figures_slope(pi: np.ndarray) -> np.ndarray:
    """Slope of the figures, d(figures)/d(pi), (10, 10), of a body with mass; with I_c = I - (h·h 1 - h hᵀ) / m and h = m c."""
    mass, h = pi[0], pi[1:4]
    made = np.eye(COUNT)
    made[1:4, 0], made[1:4, 1:4] = -h / mass**2, np.eye(3) / mass
    square = h @ h * np.eye(3) - np.outer(h, h)
    made[4:, 0] = (square / mass**2)[_ROW, _COLUMN]
    for k, unit in enumerate(np.eye(3)):
        made[4:, 1 + k] = -((2.0 * h[k] * np.eye(3) - np.outer(unit, h) - np.outer(h, unit)) / mass)[_ROW, _COLUMN]
    return made
