"""Topics ``pick``, ``place`` and ``move_straight``: targets as PoseStamped, and ``pick/status`` for what became of each.

A target is taken while the arm is not busy with another; one at a time, none waits in line.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState

from picker_dynamics.errors import NAME_MAX, InputError, PickerError, shown
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.kinematic_tree import Pose
from picker_dynamics.robot.sighting import FIXED, Camera, Sighting
from picker_dynamics.session.entry import ERROR, OK, about_error, entry

from .runtime import OUTCOMES, frame_prefix, made, message_of, name_of, prepare_transport, seconds, start_ros
from .shapes import rotation_of

KINDS = "pick", "place", "move_straight"

UNDER_WAY, DONE, REFUSED, ABORTED = "under way", "done", "refused", "aborted"
"""Outcomes of a target, as ``pick/status`` says them."""

KEPT_S, NEAR_S = 5.0, 0.1
"""How far back poses of the arm are known, and how near one has to be to a time [s]."""

TF_S = 0.5
"""How long tf2 has for a transform that is not there yet [s]."""


class Target(NamedTuple):
    """Something to pick, or a place to put it or to move to: ``kind`` of ``KINDS``."""

    kind: str
    seen: Sighting


@contextmanager
def client_node(namespace: str) -> Iterator[Node]:
    """A node of a command, spun by a thread of its own until this ends, with ROS."""
    prepare_transport()
    start_ros(["picker"])
    executor = SingleThreadedExecutor()
    try:
        node = made(lambda: Node(f"picker_client_{uuid.uuid4().hex[:8]}", namespace=namespace))
        executor.add_node(node)
        spinner = threading.Thread(target=executor.spin, name="ros", daemon=True)
        spinner.start()
        try:
            yield node
        finally:
            executor.shutdown()
            spinner.join()
            node.destroy_node()
    finally:
        rclpy.try_shutdown()


class PickTopics:
    """The topics on ``node``.

    Args:
        arm: the arm.
        cameras: as of ``read_cameras``.
    """

    def __init__(self, node: Node, arm: ArmDescription, cameras: Mapping[str, Camera]):
        self.node, self.arm, self.cameras = node, arm, cameras
        self._prefix = frame_prefix(node.get_namespace())
        self._target: Target | None = None
        self._served: Target | None = None
        self._poses: deque[tuple[float, np.ndarray]] = deque()
        self._tf = _transforms(node)
        self._out = node.create_publisher(DiagnosticStatus, "pick/status", OUTCOMES)
        for kind in KINDS:
            node.create_subscription(PoseStamped, kind, partial(self.on_target, kind), 10)
        node.create_subscription(JointState, "joint_states", self.on_state, 10)

    def on_state(self, message: JointState) -> None:
        """Remember where the arm was: what a camera on it has seen was seen from there."""
        try:
            pose = ordered(message.name, message.position, self.arm.joint_names, "joint_states")
        except PickerError:
            return
        self._poses.append((seconds(message.header.stamp), pose))
        while self._poses[0][0] < self._poses[-1][0] - KEPT_S:
            self._poses.popleft()

    def on_target(self, kind: str, message: PoseStamped) -> None:
        place, turn, header = message.pose.position, message.pose.orientation, message.header
        rotation = rotation_of(turn) if any((turn.x, turn.y, turn.z, turn.w)) else FIXED
        frame, at = shown(header.frame_id, NAME_MAX).removeprefix(self._prefix), np.array([place.x, place.y, place.z])
        target = Target(kind, Sighting(frame, seconds(header.stamp), at, FIXED if rotation is None else rotation))
        if rotation is None:
            self.say(target, REFUSED, f"{kind} refused: its orientation is not a unit quaternion")
        elif self._served is not None or self._target is not None:
            self.say(target, REFUSED, f"{kind} refused: the arm is busy with another target")
        else:
            self._target = target

    def take(self) -> Target | None:
        """The next target; from then on the arm is busy, until ``say`` tells how it ended."""
        target, self._target = self._target, None
        self._served = target or self._served
        return target

    def in_base(self, target: Target) -> tuple[np.ndarray, float | None]:
        """Place (3,) [m] and pitch [rad] of a target in the arm's base frame, as ``Sighting.in_base``."""
        return target.seen.in_base(self.arm, self.cameras, time.time(), self._pose_at, self._look_up)

    def say(self, target: Target, outcome: str, text: str, error: PickerError | None = None, **facts: object) -> None:
        """Tell what became of a target; once it has ended, the arm is free for the next."""
        if target is self._served and outcome != UNDER_WAY:
            self._served = None
        level, seen = ERROR if outcome in (REFUSED, ABORTED) else OK, target.seen
        facts = {
            "kind": target.kind,
            "outcome": outcome,
            "stamp": seen.stamp_s,
            "frame": seen.frame,
            **facts,
            **about_error(error),
        }
        self._out.publish(message_of(entry(level, "", text, self.arm.name, **facts), name_of(self.node)))

    def _pose_at(self, time_s: float) -> np.ndarray | None:
        """Of the arm, measured or modelled, next to that time; 0: the newest."""
        if not self._poses:
            return None
        when, pose = min(self._poses, key=lambda one: abs(one[0] - time_s)) if time_s else self._poses[-1]
        return pose if not time_s or abs(when - time_s) <= NEAR_S else None

    def _look_up(self, frame: str, time_s: float) -> Pose:
        """The frame's pose by tf2; raises an InputError where that is not installed, or does not know it."""
        if self._tf is None:
            text = f"unknown frame {frame!r}: tf2_ros is not installed here; give the target in {self.arm.root} or a link, "
            raise InputError(f"{text}or name the camera in --cameras FILE", "frame", frame)
        from tf2_ros import TransformException

        root, at, longest = self._prefix + self.arm.root, Time(nanoseconds=round(1e9 * time_s)), Duration(seconds=TF_S)
        known = (name for name in (self._prefix + frame, frame) if self._tf.can_transform(root, name, at, longest))
        try:
            transform = self._tf.lookup_transform(root, next(known, frame), at).transform
        except TransformException as error:
            raise InputError(f"tf2 has no transform from {frame!r} to {root}: {error}", "frame", frame) from error
        origin, rotation = transform.translation, rotation_of(transform.rotation)
        if rotation is None:
            raise InputError(f"the rotation of tf2's transform from {frame!r} to {root} is not a unit quaternion", "frame", frame)
        return Pose(rotation, np.array([origin.x, origin.y, origin.z]))


def _transforms(node: Node) -> Any:
    """What tf2 says, heard from now on, as pictures are older than questions about them; None: it is not installed."""
    try:
        from tf2_ros import Buffer, TransformListener
    except ImportError:
        return None
    buffer = Buffer()
    TransformListener(buffer, node)
    return buffer
