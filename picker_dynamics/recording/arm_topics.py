"""What a running arm says by its socket, written to a recording as the topics of its ROS nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import messages
from .messages import STREAMED
from .writer import Recording

STATUSES = {"event": "arm_controller/status", "hardware": "hardware/status"}
"""Entries that the arm says -> their topic."""


class ArmTopics:
    """Topics of one arm.

    Args:
        prefix: of its topics, / or /NAMESPACE/.
        names: of its joints.
        tool: its tool frame.

    Attributes:
        ahead_s: the wall clock against the arm's [s].
    """

    def __init__(self, recording: Recording, prefix: str, names: Sequence[str], tool: str):
        self._recording, self._prefix, self._names, self._tool = recording, prefix, names, tool
        self._state_s, self.ahead_s = float("-inf"), 0.0

    def arm(self, text: str, urdf: str) -> None:
        """Write the arm as one text, and its URDF."""
        self._write("arm_controller/arm", messages.text(text))
        self._write("robot_description", messages.text(urdf))

    def take(self, what: str, content: Any) -> None:
        """Write what the arm says: ``event`` and ``hardware``, entries of its report, ``payload`` and ``states``; nothing else.

        A state has time, q, v, effort; q of the reference; torque; time, v and a of the reference; time and set-point of the
        command, on the arm's clock [s], which is ``ahead_s`` behind the wall clock; None: there is none.
        """
        if what in STATUSES:
            self._write(STATUSES[what], messages.status(**content))
        elif what == "payload":
            self._write("payload", messages.payload(content[0], content[1:], self._tool))
        elif what == "states":
            for row in content:
                self._state(*row)

    def _state(self, t: Any, q: Any, v: Any, effort: Any, desired: Any, torque: Any, *further: Any) -> None:
        desired_s, desired_v, desired_a, command_s, setpoint = further
        if q is not None and t > self._state_s:
            self._state_s = t
            self._write("joint_states", messages.joint_state(t + self.ahead_s, self._names, q, v, effort))
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
