"""Controller report: what became of goals on ``arm_controller/status``, and the log."""

from __future__ import annotations

from collections.abc import Iterable

from diagnostic_msgs.msg import DiagnosticStatus

from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import shown
from picker_dynamics.execution.events import Event, Severity
from picker_dynamics.session.report import Report

from .diagnostics import Flood, message_of, name_of
from .runtime import OUTCOMES

STATUS_HZ, LOG_S = 20.0, 0.2
"""How often what is no goal's answer is published [1/s], and problems are logged [s], however fast they come."""

WITHHELD_S = 1.0
"""How often the last event that was withheld is published [s]."""


class ControllerReport:
    """Publishes what happens in an execution.

    Each goal that has a name gets its answers; of what is nobody's, and in the log, a flood is cut short.  The last that was
    withheld is published a moment later: it may be what holds now.
    """

    def __init__(self, node, report: Report, stamps: StampClock):
        self._node, self._report, self._stamps, self._said = node, report, stamps, Flood(STATUS_HZ)
        self._due_s = 0.0
        self._withheld: Event | None = None
        self._status_out = node.create_publisher(DiagnosticStatus, "arm_controller/status", OUTCOMES)
        self._publish(report.last)

    def hear(self, cycle: Cycle) -> None:
        """Publish what happened in a cycle."""
        self.publish(cycle.tick.events)
        if cycle.now_s >= self._due_s:
            self._due_s = cycle.now_s + WITHHELD_S
            if self._withheld is not None:
                self._publish(self._withheld)

    def publish(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind.severity is Severity.ERROR:
                self._node.get_logger().error(shown(event.text), throttle_duration_sec=LOG_S)
            if event.identifier or self._said.lets_pass(self._stamps.now_s()):
                self._publish(event)
            else:
                self._withheld = event

    def _publish(self, event: Event) -> None:
        self._withheld = None
        stamp_s = self._stamps.to_stamp(self._stamps.now_s())
        made = self._report.event(event, stamp=stamp_s, withheld=self._said.missed)
        self._status_out.publish(message_of(made, name_of(self._node)))
