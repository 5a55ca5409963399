"""Findings of ``picker doctor`` about a board, as JSON and as a table for a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .doctor_checks import Outcome, Status
from .doctor_session import DoctorSession
from .protocol import PROTOCOL_VERSION, describe_faults, limits_checksum
from .protocol.codes import FAULT_TEXT, faults_in

TIMING = ("queue_capacity", "frame_us", "resolution_ns", "host_timeout_ms", "max_lead_ms")
"""Fields of INFO that are reported as they are."""


def findings(session: DoctorSession) -> dict[str, Any]:
    """What the board says of itself and what the wire did so far, ready for JSON."""
    info, found = session.info, session.found
    faults = [{"number": int(one), "name": one.name, "action": FAULT_TEXT[one].action} for one in faults_in(found.faults)]
    crcs = {"board_crc": info.limits_crc, "servo_map_crc": limits_checksum(session.map_limits)}
    return {
        "port": session.link.port,
        "baud": session.link.baud,
        "firmware_version": info.firmware_version,
        "protocol_version": PROTOCOL_VERSION,
        "boot_id": info.boot_id,
        "joints": info.joints,
        "joint_names": list(session.joint_names),
        "limits": {"match": bool(session.limits), **crcs},
        **{name: getattr(info, name) for name in TIMING},
        "found": {
            "live": found.live,
            "owned": found.owned,
            "state": found.state.name,
            "pulses_us": list(found.pulses_us),
            "feedback": list(found.feedback),
            "faults": faults,
        },
        "supply_mv": found.supply_mv or None,
        "link": _wire(session),
    }


def _wire(session: DoctorSession) -> dict[str, Any]:
    """Figures of the serial link as of now; what a reset at its opening damaged is left out.

    From the board: ``frames``, ``bytes_per_s``, those damaged and missed; Ping to Ack, None before the first; least one-way delay
    of telemetry; how much faster its clock runs than this machine's; and what the board counted since its start.
    """
    now, opened, last = session.link.statistics, session.opened, session.now
    seconds = session.clock.now() - session.begin_s
    trips = (now.round_trip_median_ms, now.round_trip_p99_ms)
    median_ms, longest_ms = (None if trip is None else round(trip, 2) for trip in trips)
    return {
        "seconds": round(seconds, 2),
        "frames": now.frames_received,
        "bytes_per_s": round(session.link.bytes_received / max(seconds, 1e-3), 0),
        "damaged": now.frames_damaged - opened.frames_damaged,
        "missed": now.frames_missed - opened.frames_missed,
        "round_trip_median_ms": median_ms,
        "round_trip_max_ms": longest_ms,
        "latency_ms": round(now.latency_ms, 2),
        "drift_ppm": round(now.drift_ppm, 1),
        "board_bad_frames": last.bad_frames,
        "board_missed_frames": last.missed_frames,
    }


def table(session: DoctorSession, said: dict[str, Any]) -> str:
    """Table of the findings ``said``, one a line, for a person."""
    info, found, link = session.info, session.found, said["link"]

    def joined(values: Iterable[float | None]) -> str:
        return ", ".join(f"{session.name(joint)} {value:g}" for joint, value in enumerate(values) if value is not None)

    same = len(session.joint_names) == info.joints
    crcs = "(board {board_crc:#06x}, servo map {servo_map_crc:#06x})".format_map(said["limits"])
    pulses = joined(found.pulses_us)
    facts = {
        "firmware": f"{info.firmware_version}, protocol version {PROTOCOL_VERSION}",
        "boot id": f"{info.boot_id}, board time {found.time_us * 1e-6:.1f} s",
        "joints": f"{info.joints}"
        + (": " + " ".join(session.joint_names) if same else f", the servo map has {len(session.joint_names)}"),
        "limits": f"those of the servo map {crcs}"
        if session.limits
        else f"NOT those of the servo map {crcs}: flash the firmware that belongs to this arm",
        "outputs": f"{'PCA9685' if session.keeps_outputs else 'timer-driven pins'}, {info.resolution_ns / 1e3:g} us a step, "
        f"a frame every {info.frame_us / 1e3:g} ms",
        "found live": session.names(found.live) + (f" at {pulses} us" if pulses else ""),
        "found owned": f"{session.names(found.owned)}, state {found.state.name}",
        "faults": describe_faults(found.faults) or "none latched",
        "supply": f"{found.supply_mv / 1000:g} V" if found.supply_mv else "not measured",
        "feedback": joined(found.feedback) or "no potentiometers",
        "queue": f"{info.queue_capacity} set-points, at most {info.max_lead_ms} ms ahead",
        "host timeout": f"{info.host_timeout_ms} ms",
        "link": "{frames} frames in {seconds:g} s, {damaged} damaged, {missed} missed; "
        "the board saw {board_bad_frames} damaged, {board_missed_frames} missed".format_map(link),
        "round trip": "none came back"
        if link["round_trip_median_ms"] is None
        else "{round_trip_median_ms:g} ms median, {round_trip_max_ms:g} ms at most".format_map(link),
        "clock": "{drift_ppm:+.0f} ppm against this machine, {latency_ms:g} ms one way".format_map(link),
    }
    return "\n".join(f"  {name:14}{value}" for name, value in facts.items())


@dataclass
class Report:
    """Report of an examination: the board, the checks made on it, and how it was left.

    Args:
        found: what ``findings`` said.
        outcomes: of the checks.
        left_as_found: None where nothing was touched.
        drift_ppm: how much faster the board's clock runs than this machine's, at the end.
        interrupted: by a person.
    """

    found: dict[str, Any]
    outcomes: list[Outcome] = field(default_factory=list)
    left_as_found: bool | None = None
    drift_ppm: float | None = None
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong with the board, as far as was looked."""
        failed = any(one.status is Status.FAILED for one in self.outcomes)
        return self.found["limits"]["match"] and not failed and self.left_as_found is not False

    def verdict(self) -> str:
        """Verdict on the board in one line."""
        ended = [one.status for one in self.outcomes]
        figures = ", ".join(f"{ended.count(status)} {status.value}" for status in Status if status in ended)
        troubles = {
            "other limits than the servo map's": not self.found["limits"]["match"],
            "the outputs are not as they were found": self.left_as_found is False,
            "interrupted": self.interrupted,
        }
        return "; ".join([f"checks: {figures or 'none made'}", *(text for text, is_so in troubles.items() if is_so)])

    def as_dict(self) -> dict[str, Any]:
        """Report as a dictionary, ready for JSON."""
        return {
            **self.found,
            "checks": [one.as_dict() for one in self.outcomes],
            "drift_ppm": self.drift_ppm,
            "left_as_found": self.left_as_found,
            "interrupted": self.interrupted,
            "passed": self.passed,
        }


def line(outcome: Outcome) -> str:
    """A check in a line, and what was expected where it failed."""
    text = f"  {outcome.status.value:8}{outcome.check.name}"
    if outcome.status is Status.FAILED:
        return f"{text}\n          the protocol says: {outcome.check.says}\n          {outcome.detail}"
    return f"{text}  ({outcome.detail})" if outcome.detail else text
