"""An arm that is simulated in the script's own process as what a view shows and drives; time passes when the script lets it.

What pages ask is carried out between two steps of the simulation, by the script's own thread.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as LateError
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import GoalRefusedError, InputError, PickerError, RecordingError
from picker_dynamics.execution import goal as goals
from picker_dynamics.execution.events import Event, EventKind, Severity
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, gripper_request
from picker_dynamics.execution.jogging import Jogging
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array

from ..body import Sample
from ..local import SimulatedBody
from ..recorded import Recorded
from . import asked as ask
from .base import View
from .jogging import HOLDS_S
from .motions import Wanted
from .told import Instant
from .tours import Outcome

LOOK_S = 1.0 / 30.0
"""How often pages are told where the arm is [s]."""

GIVES_WAY_S = 1e-4
"""How long an arm whose time passes as fast as it can lets requests have the interpreter after each step [s]."""

PATIENCE_S = 2.0
"""How long the script has to let time pass before a page is told that it does not [s]."""

RECORD_S = 600.0
"""No recording is longer [s]."""

LEVELS = {Severity.OK: "ok", Severity.WARN: "warn", Severity.ERROR: "error"}


class SimulatedView(View):
    """Shows a simulated arm: its reference, and where it truly is.

    Args:
        body: that a script moves; what it tells others is told to them as before.
    """

    def __init__(self, body: SimulatedBody):
        super().__init__(body.arm, body.arm)
        self.body, self._jogging = body, Jogging(body.execution)
        self._todo: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._jog: tuple[ask.Jog, float] | None = None
        self._stopped, self._told_s = False, 0.0
        self._recorded: tuple[Recorded, Path, float] | None = None
        self._before, self._before_event = body.on_sample, body.on_event
        body.on_sample, body.on_event = self._after_step, self._hear

    def close(self) -> None:
        """Close the view: the script's arm is as it was."""
        self.tours.end()
        self.body.on_sample, self.body.on_event = self._before, self._before_event
        if self._recorded is not None:
            with contextlib.suppress(RecordingError):
                self._end_recording()

    # -- in the script's thread ------------------------------------------------------------------------------

    def _after_step(self, sample: Sample) -> None:
        if not self.body.real_time:
            time.sleep(GIVES_WAY_S)
        if self._before is not None:
            self._before(sample)
        if (recorded := self._recorded) is not None and self.body.now_s < recorded[2]:
            recorded[0].add(sample)
        with_jog, now_s = self._jog, time.monotonic()
        while not self._todo.empty():
            act, answer = self._todo.get()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(act())
            except BaseException as error:  # whoever waits for it is told, whatever ends this step
                answer.set_exception(error if isinstance(error, PickerError) else PickerError("the script broke off"))
                if not isinstance(error, PickerError):
                    raise
        if with_jog is not None:
            self._carry_on(*with_jog)
        if now_s - self._told_s < LOOK_S:
            return
        self._told_s = now_s
        there = self.channel.there
        self.wheel.look(there, now_s, bool(self.tours.name))
        if there:
            truth, torque = (sample.q, 0.0), (sample.torque, 0.0)
            self.tell(Instant(state=truth, reference=(sample.q_ref, 0.0), torque=torque), self.body.now_s, now_s)

    def _hear(self, event: Event) -> None:
        if self._before_event is not None:
            self._before_event(event)
        subject = "" if event.error is None else event.error.subject or ""
        duration_s = 0.0 if event.motion is None else event.motion.duration_s
        self.tours.hear(event.identifier, Outcome(event.kind.outcome, event.text, subject, duration_s))
        self.say(event.text, LEVELS[event.kind.severity], outcome=event.kind.outcome, joint=subject)

    def _carry_on(self, asked: ask.Jog, until_s: float) -> None:
        now_s, over = self.body.now_s, time.monotonic() > until_s
        if over:
            self._jog = None
        share = 0.0 if over else 1.0
        if asked.joints:
            self._jogging.joints(list(asked.joints), share * np.array(list(asked.joints.values())), now_s)
        else:
            frame = self.known.description.tool if asked.tool else ""
            self._jogging.twist(share * np.array(asked.linear), share * np.array(asked.angular), now_s, frame)

    # -- what is asked ---------------------------------------------------------------------------------------

    def _between_steps(self, act: Callable[[], Any]) -> Any:
        """Have the script's thread do that, and wait for it; what it has not begun by then is not done later."""
        answer = self._handed_over(act)
        try:
            return answer.result(PATIENCE_S)
        except LateError:
            if not answer.cancel():
                return answer.result()  # it is just being done
            raise PickerError(
                "time stands still: the script lets none pass (view.run(), arm.wait(), a motion)", subject="time"
            ) from None

    def _handed_over(self, act: Callable[[], Any]) -> Future[Any]:
        answer: Future[Any] = Future()
        self._todo.put((act, answer))
        return answer

    @property
    def payload(self) -> float:
        return self.body.payload

    @property
    def tip_speed(self) -> None:
        return None

    @property
    def ready(self) -> bool:
        return not self._stopped

    @property
    def phase(self) -> str:
        return self.body.execution.phase.value

    @property
    def now_s(self) -> float:
        return self.body.now_s

    @property
    def writes(self) -> str:
        return "" if self._recorded is None else str(self._recorded[1])

    def held(self) -> Array:
        return self.body.held

    def status(self) -> Mapping[str, Any]:
        phase = self.phase
        state = "stopped: decelerating, then holding" if self._stopped else "active"
        return {
            "known": True,
            "arm": self.known.description.name,
            "hardware": {"state": "active", "message": state},
            "controller": {"phase": phase, "message": phase},
            "moved_by": str(self.body.execution.lease),
            "provenance": "simulated, true",
            "payload_kg": self.payload,
            "compensation": None,
            "supply_v": None,
            "supply_a": None,
            "faults": [],
            "next": "reset" if self._stopped else "",
            "stop_latched": "true" if self._stopped else "false",
            "reset_needed": "true" if self._stopped else "false",
            "outputs": "running",
            "measured": True,
            "celsius": [],
            "celsius_limit": None,
            "simulated": True,
            "limits": None,
            "latency_ms": None,
            "scene": [],
        }

    def take_arm(self) -> None:
        if not self.ready:
            raise GoalRefusedError("refused: stop is latched: reset, then go on", subject="stop")

    def begin(self, wanted: Wanted, stands: Callable[[], None] = lambda: None) -> str:
        def submit() -> str:
            self.take_arm()
            stands()
            arm, execution = self.known.description, self.body.execution
            still, name = [0.0] * len(wanted.target), f"page/{next(self._numbers)}"
            if wanted.gripper is not None:
                command = GripperCommand((), (float(wanted.target[wanted.gripper]),))
                settings = GripperSettings.of(arm, wanted.gripper)
                execution.submit(gripper_request(command, settings, execution, lambda: self.body.now_s, identifier=name))
                return name
            plain = goals.Goal(arm.joint_names, [wanted.duration_s], [wanted.target.tolist()], [still], [still])
            asked = plain if wanted.path is None else goals.along(wanted.path)
            execution.submit(GoalRequest(lambda: asked, identifier=name))
            return name

        return str(self._between_steps(submit))

    def jog(self, asked: ask.Jog | None) -> None:
        if asked is not None:
            self._jog = asked, time.monotonic() + HOLDS_S
        elif self._jog is not None:
            self._jog = self._jog[0], 0.0

    def cancel(self) -> None:
        """Cancel the motion: where time stands still it ends as soon as some passes."""
        self.jog(None)
        wait([self._handed_over(lambda: self.body.execution.cancel(self.body.now_s))], PATIENCE_S)

    def record(self, on: bool) -> str:
        if not on:
            return self._end_recording()
        if self._recorded is not None:
            raise InputError(f"already recorded to {self.writes}", subject="record")
        path = Path.cwd() / time.strftime("picker_%Y-%m-%d_%H-%M-%S.csv")
        self._recorded = Recorded(self.known), path, self.body.now_s + RECORD_S
        return f"recording, {RECORD_S:.0f} s at most, to {path}"

    def _end_recording(self) -> str:
        if self._recorded is None:
            raise InputError("nothing is being recorded", subject="record")
        (recorded, path, _), self._recorded = self._recorded, None
        recorded.to_csv(path)
        return f"recorded: {path}: {len(recorded)} samples"

    def stop(self) -> str:
        self._stopped = True
        self.lapse()
        self.cancel()
        self._handed_over(lambda: self.body.execution.tell(EventKind.NOTICE, "stopped: nothing moves until reset"))
        return "stopped: decelerating, then holding; latched until reset"

    def serve(self, asked: ask.Plain) -> str:
        self._stopped = False
        return "reset" if asked.what == "reset" else "enabled: a simulated arm always is"

    def set(self, asked: ask.Setting) -> None:
        if asked.name == "payload":
            self._between_steps(lambda: self.body.set_payload(float(asked.value)))
        elif asked.name == "speed":
            raise InputError("speed: a simulated arm of a script has none to set", subject="speed")
        else:
            raise InputError("compensation: chosen when the simulated arm is made", subject="compensation")
