"""A recording as what a view shows: the arm as the graph told it then, with a time line; nothing moves but the picture."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import GoalRefusedError, RecordingError
from picker_dynamics.recording.reader import ArmRecording, Series, read
from picker_dynamics.robot import arm_text

from ..equipment import Equipment, equipment
from .base import LOOK_S, Seen, View
from .requests import Request

LEAST_RATE, MOST_RATE = 0.05, 10.0

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
        series = [one for one in (recording.state, recording.reference) if len(one)]
        if not series:
            raise RecordingError(f"{name}: nothing in it says where the arm was", value=name)
        self._begin_s, self._end_s = min(one.t[0] for one in series), max(one.t[-1] for one in series)
        self._at_s, self._rate, self._plays, self._over = 0.0, 1.0, True, False

    @property
    def length_s(self) -> float:
        """Length of the recording [s]."""
        return max(float(self._end_s - self._begin_s), LOOK_S)

    def run(self, over: Callable[[], bool]) -> None:
        """Play until ``over`` says that it is enough."""
        last_s = time.monotonic()
        while not (over() or self._over):
            time.sleep(LOOK_S)
            now_s, before_s = time.monotonic(), self._at_s
            if self._plays and self.channel.there:
                self._at_s = before_s + self._rate * (now_s - last_s)
                self._say_between(before_s, self._at_s)
                self._at_s = self._at_s if self._at_s <= self.length_s else 0.0
            last_s = now_s
            self._show()

    def _show(self) -> None:
        at_s, recorded = float(self._begin_s) + self._at_s, self.recording
        torque = self._newest(recorded.torque if len(recorded.torque) else recorded.state_torque, at_s)
        seen = {"state": self._newest(recorded.state, at_s), "reference": self._newest(recorded.reference, at_s)}
        self.tell(self._at_s, torque, seen)
        told = {"at_s": round(self._at_s, 2), "length_s": round(self.length_s, 2), "plays": self._plays, "rate": self._rate}
        self.channel.tell("play", told)

    def _newest(self, series: Series, at_s: float) -> Seen:
        index = int(np.searchsorted(series.t, at_s, side="right")) - 1
        if index < 0 or not np.isfinite(values := series.values[index][self._order]).all():
            return None, 0.0
        return values, float(at_s - series.t[index])

    def _say_between(self, before_s: float, after_s: float) -> None:
        for event in self.recording.events:
            if before_s <= (at_s := event.t - self._begin_s) < after_s:
                self.say(f"{at_s:.1f} s: {event.message}", LEVELS.get(event.outcome, "ok"), outcome="recorded")

    # -- what is asked ---------------------------------------------------------------------------------------

    def do(self, asked: Request, page: str) -> Mapping[str, Any]:
        """Show the recording from a place on its time line; nothing else is done."""
        what, fields = asked
        if what == "play":
            self._plays, self._rate = fields["on"], min(max(fields["rate"], LEAST_RATE), MOST_RATE)
            if fields["at_s"] is not None:
                self._at_s = min(max(fields["at_s"], 0.0), self.length_s)
        elif what not in ("leave", "cancel"):
            raise GoalRefusedError("this is a recording: nothing moves", subject="recording")
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
    named = bool(arm or urdf or servos)
    known = Equipment(*arm_text.read(recording.told)) if recording.told and not named else equipment(urdf or arm, servos)
    if set(recording.joint_names) != set(known.description.joint_names):
        raise RecordingError(
            f"{path} is of joints {', '.join(recording.joint_names)}, the arm {known.description.name} has "
            f"{', '.join(known.description.joint_names)}: name another with --urdf",
            value=str(path),
        )
    return RecordingView(known, recording, Path(path).name)
