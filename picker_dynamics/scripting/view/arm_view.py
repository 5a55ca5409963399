"""View of a running arm: what it tells pages, and what a page that drives asks of it, by the arm's session."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics import lifeline
from picker_dynamics.board.request_gate import OUTDATED
from picker_dynamics.errors import GoalRefusedError, InfeasibleError, InputError, LimitError, LinkError, PickerError, refuse_if
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.guiding import HandGuide
from picker_dynamics.session.entry import Entry
from picker_dynamics.session.remote import RemoteSession
from picker_dynamics.session.served import require_fresh
from picker_dynamics.session.session import GoalData, Session
from picker_dynamics.sim.control_socket import BoardControl, Truth

from ..equipment import Equipment
from ..scripted_arm import ScriptedArm
from ..target import Asked
from .base import LOOK_S, Seen, View, rounded
from .requests import Request
from .tours import Tours

LONGEST_S = "3600"
"""A recording that nobody ends ends by itself [s]."""

BEGINS_S = 2.0
"""How long an arm that was just enabled, jogged or guided has until it takes goals [s]."""

GONE_S, IDLE_S = 2.0, 300.0
"""A page of which nothing is seen for so long has let go; so has one that asked for nothing so long [s]."""

SAMPLES = 40
"""Of a path that is shown, at most."""

TOURS = ("tour", "pick", "place")
MOTIONS = (*TOURS, "home", "park", "joints", "tip", "grip", "jog", "guide")

LEVELS = ("ok", "warn", "error", "warn")

OUTPUTS = ("stop_latched", "reset_needed", "accept_needed", "outputs")
"""Fields of the hardware's status that a page needs."""

PARTS = ("hardware: temperature", "hardware: link", "hardware: timing")
"""Parts whose figures pages show, as the arm publishes them."""

LIMITS = ("tip_speed_limit", "speed_scaling")

SETTINGS = {
    "payload": ("kg", "dynamics", "payload.mass", " kg"),
    "compensation": ("mode", "dynamics", "compensation", ""),
    "speed": ("share", "trajectory_controller", "speed_scaling", " of the full speed"),
}
"""Request -> its field, the part and the setting that it changes, and the unit."""


class Wheel:
    """Wheel of the arm: of all pages that look at it one drives; the others watch, and may take over, which they have to say.

    Within the graph the arm's lease is the server's as long as somebody has the wheel: ``picker move`` and other drivers are
    refused, too.  Times are seconds on any one clock.

    Attributes:
        driver: the page that does; empty: nobody.
    """

    def __init__(self) -> None:
        self.driver, self._seen_s, self._asked_s = "", 0.0, 0.0

    def take(self, page: str, now_s: float, *, over: bool = False) -> bool:
        """Have a page drive; returns whether it did not before.

        Args:
            over: take it from whoever has it.

        Raises:
            PickerError: another one drives.
        """
        if self.driver not in ("", page) and not over:
            raise PickerError("another page drives the arm: this one watches until it takes over", "page")
        new, self.driver = self.driver != page, page
        self._seen_s = self._asked_s = now_s
        return new

    def is_idle(self, there: set[str], now_s: float, busy: bool = False) -> bool:
        """Whether the page that drives is gone, or asks for nothing any more.

        Args:
            there: streams that are open: a page's name is its stream's, or begins with that and a dot.
            busy: what it asked for is still under way.
        """
        if busy:
            self._asked_s = now_s
        if self.driver.partition(".")[0] in there:
            self._seen_s = now_s
        return bool(self.driver) and (now_s - self._seen_s > GONE_S or now_s - self._asked_s > IDLE_S)


