"""Markers of joint torques: a coloured ball, a bent arrow in the sense of the torque, and the number.

Green needs nothing, yellow is half of what the joint may hold for long, red all of it or more.  The arrow's arc spans
three quarters of a turn at stall; a force of a sliding joint is a straight arrow of ``STALL_ARROW_M`` at the limit.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from visualization_msgs.msg import Marker

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses

from .shapes import marker, traffic_light

GROUP = "torque"
ARC_RADIUS_M, ARC_STEP_RAD, STALL_ARC_RAD = 0.035, math.radians(12.0), 1.5 * math.pi
STALL_ARROW_M = 0.12
LEAST_SHARE = 0.02
"""Of stall; below it there is a ball and a number, but no arrow."""

BALL_M, LETTERS_M, ABOVE_M, LINE_M = 0.022, 0.014, 0.045, 0.004
HEAD_M = 0.004, 0.012, 0.014
WHITE = (1.0, 1.0, 1.0, 1.0)


def torque_markers(description: ArmDescription, q, torque, strongest, hold_limit) -> list[Marker]:
    """Markers of all joints' torques in the root frame: of joint j ball, text, arc and arrow are number 4 j and on.

    Args:
        q, torque: (n,) where the joints are [rad or m], and what they have to give [N·m or N].
        strongest: (n,) stall torques, or effort limits [N·m or N].
        hold_limit: (n,) what they may give for long [N·m or N].
    """
    poses, root = link_poses(description, q), description.root
    made: list[Marker] = []
    for j, joint in enumerate(description.movable):
        centre, axis = poses[joint.child].position, poses[joint.child].rotation @ joint.axis
        value, share = float(torque[j]), float(torque[j] / strongest[j])
        colour = traffic_light(abs(value) / hold_limit[j], 0.9)
        text = f"{joint.name} {round(value, 2) + 0.0:+.2f} {description.effort_units[j]}, {100.0 * abs(share):.0f} %"
        above = centre + [0.0, 0.0, ABOVE_M]
        made.append(marker(GROUP, 4 * j, "sphere", root, (BALL_M,) * 3, colour, position=centre))
        made.append(marker(GROUP, 4 * j + 1, "text", root, (0.0, 0.0, LETTERS_M), WHITE, position=above, text=text))
        if abs(share) < LEAST_SHARE:
            continue
        arrow = partial(marker, GROUP, 4 * j + 3, "arrow", root, HEAD_M, colour)
        if joint.type == "prismatic":
            made.append(arrow(points=[centre, centre + float(np.clip(share, -1.0, 1.0)) * STALL_ARROW_M * axis]))
            continue
        arc = arc_points(centre, axis, share)
        made += [marker(GROUP, 4 * j + 2, "line", root, (LINE_M, 0.0, 0.0), colour, points=arc), arrow(points=arc[-2:])]
    return made


def arc_points(centre, axis, share: float) -> np.ndarray:
    """Points of an arc, (k, 3), around a joint [m], in the sense of the torque by the right-hand rule; it begins above.

    Args:
        axis: (3,) unit vector.
        share: of stall; beyond 1 the arc grows no more.
    """
    up = np.array([0.0, 0.0, 1.0]) if abs(axis[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    first = up - axis * (axis @ up)
    first /= np.linalg.norm(first)
    span = float(np.clip(share, -1.0, 1.0)) * STALL_ARC_RAD
    angles = np.linspace(0.0, span, max(3, 1 + math.ceil(abs(span) / ARC_STEP_RAD)))[:, None]
    return centre + ARC_RADIUS_M * (np.cos(angles) * first + np.sin(angles) * np.cross(axis, first))
