"""Client of a view: looks at a running arm some thirty times a second, and has the arm only while somebody drives.

While somebody drives, a thread of its own says so, as long as the view looks: what is computed for a page costs it no arm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from picker_dynamics.errors import LinkError, PickerError
from picker_dynamics.robot.model import Array
from picker_dynamics.session.arm_client import BEAT_S, Driver
from picker_dynamics.session.entry import Condition, Entry

LOOK_S = 1.0 / 30.0
"""How often it is looked at the arm [s]."""

CONDITION_S = 0.5
"""How often parts, limits and surroundings are asked for [s]."""

PATIENCE_S = 1.0
"""How long the controller has to say who drives [s]."""

HANGS_S = 0.4
"""Without a look for so long nobody drives any more [s]."""

LIMITS = ("tip_speed_limit", "speed_scaling")


class Newest(NamedTuple):
    """A vector (n,) and when it came, on the monotonic clock [s]."""

    values: Array
    time_s: float


class ViewClient(Driver):
    """A driver that begins as one who only looks.

    Attributes:
        told: condition of the arm's parts; None: not known yet.
        limits: tip speed [m/s] and share of speed that the controller allows.
        around: what motions are kept clear of, as ``ServedSession.surroundings`` says.
        on_words: called with each event, as it comes; on_beat: each time it is said that somebody drives.
    """

    beats = False

    def __init__(self, namespace: str = ""):
        self.on_words: Callable[[Entry], None] = lambda _event: None
        self.on_beat: Callable[[], None] = lambda: None
        self.told: Condition | None = None
        self.limits: dict[str, float] = {}
        self.around: dict[str, Any] = {}
        self._looked_s = self._due_s = 0.0
        self._asked: dict[str, int] = {}
        self._asked_s = -np.inf
        super().__init__(namespace)
        self.leaving = True
        self.subscribe(LOOK_S)

    @property
    def seen(self) -> dict[str, Newest]:
        """Newest ``state``, ``reference`` and ``torque``, those that have come."""
        found = {"state": self.state, "reference": self.desired, "torque": self.torque}
        return {name: Newest(np.array(values), self.heard_s) for name, values in found.items() if values is not None}

    def on_event(self, event: Entry) -> None:
        super().on_event(event)
        self.on_words(event)

    def look(self) -> None:
        """Sleep until it is time, then take in what has come.

        Raises:
            LinkError: the arm's process is gone.
        """
        self.spin(max(self._due_s - time.monotonic(), 0.0))
        self._looked_s = time.monotonic()
        self._due_s = max(self._due_s + LOOK_S, self._looked_s)
        if self._looked_s - self._asked_s > CONDITION_S:
            self._asked_s = self._looked_s
            self._asked = {
                "condition": self.ask("diagnostics"),
                "snapshot": self.ask("snapshot"),
                "limits": self.ask("get", part="trajectory_controller", names=list(LIMITS)),
                "around": self.ask("surroundings"),
            }
        if self._asked and all(self.answered(number) for number in self._asked.values()):
            found = {what: self.result(number) for what, number in self._asked.items()}
            self._asked = {}
            self.told = Condition(found["condition"], found["snapshot"]["payload_kg"])
            self.limits = {name: round(value, 4) for name, value in zip(LIMITS, found["limits"])}
            self.around = found["around"]

    def ask_again(self) -> None:
        """Ask for parts, limits and surroundings at the next look."""
        self._asked_s = -np.inf

    # -- driving -------------------------------------------------------------------------------------------

    def keep_arm(self, over: Callable[[], bool]) -> None:
        """Say again and again that somebody drives, in a thread of its own, as long as it is looked at the arm."""

        def beat() -> None:
            while not over() and not self.lost:
                if not self.leaving and time.monotonic() - self._looked_s < HANGS_S:
                    try:
                        self.beat()
                        self.on_beat()
                    except LinkError:  # whoever looks notices it, too
                        return
                time.sleep(BEAT_S)

        threading.Thread(target=beat, name="driver", daemon=True).start()

    def take_arm(self) -> None:
        """Drive from now on.

        Raises:
            PickerError: somebody else moves the arm, and is named; or nobody answers.
        """
        if self.drives and not self.leaving:
            return
        self.refusal, self.leaving = "", False
        self.beat()
        try:
            self.wait(lambda: self.drives or self.refusal, "the controller does not say who has the arm", PATIENCE_S)
        except LinkError:
            self.leave()
            raise
        if not self.drives:
            self.leave()
            raise PickerError(self.refusal, subject="driver")

    def leave(self) -> None:
        if not self.leaving:
            super().leave()

    def jog_tip(self, linear: Any, angular: Any, frame: str) -> None:
        """Velocity of the tip [m/s, rad/s] in the axes of a link, as this driver's."""
        self.tell("twist", driver=self.driver, linear=list(linear), angular=list(angular), frame=frame)

    def jog_to(self, q: Array) -> None:
        """A sample of this driver's stream, (n,) [rad or m]."""
        self.tell("stream", sender=self.driver, positions=[float(x) for x in q])