class ArmView(View):
    """Shows the arm of a session, and has it moved by the page that drives.

    Motions are planned before they begin.  Each has a turn, and begins only while that is the newest: a newer motion, a cancel, a
    release, a stop or another driver begins another turn.

    Args:
        known, session: the arm.
        folder: of the URDF, for meshes beside it, where the description does not know it.

    Attributes:
        turn: the newest.
    """

    def __init__(self, known: Equipment, session: Session, folder: str | Path = ""):
        super().__init__(known, folder)
        self.arm, self.session = ScriptedArm(known, session, drives=True), session
        self.wheel, self.tours = Wheel(), Tours(self.arm, session, self.channel, self.say)
        self._lock, self._turns, self.turn = threading.RLock(), itertools.count(1), 0
        self._over = threading.Event()
        self._looked_s = -math.inf
        self._hand: HandGuide | None = None
        self._recorder: subprocess.Popen[str] | None = None
        port = session.call("get", part="hardware", names=["port"])[0]
        self._control = Path(port or "none").with_name("control")
        self._truth: Truth | None = None
        if self._control.is_socket():
            threading.Thread(target=self._ask_truth, name="truth", daemon=True).start()
        session.on_words = self._hear
        if session.simulated:  # time passes, and the arm is looked at, in the script's own thread
            session.listeners.append(self._on_states)

    def run(self, over: Callable[[], bool] = lambda: False) -> None:
        """Look at the arm until ``over`` says that it is enough, or it is gone."""
        due_s = time.monotonic()
        try:
            while not (over() or self._over.is_set()):
                self.session.spin(max(due_s - time.monotonic(), 0.0))
                due_s = max(due_s + LOOK_S, time.monotonic())
                self.look()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the arm; nothing is told any more."""
        if self._over.is_set():
            return
        self._over.set()
        self.session.on_words = lambda _event: None
        if self._on_states in self.session.listeners:
            self.session.listeners.remove(self._on_states)
        self._let_go()
        with contextlib.suppress(PickerError):
            self._record(False)

    # -- what is told ----------------------------------------------------------------------------------------

    def _on_states(self, _rows: object) -> None:
        if time.monotonic() - self._looked_s >= LOOK_S:
            self.look()

    def look(self) -> None:
        """Tell pages what is new."""
        now_s, there, session = time.monotonic(), set(self.channel.readers), self.session
        self._looked_s = now_s
        with self._lock:
            if self.wheel.is_idle(there, now_s, bool(self.tours.name or self._hand)):
                self._let_go()
            self._follow_hand()
        if not there:
            return
        age_s = session.now_s - session.heard_s
        seen: dict[str, Seen] = {"state": (session.state, age_s), "reference": (session.desired, age_s), "truth": (None, 0.0)}
        if truth := self._truth:
            seen["truth"] = truth.q, max(now_s - truth.monotonic_s, 0.0)
        self.tell(session.now_s, (session.torque, age_s), seen)

    def _follow_hand(self) -> None:
        """Have the arm follow the hand that guides it, until it may not any more."""
        session, arm, hand = self.session, self.known.description, self._hand  # a stop may end it meanwhile
        if hand is None:
            return
        active = session.hardware.get("state") == "active" and session.drives
        why = session.refusal or ("" if active else session.hardware.get("message", "not heard"))
        state, desired = session.state, session.desired
        if why or state is None or desired is None:
            self._end()
            self.say(f"the arm is no longer guided: {why}", "warn")
            return
        held = np.clip(desired, arm.lower, arm.upper)
        pose = hand.target(np.array(state), held, session.seen_s)
        session.jog({"pose": pose.tolist(), "by_hand": True})

    def _ask_truth(self) -> None:
        """Ask the board of a simulated arm where that really is, again and again, as long as pages look and it answers."""
        with contextlib.suppress(PickerError):
            while not self._over.wait(LOOK_S):
                if self.channel.readers:
                    self._truth = BoardControl(self._control).truth()
        self._truth = None

    @property
    def payload(self) -> float:
        return self.session.payload_kg

    def status(self) -> Mapping[str, Any]:
        session = self.session
        entries = {one["name"]: one["values"] for one in session.call("diagnostics")}
        limits = session.call("get", part="trajectory_controller", names=list(LIMITS))
        return {
            **{name: fact for name, fact in session.facts().items() if name not in ("joints", "tool", "tip_m")},
            **({"provenance": "simulated, true"} if session.simulated else {}),
            **{name: session.hardware.get(name, "") for name in OUTPUTS},
            "limits": dict(zip(LIMITS, limits)),
            "scene": session.call("surroundings")["scene"] or [],
            "parts": {name: entries[name] for name in PARTS if name in entries},
            "driver": self.wheel.driver,
            "guided": self._hand is not None if session.hardware.get("provenance") == "measured" else None,
            "records": self._recorder is not None,
        }

    def _hear(self, event: Entry) -> None:
        if event.message:
            about = {name: event.values.get(name, "") for name in ("outcome", "joint", "goal")}
            self.say(event.message, LEVELS[event.level], **about)

    def listed_tours(self) -> Mapping[str, Any]:
        return self.tours.listed()

    # -- what is asked ---------------------------------------------------------------------------------------

    def check(self, asked: Request) -> Mapping[str, Any]:
        try:
            plan = self.arm.planned(self._motion(asked))
        except (InputError, LimitError, InfeasibleError) as error:
            return {"possible": False, "q": None, **_refusal(error)}
        q = plan.motion.q
        way = self.known.model().forward_kinematics(q[np.linspace(0, len(q) - 1, SAMPLES).astype(int)])
        return {
            "possible": plan.possible,
            "q": rounded(plan.target),
            "duration_s": round(plan.duration, 2),
            "slowed": round(plan.slowed, 2),
            "margins": {name: round(value, 3) for name, value in plan.margins.items()},
            "way": [rounded(tip) for tip in way],
            **({} if plan.refusal is None else _refusal(plan.refusal)),
        }

    @property
    def epoch(self) -> int:
        return self.session.epoch_heard

    def do(self, asked: Request, page: str, seen: str | None = None) -> Mapping[str, Any]:
        what, fields = asked
        if what == "leave":
            self._leave(page)
            return {}
        if what == "cancel":
            with self._lock:
                self._end()
                self.session.call("cancel")
            return {"said": "decelerating to a hold"}
        if what == "record":  # whoever watches may
            self.say(said := self._record(fields["on"]))
            return {"said": said}
        if what == "play":
            raise InputError("this is not a recording", "play")
        if what == "jog" and not any(map(_moves, fields.values())):
            with self._lock:
                if self.wheel.driver == page and not self.tours.name:
                    self._end()
            return {}
        epoch, seen_s = _seen(self.seen() if seen is None else seen)
        if epoch != self.epoch:
            raise GoalRefusedError(OUTDATED, "epoch")
        if what == "jog":
            require_fresh(time.monotonic() - seen_s)
        turn = self._take(page, what, fields.get("over", False))  # a refusal is that page's alone
        try:
            with self.session.asking(epoch):
                return self._done(asked, page, turn)
        except PickerError as error:
            if self.turn != turn and what == "jog":
                return {}
            if error.subject != "page":
                self.say(str(error), "error", joint=error.subject or "", outcome=EventKind.REFUSED.outcome)
            raise

    def _done(self, asked: Request, page: str, turn: int) -> Mapping[str, Any]:
        what, fields = asked
        if what in ("reset", "enable"):
            self._require(turn)
            self.say(said := self.session.reset() if what == "reset" else self._enable(**fields))
            return {"said": said}
        if what in SETTINGS:
            field, part, name, unit = SETTINGS[what]
            self.session.set(part, {name: fields[field]})
            self.say(f"{what}: {fields[field]}{unit}")
            return {}
        hardware = self.session.hardware
        ready = hardware.get("state") == "active"
        if what == "drive" and not ready:
            return {}  # so that it can reset and enable
        if self.tours.name and what != "drive":
            raise PickerError(f"{self.tours.name} is under way: end it first", "tour")
        if not ready:
            raise GoalRefusedError(f"refused: hardware: {hardware['message']}", "hardware")
        try:
            self.session.take_arm()
        except PickerError:
            self._leave(page)
            raise
        with self._lock:
            if not self.wheel.driver:  # it let go meanwhile
                self.session.leave()
            if what == "drive":
                return {}
            self._require(turn)
            if what == "guide":
                hand = HandGuide(self.known.description.position_units, hardware.get("provenance"))
                self.session.jog({})
                self._hand = hand
                self.say("push the arm: it stays where you leave it")
                return {}
            if self._hand is not None:
                self._hand = None
                self.session.jog({})
            if what == "jog":
                self.session.jog({name: value for name, value in fields.items() if value is not None})
                return {}
            if what in TOURS:
                self.tours.name = what
        if what in TOURS:
            return self.tours.begin(asked, lambda: self.turn == turn)
        if not self.session.wait_at_most(BEGINS_S, lambda: self.session.controller.get("phase") in ("holding", "executing")):
            controller = self.session.controller
            raise GoalRefusedError(f"refused: controller: {controller['message']}", "controller")
        if what == "grip":
            goal = GoalData("grip", {"position": self.known.grips()[0 if fields["open"] else 1]})
        else:
            goal = self.arm.goal(self._motion(asked))
        with self._lock:
            self._require(turn)
            return {"goal": self.session.submit(goal, as_driver=True)}

    def _motion(self, asked: Request) -> Asked:
        """The motion that is asked for."""
        what, fields = asked
        if what == "tip":
            return Asked(tip=fields["at"], pitch=fields["pitch"], straight=fields["straight"])
        if what == "joints":
            return Asked(joints=fields["to"])
        return Asked(q=self.known.home if what == "home" else self.known.rest)

    def _enable(self, sure: bool, accept: bool) -> str:
        if accept:
            self.say(self.session.accept_board())
        if not sure and self.session.hardware.get("outputs") != "running":
            raise InputError("enable: say that the arm stands at its rest pose, and that hands are away", "enable")
        return self.session.enable(sure)

    def _record(self, on: bool) -> str:
        """Begin a recording by ``picker record``, or end it; returns what it says.

        Raises:
            InputError: there is one already, or none, or the arm is a script's own.
        """
        process, session = self._recorder, self.session
        refuse_if(on == (process is not None), f"{'already' if on else 'nothing is'} being recorded", "record")
        if process is None:
            if not isinstance(session, RemoteSession):
                raise InputError("a script records its arm itself: with arm.record()", "record")
            where = ["--namespace", session.namespace] if session.namespace else []
            command, pipe = [sys.executable, "-m", "picker_dynamics", "record", "--duration", LONGEST_S, *where], subprocess.PIPE
            env = os.environ | lifeline.children()
            self._recorder = subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=env)
            return f"recording, at most {LONGEST_S} s"
        self._recorder = None
        process.send_signal(signal.SIGINT)
        return process.communicate()[0].strip().rpartition("\n")[2].partition(": /")[0]

    def stop(self) -> str:
        self._end()  # waits for no request that is under way
        return self.session.stop()

    # -- turns -----------------------------------------------------------------------------------------------

    def _take(self, page: str, what: str, over: bool) -> int:
        """Have a page drive; returns the turn of its request, for a motion a new one."""
        with self._lock:
            if self._over.is_set():
                raise LinkError("this view has ended")
            if self.wheel.take(page, time.monotonic(), over=over):
                self._end()
            elif what in MOTIONS and not self.tours.name:
                self.turn = next(self._turns)
            return self.turn

    def _require(self, turn: int) -> None:
        if self.turn != turn:
            raise GoalRefusedError("ended before it began", "page")

    def _end(self) -> None:
        """End the turn: no motion or tour of it begins or goes on, no jog, and no hand guides."""
        self.turn, self._hand = next(self._turns), None
        self.session.jog({})

    def _leave(self, page: str) -> None:
        with self._lock:
            if self.wheel.driver == page:
                self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            self.wheel.driver = ""
            self._end()
            self.session.leave()


def _seen(text: str) -> tuple[int, float]:
    """Epoch and time [s] in what a page has seen; raises an InputError where it does not say."""
    try:
        epoch, time_s = text.split()
        return int(epoch), float(time_s)
    except ValueError:
        raise InputError("the page does not say what it has seen of the arm: reload it", "page") from None


def _refusal(error: PickerError) -> dict[str, Any]:
    """Refusal as JSON: why, in the validator's words, and which joint it is about."""
    return {"why": str(error), "subject": error.subject, "time_s": getattr(error, "time_s", None)}


def _moves(velocity: Any) -> bool:
    """Whether a field of a jog is a velocity of something, and not zero."""
    return not isinstance(velocity, str) and any(velocity.values() if isinstance(velocity, dict) else velocity or ())
