"""A recording as what a view shows: the arm as the graph told it then, with a time line; nothing moves but the picture."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import GoalRefusedError, RecordingError
from picker_dynamics.recording.reader import ArmRecording, Series, read

from ..equipment import Equipment, recorded_arm
from .base import LOOK_S, Seen, View
from .requests import Request

LEVELS = {"refused": "error", "aborted": "error", "cancelled": "warn"}


class RecordingView(View):
    """Plays a recording of one arm, again and again; ``run`` does.

    Args:
        known: the arm.
        recording: what was said of it.
    """

    def __init__(self, known: Equipment, recording: ArmRecording, name: str):
        super().__init__(known)
        self.recording, self._name = recording, name
        self._order = [recording.joint_names.index(joint) for joint in known.description.joint_names]
        times = np.concatenate([recording.state.t, recording.reference.t])
        if not len(times):
            raise RecordingError(f"{name}: nothing in it says where the arm was", value=name)
        self._begin_s, self._length_s = float(times.min()), max(float(np.ptp(times)), LOOK_S)
        self._at_s, self._rate, self._plays, self._over = 0.0, 1.0, True, False

    def run(self, over: Callable[[], bool]) -> None:
        """Play until ``over`` says that it is enough."""
        last_s = time.monotonic()
        while not (over() or self._over):
            time.sleep(LOOK_S)
            now_s, before_s = time.monotonic(), self._at_s
            if self._plays and self.channel.readers:
                self._at_s += self._rate * (now_s - last_s)
                for event in self.recording.events:
                    if before_s <= (at_s := event.t - self._begin_s) < self._at_s:
                        self.say(f"{at_s:.1f} s: {event.message}", LEVELS.get(event.outcome, "ok"), outcome="recorded")
                self._at_s = self._at_s if self._at_s <= self._length_s else 0.0
            last_s = now_s
            self._show()

    def _show(self) -> None:
        at_s, recorded = self._begin_s + self._at_s, self.recording
        torque = self._newest(recorded.torque if len(recorded.torque) else recorded.state_torque, at_s)
        seen = {"state": self._newest(recorded.state, at_s), "reference": self._newest(recorded.reference, at_s)}
        self.tell(self._at_s, torque, seen)
        self.channel.tell("play", {"at_s": round(self._at_s, 2), "length_s": round(self._length_s, 2), "plays": self._plays})

    def _newest(self, series: Series, at_s: float) -> Seen:
        index = int(np.searchsorted(series.t, at_s, side="right")) - 1
        if index < 0 or not np.isfinite(values := series.values[index][self._order]).all():
            return None, 0.0
        return values, float(at_s - series.t[index])

    # -- what is asked ---------------------------------------------------------------------------------------

    def do(self, asked: Request, page: str, seen: str | None = None) -> Mapping[str, Any]:
        """Show the recording from a place on its time line; nothing else is done."""
        what, fields = asked
        if what == "play":
            self._plays, self._rate = fields["on"], abs(fields["rate"])
            if fields["at_s"] is not None:
                self._at_s = min(max(fields["at_s"], 0.0), self._length_s)
        elif what not in ("leave", "cancel"):
            raise GoalRefusedError("this is a recording: nothing moves", "recording")
        return {}

    def check(self, asked: Request) -> Mapping[str, Any]:
        return self.do(asked, "")

    def stop(self) -> str:
        return "a recording: there is nothing to stop"

    @property
    def payload(self) -> float:
        return 0.0

    def status(self) -> Mapping[str, Any]:
        return {
            "arm": self.known.description.name,
            "hardware": {"state": "recorded", "message": f"recording {self._name}"},
            "controller": {"phase": "", "message": ""},
            "provenance": "recorded",
            "faults": [self.recording.damaged] if self.recording.damaged else [],
        }

    def close(self) -> None:
        """Play no more."""
        self._over = True


def open_recording(path: str | Path, arm: str = "", urdf: str = "", servos: str = "") -> RecordingView:
    """A view of a recording; of an arm that it does not tell itself, what is named.

    Raises:
        RecordingError: it cannot be read, or is of other joints.
        ConfigurationError, DescriptionError: an arm that cannot be used.
    """
    recording = read(path)
    known = recorded_arm(recording, urdf or arm, servos)
    joints, name = known.description.joint_names, known.description.name
    if set(recording.joint_names) != set(joints):
        text = f"{path} is of joints {', '.join(recording.joint_names)}, the arm {name} has {', '.join(joints)}"
        raise RecordingError(f"{text}: name another with --urdf", value=str(path))
    return RecordingView(known, recording, Path(path).name)
