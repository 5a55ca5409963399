"""The running arm as what a view shows and drives, by the session that the commands use."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import GoalRefusedError, InputError, LinkError, PickerError
from picker_dynamics.nodes.marker_shapes.shapes import quaternion_of
from picker_dynamics.robot.model import Array
from picker_dynamics.session.entry import Entry, number_in
from picker_dynamics.session.facts import facts
from picker_dynamics.sim.control_socket import BoardControl

from ..connected import arm_that_runs, surroundings
from ..equipment import Equipment
from . import asked as ask
from .base import View
from .client import ViewClient
from .jogging import JogKeeper
from .motions import Wanted
from .record import RecordProcess
from .told import Instant
from .tours import Outcome

IDLE_LOOKS = 6
"""Without a reader one look in so many counts."""

TRUTH_S, RETRY_S = 0.05, 2.0
"""How often the simulated arm is asked where it is, and looked for again [s]."""

SWITCH_S = 1e-3
"""How long a thread that computes may keep Python from those that look and drive [s]."""

LEVELS = ("ok", "warn", "error", "warn")

TOLD = ("stop_latched", "reset_needed", "outputs", "commanded", "settling")
"""Fields of hardware/status that a page wants to know."""

LOOP = ("period_ms", "jitter_p99_ms", "ahead_ms")
"""Figures of the commands, as the arm publishes them."""

SETTINGS = {
    "payload": ("dynamics", "payload.mass"),
    "compensation": ("dynamics", "compensation"),
    "speed": ("trajectory_controller", "speed_scaling"),
}
"""Setting -> node and parameter."""


class GraphView(View):
    """Shows the arm of a running graph, and asks the graph for what a page that drives asks.

    Args:
        client: of the arm; it looks while ``run`` does.
        urdf: file of the arm, for meshes that lie beside it; empty: the graph's text is all there is.
    """

    def __init__(self, client: ViewClient, known: Equipment, urdf: str = ""):
        self._around = client.call("surroundings")
        super().__init__(known, surroundings(known, self._around), Path(urdf).resolve().parent if urdf else "")
        self.client, self.truth, self._keeper = client, Truth(client), JogKeeper(known.description)
        self._looks, self._over = 0, threading.Event()
        self._recorder = RecordProcess(client.namespace, self.say)
        client.on_words = self.hear
        client.on_beat = lambda: self._keeper.carry_on(client, time.monotonic())

    def run(self, over: Callable[[], bool]) -> None:
        """Look at the graph until ``over`` says that it is enough."""
        sys.setswitchinterval(SWITCH_S)
        self.truth.start()
        self.client.keep_arm(lambda: over() or self._over.is_set())
        try:
            while not (over() or self._over.is_set()):
                self.client.look()
                self.look()
        finally:
            self._over.set()
            self.changed_hands(False)
            self.truth.over = True
            with contextlib.suppress(PickerError):
                self._recorder.close()

    def close(self) -> None:
        self._over.set()

    # -- what is told ----------------------------------------------------------------------------------------

    def look(self) -> None:
        """Tell pages what is new; called after each look at the graph."""
        now_s, there = time.monotonic(), self.channel.there
        if not self.wheel.look(there, now_s, bool(self.tours.name)) and not self.client.leaving:
            self.wheel.give_back()
        self.truth.wanted, self._looks = bool(there), self._looks + 1
        if not there and self._looks % IDLE_LOOKS:
            return
        self.hold_clear()
        seen = {name: (one.values, now_s - one.time_s) for name, one in self.client.seen.items()}
        self.tell(Instant(**seen, truth=self.truth.newest(now_s)), now_s, now_s)

    def changed_hands(self, driven: bool) -> None:
        super().changed_hands(driven)
        if not driven:
            self.client.leave()

    def status(self) -> Mapping[str, Any]:
        client, told = self.client, self.client.told
        if told is None:
            return {"known": False}
        names = self.known.description.joint_names
        celsius = [told.number("hardware: temperature", f"celsius.{name}") for name in names]
        return {
            "arm": client.arm_name,
            **(found := facts(client.hardware, client.controller, told)),
            **{name: client.hardware.get(name, "") for name in TOLD},
            "known": True,
            "measured": found["provenance"] == "measured",
            "celsius": celsius,
            "celsius_limit": told.number("hardware: temperature", "limit_celsius"),
            "celsius_are": told.value("hardware: temperature", "provenance"),
            "simulated": self.truth.there,
            "limits": client.limits,
            "latency_ms": told.number("hardware: link", "round_trip_p99_ms"),
            "loop": {name: told.number("hardware: timing", name) for name in LOOP},
            "scene": [_drawn(shape) for shape in client.around.get("scene") or ()],
        }

    def hear(self, event: Entry) -> None:
        """Words of the controller, for all pages."""
        about = {name: event.values.get(name, "") for name in ("outcome", "joint", "goal")}
        if about["goal"]:
            seconds = number_in(event.values.get("duration_s")) or 0.0
            self.tours.hear(about["goal"], Outcome(about["outcome"], event.message, about["joint"], seconds))
        if event.message:
            self.say(event.message, LEVELS[event.level], **about)

    def hold_clear(self) -> None:
        """Check motions against what the controller keeps them clear of, where that is another scene."""
        if (around := self.client.around) and around != self._around:
            self._around = around
            self.motions.hold_clear(surroundings(self.motions.known, around))

    # -- what is asked -----------------------------------------------------------------------------------------

    @property
    def payload(self) -> float:
        return 0.0 if self.client.told is None else self.client.told.payload_kg

    @property
    def tip_speed(self) -> float | None:
        return self.client.limits.get("tip_speed_limit")

    @property
    def ready(self) -> bool:
        return self.client.hardware.get("state") == "active"

    @property
    def phase(self) -> str:
        return str(self.client.controller.get("phase", ""))

    @property
    def writes(self) -> str:
        return self._recorder.path

    def held(self) -> Array:
        held = self.client.seen.get("reference") or self.client.seen.get("state")
        if held is None:
            raise LinkError("nobody says where the arm is")
        return np.array(held.values)

    def take_arm(self) -> None:
        if self._over.is_set():
            raise LinkError("this view has ended")
        self.client.take_arm()

    def begin(self, wanted: Wanted, stands: Callable[[], None] = lambda: None) -> str:
        hardware, controller, client = self.client.hardware, self.client.controller, self.client
        if hardware.get("state") != "active":
            raise GoalRefusedError(f"refused: hardware: {hardware.get('message', 'not heard')}", subject="hardware")
        if controller.get("phase") not in ("holding", "executing"):
            raise GoalRefusedError(f"refused: controller: {controller.get('message', 'not heard')}", subject="controller")
        if wanted.gripper is not None:
            message = client.gripper_message(wanted.gripper, wanted.target[wanted.gripper])
        elif wanted.path is not None:
            message = client.message_along(wanted.path)
        else:
            message = client.message([wanted.duration_s], [wanted.target])
        with self._motions_asked.lock:  # a cancel comes before this, and ends it, or behind it
            stands()
            return str(client.begin_motion(message))

    def jog(self, asked: ask.Jog | None) -> None:
        now_s = time.monotonic()
        if asked is None:
            self._keeper.let_go()
            self._keeper.carry_on(self.client, now_s)
        else:
            self._keeper.take(asked, self.client, now_s)

    def cancel(self) -> None:
        self._keeper.let_go()
        self.client.call("cancel")

    def record(self, on: bool) -> str:
        return self._recorder.begin() if on else self._recorder.end()

    def stop(self) -> str:
        self.lapse()
        self._keeper.let_go()
        return self.client.stop()

    def serve(self, asked: ask.Plain) -> str:
        client = self.client
        if asked.what == "reset":
            return client.reset()
        if not asked.sure and client.hardware.get("outputs") != "running":
            raise InputError("enable: say that the arm stands at its rest pose, and that hands are away", subject="enable")
        return client.enable(asked.sure)

    def set(self, asked: ask.Setting) -> None:
        part, name = SETTINGS[asked.name]
        value = float(asked.value) if asked.name != "compensation" else asked.value
        self.client.set(part, {name: value})
        self.client.ask_again()


def _drawn(shape: Mapping[str, Any]) -> dict[str, Any]:
    """A shape of the scene as pages draw it: edges [m], place (3,) [m] and quaternion (x, y, z, w) in the root frame."""
    size = shape["size"]
    edges = size if shape["kind"] == "box" else (2.0 * size[0], 2.0 * size[0], size[1] if len(size) > 1 else 2.0 * size[0])
    turn = quaternion_of(np.array(shape["rotation"]))
    return {"name": shape["name"], "kind": shape["kind"], "edges": tuple(edges), "place": tuple(shape["at"]), "turn": tuple(turn)}


class Truth(threading.Thread):
    """Asks a simulated arm where it really is, while somebody wants to know.

    Attributes:
        there: whether it is a simulated one.
    """

    def __init__(self, client: ViewClient):
        super().__init__(name="truth", daemon=True)
        port = client.call("get", part="hardware", names=["port"])[0]
        self.path = Path(port).with_name("control") if port else None
        self.there = self.path is not None and self.path.is_socket()
        self.wanted = self.over = False
        self._newest: tuple[Array, float] | None = None

    def newest(self, now_s: float) -> tuple[Array, float] | None:
        """Newest pose of the simulated arm, and how old that is [s]."""
        found = self._newest
        return None if found is None or now_s - found[1] > RETRY_S else (found[0], max(now_s - found[1], 0.0))

    def run(self) -> None:
        while self.path is not None and not self.over:
            try:
                with BoardControl(self.path, timeout_s=1.0) as board:
                    while not self.over:
                        if self.wanted:
                            truth = board.truth()
                            self.there, self._newest = True, (truth.q, truth.monotonic_s)
                        time.sleep(TRUTH_S)
            except (PickerError, OSError, ValueError, KeyError):
                self.there = False
                time.sleep(RETRY_S)


def connect(namespace: str, arm: str = "", urdf: str = "", servos: str = "") -> GraphView:
    """A view of the running graph's arm.

    Raises:
        LinkError: nobody answers.
        ConfigurationError: another arm runs than the one that is named.
    """
    client = ViewClient(namespace)
    try:
        return GraphView(client, arm_that_runs(client, arm, urdf, servos), urdf)
    except BaseException:
        client.close()
        raise


def watch(known: Equipment, namespace: str) -> GraphView:
    """A view that looks at the graph in a thread of its own, until it is closed."""
    view = GraphView(ViewClient(namespace.strip("/")), known)

    def look() -> None:
        with view.client:
            with contextlib.suppress(LinkError):  # the arm's process has ended
                view.run(lambda: False)

    threading.Thread(target=look, name="view", daemon=True).start()
    return view
