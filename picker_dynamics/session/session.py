"""Session: what a person or program may ask of a running arm, wherever the arm runs.

``LocalSession`` (an arm in this process) and ``RemoteSession`` (one in another process) carry the calls of ``ServedSession``.
"""

from __future__ import annotations

import math
import os
import socket as sockets
import threading
import time
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from picker_dynamics.errors import BlockedError, GoalAbortedError, GoalCancelledError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.lease import IF_FREE, Holder, Kind

from .access import ArmAccess
from .entry import Entry, holders_in, number_in

if TYPE_CHECKING:  # a command that moves nothing does not wait until this is loaded
    from picker_dynamics.trajectory.trajectory import Trajectory

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

MOVING = "executing", "streaming"
"""Phases of the controller in which somebody moves the arm."""


class GoalData(NamedTuple):
    """Data of a goal: its call, and arguments of that but for the name."""

    call: str
    arguments: dict[str, Any]


class Session(ArmAccess):
    """Session with one running arm: its motions, outputs, and who drives it.

    Attributes:
        driver: name by which this session drives; driving: it says again and again that it does; drives: it has the arm.
        refusal: why it does not have the arm; '': it has, or nobody has answered yet.
    """

    def __init__(self) -> None:
        super().__init__()
        self.driver = f"{sockets.gethostname().replace('/', '_')[:60]}.{os.getpid()}.{time.time_ns() % 10**6:06d}"
        self.refusal, self.drives, self.driving = "", False, False
        self._goals, self._newest, self._beats = 0, "", threading.RLock()
        self._jog: tuple[Mapping[str, Any], float] | None = None

    @abstractmethod
    def _start_beats(self) -> None:
        """Have ``beat`` called every ``BEAT_S`` while this session is ``driving``."""

    def _take_controller(self, entry: Entry) -> None:
        super()._take_controller(entry)
        self.drives = Holder(Kind.DRIVER, self.driver) in holders_in(entry.values)

    def _take_event(self, event: Entry) -> None:
        super()._take_event(event)
        if event.values.get("goal") == self.driver:
            self.refusal = event.message if event.values["outcome"] == EventKind.REFUSED.outcome else ""

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

    def gripper_message(self, at: float) -> GoalData:
        """A goal for the gripper's joint alone, done at ``at`` [rad or m] or where what it grips stops it."""
        return GoalData("grip", {"position": float(at)})

    def move(self, joints: Mapping[str, float], relative: bool = False, least_s: float = 0.0) -> float:
        """Move joints to positions, or by so much, the others stay; returns the duration [s].  Errors as ``send``."""
        return self.send(GoalData("move", {"joints": dict(joints), "relative": relative, "least_s": least_s}))

    def move_through(self, times_s: Sequence[float], positions: Sequence[Any], timeout_s: float | None = None) -> float:
        """Move through positions (k, n) at ``times_s`` (k,) to rest; returns the duration [s].  Errors as ``send``."""
        return self.send(self.message(times_s, positions), timeout_s)

    def follow(self, trajectory: Trajectory, timeout_s: float | None = None) -> float:
        """Execute a trajectory that starts where the arm is; returns the duration it took [s]; errors as ``send``."""
        return self.send(self.message_along(trajectory), timeout_s)

    def send(self, message: GoalData, timeout_s: float | None = None) -> float:
        """Send a goal and wait until it is done; Ctrl-C cancels it.

        Raises:
            GoalRefusedError: somebody else moves the arm; or it is refused, or aborted, with the reason.
            LinkError: the arm is gone, or it takes longer than ``timeout_s``.
        """
        with self.cancelling():
            goal, duration = self.begin(message)
            self.wait(lambda: self.ended(goal), f"the motion of {duration:.1f} s did not end in time", timeout_s or math.inf)
        return duration

    def begin(self, message: GoalData, as_driver: bool = False) -> tuple[str, float]:
        """Send a goal to an arm that nobody else moves; returns its name and the duration of the motion [s] when it is accepted.

        Where the arm was blocked for a moment it is sent again.
        """
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
            why = f"nothing came of the arm for {SILENT_S:g} s: what becomes of the motion is not known"
            raise LinkError(why, value=silent_s, limit=SILENT_S)
        return self.outcomes[goal].values["outcome"] == EventKind.DONE.outcome

    def _require_going(self, goal: str) -> None:
        """Raise the error of a goal that is neither under way nor done."""
        answer = self.outcomes[goal]
        values = answer.values
        if values["outcome"] not in (EventKind.ACCEPTED.outcome, EventKind.DONE.outcome):
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
            raise GoalRefusedError(refusal, subject="driver")
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
                velocities, until_s = jog
                if now_s > until_s:
                    self._jog, velocities = None, {}
                self.tell("jog", driver=self.driver, **velocities)

    def jog(self, velocities: Mapping[str, Any]) -> None:
        """Jog for a moment at velocities, as ``ServedSession.jog`` has them; none: let go.  Drive before."""
        if velocities or self._jog is not None:
            self._jog = velocities, time.monotonic() + JOG_S if velocities else 0.0
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
        """Latch the stop; answered when nothing that was asked before can undo it any more."""
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
