"""Sighting: a place that a camera saw, and where that is in the arm's base frame.

    p_base = T_link(q at the time of the picture) · T_hand-eye · p_camera

The hand-eye transform stands in a file, one entry for each camera; its parent is the arm's root, or one of its links:

    cameras:
      camera_optical_frame: {parent: base_link, at_m: [0.35, 0.0, 0.45], rpy_deg: [180, 0, -90]}

What is in neither is looked up by whoever knows more frames, such as tf2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import ConfigurationError, InputError, refuse_if, shown
from picker_dynamics.files.fields import mapping
from picker_dynamics.files.formats import read_yaml

from .description import ArmDescription
from .kinematic_tree import Pose, link_poses
from .model import Array, as_vector
from .scene import read_placed
from .urdf_elements import rotation_from_rpy

MAX_AGE_S, AHEAD_S = 2.0, 0.5
"""A sighting is at most so old, and stamped at most so far ahead [s]."""

FIXED = np.eye(3)

Camera = tuple[str, Pose]
"""The frame in which a camera is fixed, and its pose there."""


@dataclass(frozen=True, eq=False)
class Sighting:
    """Sighting of a target: its pose as it was seen.

    Attributes:
        frame: in which it is told.
        stamp_s: when it was seen [s]; 0: now.
        place: (3,) [m].
        rotation: (3, 3); its first column is where the tool is to point when it grips.
    """

    frame: str
    stamp_s: float
    place: Array
    rotation: Array

    def in_base(
        self,
        arm: ArmDescription,
        cameras: Mapping[str, Camera],
        now_s: float,
        pose_at: Callable[[float], Array | None],
        look_up: Callable[[str, float], Pose],
    ) -> tuple[Array, float | None]:
        """Place (3,) [m] and pitch of the tool [rad] in the base frame; no pitch where the sighting is not turned in its own.

        Args:
            cameras: as of ``read_cameras``.
            now_s: on the clock of the stamps.
            pose_at: (n,) of the arm at a time, 0 for now [rad or m]; None: nobody told.
            look_up: pose in the arm's root of a frame that is not known here, at a time.

        Raises:
            InputError: numbers that are none, too old, from the future, or where unknown frame.
        """
        place, age_s = as_vector("target", self.place, 3), now_s - self.stamp_s if self.stamp_s else 0.0
        refuse_if(age_s > MAX_AGE_S, f"the target is {age_s:.1f} s old, at most {MAX_AGE_S:g} s", "stamp", age_s, MAX_AGE_S)
        text = f"the target is stamped {-age_s:.1f} s ahead of now, at most {AHEAD_S:g} s: do both clocks agree?"
        refuse_if(-age_s > AHEAD_S, text, "stamp", age_s, AHEAD_S)
        frame = self._frame(arm, cameras, pose_at, look_up)
        forward = (frame.rotation @ self.rotation)[:, 0]
        turned = not np.allclose(self.rotation, FIXED, atol=1e-9)
        return frame.apply(place), math.atan2(forward[2], math.hypot(forward[0], forward[1])) if turned else None

    def _frame(
        self,
        arm: ArmDescription,
        cameras: Mapping[str, Camera],
        pose_at: Callable[[float], Array | None],
        look_up: Callable[[str, float], Pose],
    ) -> Pose:
        parent, hand_eye = cameras.get(self.frame, (self.frame or arm.root, Pose(FIXED, np.zeros(3))))
        if parent == arm.root:
            return hand_eye
        if parent not in arm.links:
            return look_up(self.frame, self.stamp_s)
        q = pose_at(self.stamp_s)
        if q is None:
            raise InputError(f"the pose of {parent} at the time of the target is unknown", parent, self.stamp_s)
        link = link_poses(arm, q)[parent]
        return Pose(link.rotation @ hand_eye.rotation, link.apply(hand_eye.position))


def read_cameras(path: str | Path, arm: ArmDescription) -> dict[str, Camera]:
    """The cameras of a file.

    Raises:
        ConfigurationError: no such file, an unknown key or parent, values that are no numbers.
    """
    where = f"cameras {path}"
    raw = mapping(read_yaml(path, "cameras", ConfigurationError), where, ("cameras",))
    entries = mapping(raw.get("cameras"), f"{where}: cameras", subject="cameras")
    found = {}
    for name, entry in entries.items():
        at, turn = read_placed(str(name), entry, ("parent",), f"{where}: {shown(name, 40)}")
        parent = entry.get("parent", arm.root)
        if parent not in arm.links:
            raise ConfigurationError(
                f"{where}: {shown(name, 40)}: parent is {shown(repr(parent), 40)}, must be one of {', '.join(arm.links)}",
                "parent",
                str(parent),
            )
        found[str(name)] = str(parent), Pose(rotation_from_rpy(turn), np.array(at))
    return found
