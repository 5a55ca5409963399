"""Topics ``pick``, ``place`` and ``move_straight``: targets as PoseStamped, and ``pick/status`` for what became of each.

A target is taken while the arm is not busy with another; one at a time, none waits in line.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.time import Time
from sensor_msgs.msg import JointState

from picker_dynamics.errors import NAME_MAX, InputError, PickerError, shown
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.kinematic_tree import Pose
from picker_dynamics.robot.sighting import FIXED, MAX_AGE_S, Camera, Sighting
from picker_dynamics.session.entry import ERROR, OK, entry

from .diagnostics import message_of, name_of
from .graph_client import GraphClient
from .marker_shapes.shapes import rotation_of
from .runtime import OUTCOMES, seconds
from .scene_markers import frame_prefix

STRAIGHT = "move_straight"
KINDS = "pick", "place", STRAIGHT

KEPT_S, NEAR_S = 5.0, 0.1
"""How far back poses of the arm are known, and how near one has to be to a time [s]."""

TF_S, LOOK_S = 0.5, 0.02
"""How long tf2 has for a transform that is not there yet, and how often it is looked for [s]."""


class Outcome(Enum):
    """Outcome of a target, as ``pick/status`` says it."""

    UNDER_WAY = "under way"
    DONE = "done"
    REFUSED = "refused"
    ABORTED = "aborted"


@dataclass(frozen=True, eq=False)
class Target:
    """Something to pick, or a place to put it or to move to: ``kind`` of ``KINDS``, ``seen`` and ``stamp_s`` as in its header."""

    kind: str
    seen: Sighting

    @property
    def stamp_s(self) -> float:
        return self.seen.stamp_s


class PickTopics:
    """The topics, on a node of their own, which a thread spins between ``with`` and its end.

    Args:
        namespace: of the arm's nodes.
        arm: the arm.
        cameras: as of ``read_cameras``.
        max_age_s: of a target.
    """

    def __init__(
        self, namespace: str, arm: ArmDescription, cameras: Mapping[str, Camera] | None = None, max_age_s: float = MAX_AGE_S
    ):
        self.client, self.arm, self.cameras, self.max_age_s = GraphClient(namespace), arm, cameras or {}, max_age_s
        self._prefix = frame_prefix(namespace)
        self._target: Target | None = None
        self._served: Target | None = None
        self._poses: deque[tuple[float, np.ndarray]] = deque()
        self._tf = _transforms(self.client)
        self._out = self.client.create_publisher(DiagnosticStatus, "pick/status", OUTCOMES)
        for kind in KINDS:
            self.client.create_subscription(PoseStamped, kind, lambda message, kind=kind: self.on_target(kind, message), 10)
        self.client.create_subscription(JointState, "joint_states", self.on_state, 10)

    def __enter__(self) -> PickTopics:
        self.client.spin_beside()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.client.close()

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
        place, turn = message.pose.position, message.pose.orientation
        quaternion = turn.x, turn.y, turn.z, turn.w
        rotation = FIXED if quaternion == (0.0, 0.0, 0.0, 0.0) else rotation_of(quaternion)
        frame = shown(message.header.frame_id, NAME_MAX).removeprefix(self._prefix)
        seen = Sighting(frame, seconds(message.header.stamp), np.array([place.x, place.y, place.z]), FIXED)
        target = Target(kind, seen)
        if rotation is None:
            self.say(target, Outcome.REFUSED, f"{kind} refused: its orientation is no unit quaternion")
        elif self._served is not None or self._target is not None:
            self.say(target, Outcome.REFUSED, f"{kind} refused: the arm is busy with another target")
        else:
            self._target = Target(kind, Sighting(frame, seen.stamp_s, seen.place, rotation))

    def take(self) -> Target | None:
        """The next target; from then on the arm is busy, until ``say`` tells how it ended."""
        target, self._target = self._target, None
        self._served = target or self._served
        return target

    def in_base(self, target: Target) -> tuple[np.ndarray, float | None]:
        """Place (3,) [m] and pitch [rad] of a target in the arm's base frame, as ``Sighting.in_base``."""
        now_s = time.time()
        return target.seen.in_base(self.arm, self.cameras, now_s, self._pose_at, self._look_up, self.max_age_s)

    def say(self, target: Target, outcome: Outcome, text: str, error: PickerError | None = None, **facts: object) -> None:
        """Tell what became of a target; once it has ended, the arm is free for the next."""
        if target is self._served and outcome is not Outcome.UNDER_WAY:
            self._served = None
        about = {} if error is None else {"error": type(error).__name__, "joint": error.subject or "", "value": error.value}
        about |= {} if error is None else {"limit": error.limit}
        level = ERROR if outcome in (Outcome.REFUSED, Outcome.ABORTED) else OK
        seen = target.seen
        facts = {"kind": target.kind, "outcome": outcome.value, "stamp": seen.stamp_s, "frame": seen.frame, **facts, **about}
        self._out.publish(message_of(entry(level, "", text, self.arm.name, **facts), name_of(self.client)))

    def _pose_at(self, time_s: float) -> np.ndarray | None:
        """Of the arm, measured or modelled, next to that time; 0: the newest."""
        if not self._poses:
            return None
        if not time_s:
            return self._poses[-1][1]
        when, pose = min(self._poses, key=lambda one: abs(one[0] - time_s))
        return pose if abs(when - time_s) <= NEAR_S else None

    def _look_up(self, frame: str, time_s: float) -> Pose:
        """The frame's pose by tf2.

        Raises:
            InputError: tf2 is not installed, or does not know it.
        """
        if self._tf is None:
            raise InputError(
                f"nobody knows the frame {frame!r}: tf2_ros is not installed here; give the target in {self.arm.root} or a link, "
                "or name the camera in --cameras FILE",
                subject="frame",
                value=frame,
            )
        from tf2_ros import TransformException

        root, at = self._prefix + self.arm.root, Time(nanoseconds=round(1e9 * time_s))
        names = [name for name in dict.fromkeys((frame, self._prefix + frame))]
        wait_at_most(TF_S, lambda: any(self._tf.can_transform(root, name, at) for name in names))
        name = next((name for name in names if self._tf.can_transform(root, name, at)), frame)
        try:
            found = self._tf.lookup_transform(root, name, at).transform
        except TransformException as error:
            raise InputError(f"tf2 has no transform from {frame!r} to {root}: {error}", subject="frame", value=frame) from error
        rotation = rotation_of((found.rotation.x, found.rotation.y, found.rotation.z, found.rotation.w))
        if rotation is None:
            raise InputError(f"tf2's transform of {frame!r} is no rotation", subject="frame", value=frame)
        return Pose(rotation, np.array([found.translation.x, found.translation.y, found.translation.z]))


def wait_at_most(seconds: float, condition: Callable[[], object]) -> None:
    """Wait until ``condition()``, or for so long."""
    until_s = time.monotonic() + seconds
    while not condition() and time.monotonic() < until_s:
        time.sleep(LOOK_S)


def _transforms(client: GraphClient) -> Any:
    """What tf2 says, heard from now on, as pictures are older than questions about them; None: it is not installed."""
    try:
        from tf2_ros import Buffer, TransformListener
    except ImportError:
        return None
    buffer = Buffer()
    TransformListener(buffer, client)
    return buffer
