"""What is heard of a running arm: its state, status and events, and waiting for them."""

from __future__ import annotations

import math
import os
import socket as sockets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from picker_dynamics.board.session import State, what_enables
from picker_dynamics.errors import LinkError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.lease import Holder, Kind

from .entry import Entry, holders_in

if TYPE_CHECKING:  # a command that moves nothing does not wait until these are loaded
    from picker_dynamics.robot.model import Array

ANSWER_S = 5.0
"""How long a running arm has to answer [s]."""

OUTCOMES_KEPT = 500
"""Of so many goals the last word is remembered."""

Row = Sequence[Any]
"""State of an arm: time [s], then position, velocity, effort, reference and torque, (n,) each or None; as ``report.row``."""


def array(numbers: Any) -> Array:
    """Numbers as an array; a command that needs none does not wait until numpy is loaded."""
    import numpy as np

    return np.array(numbers, dtype=float)


class Hearing(ABC):
    """What is heard of one running arm; methods raise a LinkError where nothing comes of it.

    Attributes:
        joint_names: of the arm, in its order.
        hardware, controller: newest facts about outputs and reference, with ``message``.
        outcomes: newest event of each goal, by its name.
        state, desired, torque: newest of the joints, (n,) each; None: not known, or of ``desired``: nothing is to be held.
        heard_s: when the newest state came, on the session's clock [s]; seen_s: its own time, on the arm's [s].
        epoch_heard: newest epoch of requests (``board/request_gate.py``).
        payload_kg: that the tool is believed to carry.
        listeners: each is called with the states that have come, as rows.
        on_words: called with each event.
        simulated: the arm is a simulation whose time passes while somebody waits, and nowhere else.
        driver: name by which this session drives; drives: it has the arm.
        refusal: why it does not have the arm; '': it has, or nobody has answered yet.
    """

    simulated = False

    def __init__(self) -> None:
        self.hardware: dict[str, str] = {}
        self.controller: dict[str, str] = {}
        self.outcomes = dict[str, Entry]()
        self.state: Sequence[float] | None = None
        self.desired: Sequence[float] | None = None
        self.torque: Sequence[float] | None = None
        self.heard_s, self.seen_s, self.payload_kg, self.epoch_heard = -math.inf, -math.inf, 0.0, -1
        self.listeners: list[Callable[[Sequence[Row]], None]] = []
        self.on_words: Callable[[Entry], None] = lambda _event: None
        self.driver = f"{sockets.gethostname().replace('/', '_')[:60]}.{os.getpid()}.{time.time_ns() % 10**6:06d}"
        self.refusal, self.drives = "", False

    def _begin(self) -> None:
        """Take in how the arm is, once calls can be made."""
        snapshot = self.call("snapshot")
        for what in ("payload", "hardware", "controller"):
            self.take(what, snapshot[what])
        self.joint_names = tuple(self.controller.get("joints", "").split(", "))

    # -- what the kinds of sessions have of their own ------------------------------------------------------

    @property
    @abstractmethod
    def now_s(self) -> float:
        """Time on the session's clock [s]."""

    @abstractmethod
    def call(self, name: str, /, **arguments: Any) -> Any:
        """Make a call of ``ServedSession`` and return its result.

        Raises:
            PickerError: as the call there; LinkError: no answer comes.
        """

    @abstractmethod
    def tell(self, name: str, /, **arguments: Any) -> None:
        """Make a call of which nobody wants to know what became."""

    @abstractmethod
    def wait_at_most(self, seconds: float, condition: Callable[[], object]) -> bool:
        """Let time pass until ``condition()``, or for so long; returns whether it came true.

        Raises:
            LinkError: the arm is gone.
        """

    @abstractmethod
    def close(self) -> None:
        """End the session; the board holds the arm."""

    @abstractmethod
    def subscribe(self, everything: bool) -> None:
        """Have all states come, not the newest alone."""

    # -- in --------------------------------------------------------------------------------------------------

    def take(self, what: str, content: Any) -> None:
        """Take in what is published of the arm."""
        if what == "states":
            self.seen_s, self.state, _, _, self.desired, self.torque, *_ = content[-1]
            self.heard_s = self.now_s
            for hear in tuple(self.listeners):
                hear(content)
        elif what == "payload":
            self.payload_kg = float(content[0])
        elif what == "hardware":
            self.hardware = {**content["values"], "message": content["message"]}
            self.hear_epoch(int(self.hardware["request_epoch"]))
        elif what == "controller":
            self._take_controller(Entry(**content))
        elif what == "event":
            self._take_event(Entry(**content))

    def hear_epoch(self, epoch: int) -> None:
        """Take in an epoch of requests: news may be older than an answer that came before."""
        self.epoch_heard = max(self.epoch_heard, epoch)

    def _take_controller(self, entry: Entry) -> None:
        self.controller = {**entry.values, "message": entry.message}
        self.drives = Holder(Kind.DRIVER, self.driver) in holders_in(entry.values)

    def _take_event(self, event: Entry) -> None:
        self.on_words(event)
        self._take_controller(event)
        goal, outcome = event.values.get("goal"), event.values.get("outcome")
        if goal:
            self.outcomes.pop(goal, None)
            self.outcomes[goal] = event
            if len(self.outcomes) > OUTCOMES_KEPT:
                del self.outcomes[next(iter(self.outcomes))]
        if goal == self.driver:
            self.refusal = event.message if outcome == EventKind.REFUSED.outcome else ""

    def next_state(self) -> Array:
        """Joint positions (n,) [rad or m] that come next."""
        before = self.heard_s
        self.wait(lambda: self.heard_s > before and self.state is not None, lambda: f"no states come: {self.hardware['message']}")
        return array(self.state)

    @contextmanager
    def listening(self, hear: Callable[[Sequence[Row]], None]) -> Iterator[None]:
        """Within, ``hear`` is called with all states, as rows."""
        self.listeners.append(hear)
        self.subscribe(True)
        try:
            yield
        finally:
            self.listeners.remove(hear)
            self.subscribe(False)

    def log(self, meanwhile: Callable[[], object]) -> tuple[Array, Array, Array | None]:
        """Times (s,) [s], positions (s, n) and efforts (s, n) or None of all states while ``meanwhile()`` goes on.

        Raises:
            LinkError: no states come.
        """
        rows: list[Row] = []
        with self.listening(rows.extend):
            meanwhile()
            self.wait(lambda: rows, "no states come")
        known = {row[0]: row for row in rows if row[1] is not None}
        t, q, effort = ([known[time_s][column] for time_s in sorted(known)] for column in (0, 1, 3))
        return array(t), array(q), None if any(one is None for one in effort) else array(effort)

    # -- waiting ---------------------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], object], complaint: str | Callable[[], str], timeout_s: float | None = None) -> None:
        """Wait until ``condition()``, for ``ANSWER_S`` by default, or raise a LinkError with ``complaint``."""
        if not self.wait_at_most(ANSWER_S if timeout_s is None else timeout_s, condition):
            raise LinkError(complaint if isinstance(complaint, str) else complaint())

    def spin(self, duration_s: float) -> None:
        """Let time pass; raises a LinkError where the arm is gone."""
        self.wait_at_most(duration_s, lambda: False)

    def wait_holding(self, timeout_s: float | None = None) -> None:
        """Wait until the arm is enabled and at rest, ready for a goal."""

        def ready() -> bool:
            return self.controller.get("phase") == "holding" and self.hardware.get("state") == State.ACTIVE.value

        self.wait(ready, self.not_ready, timeout_s)
        self.wait(lambda: self.state is not None, "no states come", timeout_s)

    def not_ready(self) -> str:
        """Why the arm does not hold still, ready for a goal."""
        first = what_enables(self.hardware) if self.hardware.get("state") == State.IDLE.value else ""
        said = f"the arm is not ready: hardware: {self.hardware['message']}; controller: {self.controller['message']}"
        return said + (f"; {first} first" if first else "")
