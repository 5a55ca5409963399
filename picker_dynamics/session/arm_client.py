"""Client of a running arm: sends goals, stops, and waits for what becomes of it, as a person at a bench."""

from __future__ import annotations

import math
import os
import socket as sockets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from picker_dynamics.board.session import State, what_enables
from picker_dynamics.errors import BlockedError, GoalAbortedError, GoalCancelledError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.lease import IF_FREE, Holder, Kind

from .entry import Condition, Entry, holders_in, number_in
from .remote import RemoteSession

if TYPE_CHECKING:  # a command that moves nothing does not wait until these are loaded
    from picker_dynamics.robot.arm_text import Known
    from picker_dynamics.robot.model import Array
    from picker_dynamics.trajectory.trajectory import Trajectory

HEARD_S = 3.0
"""How long an arm that was just enabled has until its commands are confirmed [s]."""

STATE_S = 0.02
"""How often states come [s]."""

BEAT_S = 0.02
"""How often a driver says that it is there [s]: a fifth of the silence with which it loses the arm."""

SILENT_S, LOOK_S = 15.0, 0.2
"""So long no state comes before the arm is gone for who waits for its motion, and how long that is looked at again [s]."""

UNANSWERED_S = 1.0
"""A motion of which nobody has said anything by then was lost [s]."""

OUTCOMES_KEPT = 500
"""Of so many goals the last word is remembered."""

ENDS = {EventKind.ABORTED.outcome: GoalAbortedError, EventKind.CANCELLED.outcome: GoalCancelledError}

MOVING = "executing", "streaming"
"""Phases of the controller in which somebody moves the arm."""


def array(numbers: Sequence[float]) -> Array:
    """Numbers as an array; a command that needs none does not wait until numpy is loaded."""
    import numpy as np

    return np.array(numbers)


class GoalData(NamedTuple):
    """Data of a goal: its call, and arguments of that but for the name."""

    call: str
    arguments: dict[str, Any]


