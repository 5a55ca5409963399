"""Region in which the tip cannot be held: places in the arm's vertical plane at which every pose asks too much of some joint.

Poses within the joint limits are tried in steps.  Each has a share  max_j |g_j(q)| / hold_limit_j.  A place whose smallest share
is above 1 cannot be held, and a goal that ends there is refused.  Gravity does not depend on the base angle: one plane is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.robot.picker_shape import read_shape

CELL_M = 0.01

STEP_RAD = 0.06
"""Between poses that are tried: every cell within reach has some."""


class Region(NamedTuple):
    """Reachable part of the arm's plane, and the share of the holding torque that each place asks.

    Attributes:
        centres: (k, 2) cells that can be reached: x and z in the root frame with the base at 0 [m].
        share: (k,) of what may be held, for the pose that asks least there; above 1: cannot be held.
        cell_m: edge of a cell [m].
    """

    centres: np.ndarray
    share: np.ndarray
    cell_m: float


def region_of(description: ArmDescription, model: DynamicsModel, hold_limit, cell_m: float = CELL_M) -> Region:
    """Find the region of an arm.

    Args:
        model: the arm with what it carries.
        hold_limit: (n,) [N·m].

    Raises:
        DescriptionError: the arm is not of the picker's shape.
    """
    pitching, (lower, upper) = list(read_shape(description).columns[1:]), (description.lower, description.upper)
    angles = [np.append(np.arange(lower[j], upper[j], STEP_RAD), upper[j]) for j in pitching]
    tried = np.stack(np.meshgrid(*angles, indexing="ij"), axis=-1).reshape(-1, len(pitching))
    q = np.tile(np.clip(0.0, lower, upper), (len(tried), 1))
    q[:, pitching] = tried
    x, _, z = model.forward_kinematics(q).T
    cells, which = np.unique(np.round(np.column_stack([x, z]) / cell_m), axis=0, return_inverse=True)
    share = np.full(len(cells), np.inf)
    np.minimum.at(share, which.ravel(), (np.abs(model.gravity(q)) / np.asarray(hold_limit)).max(axis=-1))
    return Region(cell_m * cells, share, cell_m)
