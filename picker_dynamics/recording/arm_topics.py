"""What a running arm says by its socket, written to a recording as the topics of its ROS nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import messages
from .messages import KINDS, STREAMED, serialised
from .writer import Recording


class ArmTopics:
    """Topics of one arm.

    Args:
        prefix: of its topics, / or /NAMESPACE/.
        names: of its joints.
        tool: its tool frame.
    """

    def __init__(self, recording: Recording, prefix: str, names: Sequence[str], tool: str):
        self._recording, self._prefix, self._names, self._tool = recording, prefix, names, tool
        self._state_s, self._payload = float("-inf"), list[float]()

    def arm(self, text: str, urdf: str) -> None:
        """Write the arm as one text, and its URDF."""
        self._write("arm_controller/arm", messages.text(text))
        self._write("robot_description", messages.text(urdf))

    def cycles(self, rows: Sequence[Mapping[str, Any]], ahead_s: float) -> None:
        """Write states, references and commands of control cycles.

        Args:
            rows: of each cycle ``state`` (t, q, v, effort), ``reference`` (t, q, v, a) and ``command`` (t, set-point, effort), on
                the arm's clock [s]; None: there is none.
            ahead_s: of the wall clock before the arm's.
        """
        for row in rows:
            if (state := row["state"]) is not None and state[0] > self._state_s:
                self._state_s = state[0]
                self._write("joint_states", messages.joint_state(state[0] + ahead_s, self._names, *state[1:]))
            if (reference := row["reference"]) is not None:
                made = messages.reference(reference[0] + ahead_s, self._names, *reference[1:])
                self._write("arm_controller/reference", made)
            if (command := row["command"]) is not None:
                time_s, setpoint, effort = command
                made = messages.joint_state(time_s + ahead_s, self._names, setpoint, None, effort)
                self._write("joint_commands", made)

    def payload(self, values: Sequence[float]) -> None:
        """Write mass [kg] and centre (3,) [m] of the payload where they changed."""
        if values != self._payload:
            self._payload = list(values)
            self._write("payload", messages.payload(values[0], values[1:], self._tool))

    def status(self, topic: str, entry: Mapping[str, Any]) -> None:
        """Write an entry of the arm's report to a topic of statuses."""
        self._write(topic, messages.status(**entry))

    def diagnostics(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Write the newest entries of all parts."""
        self._write("/diagnostics", messages.diagnostics(entries))

    def _write(self, topic: str, message: Any) -> None:
        name = topic if topic.startswith("/") else self._prefix + topic
        self._recording.write(name, KINDS[topic], serialised(KINDS[topic], message), time.time_ns(), topic not in STREAMED)
