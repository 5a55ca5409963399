"""Report of a running arm: the condition of each of its parts, with figures, and what became of goals, as plain data (REP 107).

An entry is named after its part: ``hardware: supply``.  Levels are those of diagnostic_msgs/DiagnosticStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from picker_dynamics.board.command_timing import CommandTiming
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Routine, State
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.laws import ServoLaw, TorqueLaw
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS, HARDWARE
from picker_dynamics.dynamics import cross_check
from picker_dynamics.execution.events import Event, EventKind, Severity

from .entry import ERROR, OK, STALE, WARN, Entry, entry
from .running_arm import RunningArm

PERIOD_S = 1.0
"""How often all entries are made anew [s]."""

SOON_S = 0.8
"""So much sooner, where a part's state is another one [s]."""

LEVELS = {Severity.OK: OK, Severity.WARN: WARN, Severity.ERROR: ERROR}

TELEMETRY = "boot_id", "faults", "queue_depth", "accepted", "rejected", "underruns", "bad_frames"

Part = tuple[int, object, dict[str, Any]]
"""Level, message and figures of a part."""


class Report:
    """Report of ``arm``; made anew once a second, or where a part's state is another one.

    Attributes:
        entries: newest of each part, by name.
        version: counts how often they were made.
        last: the newest event.
        listeners: each is called with what is new, and its content as plain data: ``event``, ``hardware``, ``controller``
            (phase and holders), ``payload_kg``.
        description_problem: of the description that others publish; None: nobody does.
    """

    def __init__(self, arm: RunningArm):
        self._arm, self._outputs, self._name = arm, arm.outputs, arm.description.name
        self._port = "simulated" if arm.connection is None else arm.settings[HARDWARE]["port"]
        self._timing, self._processed, self._due_s = CommandTiming(), 0, -float("inf")
        self._trouble: tuple[int, ...] | None = None
        self._facts: dict[str, object] = {}
        self._stale = True
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
        if cycle.tick.events:
            self.last = cycle.tick.events[-1]
        controller = self._arm.controller
        execution, law, payload_kg = controller.execution, controller.law, controller.payload.mass
        facts: dict[str, object] = {
            "hardware": self.hardware_facts(),
            "controller": (execution.phase, tuple(execution.lease.holders)),
            "payload_kg": payload_kg,
            "others": (self.last.text, controller.problem, law.compensator.mode if isinstance(law, ServoLaw) else ""),
        }
        news = [what for what in facts if facts[what] != self._facts.get(what)]
        self._facts, self._stale = facts, self._stale or bool(news)
        if cycle.now_s >= self._due_s - (SOON_S if self._stale else 0.0):
            self._due_s, self._stale = cycle.now_s + PERIOD_S, False
            self.refresh()
        if self.listeners:
            self.publish_events(cycle.tick.events)
            made: dict[str, Callable[[], object]] = {
                "hardware": self.hardware_status,
                "controller": self.controller_status,
                "payload_kg": lambda: payload_kg,
            }
            for what in set(news) & set(made):
                self._say(what, made[what]())

    def publish_events(self, events: Iterable[Event]) -> None:
        """Hand events to all listeners."""
        for event in events:
            self._say("event", self.event(event))

    def _say(self, what: str, content: object) -> None:
        plain = asdict(content) if isinstance(content, Entry) else content
        for hear in self.listeners:
            hear(what, plain)

    def refresh(self) -> None:
        """Make all entries anew."""
        parts = {CONTROLLER: self._controller(), DYNAMICS: self._dynamics()}
        worst = self._arm.cross_check_worst
        agree = f"two models of {self._name} agree to {worst:.1e}"
        parts[f"{DYNAMICS}: cross-check"] = OK, agree, {"worst": worst, "limit": cross_check.LIMIT}
        hardware = self._board(self._outputs) if isinstance(self._outputs, HardwareSession) else self._drives()
        parts |= {f"{HARDWARE}: {part}": found for part, found in hardware.items()}
        made_by = {part: self._port if part.startswith(HARDWARE) else self._name for part in parts}
        self.entries = {
            part: entry(level, part, message, made_by[part], **figures) for part, (level, message, figures) in parts.items()
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
        if (error := event.error) is not None:
            facts |= {"error": type(error).__name__, "joint": error.subject or "", "value": error.value, "limit": error.limit}
        return entry(LEVELS[event.kind.severity], CONTROLLER, event.text, self._name, **facts)

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
            "epoch": outputs.epoch,
            "stop_latched": outputs.stop_latched,
            "reset_needed": outputs.stop_latched or bool(outputs.fault_latched),
            "outputs": outputs.outputs,
            "commanded": outputs.commanded,
            "confirmed": outputs.confirmed,
            "settling": self._arm.session.gate.settling,
            "provenance": self._arm.provenance,
            "problem": outputs.problem,
        }

    def hardware_status(self) -> Entry:
        """State of the outputs now, as ``hardware/status`` has it."""
        facts = self.hardware_facts()
        return entry(self.level, HARDWARE, facts["problem"] or facts["state"], self._port, **facts)

    # -- parts -----------------------------------------------------------------------------------------------

    def _controller(self) -> Part:
        execution, last = self._arm.controller.execution, self.last
        goals = {f"goals_{what}": count for what, count in execution.counts.items()}
        samples = {f"stream_{what}": count for what, count in vars(execution.stream_counts).items()}
        figures = {"phase": execution.phase.value, "guard_stopped": execution.guard_stopped, **goals, **samples}
        return LEVELS[last.kind.severity], last.text, figures

    def _dynamics(self) -> Part:
        arm, law, following = self._arm, self._arm.controller.law, self._arm.following
        figures: dict[str, Any] = {"cross_check_worst": arm.cross_check_worst, "processed": self._processed}
        level, message = OK, "compensating"
        if isinstance(law, ServoLaw):
            figures["compensation"], clamped = law.compensator.mode, ", ".join(law.compensator.clamped)
            if clamped:
                level, message = WARN, f"set-point at the end of its pulse range: {clamped}"
            elif arm.servos is not None and arm.servos.unmeasured:
                level, message = WARN, f"not measured, assumed: {', '.join(arm.servos.unmeasured)}"
        elif isinstance(law, TorqueLaw):
            message = "following" if law.loop.following else "no reference: holding"
        if following is not None:
            figures |= following.facts()
            level, message = (WARN, following.problem) if following.problem else (level, message)
        if arm.controller.problem:
            level, message = ERROR, arm.controller.problem
        return level, message, figures

    def _drives(self) -> dict[str, Part]:
        """Parts of simulated joints that take efforts."""
        drives = self._outputs
        figures = {f"commands_{what}": getattr(drives, what) for what in ("taken", "not_active", "saturated")}
        return {
            "drives": (self.level, drives.problem or drives.state.value, figures),
            "joint state": (OK, "measured", {"provenance": "measured"}),
        }

    def _board(self, session: HardwareSession) -> dict[str, Part]:
        """Parts of a servo board."""
        link, telemetry, budget = session.link.statistics, session.link.telemetry, session.budget
        level, message = self.level, session.problem or session.state.value
        if level == OK and session.limits_differ:
            level, message = WARN, "the board was built with other pulse or speed limits than this servo map has"
        connected = (OK, "connected") if link.connected else (STALE, session.problem or "not connected")
        timing, frame_ms = self._timing.take(), 1e3 * session.servos.frame_s
        in_time: tuple[int, str] = OK, "no commands" if timing is None else "as it should be"
        if timing is not None and timing["ahead_least_ms"] < frame_ms:
            late = f"commands came late ({timing['ahead_least_ms']:.1f} ms ahead, {frame_ms:g} needed): is the computer busy?"
            in_time = WARN, late
        cool: tuple[int, str] = OK, "estimated, all cool"
        if (worst := budget.temperature()) is not None:
            cool = ERROR if worst.too_hot else WARN, worst.text
        celsius = {f"celsius.{name}": round(float(one), 1) for name, one in zip(session.servos.joint_names, budget.celsius)}
        ampere, (peak_a, complaint) = round(float(budget.current_a.sum()), 2), budget.take_peak()
        complaint = complaint or (session.supply.problem if session.state is not State.OFFLINE else "")
        supplied = (WARN, complaint) if complaint else (OK, f"{peak_a:.1f} A at most (estimated)")
        known = session.held is not None and session.state is not State.OFFLINE
        modelled = (OK, "modelled from what is on the outputs") if known else (WARN, "nobody knows where the arm is")
        wrong = self.description_problem
        described = "nobody publishes one" if wrong is None else wrong or "agrees with this arm"
        estimated, supply_mv = {"provenance": "estimated"}, 0 if telemetry is None else telemetry.supply_mv
        return {
            "board": (level, message, {f"commands_{key}": count for key, count in vars(session.counts).items()}),
            "link": (*connected, {key: value for key, value in vars(link).items() if not key.startswith("setpoints")}),
            "queue": self._queue(session),
            "timing": (*in_time, {"delay_ms": round(1e3 * session.delay_s, 1), **(timing or {})}),
            "temperature": (*cool, celsius | {"limit_celsius": budget.limit_c} | estimated),
            "supply": (*supplied, {"ampere": ampere, "ampere_peak": peak_a, "measured_mv": supply_mv} | estimated),
            "joint state": (*modelled, {"provenance": "modelled" if known else "none"}),
            "robot description": (ERROR if wrong else OK, described, {}),
        }

    def _queue(self, session: HardwareSession) -> Part:
        """Set-points on the board; what went wrong is a warning only when there is more of it than at the last look."""
        link, telemetry = session.link.statistics, session.link.telemetry
        figures: dict[str, Any] = {"setpoints_sent": link.setpoints_sent, "setpoints_not_sent": link.setpoints_not_sent}
        figures |= {f"refused_{reason.name.lower()}": count for reason, count in link.setpoints_refused.items()}
        if telemetry is None:
            return STALE, "not connected", figures
        now = telemetry.boot_id, telemetry.underruns, telemetry.rejected
        before, self._trouble = self._trouble or now, now
        figures |= {key: getattr(telemetry, key) for key in TELEMETRY}
        if before[0] != now[0] or before == now:
            return OK, "as it should be", figures
        underruns, rejected = ((new - old) & 0xFFFF for new, old in zip(now[1:], before[1:]))
        said = f"{underruns} times empty in motion, {rejected} set-points refused ({telemetry.last_reason.name})"
        return WARN, said, figures


def plain(*vectors: Any) -> list[Any]:
    """Vectors as lists; None stays."""
    return [None if one is None else one.tolist() for one in vectors]


def row(cycle: Cycle) -> list[Any]:
    """Time [s], then position, velocity, effort, reference and torque, (n,) each or None."""
    state, reference, command = cycle.state, cycle.tick.reference, cycle.command
    measured = (None, None, None) if state is None else (state.q, state.v, state.effort)
    desired, torque = None if reference is None else reference.q, None if command is None else command.effort
    return [cycle.now_s if state is None else state.time_s, *plain(*measured, desired, torque)]
