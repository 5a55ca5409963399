"""Region in which the tip cannot be held: positions in the arm's vertical plane at which every pose asks too much of some joint.

A tip position is reached with many pitches a3 of the hand, and for each with the elbow up or down:

    wrist = tip - L3 (cos a3, sin a3)                            in the plane, from the shoulder
    cos theta2 = (|wrist|² - L1² - L2²) / (2 L1 L2)
    theta1 = angle of the wrist - atan2(L2 sin theta2, L1 + L2 cos theta2)
    theta3 = a3 - theta1 - theta2

Each pose within the joint limits has a share  max_j |g_j(q)| / hold_limit_j.  A position whose smallest share is above 1
cannot be held, and a goal that ends there is refused.  Gravity does not depend on the base angle: one plane is enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.robot.picker_shape import PickerShape, read_shape

CELL_M = 0.01
PITCHES = np.radians(np.arange(-180.0, 180.0, 3.0))
LIMIT_SLACK = 1e-9


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
    """The region of an arm, by a look at every cell of the plane.

    Args:
        model: the arm with what it carries.
        hold_limit: (n,) [N·m].

    Raises:
        DescriptionError: the arm is not of the picker's shape.
    """
    shape = read_shape(description)
    reach = float(np.sum(shape.lengths))
    steps = np.arange(-math.ceil(reach / cell_m), math.ceil(reach / cell_m) + 1) * cell_m
    cells = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    cells = cells[np.hypot(*cells.T) <= reach]
    least = np.full(len(cells), np.inf)
    for pitch in PITCHES:
        for up in (-1.0, 1.0):
            q, possible = _poses(description, shape, cells, pitch, up)
            use = np.abs(model.gravity(q[possible])) / np.asarray(hold_limit)
            least[possible] = np.minimum(least[possible], use.max(axis=-1))
    reached = np.isfinite(least)
    origin = np.array([shape.shoulder[0], shape.shoulder[2]])
    return Region(cells[reached] + origin, least[reached], cell_m)


def _poses(description, shape: PickerShape, targets, pitch: float, up: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles (k, n) for tips (k, 2) seen from the shoulder, and (k,) whether they exist within the limits."""
    l1, l2, l3 = shape.lengths
    wrist = targets - l3 * np.array([math.cos(pitch), math.sin(pitch)])
    cosine = (np.sum(wrist**2, axis=1) - l1 * l1 - l2 * l2) / (2.0 * l1 * l2)
    elbow = up * np.arccos(np.clip(cosine, -1.0, 1.0))
    shoulder = np.arctan2(wrist[:, 1], wrist[:, 0]) - np.arctan2(l2 * np.sin(elbow), l1 + l2 * np.cos(elbow))
    q = np.tile(np.clip(0.0, description.lower, description.upper), (len(targets), 1))
    columns = list(shape.columns[1:])
    q[:, columns] = np.stack([shoulder, elbow, pitch - shoulder - elbow], axis=1)
    middle = 0.5 * (description.lower + description.upper)
    middle = np.where(np.isfinite(middle), middle, 0.0)[columns]
    q[:, columns] -= 2.0 * math.pi * np.round((q[:, columns] - middle) / (2.0 * math.pi))
    inside = (q >= description.lower - LIMIT_SLACK) & (q <= description.upper + LIMIT_SLACK)
    return q, inside.all(axis=1) & (np.abs(cosine) <= 1.0)
