"""What a running arm says by its socket, written to a recording as the topics of its ROS nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from picker_dynamics.robot.description import ArmDescription, Joint
from picker_dynamics.robot.model import Array

from . import messages
from .messages import STREAMED
from .writer import Recording

STATUSES = {"event": "arm_controller/status", "hardware": "hardware/status"}
"""Entries that the arm says -> their topic."""

TRANSFORM_S = 0.05
"""Least time between two transforms of moving links [s]: 20 Hz, as robot_state_publisher has it."""


class Placements:
    """Transforms from the link before each joint to the link behind it, (m,) joints.

    Args:
        prefix: of the frames, which are named as the links.
    """

    def __init__(self, joints: Sequence[Joint], prefix: str):
        from scipy.spatial.transform import Rotation  # takes a while to load

        self.frames = [(prefix + joint.parent, prefix + joint.child) for joint in joints]
        rotations = np.reshape([joint.rotation for joint in joints], (-1, 3, 3))
        axes = np.reshape([joint.axis for joint in joints], (-1, 3))
        self._slides = np.array([joint.slides for joint in joints])
        self._axes, self._at = axes, np.reshape([joint.xyz for joint in joints], (-1, 3))
        self._origin, self._turn = Rotation.from_matrix(rotations), Rotation.from_rotvec

    def message(self, time_s: float, q: Array) -> Any:
        """TFMessage at joint positions ``q`` (m,) [rad or m]."""
        moved = np.reshape(q, (-1, 1)) * self._axes
        slid, turned = np.where(self._slides, moved.T, 0.0).T, np.where(self._slides, 0.0, moved.T).T
        places = self._at + self._origin.apply(slid)
        return messages.transforms(time_s, self.frames, places, (self._origin * self._turn(turned)).as_quat())


class ArmTopics:
    """Topics of one arm.

    Args:
        prefix: of its topics, / or /NAMESPACE/.
        arm: whose joints and links they name.

    Attributes:
        ahead_s: the wall clock against the arm's [s].
    """

    def __init__(self, recording: Recording, prefix: str, arm: ArmDescription):
        self._recording, self._prefix, self._arm, self._names = recording, prefix, arm, arm.joint_names
        self._moving = Placements(arm.movable, prefix[1:])
        self._state_s, self._placed_s, self.ahead_s = float("-inf"), float("-inf"), 0.0

    def arm(self, text: str) -> None:
        """Write the arm as one text, its URDF, and where its fixed joints are."""
        self._write("arm_controller/arm", messages.text(text))
        self._write("robot_description", messages.text(self._arm.urdf))
        if fixed := [joint for joint in self._arm.joints if not joint.movable]:
            self._write("/tf_static", Placements(fixed, self._prefix[1:]).message(time.time(), np.zeros(len(fixed))))

    def take(self, what: str, content: Any) -> None:
        """Write what the arm says: ``event`` and ``hardware``, entries of its report, ``payload`` and ``states``; nothing else.

        Transforms are made of joint states here, every 0.05 s: an arm does not say them.

        A state has time, q, v, effort; q of the reference; torque; time, v and a of the reference; time and set-point of the
        command, on the arm's clock [s], which is ``ahead_s`` behind the wall clock; None: there is none.
        """
        if what in STATUSES:
            self._write(STATUSES[what], messages.status(**content))
        elif what == "payload":
            self._write("payload", messages.payload(content[0], content[1:], self._arm.tool))
        elif what == "states":
            for row in content:
                self._state(*row)

    def _state(self, t: Any, q: Any, v: Any, effort: Any, desired: Any, torque: Any, *further: Any) -> None:
        desired_s, desired_v, desired_a, command_s, setpoint = further
        if q is not None and t > self._state_s:
            self._state_s = t
            self._write("joint_states", messages.joint_state(t + self.ahead_s, self._names, q, v, effort))
            if t >= self._placed_s + TRANSFORM_S:
                self._placed_s = t
                self._write("/tf", self._moving.message(t + self.ahead_s, np.array(q)))
        if desired is not None:
            made = messages.reference(desired_s + self.ahead_s, self._names, desired, desired_v, desired_a)
            self._write("arm_controller/reference", made)
        if torque is not None:
            self._write("joint_commands", messages.joint_state(command_s + self.ahead_s, self._names, setpoint, None, torque))

    def diagnostics(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Write the newest entries of all parts."""
        self._write("/diagnostics", messages.diagnostics(entries))

    def _write(self, topic: str, message: Any) -> None:
        name = topic if topic.startswith("/") else self._prefix + topic
        self._recording.write(name, message, time.time_ns(), topic not in STREAMED)