class ArmClient(RemoteSession):
    """Client of one running arm.

    Attributes:
        joint_names: of the arm, in its order.
        hardware, controller: newest facts about outputs and reference, with ``message``.
        outcomes: newest event of each goal, by its name.
    """

    def __init__(self, namespace: str = "", host: str = "", token: str = ""):
        self.hardware: dict[str, str] = {}
        self.controller: dict[str, str] = {}
        self.arm_name = ""
        self.outcomes: dict[str, Entry] = {}
        super().__init__(namespace, host, token)
        snapshot = self.call("snapshot")
        self.payload_kg = float(snapshot["payload_kg"])
        self.on_hardware(Entry(**snapshot["hardware"]))
        self.on_event(Entry(**snapshot["controller"]))
        self.joint_names = tuple(self.controller.get("joints", "").split(", "))
        self.subscribe(STATE_S)

    def on_hardware(self, status: Entry) -> None:
        self.hardware = {**status.values, "message": status.message}

    def on_event(self, event: Entry) -> None:
        self.controller = {**event.values, "message": event.message}
        self.arm_name = event.hardware_id
        if goal := event.values.get("goal"):
            self.outcomes.pop(goal, None)
            self.outcomes[goal] = event
            if len(self.outcomes) > OUTCOMES_KEPT:
                going = EventKind.ACCEPTED.outcome
                over = (name for name, one in self.outcomes.items() if one.values.get("outcome") != going)
                del self.outcomes[next(over, next(iter(self.outcomes)))]

    # -- what is known ---------------------------------------------------------------------------------------

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
            raise LinkError(f"there is no reference: {self.hardware['message']}")
        return array(reference)

    def setpoint(self) -> Array:
        """Set-point (n,) [rad] that was sent last; raises a LinkError where there is none."""
        setpoint = self.call("setpoint")
        if setpoint is None:
            raise LinkError(f"no set-points are sent: {self.hardware['message']}")
        return array(setpoint)

    def joints(self) -> dict[str, Any]:
        """Joints: ``names``, ``units``, and positions (n,) [rad or m], ``lower``, ``upper``, ``home`` and ``rest``."""
        found: dict[str, Any] = self.call("joints")
        return found

    def facts(self) -> dict[str, Any]:
        """Facts for a person or program: see ``session.facts``."""
        found: dict[str, Any] = self.call("facts")
        return found

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

        rows: list[list[Any]] = []
        self.on_states = rows.extend
        self.subscribe(STATE_S, everything=True)
        try:
            meanwhile()
            self.wait(lambda: rows, "no states come")
        finally:
            self.on_states = None
            self.subscribe(STATE_S)
        known = [row for row in rows if row[1] is not None]
        t, first = np.unique([row[0] for row in known], return_index=True)
        q = np.array([known[i][1] for i in first])
        measured = all(known[i][3] is not None for i in first)
        return t, q, np.array([known[i][3] for i in first]) if measured else None

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

    def wait_holding(self, timeout_s: float | None = None) -> None:
        """Wait until the arm is enabled and at rest, ready for a goal."""
        self.wait(
            lambda: self.controller.get("phase") == "holding" and self.hardware.get("state") == "active",
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

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until the arm is held and takes goals, after bring-up."""
        self.wait_holding(timeout_s)

    # -- motions ---------------------------------------------------------------------------------------------

    def message(self, times_s: Sequence[float], positions: Sequence[Any]) -> GoalData:
        """A goal through positions (k, n) [rad or m] at ``times_s`` (k,) [s], at rest at the end."""
        goal: dict[str, Any] = {
            "joint_names": list(self.joint_names),
            "times_s": [float(t) for t in times_s],
            "positions": [[float(x) for x in q] for q in positions],
        }
        if len(times_s) == 1:
            goal["velocities"] = goal["accelerations"] = [[0.0] * len(self.joint_names)]
        return GoalData("goal", goal)

    def message_along(self, trajectory: Trajectory) -> GoalData:
        """A goal along a trajectory that starts where the arm is."""
        from picker_dynamics.execution.goal import along

        goal = along(trajectory)
        rows = {"positions": goal.positions, "velocities": goal.velocities, "accelerations": goal.accelerations}
        data = {name: None if value is None else [[float(x) for x in row] for row in value] for name, value in rows.items()}
        return GoalData("goal", {"joint_names": list(goal.joint_names), "times_s": [float(t) for t in goal.times_s], **data})

    def gripper_message(self, _joint: int, at: float) -> GoalData:
        """A goal for the gripper's joint alone, done at ``at`` [rad or m] or where what it grips stops it."""
        return GoalData("grip", {"position": float(at)})

    def move(self, joints: Mapping[str, float], relative: bool = False, least_s: float = 0.0) -> float:
        """Move joints to positions, or by so much, the others stay; returns the duration [s]; errors as ``send``."""
        return self.send(GoalData("move", {"joints": dict(joints), "relative": relative, "least_s": least_s}))

    def move_through(self, times_s: Sequence[float], positions: Sequence[Any], timeout_s: float | None = None) -> float:
        """Move through positions (k, n) at ``times_s`` (k,) [s], at rest at the end; returns the duration [s].

        Raises:
            GoalRefusedError: it was refused or aborted; says why.
        """
        return self.send(self.message(times_s, positions), timeout_s)

    def follow(self, trajectory: Trajectory, timeout_s: float | None = None) -> float:
        """Execute a trajectory that starts where the arm is; returns the duration it took [s]."""
        return self.send(self.message_along(trajectory), timeout_s)

    def send(self, message: GoalData, timeout_s: float | None = None) -> float:
        """Send a goal and wait until it is done; Ctrl-C cancels it.

        Raises:
            GoalRefusedError: somebody else moves the arm; or it is refused, or aborted, with the reason.
            LinkError: the arm is gone, or it takes longer than ``timeout_s``.
        """
        self.require_free()
        self.wait_holding()
        with self.cancelling():
            goal, duration = self.begin(message)
            self.wait(lambda: self.ended(goal), f"the motion of {duration:.1f} s did not end in time", timeout_s or math.inf)
        return duration

    def begin(self, message: GoalData) -> tuple[str, float]:
        """Send a goal; returns its name and the duration of the motion [s] when it is accepted.

        Where the arm was blocked for a moment it is sent again.
        """
        deadline = time.monotonic() + HEARD_S
        while True:
            goal = f"{IF_FREE}{uuid.uuid4().hex}"
            self.ask_for(goal, message)
            self.wait(partial(self.outcomes.__contains__, goal), "the controller does not answer")
            values = self.outcomes[goal].values
            if values.get("error") != BlockedError.__name__ or time.monotonic() > deadline:
                break
            self.spin(0.1)
        self._require(goal, EventKind.ACCEPTED, EventKind.DONE)
        return goal, float(values.get("duration_s", "nan"))

    def ask_for(self, name: str, message: GoalData) -> None:
        """Ask for a goal by this name; what becomes of it comes in ``outcomes``."""
        self.call(message.call, name=name, **message.arguments)

    def ended(self, goal: str) -> bool:
        """Whether a goal that was accepted is done.

        Raises:
            GoalAbortedError: it ended in another way.
            LinkError: nothing comes any more.
        """
        if time.monotonic() - self.heard_s > SILENT_S:
            self.spin(LOOK_S)  # this process may have stood still itself
        self._require(goal, EventKind.ACCEPTED, EventKind.DONE)
        if (silent_s := time.monotonic() - self.heard_s) > SILENT_S:
            why = f"nothing came of the arm for {SILENT_S:g} s: what becomes of the motion is not known"
            raise LinkError(why, value=silent_s, limit=SILENT_S)
        return self.outcomes[goal].values["outcome"] == EventKind.DONE.outcome

    def _require(self, goal: str, *kinds: EventKind) -> None:
        answer = self.outcomes[goal]
        values = answer.values
        if values["outcome"] not in [kind.outcome for kind in kinds]:
            raise ENDS.get(values["outcome"], GoalRefusedError)(
                answer.message,
                subject=values.get("joint"),
                value=number_in(values.get("value")),
                limit=number_in(values.get("limit")),
            )

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Ctrl-C within cancels the motion under way."""
        try:
            yield
        except KeyboardInterrupt:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Let the motion under way decelerate to a hold, whoever moves the arm."""
        self.call("cancel")
        self.wait(lambda: self.call("snapshot")["controller"]["values"]["phase"] not in MOVING, "the controller does not answer")

    # -- outputs ---------------------------------------------------------------------------------------------

    def stop(self) -> str:
        """Latch the stop; answered when nothing that was asked before can undo it any more."""
        return self._done("stop")

    def reset(self) -> str:
        return self._done("reset")

    def relax(self) -> str:
        return self._done("relax")

    def enable(self, at_rest_pose: bool) -> str:
        return self._done("enable", at_rest_pose=at_rest_pose)

    def disable(self) -> str:
        return self._done("disable")

    def _done(self, name: str, **arguments: Any) -> str:
        """Say what came of a call; raises a PickerError with the reason where it is refused."""
        try:
            return str(self.call(name, **arguments))
        except LinkError:
            raise
        except PickerError as error:
            raise PickerError(str(error)) from error


class Driver(ArmClient):
    """A client that has the arm's lease for as long as it says so, sends one bounded motion at a time, and never waits.

    Where it hangs, or is killed, it falls silent, and the controller lets the arm decelerate.

    Attributes:
        driver: its name.
        refusal: why it does not have the arm; '': it has, or nobody has answered yet.
        drives: it has the arm.
        leaving: it does not say any more that it drives.
    """

    def __init__(self, namespace: str = "", host: str = "", token: str = ""):
        self.driver = f"{sockets.gethostname().replace('/', '_')[:60]}.{os.getpid()}.{time.time_ns() % 10**6:06d}"
        self.refusal, self.drives, self.leaving = "", False, False
        self._step, self._sent_s, self._steps, self._beat_s = "", 0.0, 0, -math.inf
        super().__init__(namespace, host, token)

    def beat(self) -> None:
        """Say that this driver is there."""
        if not self.leaving:
            self._beat_s = time.monotonic()
            self.tell("drive", name=self.driver)

    def wait_at_most(self, seconds: float, condition: Callable[[], object]) -> bool:
        """As of any client; who waits says meanwhile that it drives."""
        deadline = time.monotonic() + seconds
        while True:
            now_s = time.monotonic()
            if now_s - self._beat_s >= BEAT_S and self.beats:
                self.beat()
            if super().wait_at_most(min(max(deadline - now_s, 0.0), BEAT_S), condition):
                return True
            if time.monotonic() >= deadline:
                return False

    beats = True
    """Whether waiting says that this driver is there."""

    def leave(self) -> None:
        """Give the arm back: what moves decelerates."""
        if self.under_way:
            self.tell("cancel")
        self.leaving = True
        self.tell("drive", name=self.driver, leaves=True)

    def on_event(self, event: Entry) -> None:
        super().on_event(event)
        self.drives = Holder(Kind.DRIVER, self.driver) in holders_in(event.values)
        if event.values.get("goal") == self.driver:
            self.refusal = event.message if event.values["outcome"] == EventKind.REFUSED.outcome else ""

    @property
    def under_way(self) -> bool:
        """Whether a motion was sent that has not ended; one of which nobody has said anything is given up after a while."""
        if not self._step:
            return False
        said = self.outcomes.get(self._step)
        if said is None:
            return time.monotonic() - self._sent_s < UNANSWERED_S
        return said.values["outcome"] == EventKind.ACCEPTED.outcome

    def step_ended(self) -> str | None:
        """Outcome of the motion that was sent last, once, when it has ended: empty where it is done; else None."""
        if not self._step or self.under_way:
            return None
        said = self.outcomes.pop(self._step, None)
        self._step = ""
        if said is None:
            return "the controller does not answer"
        return "" if said.values["outcome"] == EventKind.DONE.outcome else said.message

    def begin_step(self, target: Array, duration_s: float) -> None:
        """Send a motion to rest at ``target`` (n,) [rad or m]; one at a time."""
        self.begin_motion(self.message([duration_s], [target]))

    def begin_motion(self, message: GoalData) -> str:
        """Send a goal as this driver's; returns its name."""
        self._steps += 1
        self._step, self._sent_s = f"{self.driver}/{self._steps}", time.monotonic()
        self.tell(message.call, name=self._step, **message.arguments)
        return self._step
