"""Operator of the soak: moves the arm, injects faults, brings it back, and notes how long things took."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from benchmarks import ros_operator
from benchmarks.ros_operator import values_of
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.control_socket import BoardControl

PATIENCE_S = 30.0
REACH = np.array([0.6, 0.25, 0.3, 0.4, 0.5])
"""How far goals go from the home pose [rad]."""

AGAIN_S = 0.3
LOOK_S, CALM_S = 0.005, 0.005
STOPS_IN_A_ROW = 5
FAULTS = ("none", "stop", "drop", "corrupt", "reset", "unplug", "supply", "power")


class SoakError(Exception):
    """The arm did not come back; the soak cannot go on."""


@dataclass
class Findings:
    """What was done, and how long it took [s]."""

    rounds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAULTS, 0))
    goals: dict[str, int] = field(default_factory=dict)
    stop_s: list[float] = field(default_factory=list)
    calm_stop_s: list[float] = field(default_factory=list)
    recovery_s: list[float] = field(default_factory=list)


class Machine:
    """How late this machine lets somebody wake up who only sleeps; a context manager."""

    def __init__(self):
        self.late: list[tuple[float, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        due_s = time.monotonic() + LOOK_S
        while not self._over.wait(max(0.0, due_s - time.monotonic())):
            now_s = time.monotonic()
            self.late.append((now_s, now_s - due_s))
            due_s = now_s + LOOK_S

    def calm(self, start_s: float, end_s: float) -> bool:
        """Whether it was never later than CALM_S in that time; to be asked a little after."""
        return all(late_s < CALM_S for at_s, late_s in self.late if start_s - LOOK_S < at_s < end_s + 5 * LOOK_S)

    def __enter__(self) -> Machine:
        self._thread.start()
        return self

    def __exit__(self, *_exception) -> None:
        self._over.set()
        self._thread.join()


class Operator(ros_operator.Operator):
    """A client that plays havoc with the graph it runs on.

    Args:
        arm, servos: of the graph.
        board: its simulation's side door.
        dead: names a process that has ended, or None.
        machine: tells whether what was slow was the machine.
        seed: of everything random.
    """

    def __init__(self, arm: ArmDescription, servos: ServoMap, board: BoardControl, dead, machine: Machine, seed: int):
        super().__init__(arm.joint_names, alive=dead)
        self.arm, self.servos, self.board, self.machine = arm, servos, board, machine
        self.random = np.random.default_rng(seed)
        self.findings = Findings()
        self.figures: dict[str, dict[str, str]] = {}
        self.idle_since_s = 0.0
        self._deck: list[str] = []
        self._deeds = {
            "none": self.do_nothing,
            "stop": self.stop,
            "drop": self.drop_bytes,
            "corrupt": self.damage_bytes,
            "reset": self.reset_board,
            "power": self.cut_power,
            "unplug": self.unplug,
            "supply": self.dip_supply,
        }
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for entry in message.status:
            self.figures[entry.name] = values_of(entry)

    def on_hardware(self, message: DiagnosticStatus) -> None:
        was = self.hardware.get("state")
        super().on_hardware(message)
        if self.hardware["state"] == "idle" and was != "idle":
            self.idle_since_s = time.monotonic()

    def until(self, condition, what: str, timeout_s: float = PATIENCE_S):
        """Spin until ``condition()``; SoakError where it takes too long or a process has ended."""
        try:
            return super().until(condition, what, timeout_s)
        except RuntimeError as error:
            raise SoakError(str(error)) from error

    def ask(self, service: str) -> bool:
        """Call a service; whether it did what was asked."""
        answer = self.trigger(service) if service == "reset" else self.switch(service)
        return answer.success

    # -- moving --------------------------------------------------------------------------------------------

    def bring_back(self) -> None:
        """Bring the arm back from whatever was done to it: connected, reset, enabled, ready for a goal."""
        self.until(lambda: self.hardware and self.controller, "the graph")
        asked_s = -np.inf

        def brought_back() -> bool:
            nonlocal asked_s
            state = self.hardware["state"]
            if state == "idle" and time.monotonic() - asked_s > AGAIN_S:  # asked before, and something came in between
                asked_s = time.monotonic()
                self.ask("reset")
                self.ask("enable")
            return state == "active" and self.controller.get("phase") == "holding"

        self.until(brought_back, "an arm that holds")

    def send_goal(self) -> float:
        """Send a random goal, and return how long it may take [s]; refused ones are as good as others."""
        home = self.servos.home
        target = np.clip(home + REACH * self.random.uniform(-1.0, 1.0, home.size), self.arm.lower, self.arm.upper)
        duration = float(self.random.uniform(0.4, 2.5))
        answer = self.outcomes[self.begin(target, duration)]
        return float(answer["duration_s"]) if answer["outcome"] == "accepted" else 0.0

    def count_goals(self) -> None:
        """Count how those goals ended of which we know."""
        for name in [name for name, answer in self.outcomes.items() if answer["outcome"] != "accepted"]:
            outcome = self.outcomes.pop(name)["outcome"]
            self.findings.goals[outcome] = self.findings.goals.get(outcome, 0) + 1

    # -- faults --------------------------------------------------------------------------------------------

    def next_fault(self) -> str:
        """All of them in turn, in an order that is shuffled anew each time."""
        if not self._deck:
            self._deck = self.random.permutation(FAULTS).tolist()
        return self._deck.pop()

    def play(self, fault: str) -> None:
        """One round: a motion, a fault in the midst of it, and back to holding."""
        self.bring_back()
        duration = self.send_goal()
        self.spin(float(self.random.uniform(0.0, min(duration, 2.0))))
        self.findings.rounds[fault] += 1
        self._deeds[fault]()
        self.bring_back()
        self.count_goals()

    def do_nothing(self) -> None:
        self.spin(float(self.random.uniform(0.2, 1.0)))

    def drop_bytes(self) -> None:
        self.disturb(drop=float(self.random.uniform(0.0002, 0.004)))

    def damage_bytes(self) -> None:
        self.disturb(corrupt=float(self.random.uniform(0.0002, 0.004)))

    def disturb(self, **wire: float) -> None:
        """These shares of all bytes are lost or damaged for a while."""
        self.board.command("wire", **wire)
        self.spin(float(self.random.uniform(0.5, 1.5)))
        self.board.command("wire")

    def reset_board(self) -> None:
        """Its output stage goes on."""
        self.board.command("reset", keep_outputs=True)
        self.until_left()

    def cut_power(self) -> None:
        """Its outputs go too: the arm falls, and somebody puts it at its rest pose."""
        self.board.command("reset", keep_outputs=False)
        self.until_left()

    def unplug(self) -> None:
        """Pull the cable, and put it back; how long from then until the arm is ready to be told."""
        plugs = len(self.board.command("ledger")["plug_times_s"])
        self.board.command("unplug", seconds=float(self.random.uniform(0.1, 3.0)))
        self.until_left()
        self.until(lambda: len(self.board.command("ledger")["plug_times_s"]) > plugs, "the cable")
        self.until(lambda: self.hardware["state"] == "idle", "the way back")
        self.findings.recovery_s.append(self.idle_since_s - self.board.command("ledger")["plug_times_s"][-1])

    def dip_supply(self) -> None:
        self.board.command("supply", volt=3.9)
        self.until_left()
        self.spin(0.1)
        self.board.command("supply", volt=6.0)
        self.spin(0.1)

    def until_left(self) -> None:
        self.until(lambda: self.hardware["state"] != "active", "notice")

    def stop(self) -> None:
        """Once in mid-motion, and more often while it holds; how long from the request until its frame is at the board."""
        for _ in range(STOPS_IN_A_ROW):
            before = len(self.board.command("ledger")["stop_times_s"])
            asked_s = time.monotonic()
            self.ask("emergency_stop")
            self.until(lambda before=before: len(self.board.command("ledger")["stop_times_s"]) > before, "the stop frame")
            arrived_s = self.board.command("ledger")["stop_times_s"][before]
            self.findings.stop_s.append(arrived_s - asked_s)
            self.bring_back()
            self.spin(float(self.random.uniform(0.05, 0.1)))
            if self.machine.calm(asked_s, arrived_s):
                self.findings.calm_stop_s.append(arrived_s - asked_s)

    # -- the end -------------------------------------------------------------------------------------------

    def last_figures(self) -> dict[str, dict[str, str]]:
        """Stop, and wait until nothing changes any more: the figures of all nodes, which then belong together."""
        self.board.command("wire")
        self.until(lambda: self.hardware.get("state") in ("idle", "active"), "a board")
        self.ask("emergency_stop")
        self.spin(0.5)
        name = "hardware: queue"
        before = None
        deadline = time.monotonic() + PATIENCE_S
        while before != (self.figures.get(name) or {}).get("setpoints_sent") or before is None:
            if time.monotonic() > deadline:
                raise SoakError("the figures do not come to rest")
            before = (self.figures.get(name) or {}).get("setpoints_sent")
            self.spin(2.5)
        return self.figures
