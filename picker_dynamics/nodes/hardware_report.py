"""Hardware report: the entries of ``/diagnostics``, one for each part that can fail, each with its figures."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from picker_dynamics.board.command_timing import CommandTiming, Timing
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import State
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.controller.torque_arm import SimulatedTorqueArm
from picker_dynamics.session.running_arm import RunningArm

from .diagnostics import ERROR, OK, STALE, WARN, status

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


def _figures(source, names: tuple[str, ...]) -> dict[str, object]:
    """Attributes of ``source`` by their names; nothing of None."""
    return {} if source is None else {name: getattr(source, name) for name in names}


class HardwareReport:
    """The entries of one hardware node.

    Args:
        name: of the node, first word of each entry.
        port, arm: hardware ids.
        session: whose state it is.
    """

    def __init__(self, name: str, port: str, arm: str, session: HardwareSession):
        self._name, self._port, self._arm, self._session = name, port, arm, session
        self.timing = CommandTiming()
        self.description_problem: str | None = None
        self._trouble: tuple[int, ...] | None = None

    def entries(self, level: bytes) -> list[DiagnosticStatus]:
        """Entries of the hardware's diagnostics, ``level`` the node's."""
        return [
            self._board(level),
            self._link(),
            self._queue(),
            self._timing(self.timing.take()),
            self._temperature(),
            self._supply(),
            self._state(),
            self._description(),
        ]

    def _entry(self, level, part: str, message: str, hardware: str, **values) -> DiagnosticStatus:
        return status(level, f"{self._name}: {part}", message, hardware, **values)

    def _board(self, level) -> DiagnosticStatus:
        session, telemetry = self._session, self._session.link.telemetry
        counts = {f"commands_{key}": value for key, value in vars(session.counts).items()}
        board = {} if telemetry is None else {"board_state": telemetry.state.name, **_figures(telemetry, BOARD_FIGURES)}
        message = session.problem or session.state.value
        if level == OK and session.limits_differ:
            level, message = WARN, "the board was built with other pulse or speed limits than this servo map has"
        return self._entry(level, "board", message, self._port, state=session.state.value, **counts, **board)

    def _link(self) -> DiagnosticStatus:
        link = self._session.link.statistics
        level, message = (OK, "connected") if link.connected else (STALE, self._session.problem or "not connected")
        return self._entry(level, "link", message, self._port, **_figures(link, LINK_FIGURES))

    def _queue(self) -> DiagnosticStatus:
        """Set-points on the board; what went wrong is a warning only when there is more of it than at the last look."""
        link, telemetry = self._session.link.statistics, self._session.link.telemetry
        refused = {f"refused_{reason.name.lower()}": count for reason, count in link.setpoints_refused.items()}
        values = {"setpoints_sent": link.setpoints_sent, "setpoints_not_sent": link.setpoints_not_sent, **refused}
        if telemetry is None:
            return self._entry(STALE, "queue", "not connected", self._port, **values)
        values |= _figures(telemetry, QUEUE_FIGURES) | {"frames_missed_by_board": telemetry.missed_frames}
        now = (telemetry.boot_id, telemetry.underruns, telemetry.rejected)
        before, self._trouble = self._trouble, now
        level, message = OK, "as it should be"
        if before is not None and before[0] == now[0] and before != now:
            underruns, rejected = ((new - old) & 0xFFFF for new, old in zip(now[1:], before[1:]))
            level = WARN
            message = f"{underruns} times empty in motion, {rejected} set-points refused ({telemetry.last_reason.name})"
        return self._entry(level, "queue", message, self._port, **values)

    def _timing(self, timing: Timing | None) -> DiagnosticStatus:
        frame_ms = 1e3 * self._session.servos.frame_s
        level, message = OK, "no commands" if timing is None else "as it should be"
        if timing is not None and timing.late:
            level = WARN
            message = (
                f"{timing.late} of {timing.commands} commands came after the moment at which they should "
                f"have held, the worst by {-timing.ahead_least_ms:.1f} ms"
            )
        elif timing is not None and timing.ahead_least_ms < frame_ms:
            level = WARN
            message = (
                f"a command came {timing.ahead_least_ms:.1f} ms before it had to hold, the board wants a servo "
                f"frame, {frame_ms:g} ms"
            )
        figures = {"delay_ms": round(1e3 * self._session.delay_s, 1)} | ({} if timing is None else vars(timing))
        return self._entry(level, "timing", message, self._port, **figures)

    def _by_joint(self, prefix: str, values, digits: int) -> dict[str, float]:
        """One rounded value for each joint."""
        return {f"{prefix}.{name}": round(float(value), digits) for name, value in zip(self._session.joint_names, values)}

    def _temperature(self) -> DiagnosticStatus:
        budget = self._session.budget
        values = self._by_joint("celsius", budget.celsius, 1) | self._by_joint("stall_share", budget.share, 3)
        values |= {
            "limit_celsius": budget.limit_c,
            "ambient_celsius": budget.ambient_c,
            "provenance": "estimated",
            "assumed": ", ".join(budget.assumed),
        }
        temperature = budget.temperature()
        if temperature is not None:
            return self._entry(ERROR if temperature.too_hot else WARN, "temperature", temperature.text, self._arm, **values)
        unknown = f"; nothing electric is known of {', '.join(budget.unknown)}" if budget.unknown else ""
        return self._entry(OK, "temperature", f"estimated, all cool{unknown}", self._arm, **values)

    def _supply(self) -> DiagnosticStatus:
        budget, telemetry, followed = self._session.budget, self._session.link.telemetry, self._session.supply
        now_a = budget.current_a
        peak_a, complaint = budget.take_peak()
        complaint = complaint or (followed.problem if self._session.state is not State.OFFLINE else "")
        return self._entry(
            WARN if complaint else OK,
            "supply",
            complaint or f"{peak_a:.1f} A at most (estimated)",
            self._arm,
            **self._by_joint("ampere", now_a, 2),
            ampere=round(float(now_a.sum()), 2),
            ampere_peak=round(peak_a, 2),
            provenance="estimated",
            supply_gives_ampere=budget.servos.supply_a,
            assumed=", ".join(budget.assumed),
            measured_mv=telemetry.supply_mv if telemetry is not None else 0,
            source_volt="" if followed.volt is None else round(followed.volt, 2),
        )

    def _state(self) -> DiagnosticStatus:
        known = self._session.held is not None and self._session.state is not State.OFFLINE
        return self._entry(
            OK if known else WARN,
            "joint state",
            "modelled from what is on the outputs" if known else "nobody knows where the arm is",
            self._arm,
            provenance="modelled" if known else "none",
        )

    def _description(self) -> DiagnosticStatus:
        problem = self.description_problem
        said = "nobody publishes one" if problem is None else problem or "agrees with this arm"
        return self._entry(ERROR if problem else OK, "robot description", said, self._arm)


def drive_entries(arm: RunningArm, name: str, level: bytes) -> list[DiagnosticStatus]:
    """Entries of the drives of torque-controlled joints."""
    drives, hardware = arm.outputs, arm.controller.hardware
    assert isinstance(drives, TorqueSession) and isinstance(hardware, SimulatedTorqueArm)
    return [
        status(
            level,
            f"{name}: drives",
            drives.problem or drives.state.value,
            "simulated",
            state=drives.state.value,
            commands_taken=drives.taken,
            commands_not_active=drives.not_active,
            commands_saturated=drives.saturated,
            skipped_s=hardware.skipped_s,
        ),
        status(OK, f"{name}: joint state", "measured", arm.description.name, provenance="measured"),
    ]
