"""Session: what a person or program may ask of a running arm, wherever the arm runs, and what is heard of it.

``LocalSession`` (an arm in this process) and ``RemoteSession`` (one in another process) carry the calls of ``ServedSession``.
"""

from __future__ import annotations

import math
import os
import socket as sockets
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from picker_dynamics.board.session import State, what_enables
from picker_dynamics.errors import BlockedError, GoalAbortedError, GoalCancelledError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.lease import IF_FREE

from .entry import Entry, error_of, number_in

if TYPE_CHECKING:  # a command that moves nothing does not wait until these are loaded
    from picker_dynamics.robot.arm_text import Known
    from picker_dynamics.robot.model import Array
    from picker_dynamics.trajectory.trajectory import Trajectory

ANSWER_S = 5.0
"""How long a running arm has to answer [s]."""

OUTCOMES_KEPT = 500
"""Of so many goals the last word is remembered."""

Row = Sequence[Any]
"""State of an arm: time [s], then position, velocity, effort, reference and torque, (n,) each or None; as ``report.row``."""

HEARD_S = 3.0
"""How long an arm that was just enabled has until its commands are confirmed [s]."""

BEAT_S = 0.02
"""How often a driver says that it is there [s]: a fifth of the silence with which it loses the arm."""

HANGS_S = 0.4
"""A driver that waits for nothing and looks at nothing for so long does not drive any more [s]."""

JOG_S = 0.2
"""How long a velocity holds that is not said again [s]."""

SILENT_S = 15.0
"""So long no state comes before the arm is gone for who waits for its motion [s]."""

ENDS = {EventKind.ABORTED.outcome: GoalAbortedError, EventKind.CANCELLED.outcome: GoalCancelledError}
GOING = EventKind.ACCEPTED.outcome, EventKind.DONE.outcome

MOVING = "executing", "streaming"
"""Phases of the controller in which somebody moves the arm."""


def array(numbers: Any) -> Array:
    """Numbers as an array; a command that needs none does not wait until numpy is loaded."""
    import numpy as np

    return np.array(numbers, dtype=float)


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


class GoalData(NamedTuple):
    """Data of a goal: its call, and arguments of that but for the name."""

    call: str
    arguments: dict[str, Any]


SessionT = TypeVar("SessionT", bound="Session")


