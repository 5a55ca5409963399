"""Report of a running arm: the condition of each of its parts, with figures, and what became of goals, as plain data (REP 107).

An entry is named after its part: ``hardware: supply``.  Levels are those of diagnostic_msgs/DiagnosticStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from picker_dynamics.board.command_timing import CommandTiming
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Routine, State
from picker_dynamics.bus.bus_session import BusSession
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.laws import ServoLaw
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS, HARDWARE
from picker_dynamics.dynamics import cross_check
from picker_dynamics.execution.events import Event, EventKind, Severity

from .entry import ERROR, OK, STALE, WARN, Entry, about_error, entry
from .running_arm import RunningArm

PERIOD_S = 1.0
"""How often all entries are made anew [s]."""

SOON_S = 0.8
"""So much sooner where a part's state is another one [s]."""

LEVELS = {Severity.OK: OK, Severity.WARN: WARN, Severity.ERROR: ERROR}

TELEMETRY = "boot_id", "faults", "queue_depth", "accepted", "rejected", "underruns", "bad_frames"

Part = tuple[str, int, object, dict[str, Any]]
"""Name, level, message and figures of a part."""


class Report:
    """Report of ``arm``; made anew once a second, or where a part's state is another one.

    Attributes:
        entries: newest of each part, by name.
        version: counts how often they were made.
        last: the newest event.
        facts: of the last cycle: ``hardware_facts`` and what else is news where it changes.
        listeners: each is called with what is new, and its content as plain data: ``event``, ``hardware``, ``controller``
            (phase and holders), ``payload`` (mass [kg] and centre [m]).
        description_problem: of the description that others publish; None: nobody does.
    """

    def __init__(self, arm: RunningArm):
        self._arm, self._outputs, self._name = arm, arm.outputs, arm.description.name
        self._port = "simulated" if arm.connection is None else arm.settings[HARDWARE]["port"]
        self._timing, self._processed, self._due_s = CommandTiming(), 0, -float("inf")
        self._trouble: tuple[int, int] | None = None
        self.facts, self._stale = dict[str, Any](), True
        self.description_problem: str | None = None
        self.entries: dict[str, Entry] = {}
        self.version = 0
        self.last = Event(EventKind.NOTICE, "waiting for the hardware", arm.controller.execution.phase)
        self.listeners: list[Callable[[str, Any], None]] = []
        arm.session.subscribe(self.hear)

    def hear(self, cycle: Cycle) -> None:
        """Take what happened in a cycle, and hand what is new to all listeners."""
        if cycle.command is not None:
            self._processed += 1
            self._timing.note(self._arm.clock.now(), cycle.command.time_s)
        self.last = cycle.tick.events[-1] if cycle.tick.events else self.last
        controller = self._arm.controller
        execution, law, before = controller.execution, controller.law, self.facts
        self.facts = {
            "hardware": self.hardware_facts(),
            "controller": (execution.phase, tuple(execution.lease.holders)),
            "payload": [controller.payload.mass, *controller.payload.com],
            "others": (self.last.text, controller.problem, law.compensator.mode if isinstance(law, ServoLaw) else ""),
        }
        news = [what for what, fact in self.facts.items() if fact != before.get(what)]
        self._stale = self._stale or bool(news)
        if cycle.now_s >= self._due_s - (SOON_S if self._stale else 0.0):
            self._due_s, self._stale = cycle.now_s + PERIOD_S, False
            self.refresh()
        self.publish_events(cycle.tick.events)
        for what in news if self.listeners else ():
            if what == "payload":
                self._say(what, self.facts[what])
            elif what != "others":
                self._say(what, asdict(self.hardware_status() if what == "hardware" else self.controller_status()))

    def publish_events(self, events: Iterable[Event]) -> None:
        """Hand events to all listeners."""
        for event in events if self.listeners else ():
            self._say("event", asdict(self.event(event)))

    def _say(self, what: str, content: object) -> None:
        for hear in self.listeners:
            hear(what, content)

    def refresh(self) -> None:
        """Make all entries anew."""
        self.entries = {
            name: entry(level, name, message, self._port if name.startswith(HARDWARE) else self._name, **figures)
            for name, level, message, figures in self._parts()
        }
        self.version += 1

    # -- events and status -----------------------------------------------------------------------------------

    def event(self, event: Event, **more: Any) -> Entry:
        """What happened, as ``arm_controller/status`` has it."""
        names = self._arm.description.joint_names
        facts: dict[str, Any] = {
            "phase": event.phase.value,
            "goal": event.identifier,
            "outcome": event.kind.outcome,
            "lease": event.lease,
            "joints": ", ".join(names),
            **more,
        }
        for number, holder in enumerate(event.holders):
            about = {"kind": holder.kind.value, "name": holder.name, "goal": holder.identifier}
            facts |= {f"holder.{number}.{field}": value for field, value in about.items()}
        if event.motion is not None:
            facts["duration_s"] = event.motion.duration_s
            if (approach := event.motion.approach) is not None:
                lowered = ", ".join(names[j] for j in approach.joints)
                facts |= {"approach": lowered, "approach_s": approach.duration_s, "side_off_mm": 1e3 * approach.off_m}
        return entry(LEVELS[event.kind.severity], CONTROLLER, event.text, self._name, **facts, **about_error(event.error))

    def controller_status(self) -> Entry:
        """The newest event, with phase and holders as they are now."""
        execution = self._arm.controller.execution
        return self.event(replace(self.last, phase=execution.phase, holders=execution.lease.holders))

    @property
    def level(self) -> int:
        """Level of the hardware."""
        outputs = self._outputs
        if outputs.state is State.OFFLINE:
            return STALE
        wrong = outputs.problem and not isinstance(outputs.problem, Routine)
        if outputs.stop_latched or outputs.fault_latched or (wrong and outputs.state is State.IDLE):
            return ERROR
        return WARN if outputs.state is not State.ACTIVE or outputs.problem else OK

    def hardware_facts(self) -> dict[str, Any]:
        """State of the outputs now, and what there is to say about them."""
        outputs = self._outputs
        return {
            "state": outputs.state.value,
            **{
                name: getattr(outputs, name) for name in ("epoch", "stop_latched", "outputs", "commanded", "confirmed", "problem")
            },
            "reset_needed": outputs.stop_latched or bool(outputs.fault_latched),
            "accept_needed": bool(outputs.board_problem),
            "settling": self._arm.session.gate.settling,
            "request_epoch": self._arm.session.gate.epoch,
            "provenance": self._arm.provenance,
        }

    def hardware_status(self) -> Entry:
        """State of the outputs now, as ``hardware/status`` has it."""
        facts = self.hardware_facts()
        return entry(self.level, HARDWARE, facts["problem"] or facts["state"], self._port, **facts)

    # -- parts -----------------------------------------------------------------------------------------------

    def _parts(self) -> Iterator[Part]:
        arm, outputs, controller, last = self._arm, self._outputs, self._arm.controller, self.last
        execution, law, worst = controller.execution, controller.law, arm.cross_check_worst
        figures: dict[str, Any] = {"phase": execution.phase.value, "guard_stopped": execution.guard_stopped}
        yield CONTROLLER, LEVELS[last.kind.severity], last.text, figures
        late = execution.lateness
        yield f"{CONTROLLER}: loop", WARN if late.text else OK, late.text or "in time", {"late_ms": round(1e3 * late.worst_s, 1)}
        figures, level, message = {"cross_check_worst": worst, "processed": self._processed}, OK, "compensating"
        if isinstance(law, ServoLaw):
            figures["compensation"], clamped = law.compensator.mode, ", ".join(law.compensator.clamped)
            if clamped:
                level, message = WARN, f"set-point at the end of its pulse range: {clamped}"
            elif arm.servos is not None and arm.servos.assumptions:
                level, message = WARN, f"not measured, assumed: {arm.servos.assumptions}"
        if controller.problem:
            level, message = ERROR, controller.problem
        yield DYNAMICS, level, message, figures
        agree = {"worst": worst, "limit": cross_check.LIMIT}
        yield f"{DYNAMICS}: cross-check", OK, f"two models of {self._name} agree to {worst:.1e}", agree
        if isinstance(outputs, HardwareSession):
            yield from self._board(outputs)
        elif isinstance(outputs, BusSession):
            yield from self._bus(outputs)
        else:
            figures = {f"commands_{what}": getattr(outputs, what) for what in ("taken", "not_active", "saturated")}
            yield f"{HARDWARE}: drives", self.level, outputs.problem or outputs.state.value, figures
            yield _part("joint state", "", "measured", {"provenance": "measured"})
        if arm.connection is not None:
            right = "it has no publisher" if self.description_problem is None else "agrees with this arm"
            yield _part("robot description", self.description_problem or "", right, {}, ERROR)

    def _bus(self, session: BusSession) -> Iterator[Part]:
        """Parts of servos on a bus."""
        found, figures = session.measured, _commands(session.sender.counts)
        for what, values in (("volt", found.volts), ("celsius", found.celsius), ("lost", found.lost)):
            figures |= {f"{what}.{name}": one for name, one in zip(session.joint_names, values.tolist())}
        yield f"{HARDWARE}: bus", self.level, session.problem or session.state.value, figures
        timing = self._timing.take() or {}
        yield _part("timing", "", "as it should be" if timing else "no commands", timing)
        wrong = "not connected" if session.state is State.OFFLINE else ""
        yield _part("joint state", wrong, "measured", {"provenance": "measured"}, STALE)

    def _board(self, session: HardwareSession) -> Iterator[Part]:
        """Parts of a servo board."""
        link, telemetry, budget = session.link.statistics, session.link.telemetry, session.budget
        level, message, offline = self.level, session.problem or session.state.value, session.state is State.OFFLINE
        if level == OK and session.other_board:
            level, message = WARN, f"accepted: the board was flashed for {session.other_board}"
        yield f"{HARDWARE}: board", level, message, _commands(session.counts)
        figures = {key: one for key, one in vars(link).items() if not key.startswith("setpoints")}
        yield _part("link", "" if link.connected else session.problem or "not connected", "connected", figures, STALE)
        figures = {"setpoints_sent": link.setpoints_sent, "setpoints_not_sent": link.setpoints_not_sent}
        figures |= {f"refused_{reason.name.lower()}": count for reason, count in link.setpoints_refused.items()}
        wrong, level = "not connected", STALE
        if telemetry is not None:
            figures |= {key: getattr(telemetry, key) for key in TELEMETRY}
            now, level = (telemetry.underruns, telemetry.rejected), WARN
            worse = any(new > old for new, old in zip(now, self._trouble or now))
            said = f"{now[0]} times empty in motion, {now[1]} set-points refused ({telemetry.last_reason.name})"
            wrong, self._trouble = said if worse else "", now
        yield _part("queue", wrong, "as it should be", figures, level)
        timing, frame_ms, wrong = self._timing.take() or {}, 1e3 * session.servos.frame_s, ""
        if timing and timing["ahead_least_ms"] < frame_ms:
            wrong = f"commands came late ({timing['ahead_least_ms']:.1f} ms ahead, {frame_ms:g} needed): is the computer busy?"
        figures = {"delay_ms": round(1e3 * session.delay_s, 1), **timing}
        yield _part("timing", wrong, "as it should be" if timing else "no commands", figures)
        worst, estimated = budget.temperature(), {"provenance": "estimated"}
        figures = {f"celsius.{name}": round(float(one), 1) for name, one in zip(session.servos.joint_names, budget.celsius)}
        figures |= {"limit_celsius": budget.limit_c, **estimated}
        hot = ERROR if worst is not None and worst.too_hot else WARN
        yield _part("temperature", "" if worst is None else worst.text, "estimated, all cool", figures, hot)
        ampere, (peak_a, wrong) = round(float(budget.current_a.sum()), 2), budget.take_peak()
        wrong = wrong or ("" if offline else session.supply.problem)
        figures = {"ampere": ampere, "ampere_peak": peak_a, "measured_mv": 0 if telemetry is None else telemetry.supply_mv}
        yield _part("supply", wrong, f"{peak_a:.1f} A at most (estimated)", figures | estimated)
        known = session.held is not None and not offline
        wrong = "" if known else "the pose of the arm is unknown"
        figures = {"provenance": "modelled" if known else "none"}
        yield _part("joint state", wrong, "modelled from what is on the outputs", figures)


def _part(name: str, wrong: str, right: str, figures: dict[str, Any], level: int = WARN) -> Part:
    """Part of the hardware, at ``level`` where something is ``wrong``."""
    return f"{HARDWARE}: {name}", level if wrong else OK, wrong or right, figures


def _commands(counts: object) -> dict[str, Any]:
    return {f"commands_{key}": count for key, count in vars(counts).items()}


def row(cycle: Cycle) -> list[Any]:
    """What a cycle did: times [s], and vectors (n,) or None.

    Time, position, velocity and effort of the state; position of the reference; torque; time, velocity and acceleration of the
    reference; time and set-point of the command.
    """
    state, reference, command = cycle.state, cycle.tick.reference, cycle.command
    measured = (cycle.now_s, None, None, None) if state is None else (state.time_s, state.q, state.v, state.effort)
    desired = (None,) * 4 if reference is None else (reference.q, reference.time_s, reference.v, reference.a)
    sent = (None,) * 3 if command is None else (command.effort, command.time_s, command.setpoint)
    columns = (*measured, desired[0], sent[0], *desired[1:], *sent[1:])
    return [one.tolist() if isinstance(one, np.ndarray) else one for one in columns]
