"""What a camera should see of a sagging arm: corners of a tag on the hand and of one on the sheet under the base.

The droop model says where the joints rest; the camera model says where that puts the tags in the picture,

    pixel = project(camera, T_base T_joint1 (phi_1) ... T_hand T_tag (c (1 + s))) + e (d_1 + d_2) / sin(d_1, d_2)

with crooked axes phi (turned across themselves, where that is no joint's zero), links that are longer or shorter, the tag's
place on the hand, the sheet's under the base, the camera's pose and optics, a scale s of all prints, and an edge shift e [px]:
blur and gamma make black smaller, along the unit edges d_1 and d_2 from a corner.  One camera does not tell the sheet's yaw from
the first joint's zero: the sheet defines it.  Nor the hand tag's turn in its plane from the last joint's zero: it is glued along
the line from the joint's axis to the tool.

Readings are directions: pixels over the focal length that was believed at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from picker_dynamics.camera.pinhole import INTRINSICS, Camera, skew
from picker_dynamics.camera.tags import Placed, Tag
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import Pose, joint_frames, point_jacobians, pose_in

from ..urdf_text import placed
from .droop_model import EXACT, FIGURES, PRIORS, DroopModel, Reading, Rest
from .instruments import HAND, SHEET, SHORTEST, Corner, Encoder

CORNERS = 4

PLACED = ("turn_x", "turn_y", "turn_z", "x", "y", "z")
"""Of a tag or camera: how far it is turned [rad] and beside [m] where it was believed."""

HAND_SD = (0.03, 0.03, np.radians(0.4), 4e-3, 4e-3, 4e-3)
"""Of the hand tag, in its frame: tilted by what is under it, glued along the hand's line, placed by eye."""

SHEET_SD = (np.radians(0.3), np.radians(0.3), EXACT, 5e-4, 5e-4, 5e-4)
"""Of the sheet's tag, in the root's frame: the sheet lies on a level table, and defines where x points."""

CAMERA_SD = (0.5, 0.5, 0.5, 0.3, 0.3, 0.3)
"""Of the camera: nothing is known."""

OPTICS_SD = (0.3, 15.0, 15.0, 0.15, 0.15)
"""Of log f, the centre [px], k1 and k2 of a webcam."""

AXIS_SD, LENGTH_SD, LENGTH_FREE_SD = np.radians(0.7), 1e-3, 3e-3
"""Of an axis' direction [rad]; of a link's length, and where the tags were measured and lengths are sought [m]."""

SCALE_SD, MEASURED_SCALE_SD, EDGE_SD = 3e-3, 1e-3, 0.7
"""Of the prints' scale, of one that was measured, and of the edges' shift [px]."""

PARALLEL = 0.5
"""Axes of which one rises less above the other are parallel (the sine)."""

PIXEL_SD = 0.15
"""Of a corner's coordinate, mean of a burst [px]: what detectors of tags give on a webcam's picture."""


@dataclass(frozen=True, eq=False)
class TagOnLink:
    """A tag on a link: ``rotation`` (3, 3) and ``position`` (3,) [m] of its frame there."""

    link: str
    tag: Tag
    rotation: np.ndarray
    position: np.ndarray

    def placed(self, link: Pose) -> Placed:
        """Where it is with its link at a pose."""
        return Placed(self.tag, link.rotation @ self.rotation, link.apply(self.position))


