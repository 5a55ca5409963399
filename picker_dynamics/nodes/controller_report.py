"""Controller report: what became of goals on ``arm_controller/status``, the entry in ``/diagnostics``, and the log."""

from __future__ import annotations

from collections.abc import Iterable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import shown
from picker_dynamics.execution.events import Event, EventKind, Severity
from picker_dynamics.execution.execution import Execution

from .diagnostics import AT_ONCE_HZ, ERROR, OK, PERIOD_S, WARN, Flood, array, name_of, status
from .lease_status import holder_fields
from .runtime import LATCHED, OUTCOMES

STATUS_HZ, LOG_HZ = 20.0, 5.0
"""How often what is no goal's answer is published, and problems are logged, however fast they come [1/s]."""

LEVELS = {Severity.OK: OK, Severity.WARN: WARN, Severity.ERROR: ERROR}


class ControllerReport:
    """Publishes what happens in an execution.

    Each goal that has a name gets its answers; of what is nobody's, and in the log, a flood is cut short.  The last that was
    withheld is published with the diagnostics: it may be what holds now.
    """

    def __init__(self, node, execution: Execution, stamps: StampClock):
        self._node, self._execution, self._stamps = node, execution, stamps
        self._arm = execution.description
        self._said, self._logged, self._diagnosed = Flood(STATUS_HZ), Flood(LOG_HZ), Flood(AT_ONCE_HZ)
        self._told, self._due_s = "", 0.0
        self._withheld: Event | None = None
        self._status_out = node.create_publisher(DiagnosticStatus, "arm_controller/status", OUTCOMES)
        self._diagnostics_out = node.create_publisher(DiagnosticArray, "/diagnostics", LATCHED)
        self._publish(Event(EventKind.NOTICE, "waiting for the hardware", execution.phase))

    def hear(self, cycle: Cycle) -> None:
        """Publish what happened in a cycle, and the diagnostics once a second, or at once where there is another last word."""
        self.publish(cycle.tick.events)
        if cycle.now_s >= self._due_s:
            if self._withheld is not None:
                self._publish(self._withheld)
                self._withheld = None
        elif self._told == self._last.text or not self._diagnosed.lets_pass():
            return
        self._due_s = cycle.now_s + PERIOD_S
        self._diagnose()

    def publish(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.identifier or self._said.lets_pass():
                self._withheld = None
                self._publish(event)
            else:
                self._withheld = event

    def _diagnose(self) -> None:
        execution, streamed = self._execution, self._execution.stream_counts
        self._told = self._last.text
        entry = status(
            LEVELS[self._last.kind.severity],
            name_of(self._node),
            self._last.text,
            self._arm.name,
            phase=execution.phase.value,
            **{f"goals_{what}": count for what, count in execution.counts.items()},
            guard_stopped=execution.guard_stopped,
            speed_scaling=execution.speed,
            stream_accepted=streamed.accepted,
            stream_ignored=streamed.ignored,
            stream_refused=streamed.refused,
            lease=str(execution.lease),
        )
        self._diagnostics_out.publish(array(self._node.get_clock().now().to_msg(), entry))

    def _publish(self, event: Event) -> None:
        """Publish what happened to whom, and log what was refused."""
        self._last, level = event, LEVELS[event.kind.severity]
        if level == ERROR and self._logged.lets_pass():
            self._node.get_logger().error(shown(event.text) + self._logged.withheld())
        facts = {
            "phase": event.phase.value,
            "goal": event.identifier,
            "outcome": event.kind.outcome,
            "accepted": event.accepted,
            "refused": event.refused,
            "lease": event.lease,
            "stamp": self._stamps.to_stamp(self._stamps.now_s()),
            "joints": ", ".join(self._arm.joint_names),
            "withheld": self._said.missed,
        } | holder_fields(event.holders)
        if (motion := event.motion) is not None:
            facts["duration_s"] = motion.duration_s
            if (approach := motion.approach) is not None:
                facts["approach_s"] = approach.duration_s
                facts["approach"] = ", ".join(self._arm.joint_names[j] for j in approach.joints)
                facts["side_off_mm"] = 1e3 * approach.off_m
        if (error := event.error) is not None:
            facts |= {"error": type(error).__name__, "joint": error.subject or "", "value": error.value, "limit": error.limit}
        self._status_out.publish(status(level, name_of(self._node), event.text, self._arm.name, **facts))
