"""Proof of a calibration: new poses, held by the numbers before and after, and where a camera sees the tip then.

The joint angles that put the hand's tag where it is seen say where the tip is.  With corners y, their derivatives A by q and B by
what the calibration found of geometry, tags and camera (covariance C), the tip T(q, u) is uncertain by

    M = T_u - T_q A+ B,      covariance = M C M^T + sd^2 T_q (A^T A)^-1 T_q^T
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from picker_dynamics.errors import GoalRefusedError, PictureError
from picker_dynamics.robot.kinematic_tree import tool_pose

from . import poses
from .by_itself import ABOVE_FLOOR_M
from .camera_model import CameraModel
from .droop_fit import DroopFit
from .instruments import HAND
from .seen import Viewer

ROUNDS, TURNED_SD = 6, 0.1
"""Steps of the search for the joint angles, and how far they may be from those that are asked for [rad]."""

CLOSER = 1e-7
"""The search ends with a step of less [rad]."""


@dataclass(frozen=True, eq=False)
class Held:
    """A pose that was held.

    Attributes:
        asked, seen: the tip [m] (3,), where it should be and where it was seen.
        sd: standard deviation of what was seen along each axis (3,) [m].
        pixels: of the tip as asked and as seen (2, 2) [px].
    """

    asked: np.ndarray
    seen: np.ndarray
    sd: np.ndarray
    pixels: np.ndarray

    @property
    def off_mm(self) -> float:
        """How far the tip is from where it should be [mm]."""
        return 1e3 * float(np.linalg.norm(self.seen - self.asked))

    @property
    def sd_mm(self) -> float:
        """How uncertain that is, along the error [mm]."""
        way = (self.seen - self.asked) / max(float(np.linalg.norm(self.seen - self.asked)), 1e-9)
        return 1e3 * float(np.linalg.norm(way * self.sd))


def tip_seen(found: DroopFit, corners: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tip (3,) [m] of an arm whose hand's tag is seen so, and its standard deviations.

    Args:
        found: of a ``CameraModel``.
        corners: (4, 2) of the hand's tag [px].
        near: (n,) where the joints should be [rad].
    """
    model, columns = found.model, found.model.columns
    assert isinstance(model, CameraModel)
    q, sd = np.array(near), model.pixel_sd
    seen = np.asarray(corners) / model.camera.focal
    for _ in range(ROUNDS):
        values, by_q, by_spread = (one[0, 0] for one in model.corners_at(found.unknowns, q[None]))
        rows = np.vstack([by_q[..., columns].reshape(-1, len(columns)) / sd, np.eye(len(columns)) / TURNED_SD])
        off = np.append((seen - values).ravel() / sd, (near - q)[columns] / TURNED_SD)
        step = np.linalg.lstsq(rows, off, rcond=None)[0]
        q[columns] += step
        if np.abs(step).max() < CLOSER:
            break
    tip, tip_by_q, tip_by_spread = (one[0] for one in model.tip_at(found.unknowns, q[None]))
    inverse = np.linalg.inv(rows.T @ rows)
    size = len(model.spread)
    by_corners = tip_by_q[:, columns] @ inverse @ rows[: off.size - len(columns)].T / sd
    way = tip_by_spread - by_corners @ by_spread.reshape(-1, size)
    spread = way @ found.covariance[-size:, -size:] @ way.T + tip_by_q[:, columns] @ inverse @ tip_by_q[:, columns].T
    return tip, np.sqrt(np.diag(spread))


def new_poses(viewer: Viewer, found: DroopFit, count: int, seed: int) -> list[np.ndarray]:
    """Random poses (n,) [rad] that the arm holds with room to spare, seen by the camera.

    Raises:
        PictureError: hardly any.
    """
    servos, arm, made = viewer.servos, viewer.arm, list[np.ndarray]()
    validator, least = viewer.validator((poses.HOLD_SHARE, poses.PEAK_SHARE)), poses.least_height(arm, servos) + ABOVE_FLOOR_M
    for q in poses.drawn(arm, servos, viewer.moved, np.random.default_rng([seed, 1]), 200 * count):
        if viewer.visible(q, found) and tool_pose(arm, q).position[2] > least and poses.passes(validator, q):
            made.append(q)
        if len(made) == count:
            return made
    raise PictureError(f"the camera sees {len(made)} of {count} new poses: place it where it sees more of the arm", "camera")


def held(viewer: Viewer, found: DroopFit, wanted: Sequence[np.ndarray], tell: Callable[[str], object]) -> list[Held | None]:
    """Hold the poses (n,) [rad] by the arm's controller, and look where the tip is; None where there is no way, or nothing is
    seen.

    Raises:
        CameraError: the camera was moved since it calibrated the arm.
    """
    model, made = found.model, list[Held | None]()
    assert isinstance(model, CameraModel)
    camera = model.seen_by(found.unknowns)
    for number, q in enumerate(wanted, 1):
        tell(f"pose {number} of {len(wanted)}")
        try:
            viewer.travel(q)
        except GoalRefusedError:
            made.append(None)
            continue
        viewer.stand()
        looked: Mapping[str, np.ndarray] = viewer.eye.look()
        viewer.check(looked)
        if HAND not in looked:
            made.append(None)
            continue
        asked = tool_pose(viewer.arm, viewer.session.reference()).position
        tip, sd = tip_seen(found, looked[HAND], q)
        made.append(Held(asked, tip, sd, camera.project(np.stack([asked, tip]))))
    return made


def report(before: Sequence[Held | None], after: Sequence[Held | None]) -> dict[str, list[dict[str, Any] | None]]:
    """Errors and standard deviations of all poses [mm], and the tip as asked and as seen [px], ready for JSON."""

    def told(one: Held | None) -> dict[str, Any] | None:
        if one is None:
            return None
        return {"off_mm": round(one.off_mm, 3), "sd_mm": round(one.sd_mm, 3), "pixels": np.round(one.pixels, 2).tolist()}

    return {"before": [told(one) for one in before], "after": [told(one) for one in after]}


def table(before: Sequence[Held | None], after: Sequence[Held | None]) -> list[str]:
    """Each pose's tip error before and after with its uncertainty [mm], a line each, and what that comes to."""
    lines, both = ["  pose   before           after            (95 %)"], list[tuple[Held, Held]]()
    for number, (one, other) in enumerate(zip(before, after), 1):
        if one is not None and other is not None:
            both.append((one, other))
            lines.append(
                f"  {number:>4}   {one.off_mm:>5.1f} ± {one.sd_mm:<4.1f}   {other.off_mm:>7.1f} ± {other.sd_mm:<4.1f} mm"
            )
    if not both:
        return ["the hand's tag was seen at none of the poses"]
    old, new = (float(np.median([one.off_mm for one in some])) for some in zip(*both))
    return [*lines, f"Before, the tip was {old:.1f} mm off (median of {len(both)}); now it is {new:.1f} mm off."]
