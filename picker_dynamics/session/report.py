"""Report of a running arm: the condition of each of its parts, with figures, and what became of goals, as plain data (REP 107).

An entry is named after its part: ``hardware: supply``.  Levels are those of diagnostic_msgs/DiagnosticStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from picker_dynamics.board.command_timing import CommandTiming, Timing
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Routine, State
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.laws import ServoLaw, TorqueLaw
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS, HARDWARE
from picker_dynamics.controller.torque_arm import SimulatedTorqueArm
from picker_dynamics.dynamics import cross_check
from picker_dynamics.execution.events import Event, EventKind, Severity

from .entry import ERROR, OK, STALE, WARN, Entry, entry
from .running_arm import RunningArm

PERIOD_S = 1.0
"""How often all entries are made anew [s]."""

LEVELS = {Severity.OK: OK, Severity.WARN: WARN, Severity.ERROR: ERROR}

LINK_FIGURES = (
    "frames_sent",
    "frames_received",
    "frames_damaged",
    "frames_missed",
    "retransmissions",
    "losses",
    "connections",
    "board_restarts",
    "round_trip_median_ms",
    "round_trip_p99_ms",
    "latency_ms",
    "drift_ppm",
    "telemetry_age_ms",
)
BOARD_FIGURES = ("boot_id", "bad_frames", "live", "owned", "faults")
QUEUE_FIGURES = ("queue_depth", "accepted", "rejected", "underruns")


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
        self._state: object = None
        self.description_problem: str | None = None
        self.entries: dict[str, Entry] = {}
        self.version = 0
        self.last = Event(EventKind.NOTICE, "waiting for the hardware", arm.controller.execution.phase)
        self.listeners: list[Callable[[str, Any], None]] = []
        self._hardware_news: tuple[object, ...] = ()
        self._controller_news: tuple[object, ...] = ()
        self._payload_kg = -1.0
        arm.session.subscribe(self.hear)

    def hear(self, cycle: Cycle) -> None:
        """Take what happened in a cycle."""
        if cycle.command is not None:
            self._processed += 1
            self._timing.note(self._arm.clock.now(), cycle.command.time_s)
        if cycle.tick.events:
            self.last = cycle.tick.events[-1]
        outputs, law = self._outputs, self._arm.controller.law
        mode = law.compensator.mode if isinstance(law, ServoLaw) else ""
        state = outputs.state, outputs.stop_latched, outputs.fault_latched, self.last.text, mode, self._arm.controller.problem
        if cycle.now_s >= self._due_s or (state != self._state and cycle.now_s >= self._due_s - 0.8 * PERIOD_S):
            self._due_s, self._state = cycle.now_s + PERIOD_S, state
            self.refresh()
        if self.listeners:
            self._publish(cycle)

    def _publish(self, cycle: Cycle) -> None:
        """Hand what is new to all listeners."""
        self.publish_events(cycle.tick.events)
        outputs = self._outputs
        news: tuple[object, ...] = (outputs.state, outputs.problem, outputs.stop_latched, outputs.fault_latched, outputs.outputs)
        news += (outputs.commanded, outputs.confirmed, self._arm.session.gate.settling, outputs.epoch)
        if news != self._hardware_news:
            self._hardware_news = news
            self._say("hardware", asdict(self.hardware_status()))
        execution = self._arm.controller.execution
        controller = execution.phase, tuple(execution.lease.holders)
        if controller != self._controller_news:
            self._controller_news = controller
            self._say("controller", asdict(self.controller_status()))
        if (payload_kg := self._arm.controller.payload.mass) != self._payload_kg:
            self._payload_kg = payload_kg
            self._say("payload_kg", payload_kg)

    def publish_events(self, events: Iterable[Event]) -> None:
        """Hand events to all listeners."""
        for event in events:
            self._say("event", asdict(self.event(event)))

    def _say(self, what: str, content: Any) -> None:
        for hear in self.listeners:
            hear(what, content)

    def refresh(self) -> None:
        """Make all entries anew."""
        self.entries = {one.name: one for one in (self._controller(), *self._dynamics(), *self._hardware())}
        self.version += 1

    # -- events ----------------------------------------------------------------------------------------------

    def event(self, event: Event, **more: Any) -> Entry:
        """What happened, as ``arm_controller/status`` has it."""
        facts: dict[str, Any] = {
            "phase": event.phase.value,
            "goal": event.identifier,
            "outcome": event.kind.outcome,
            "accepted": event.accepted,
            "refused": event.refused,
            "lease": event.lease,
            "joints": ", ".join(self._arm.description.joint_names),
            **more,
        }
        for number, holder in enumerate(event.holders):
            fields = {"kind": holder.kind.value, "name": holder.name, "goal": holder.identifier}
            facts |= {f"holder.{number}.{field}": value for field, value in fields.items()}
        if (motion := event.motion) is not None:
            facts["duration_s"] = motion.duration_s
            if (approach := motion.approach) is not None:
                facts["approach_s"] = approach.duration_s
                facts["approach"] = ", ".join(self._arm.description.joint_names[j] for j in approach.joints)
                facts["side_off_mm"] = 1e3 * approach.off_m
        if (error := event.error) is not None:
            facts |= {"error": type(error).__name__, "joint": error.subject or "", "value": error.value, "limit": error.limit}
        return entry(LEVELS[event.kind.severity], CONTROLLER, event.text, self._name, **facts)

    def controller_status(self) -> Entry:
        """The newest event, with phase and holders as they are now."""
        execution = self._arm.controller.execution
        return self.event(replace(self.last, phase=execution.phase, holders=execution.lease.holders))

    # -- parts -----------------------------------------------------------------------------------------------

    def _controller(self) -> Entry:
        execution, last = self._arm.controller.execution, self.last
        streamed = execution.stream_counts
        return entry(
            LEVELS[last.kind.severity],
            CONTROLLER,
            last.text,
            self._name,
            phase=execution.phase.value,
            **{f"goals_{what}": count for what, count in execution.counts.items()},
            guard_stopped=execution.guard_stopped,
            speed_scaling=execution.speed,
            stream_accepted=streamed.accepted,
            stream_ignored=streamed.ignored,
            stream_refused=streamed.refused,
            lease=str(execution.lease),
        )

    def _dynamics(self) -> tuple[Entry, Entry]:
        arm, law, worst = self._arm, self._arm.controller.law, self._arm.cross_check_worst
        facts: dict[str, object] = {} if arm.following is None else arm.following.facts()
        level, message = OK, "compensating"
        if isinstance(law, ServoLaw):
            unmeasured = () if arm.servos is None else arm.servos.unmeasured
            facts |= {"compensation": law.compensator.mode, "unmeasured": ", ".join(unmeasured)}
            if law.compensator.clamped:
                level, message = WARN, f"set-point at the end of its pulse range: {', '.join(law.compensator.clamped)}"
            elif unmeasured:
                level, message = WARN, f"not measured, assumed: {', '.join(unmeasured)}"
        elif isinstance(law, TorqueLaw):
            facts["tracking_error"] = float(abs(law.loop.error).max())
            message = "following" if law.loop.following else "no reference: holding"
            if arm.following is not None and arm.following.problem:
                level, message = WARN, arm.following.problem
        if arm.controller.problem:
            level, message = ERROR, arm.controller.problem
        payload_kg = arm.settings[DYNAMICS]["payload.mass"]
        figures = {"cross_check_worst": worst, "payload_kg": payload_kg, "processed": self._processed}
        agree = f"two models of {self._name} agree to {worst:.1e}"
        return (
            entry(level, DYNAMICS, message, self._name, **figures, **facts),
            entry(OK, f"{DYNAMICS}: cross-check", agree, self._name, worst=worst, limit=cross_check.LIMIT),
        )

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

    def hardware_status(self) -> Entry:
        """State of the outputs now, as ``hardware/status`` has it."""
        outputs = self._outputs
        return entry(
            self.level,
            HARDWARE,
            outputs.problem or outputs.state.value,
            self._port,
            state=outputs.state.value,
            epoch=outputs.epoch,
            stop_latched=outputs.stop_latched,
            reset_needed=outputs.stop_latched or bool(outputs.fault_latched),
            outputs=outputs.outputs,
            commanded=outputs.commanded,
            confirmed=outputs.confirmed,
            settling=self._arm.session.gate.settling,
            provenance=self._arm.provenance,
            problem=outputs.problem,
        )

    def _hardware(self) -> list[Entry]:
        outputs = self._outputs
        if isinstance(outputs, HardwareSession):
            return [
                self._board(outputs),
                self._link(outputs),
                self._queue(outputs),
                self._commands(outputs, self._timing.take()),
                self._temperature(outputs),
                self._supply(outputs),
                self._joint_state(outputs),
                self._description(),
            ]
        hardware = self._arm.controller.hardware
        assert isinstance(outputs, TorqueSession) and isinstance(hardware, SimulatedTorqueArm)
        return [
            self._part(
                self.level,
                "drives",
                outputs.problem or outputs.state.value,
                self._port,
                state=outputs.state.value,
                commands_taken=outputs.taken,
                commands_not_active=outputs.not_active,
                commands_saturated=outputs.saturated,
                skipped_s=hardware.skipped_s,
            ),
            self._part(OK, "joint state", "measured", self._name, provenance="measured"),
        ]

    def _part(self, level: int, part: str, message: object, hardware_id: str, **values: Any) -> Entry:
        return entry(level, f"{HARDWARE}: {part}", message, hardware_id, **values)

    def _board(self, session: HardwareSession) -> Entry:
        telemetry, level = session.link.telemetry, self.level
        counts = {f"commands_{key}": value for key, value in vars(session.counts).items()}
        board = {} if telemetry is None else {"board_state": telemetry.state.name, **_figures(telemetry, BOARD_FIGURES)}
        message = session.problem or session.state.value
        if level == OK and session.limits_differ:
            level, message = WARN, "the board was built with other pulse or speed limits than this servo map has"
        return self._part(level, "board", message, self._port, state=session.state.value, **counts, **board)

    def _link(self, session: HardwareSession) -> Entry:
        link = session.link.statistics
        level, message = (OK, "connected") if link.connected else (STALE, session.problem or "not connected")
        return self._part(level, "link", message, self._port, **_figures(link, LINK_FIGURES))

    def _queue(self, session: HardwareSession) -> Entry:
        """Set-points on the board; what went wrong is a warning only when there is more of it than at the last look."""
        link, telemetry = session.link.statistics, session.link.telemetry
        refused = {f"refused_{reason.name.lower()}": count for reason, count in link.setpoints_refused.items()}
        values: dict[str, Any] = {"setpoints_sent": link.setpoints_sent, "setpoints_not_sent": link.setpoints_not_sent, **refused}
        if telemetry is None:
            return self._part(STALE, "queue", "not connected", self._port, **values)
        values |= _figures(telemetry, QUEUE_FIGURES) | {"frames_missed_by_board": telemetry.missed_frames}
        now = (telemetry.boot_id, telemetry.underruns, telemetry.rejected)
        before, self._trouble = self._trouble, now
        level, message = OK, "as it should be"
        if before is not None and before[0] == now[0] and before != now:
            underruns, rejected = ((new - old) & 0xFFFF for new, old in zip(now[1:], before[1:]))
            level = WARN
            message = f"{underruns} times empty in motion, {rejected} set-points refused ({telemetry.last_reason.name})"
        return self._part(level, "queue", message, self._port, **values)

    def _commands(self, session: HardwareSession, timing: Timing | None) -> Entry:
        frame_ms = 1e3 * session.servos.frame_s
        level, message = OK, "no commands" if timing is None else "as it should be"
        if timing is not None and timing.ahead_least_ms < frame_ms:
            level = WARN
            late = f"{timing.late} of {timing.commands} " if timing.late else ""
            message = (
                f"{late}commands came late ({timing.ahead_least_ms:.1f} ms ahead, {frame_ms:g} needed): is the computer busy?"
            )
        figures = {"delay_ms": round(1e3 * session.delay_s, 1)} | ({} if timing is None else vars(timing))
        return self._part(level, "timing", message, self._port, **figures)

    def _by_joint(self, prefix: str, values: Any, digits: int) -> dict[str, float]:
        """One rounded value for each joint."""
        names = self._arm.description.joint_names
        return {f"{prefix}.{name}": round(float(value), digits) for name, value in zip(names, values)}

    def _temperature(self, session: HardwareSession) -> Entry:
        budget = session.budget
        values: dict[str, Any] = self._by_joint("celsius", budget.celsius, 1) | self._by_joint("stall_share", budget.share, 3)
        values |= {
            "limit_celsius": budget.limit_c,
            "ambient_celsius": budget.ambient_c,
            "provenance": "estimated",
            "assumed": ", ".join(budget.assumed),
        }
        temperature = budget.temperature()
        if temperature is not None:
            level = ERROR if temperature.too_hot else WARN
            return self._part(level, "temperature", temperature.text, self._name, **values)
        unknown = f"; nothing electric is known of {', '.join(budget.unknown)}" if budget.unknown else ""
        return self._part(OK, "temperature", f"estimated, all cool{unknown}", self._name, **values)

    def _supply(self, session: HardwareSession) -> Entry:
        budget, telemetry, followed = session.budget, session.link.telemetry, session.supply
        now_a = budget.current_a
        peak_a, complaint = budget.take_peak()
        complaint = complaint or (followed.problem if session.state is not State.OFFLINE else "")
        return self._part(
            WARN if complaint else OK,
            "supply",
            complaint or f"{peak_a:.1f} A at most (estimated)",
            self._name,
            **self._by_joint("ampere", now_a, 2),
            ampere=round(float(now_a.sum()), 2),
            ampere_peak=round(peak_a, 2),
            provenance="estimated",
            supply_gives_ampere=budget.servos.supply_a,
            assumed=", ".join(budget.assumed),
            measured_mv=telemetry.supply_mv if telemetry is not None else 0,
            source_volt="" if followed.volt is None else round(followed.volt, 2),
        )

    def _joint_state(self, session: HardwareSession) -> Entry:
        known = session.held is not None and session.state is not State.OFFLINE
        message = "modelled from what is on the outputs" if known else "nobody knows where the arm is"
        return self._part(OK if known else WARN, "joint state", message, self._name, provenance="modelled" if known else "none")

    def _description(self) -> Entry:
        problem = self.description_problem
        said = "nobody publishes one" if problem is None else problem or "agrees with this arm"
        return self._part(ERROR if problem else OK, "robot description", said, self._name)


def _figures(source: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Attributes of ``source`` by their names; nothing of None."""
    return {} if source is None else {name: getattr(source, name) for name in names}