class Session(ABC):
    """Session with one running arm; a context manager.  Methods raise a PickerError that says why something is refused.

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
        driving: it says again and again that it drives.
        refusal: why it does not have the arm, or its jog has ended; '': neither, or nobody has answered yet.
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
        self.refusal, self.drives, self.driving = "", False, False
        self._goals, self._newest = 0, ""
        self._beats, self._looked_s = threading.RLock(), -math.inf
        self._jog: tuple[Mapping[str, Any], float, int] | None = None
        self._asking = threading.local()

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

    @abstractmethod
    def _start_beats(self) -> None:
        """Have ``beat`` called every ``BEAT_S`` while this session is ``driving``."""

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
        holders = [key.removesuffix(".name") for key, name in entry.values.items() if name == self.driver]
        self.drives = any(entry.values.get(f"{holder}.kind") == "driver" for holder in holders)

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
        """Joint positions (n,) [rad or m] that come next, newer than those that were known."""
        before = self.seen_s
        self.wait(lambda: self.seen_s > before and self.state is not None, lambda: f"no states come: {self.hardware['message']}")
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

    @property
    def epoch(self) -> int:
        """Epoch of what this thread asks: of the ``asking`` that it is in, else the newest heard of."""
        asked: int | None = getattr(self._asking, "epoch", None)
        return self.epoch_heard if asked is None else asked

    @contextmanager
    def asking(self, epoch: int | None = None) -> Iterator[None]:
        """All that this thread asks within was asked for at its beginning: a stop, reset or enable since then has it refused.

        Args:
            epoch: in which it was asked for; None: that of another ``asking`` about this one, else the newest heard of.
        """
        before = getattr(self._asking, "epoch", None)
        self._asking.epoch = self.epoch if epoch is None else epoch
        try:
            yield
        finally:
            self._asking.epoch = before

    # -- what is known ---------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return what is known of the arm now."""
        snapshot = self.call("snapshot")
        hardware, controller = (snapshot[part]["values"] for part in ("hardware", "controller"))
        return Status(
            state=hardware["state"],
            problem=hardware["problem"],
            outputs=hardware["outputs"],
            stop_latched=hardware["stop_latched"] == "true",
            reset_needed=hardware["reset_needed"] == "true",
            phase=controller["phase"],
            moved_by=controller["lease"],
            measured=hardware["provenance"] == "measured",
            payload_kg=float(snapshot["payload"][0]),
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
        return self._vector("reference", f"the arm is not active: {self.hardware['problem'] or 'enable it first'}")

    def setpoint(self) -> Array:
        """Set-point (n,) [rad] that was sent last; raises a LinkError where there is none."""
        return self._vector("setpoint", f"no set-points are sent: {self.hardware['message']}")

    def _vector(self, name: str, complaint: str) -> Array:
        if (vector := self.call(name)) is None:
            raise LinkError(complaint)
        return array(vector)

    def joints(self) -> dict[str, Any]:
        """Joints: ``names``, ``units``, and positions (n,) [rad or m], ``lower``, ``upper``, ``home`` and ``rest``."""
        return dict(self.call("joints"))

    def facts(self) -> dict[str, Any]:
        """Facts for a person or program: see ``ServedSession.facts``."""
        return dict(self.call("facts"))

    def payload(self) -> float:
        """Payload that the tool is believed to carry [kg]."""
        return float(self.call("snapshot")["payload"][0])

    def tip_speed(self) -> float:
        """Tip speed that the controller allows the tool [m/s]."""
        return float(self.call("get", part="trajectory_controller", names=["tip_speed_limit"])[0])

    # -- settings --------------------------------------------------------------------------------------------

    def set(self, part: str, values: Mapping[str, Any]) -> None:
        """Change settings of a part, all of them or none; raises a PickerError that says why not."""
        self.call("set", part=part, values=dict(values))

    @contextmanager
    def meanwhile(self, part: str, values: Mapping[str, Any]) -> Iterator[None]:
        """Settings of a part have other values until this ends, after a stop, reset or enable too."""
        before = dict(zip(values, self.call("get", part=part, names=list(values))))
        self.set(part, values)
        try:
            yield
        finally:
            self.call("get", part=part, names=[])  # its answer tells the present epoch
            with self.asking(self.epoch_heard):
                self.set(part, before)

    def require_free(self) -> None:
        """Raise a GoalRefusedError where somebody else moves the arm: a goal would take it from another one's."""
        if mover := self.call("snapshot")["controller"]["values"]["lease"]:
            why = f"another client moves the arm ({mover}): wait, take control with --preempt, or picker stop"
            raise GoalRefusedError(why, mover)

    # -- motions ---------------------------------------------------------------------------------------------

    def message(self, seconds: float, target: Any) -> GoalData:
        """A goal to rest at ``target`` (n,) [rad or m] in so many seconds."""
        still = [[0.0] * len(self.joint_names)]
        goal = {"times_s": [float(seconds)], "positions": [array(target).tolist()], "velocities": still, "accelerations": still}
        return GoalData("goal", {"joint_names": list(self.joint_names), **goal})

    def message_along(self, trajectory: Trajectory) -> GoalData:
        """A goal along a trajectory that starts where the arm is."""
        from picker_dynamics.execution.goal import along

        goal = along(trajectory)
        rows = {name: getattr(goal, name) for name in ("times_s", "positions", "velocities", "accelerations")}
        plain = {name: None if values is None else array(values).tolist() for name, values in rows.items()}
        return GoalData("goal", {"joint_names": list(goal.joint_names), **plain})

    def move(self, joints: Mapping[str, float], relative: bool = False, least_s: float = 0.0) -> float:
        """Move joints to positions, or by so much, the others stay; returns the duration [s].  Errors as ``send``."""
        return self.send(GoalData("move", {"joints": dict(joints), "relative": relative, "least_s": least_s}))

    def move_to(self, seconds: float, target: Any) -> float:
        """Move to rest at ``target`` (n,) in so many seconds; returns the duration [s].  Errors as ``send``."""
        return self.send(self.message(seconds, target))

    def follow(self, trajectory: Trajectory) -> float:
        """Execute a trajectory that starts where the arm is; returns the duration it took [s]; errors as ``send``."""
        return self.send(self.message_along(trajectory))

    def send(self, message: GoalData) -> float:
        """Send a goal and wait until it is done; Ctrl-C cancels it.

        Raises:
            GoalRefusedError: somebody else moves the arm; or it is refused, or aborted, with the reason.
            LinkError: the arm is gone.
        """
        with self.cancelling():
            goal, duration = self.begin(message)
            self.wait(lambda: self.ended(goal), f"the motion of {duration:.1f} s did not end", math.inf)
        return duration

    def begin(self, message: GoalData, as_driver: bool = False) -> tuple[str, float]:
        """Send a goal to an arm that nobody else moves; returns its name and the duration of the motion [s] when it is accepted.

        Where the arm was blocked for a moment it is sent again.
        """
        with self.asking():
            if not as_driver:
                self.require_free()
            self.wait_holding()
            deadline = self.now_s + HEARD_S
            while True:
                goal = self.submit(message, as_driver)
                self.wait(partial(self.outcomes.__contains__, goal), "the controller does not answer")
                values = self.outcomes[goal].values
                if values.get("error") != BlockedError.__name__ or self.now_s > deadline:
                    break
                self.spin(0.1)
            self._require_going(goal)
            return goal, float(values.get("duration_s", "nan"))

    def submit(self, message: GoalData, as_driver: bool = False) -> str:
        """Ask for a goal and return its name; what becomes of it comes in ``outcomes``.

        Args:
            as_driver: it is a goal of this session's driver; else one that takes the arm from nobody.
        """
        self._goals += 1
        name = f"{self.driver}/{self._goals}" if as_driver else f"{IF_FREE}{uuid.uuid4().hex}"
        self.call(message.call, name=name, **message.arguments)
        self._newest = name
        return name

    @property
    def under_way(self) -> bool:
        """Whether the motion that was asked for last has not ended."""
        said = self.outcomes.get(self._newest)
        return bool(self._newest) and (said is None or said.values["outcome"] == EventKind.ACCEPTED.outcome)

    def ended(self, goal: str) -> bool:
        """Whether a goal that was accepted is done.

        Raises:
            GoalAbortedError: it ended in another way.
            LinkError: nothing comes any more.
        """
        if self.now_s - self.heard_s > SILENT_S:
            self.spin(0.2)  # this process may have stood still itself
        self._require_going(goal)
        if (silent_s := self.now_s - self.heard_s) > SILENT_S:
            why = f"no answer from the arm for {SILENT_S:g} s: the state of the motion is unknown"
            raise LinkError(why, value=silent_s, limit=SILENT_S)
        return self.outcomes[goal].values["outcome"] == EventKind.DONE.outcome

    def _require_going(self, goal: str) -> None:
        """Raise the error of a goal that is neither under way nor done."""
        answer = self.outcomes[goal]
        values, outcome = answer.values, answer.values["outcome"]
        if outcome not in GOING:
            numbers = {name: number_in(values.get(name)) for name in ("value", "limit")}
            raise error_of(answer.message, {**values, **numbers}, ENDS.get(outcome, GoalRefusedError))

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Ctrl-C within cancels the motion under way."""
        try:
            yield
        except KeyboardInterrupt:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Decelerate the motion under way to a hold, whoever moves the arm."""
        self.call("cancel")
        self.wait(lambda: self.call("snapshot")["controller"]["values"]["phase"] not in MOVING, "the controller does not answer")

    # -- driving -----------------------------------------------------------------------------------------------

    def take_arm(self) -> None:
        """Drive from now on: have the lease for goals and jogs, one motion in place of the one before.

        A session that hangs, or is killed, falls silent, and the arm decelerates.

        Raises:
            PickerError: somebody else moves the arm, and is named; or nobody answers.
        """
        if self.drives and self.driving:
            return
        if refusal := self.call("drive", name=self.driver):
            self.leave()
            raise GoalRefusedError(refusal, "driver")
        begins, self.driving, self.drives, self._looked_s = not self.driving, True, True, time.monotonic()
        if begins:
            self._start_beats()

    def beat(self) -> None:
        """Say that this session drives, and how it jogs; nothing, where it hangs."""
        with self._beats:  # none comes after this session has left
            now_s, jog = time.monotonic(), self._jog
            if not self.driving or now_s - self._looked_s > HANGS_S:
                return
            self.tell("drive", name=self.driver)
            if jog is not None:
                velocities, until_s, epoch = jog
                if now_s > until_s:
                    self._jog, velocities = None, {}
                with self.asking(epoch):
                    self.tell("jog", driver=self.driver, seen_s=self.seen_s, **velocities)

    def jog(self, velocities: Mapping[str, Any]) -> None:
        """Jog for a moment at velocities or to a pose, as ``ServedSession.jog`` has them; none: let go.  Drive before."""
        self._looked_s = time.monotonic()
        if not velocities:
            self.refusal = ""
        if velocities or self._jog is not None:
            self._jog = velocities, time.monotonic() + JOG_S if velocities else 0.0, self.epoch
            self.beat()

    def leave(self) -> None:
        """Give the arm back: what moves decelerates."""
        with self._beats:
            if self.driving:
                if self.under_way:
                    self.tell("cancel")
                self.driving, self.drives, self._jog = False, False, None
                self.tell("drive", name=self.driver, leaves=True)

    # -- outputs ---------------------------------------------------------------------------------------------

    def stop(self) -> str:
        """Latch the stop; what was asked before cannot undo it."""
        return self._switched("stop")

    def reset(self) -> str:
        """Clear stop and faults whose cause is gone; nothing moves."""
        return self._switched("reset")

    def relax(self) -> str:
        """Switch the outputs off and latch: the arm falls."""
        return self._switched("relax")

    def enable(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on where a person says that the arm is at its rest pose."""
        return self._switched("enable", at_rest_pose=at_rest_pose)

    def accept_board(self) -> str:
        """Take the board that is connected although it was flashed for other limits; nothing is enabled."""
        return self._switched("accept_board")

    def disable(self) -> str:
        """Switch all outputs off: the arm falls."""
        return self._switched("disable")

    def _switched(self, name: str, **arguments: Any) -> str:
        """Say what came of a call; raises a plain PickerError with the reason where it is refused."""
        try:
            said = str(self.call(name, **arguments))
            self.take("hardware", self.call("snapshot")["hardware"])
            return said
        except LinkError:
            raise
        except PickerError as error:
            raise PickerError(str(error)) from error

    def __enter__(self: SessionT) -> SessionT:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
