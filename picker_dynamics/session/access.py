"""Access to a running arm: its calls, what is heard of it, its settings, and waiting for it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from picker_dynamics.board.session import State, what_enables
from picker_dynamics.errors import GoalRefusedError, LinkError
from picker_dynamics.execution.events import EventKind

from .entry import Condition, Entry

if TYPE_CHECKING:  # a command that moves nothing does not wait until these are loaded
    from picker_dynamics.robot.arm_text import Known
    from picker_dynamics.robot.model import Array

ANSWER_S = 5.0
"""How long a running arm has to answer [s]."""

OUTCOMES_KEPT = 500
"""Of so many goals the last word is remembered."""

Row = Sequence[Any]
"""State of an arm: time [s], then position, velocity, effort, reference and torque, (n,) each or None."""


def array(numbers: Sequence[float]) -> Array:
    """Numbers as an array; a command that needs none does not wait until numpy is loaded."""
    import numpy as np

    return np.array(numbers)


@dataclass(frozen=True)
class Status:
    """Status of a running arm.

    Attributes:
        state: of the hardware: offline, idle, enabling or active.
        problem: what is wrong, or why the arm is not active; '' where all is well.
        outputs: running, partly, off or unknown.
        stop_latched: a stop was asked for and not reset.
        reset_needed: ``reset`` has to come before ``enable``.
        phase: of the reference: inactive, holding, executing, stopping or streaming.
        moved_by: who moves the arm; '' where nobody does.
        measured: joint states come from sensors, not from a model.
        payload_kg: that the tool is believed to carry.
    """

    state: str
    problem: str
    outputs: str
    stop_latched: bool
    reset_needed: bool
    phase: str
    moved_by: str
    measured: bool
    payload_kg: float


AccessT = TypeVar("AccessT", bound="ArmAccess")


class ArmAccess(ABC):
    """Access to one running arm; a context manager.  Methods raise a PickerError that says why something is refused.

    Attributes:
        joint_names: of the arm, in its order.
        hardware, controller: newest facts about outputs and reference, with ``message``.
        outcomes: newest event of each goal, by its name.
        state, desired, torque: newest of the joints, (n,) each; None: not known, or of ``desired``: nothing is to be held.
        heard_s: when the newest state came, on the session's clock [s].
        payload_kg: that the tool is believed to carry.
        listeners: each is called with the states that have come, as rows.
        on_words: called with each event.
        simulated: the arm is a simulation whose time passes while somebody waits, and nowhere else.
    """

    simulated = False

    def __init__(self) -> None:
        self.hardware: dict[str, str] = {}
        self.controller: dict[str, str] = {}
        self.arm_name, self.outcomes = "", dict[str, Entry]()
        self.state: Sequence[float] | None = None
        self.desired: Sequence[float] | None = None
        self.torque: Sequence[float] | None = None
        self.heard_s, self.payload_kg = -math.inf, 0.0
        self.listeners: list[Callable[[Sequence[Row]], None]] = []
        self.on_words: Callable[[Entry], None] = lambda _event: None
        self._looked_s = -math.inf

    def _begin(self) -> None:
        """Take in how the arm is, once calls can be made."""
        snapshot = self.call("snapshot")
        for what in ("payload_kg", "hardware", "controller"):
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
            _, self.state, _, _, self.desired, self.torque = content[-1]
            self.heard_s = self.now_s
            for hear in tuple(self.listeners):
                hear(content)
        elif what == "payload_kg":
            self.payload_kg = float(content)
        elif what == "hardware":
            self.hardware = {**content["values"], "message": content["message"]}
        elif what == "controller":
            self._take_controller(Entry(**content))
        elif what == "event":
            self._take_event(Entry(**content))

    def _take_controller(self, entry: Entry) -> None:
        self.controller, self.arm_name = {**entry.values, "message": entry.message}, entry.hardware_id

    def _take_event(self, event: Entry) -> None:
        self.on_words(event)
        self._take_controller(event)
        if goal := event.values.get("goal"):
            self.outcomes.pop(goal, None)
            self.outcomes[goal] = event
            if len(self.outcomes) > OUTCOMES_KEPT:
                going = EventKind.ACCEPTED.outcome
                over = (name for name, one in self.outcomes.items() if one.values.get("outcome") != going)
                del self.outcomes[next(over, next(iter(self.outcomes)))]

    # -- what is known ---------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return what is known of the arm now."""
        snapshot = self.call("snapshot")
        hardware, controller = (snapshot[part]["values"] for part in ("hardware", "controller"))
        return Status(
            hardware["state"],
            hardware["problem"],
            hardware["outputs"],
            hardware["stop_latched"] == "true",
            hardware["reset_needed"] == "true",
            controller["phase"],
            controller["lease"],
            hardware["provenance"] == "measured",
            float(snapshot["payload_kg"]),
        )

    def running_arm(self) -> Known:
        """The arm that runs, as its process has it.

        Raises:
            ConfigurationError, DescriptionError: what it says is damaged.
        """
        from picker_dynamics.robot import arm_text

        return arm_text.read(self.call("arm"))

    def reference(self) -> Array:
        """Pose (n,) [rad or m] at which the arm should be now; raises a LinkError where it is not active."""
        reference = self.call("reference")
        if reference is None:
            raise LinkError(f"the arm is not active: {self.hardware['problem'] or 'enable it first'}")
        return array(reference)

    def setpoint(self) -> Array:
        """Set-point (n,) [rad] that was sent last; raises a LinkError where there is none."""
        setpoint = self.call("setpoint")
        if setpoint is None:
            raise LinkError(f"no set-points are sent: {self.hardware['message']}")
        return array(setpoint)

    def joints(self) -> dict[str, Any]:
        """Joints: ``names``, ``units``, and positions (n,) [rad or m], ``lower``, ``upper``, ``home`` and ``rest``."""
        return dict(self.call("joints"))

    def facts(self) -> dict[str, Any]:
        """Facts for a person or program: see ``session.facts``."""
        return dict(self.call("facts"))

    def condition(self) -> Condition:
        """Condition of the arm's parts now."""
        return Condition(self.call("diagnostics"), self.payload())

    def payload(self) -> float:
        """Payload that the tool is believed to carry [kg]."""
        return float(self.call("snapshot")["payload_kg"])

    def tip_speed(self) -> float:
        """Tip speed that the controller allows the tool [m/s]."""
        return float(self.call("get", part="trajectory_controller", names=["tip_speed_limit"])[0])

    def next_state(self) -> Array:
        """Joint positions (n,) [rad or m] that come next."""
        before = self.heard_s
        self.wait(lambda: self.heard_s > before and self.state is not None, lambda: f"no states come: {self.hardware['message']}")
        assert self.state is not None
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

    def listen(self, duration_s: float) -> tuple[Array, Array | None]:
        """Positions (s, n) [rad or m] of the states of the next ``duration_s`` [s], and efforts (s, n), or None without any."""
        _, q, effort = self.log(lambda: self.spin(duration_s))
        return q, effort

    def log(self, meanwhile: Callable[[], object]) -> tuple[Array, Array, Array | None]:
        """Times (s,) [s], positions (s, n) and efforts (s, n) or None of all states while ``meanwhile()`` goes on.

        Raises:
            LinkError: no states come.
        """
        import numpy as np

        rows: list[Row] = []
        with self.listening(rows.extend):
            meanwhile()
            self.wait(lambda: rows, "no states come")
        known = [row for row in rows if row[1] is not None]
        t, first = np.unique([row[0] for row in known], return_index=True)
        measured = all(known[i][3] is not None for i in first)
        return t, np.array([known[i][1] for i in first]), np.array([known[i][3] for i in first]) if measured else None

    # -- settings --------------------------------------------------------------------------------------------

    def set(self, part: str, values: Mapping[str, Any]) -> None:
        """Change settings of a part, all of them or none; raises a PickerError that says why not."""
        self.call("set", part=part, values=dict(values))

    @contextmanager
    def meanwhile(self, part: str, values: Mapping[str, Any]) -> Iterator[None]:
        """Settings of a part have other values until this ends."""
        before = dict(zip(values, self.call("get", part=part, names=list(values))))
        self.set(part, values)
        try:
            yield
        finally:
            self.set(part, before)

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
        self.wait(
            lambda: self.controller.get("phase") == "holding" and self.hardware.get("state") == State.ACTIVE.value,
            self.not_ready,
            timeout_s,
        )
        self.wait(lambda: self.state is not None, "no states come", timeout_s)

    def not_ready(self) -> str:
        """Why the arm does not hold still, ready for a goal."""
        first = what_enables(self.hardware) if self.hardware.get("state") == State.IDLE.value else ""
        said = f"the arm is not ready: hardware: {self.hardware['message']}"
        if self.hardware["message"] not in self.controller["message"]:
            said += f"; controller: {self.controller['message']}"
        return said + (f"; {first} first" if first else "")

    def require_free(self) -> None:
        """Raise a GoalRefusedError where somebody else moves the arm: a goal would take it from another one's."""
        if mover := self.call("snapshot")["controller"]["values"]["lease"]:
            why = f"the arm is moved by another ({mover}): wait, or take it with --preempt or picker stop"
            raise GoalRefusedError(why, subject=mover)

    def __enter__(self: AccessT) -> AccessT:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