@dataclass(frozen=True, eq=False)
class CameraModel(DroopModel):
    """Model of what a camera sees of an arm that sags.

    Args:
        camera: as believed at first.
        hand, sheet: the tags as believed at first.
        measured: the black squares were measured: lengths of links are sought.
    """

    camera: Camera = Camera(1280, 720, 1100.0, (639.5, 359.5))
    hand: TagOnLink = TagOnLink("", Tag(1, 0.04), np.eye(3), np.zeros(3))
    sheet: TagOnLink = TagOnLink("", Tag(0, 0.08), np.eye(3), np.zeros(3))
    measured: bool = False

    # -- unknowns ------------------------------------------------------------------------------------------------------

    @cached_property
    def spread(self) -> dict[str, float]:
        """Standard deviation of each unknown that the droop does not have, by its name, in order; all have mean 0."""
        found = {f"{joint}.axis_{k}": AXIS_SD for joint, ways in self.crooks.items() for k in range(len(ways))}
        found |= {f"{joint}.length": LENGTH_FREE_SD if self.measured else LENGTH_SD for joint in self.lengths}
        for what, sds in ((HAND, HAND_SD), (SHEET, SHEET_SD), ("camera", CAMERA_SD)):
            found |= {f"{what}.{name}": float(sd) for name, sd in zip(PLACED, sds)}
        found |= {f"camera.{name}": sd for name, sd in zip(INTRINSICS, OPTICS_SD)}
        return found | {"print.scale": MEASURED_SCALE_SD if self.measured else SCALE_SD, "print.edge": EDGE_SD}

    @cached_property
    def crooks(self) -> dict[str, np.ndarray]:
        """Directions (1 or 2, 3) in each joint's frame about which its axis may be turned."""
        return crooks(self.description, self.joints)

    @property
    def geometry(self) -> list[tuple[str, str, str]]:
        """Figure, joint, and key in a report, of axes and of lengths that are sought."""
        found = [(f"axis_{k}", joint, f"axis_{k}_rad") for joint, ways in self.crooks.items() for k in range(len(ways))]
        return found + [("length", joint, "longer_m") for joint in self.lengths if self.measured]

    @property
    def pixel_sd(self) -> float:
        """Standard deviation of a corner's coordinate as a direction [rad]."""
        return PIXEL_SD / self.camera.focal

    @cached_property
    def lengths(self) -> tuple[str, ...]:
        """Sought joints whose distance from the sought one before is a link's length."""
        arm = self.description
        far = [one for before, one in pairwise(self.joints) if arm.joint(one).parent == arm.joint(before).child]
        return tuple(one for one in far if np.linalg.norm(arm.joint(one).xyz) > 10.0 * SHORTEST)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns, for reports."""
        return (*super().names, *self.spread)

    @cached_property
    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (u,) of every unknown before the arm is looked at."""
        (mean, sd), more = self.servo_prior(), np.array([*self.spread.values()])
        sd[self.places("zero")] = PRIORS["zero"][1]  # a camera tells those too that gravity does not
        return np.append(mean, 0.0 * more), np.append(sd, more)

    def part(self, unknowns: np.ndarray, what: str) -> np.ndarray:
        """Those unknowns of ``spread`` whose names begin so."""
        begin = len(unknowns) - len(self.spread)
        return np.array([one for one, name in zip(unknowns[begin:], self.spread) if name.startswith(what)])

    # -- the arm and the camera that unknowns make ------------------------------------------------------------------

    def crooked(self, unknowns: np.ndarray) -> ArmDescription:
        """The arm with its axes and lengths; masses as believed."""
        begin = len(unknowns) - len(self.spread)
        found, joints = dict(zip(self.spread, unknowns[begin:].tolist())), []
        for one in self.description.joints:
            if len(ways := self.crooks.get(one.name, ())):
                turn = Rotation.from_rotvec(np.array([found[f"{one.name}.axis_{k}"] for k in range(len(ways))]) @ ways)
                one = replace(one, rotation=one.rotation @ turn.as_matrix())
            if f"{one.name}.length" in found:
                one = replace(one, xyz=one.xyz * (1.0 + found[f"{one.name}.length"] / np.linalg.norm(one.xyz)))
            joints.append(one)
        return replace(self.description, joints=tuple(joints))

    def arm_of(self, unknowns: np.ndarray, remark: str = "") -> ArmDescription:
        """The arm as the unknowns tell it: bodies, axes, and lengths where the tags were measured."""
        count = len(unknowns) - len(self.spread)
        arm = super().arm_of(unknowns[:count], remark)
        known = np.array(unknowns)
        if not self.measured:
            known[[count + i for i, name in enumerate(self.spread) if name.endswith(".length")]] = 0.0
        text = arm.urdf
        for one in self.crooked(known).joints:
            if one.name in self.joints[1:]:
                text = placed(text, one.name, one.xyz, one.rotation, remark)
        return replace(parse(text, arm.source), tool_frame=arm.tool_frame)

    def seen_by(self, unknowns: np.ndarray) -> Camera:
        """The camera with its pose and optics."""
        turn, way, optics = np.split(self.part(unknowns, "camera."), [3, 6])
        return self.camera.moved(turn, way, optics)

    def rest(self, unknowns: np.ndarray, readings: Sequence[Reading]) -> Rest:
        """As of the droop model; what is no droop's moves no joint."""
        most = len(unknowns) - len(self.spread)
        found = super().rest(unknowns[:most], readings)
        return replace(found, by_unknowns=np.pad(found.by_unknowns, ((0, 0), (0, 0), (0, len(self.spread)))))

    def tip_rates(self, unknowns: np.ndarray, readings: Sequence[Reading]) -> np.ndarray:
        """Derivatives (v, 3, u) of the tip [m] by the unknowns, at the pose of each reading."""
        rest = self.rest(unknowns, readings)
        _, by_q, by_spread = self.tip_at(unknowns, rest.q)
        rates: np.ndarray = by_q @ rest.by_unknowns
        rates[..., len(unknowns) - len(self.spread) :] += by_spread
        return rates

    def tip_at(self, unknowns: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tip (v, 3) [m] with the joints at q (v, n), and its derivatives by q and by the unknowns of ``spread``."""
        arm = self.crooked(unknowns)
        frames, carrier = joint_frames(arm, q), arm.transforms.links[arm.tool][0]
        tip = pose_in(arm, frames, arm.tool).position
        by_spread = np.zeros((len(q), 3, len(self.spread)))
        geometry = self._by_geometry(arm, frames, q, tip[:, None], carrier)[:, 0]
        by_spread[..., : geometry.shape[-1]] = geometry
        return tip, point_jacobians(arm, frames, [carrier], tip[:, None])[0][:, 0], by_spread

    # -- readings ------------------------------------------------------------------------------------------------------

    def linearised(self, unknowns: np.ndarray, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As of the droop model, of corners, and of encoders besides."""
        number: dict[object, int] = {}
        rows = np.array([number.setdefault(one.pose, len(number)) for one in readings])
        rest = self.rest(unknowns, [readings[i] for i in np.unique(rows, return_index=True)[1]])
        values, by_q, by_spread = self.corners_at(unknowns, rest.q)
        rates = by_q @ rest.by_unknowns[:, None, None]
        rates[..., len(unknowns) - len(self.spread) :] += by_spread
        chance, zeros = by_q @ rest.by_chance[:, None, None], np.arange(len(self.joints)) * len(FIGURES)
        count = len(readings), len(unknowns)
        found, by_unknowns, by_chance = np.zeros(count[0]), np.zeros(count), np.zeros((count[0], rest.by_chance.shape[-1]))
        for k, (row, one) in enumerate(zip(rows, readings)):
            if isinstance(one.sensor, Corner):
                at = row, (HAND, SHEET).index(one.sensor.tag), one.sensor.corner, one.sensor.coordinate
                found[k], by_unknowns[k], by_chance[k] = values[at], rates[at], chance[at]
            elif isinstance(one.sensor, Encoder):  # it counts from where the zero is believed
                j = self.joints.index(one.sensor.joint)
                found[k] = rest.q[row, self.columns[j]] - unknowns[zeros[j]]
                by_unknowns[k], by_chance[k] = rest.by_unknowns[row, self.columns[j]], rest.by_chance[row, self.columns[j]]
                by_unknowns[k, zeros[j]] -= 1.0
        return found, by_unknowns, by_chance

    def corners_at(self, unknowns: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Directions of all corners (v, 2, 4, 2) [rad], ``HAND`` first, with the joints at q (v, n), and their derivatives by q
        and by the unknowns of ``spread``."""
        arm, camera, names = self.crooked(unknowns), self.seen_by(unknowns), list(self.spread)
        frames, focal, (scale, edge) = joint_frames(arm, q), self.camera.focal, self.part(unknowns, "print.")
        shape = len(q), 2, CORNERS, 2
        values, by_q, by_spread = np.zeros(shape), np.zeros((*shape, arm.n)), np.zeros((*shape, len(names)))
        for row, (what, tag) in enumerate(((HAND, self.hand), (SHEET, self.sheet))):
            turn, way = np.split(self.part(unknowns, f"{what}."), 2)
            pose, carrier = pose_in(arm, frames, tag.link), arm.transforms.links[tag.link][0]
            own = pose.rotation @ tag.rotation  # (v, 3, 3)
            inside = (1.0 + scale) * tag.tag.corners @ Rotation.from_rotvec(turn).as_matrix().T
            points = (pose.position + pose.rotation @ tag.position)[:, None] + (inside + way) @ own.swapaxes(-1, -2)
            pixels, by_point, by_optics, by_pose = camera.linearised(points)
            away = inwards(pixels)
            values[:, row], at = pixels + edge * away, by_spread[:, row]
            by_q[:, row] = by_point @ point_jacobians(arm, frames, [carrier] * CORNERS, points)[0]
            geometry = self._by_geometry(arm, frames, q, points, carrier)
            at[..., : geometry.shape[-1]] = by_point @ geometry
            place = names.index(f"{what}.turn_x")
            by_tag = np.concatenate([own[:, None] @ -skew(inside), np.repeat(own[:, None], CORNERS, axis=1)], axis=-1)
            at[..., place : place + 6] = by_point @ by_tag
            place = names.index("camera.turn_x")
            at[..., place : place + 11] = np.concatenate([by_pose, by_optics], axis=-1)
            at[..., -2] = (by_point @ (inside / (1.0 + scale) @ own.swapaxes(-1, -2))[..., None])[..., 0]
            at[..., -1] = away
        return values / focal, by_q / focal, by_spread / focal

    def _by_geometry(
        self, arm: ArmDescription, frames: np.ndarray, q: np.ndarray, points: np.ndarray, carrier: int
    ) -> np.ndarray:
        """Derivatives (v, m, 3, g) of points (v, m, 3) [m] that a joint carries, by axes and lengths."""
        rates = []
        moves = arm.transforms.carries[carrier]
        for name in self.joints[1:]:
            j, joint = arm.joint_names.index(name), arm.joint(name)
            before = Rotation.from_rotvec(-q[:, j, None] * joint.axis).as_matrix()
            for way in self.crooks[name]:
                axis = (frames[:, j, :3, :3] @ before @ way)[:, None]
                rates.append(moves[j] * np.cross(axis, points - frames[:, j, None, :3, 3]))
        for name in self.lengths:
            j, joint = arm.joint_names.index(name), arm.joint(name)
            before = Rotation.from_rotvec(-q[:, j, None] * joint.axis).as_matrix()
            along = frames[:, j, :3, :3] @ before @ (joint.rotation.T @ joint.xyz / np.linalg.norm(joint.xyz))
            rates.append(moves[j] * np.broadcast_to(along[:, None], points.shape))
        return np.stack(rates, axis=-1)


def crooks(arm: ArmDescription, joints: Sequence[str]) -> dict[str, np.ndarray]:
    """Directions (1 or 2, 3) in the frame of each joint but the first about which its axis may be turned: across it, but for a
    turn about the axis before, which that joint's zero is."""
    frames, found = joint_frames(arm, np.zeros(arm.n)), {}
    for before, name in pairwise(joints):
        (there, was), (here, axis) = ((frames[arm.joint_names.index(one), :3, :3], arm.joint(one).axis) for one in (before, name))
        beside = np.cross(axis, here.T @ there @ was)
        if np.linalg.norm(beside) > PARALLEL:
            found[name] = beside[None] / np.linalg.norm(beside)
        else:
            some = np.eye(3)[np.argmin(np.abs(axis))]
            first = np.cross(axis, some) / np.linalg.norm(np.cross(axis, some))
            found[name] = np.stack([first, np.cross(axis, first)])
    return found


def inwards(pixels: np.ndarray) -> np.ndarray:
    """How far corners (..., 4, 2) go where each edge of their square moves inwards by 1."""
    ahead = np.roll(pixels, -1, axis=-2) - pixels
    ahead = ahead / np.linalg.norm(ahead, axis=-1, keepdims=True)
    back = -np.roll(ahead, 1, axis=-2)
    sine = np.abs(ahead[..., 0] * back[..., 1] - ahead[..., 1] * back[..., 0])[..., None]
    inwards: np.ndarray = (ahead + back) / sine
    return inwards
