"""What a running arm says by its socket, written to a recording as the topics of its ROS nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import messages
from .messages import KINDS, STREAMED, serialised
from .writer import Recording

STATUSES = {"event": "arm_controller/status", "hardware": "hardware/status"}
"""Entries that the arm says -> their topic."""


class ArmTopics:
    """Topics of one arm.

    Args:
        prefix: of its topics, / or /NAMESPACE/.
        names: of its joints.
        tool: its tool frame.
    """

    def __init__(self, recording: Recording, prefix: str, names: Sequence[str], tool: str):
        self._recording, self._prefix, self._names, self._tool = recording, prefix, names, tool
        self._state_s, self._payload = float("-inf"), None

    def arm(self, text: str, urdf: str) -> None:
        """Write the arm as one text, and its URDF."""
        self._write("arm_controller/arm", messages.text(text))
        self._write("robot_description", messages.text(urdf))

    def take(self, what: str, content: Any) -> None:
        """Write what the arm says: ``event`` and ``hardware``, entries of its report, and ``cycles``; nothing else.

        The rows of cycles have ``state`` (t, q, v, effort), ``reference`` (t, q, v, a) and ``command`` (t, set-point, effort), on
        the arm's clock [s], which is ``ahead_s`` behind the wall clock; None: there is none.  ``payload``: mass, centre.
        """
        if what in STATUSES:
            self._write(STATUSES[what], messages.status(**content))
        elif what == "cycles":
            for row in content["cycles"]:
                self._cycle(content["ahead_s"], **row)
            if (payload := content["payload"]) != self._payload:
                self._payload = payload
                self._write("payload", messages.payload(payload[0], payload[1:], self._tool))

    def _cycle(self, ahead_s: float, state: Any, reference: Any, command: Any, **_: Any) -> None:
        if state is not None and state[0] > self._state_s:
            self._state_s = state[0]
            self._write("joint_states", messages.joint_state(state[0] + ahead_s, self._names, *state[1:]))
        if reference is not None:
            made = messages.reference(reference[0] + ahead_s, self._names, *reference[1:])
            self._write("arm_controller/reference", made)
        if command is not None:
            time_s, setpoint, effort = command
            self._write("joint_commands", messages.joint_state(time_s + ahead_s, self._names, setpoint, None, effort))

    def diagnostics(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Write the newest entries of all parts."""
        self._write("/diagnostics", messages.diagnostics(entries))

    def _write(self, topic: str, message: Any) -> None:
        name = topic if topic.startswith("/") else self._prefix + topic
        self._recording.write(name, KINDS[topic], serialised(KINDS[topic], message), time.time_ns(), topic not in STREAMED)
