"""Findings of ``picker doctor`` about a board: one dictionary, as JSON and as lines for a person."""

from __future__ import annotations

from typing import Any

from .doctor_checks import FAILED, PASSED, SKIPPED, Outcome
from .doctor_session import DoctorSession
from .firmware.config import FirmwareConfig
from .protocol import PROTOCOL_VERSION
from .protocol.codes import FAULT_TEXT, faults_in

TIMING = ("queue_capacity", "frame_us", "resolution_ns", "host_timeout_ms", "max_lead_ms")
"""Fields of INFO that are reported as they are."""


def findings(session: DoctorSession) -> dict[str, Any]:
    """What the board says of itself and what the wire did so far, ready for JSON."""
    info, found = session.info, session.found
    faults = [{"number": int(one), "name": one.name, "action": FAULT_TEXT[one][1]} for one in faults_in(found.faults)]
    return {
        "port": session.link.port,
        "baud": session.link.baud,
        "firmware_version": info.firmware_version,
        "protocol_version": PROTOCOL_VERSION,
        "boot_id": info.boot_id,
        "joints": info.joints,
        "joint_names": list(session.joint_names),
        "limits": {"match": bool(session.limits)},
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

    From the board: ``frames``, those damaged and missed; Ping to Ack, None before the first; least one-way delay
    of telemetry; how much faster its clock runs than this machine's; and what the board counted since its start.
    """
    now, opened, last = session.link.statistics, session.opened, session.now
    return {
        "frames": now.frames_received,
        "damaged": now.frames_damaged - opened.frames_damaged,
        "missed": now.frames_missed - opened.frames_missed,
        "round_trip_median_ms": now.round_trip_median_ms,
        "round_trip_max_ms": now.round_trip_p99_ms,
        "latency_ms": round(now.latency_ms, 2),
        "drift_ppm": round(now.drift_ppm, 1),
        "board_bad_frames": last.bad_frames,
        "board_missed_frames": last.missed_frames,
    }


def table(found: dict[str, Any]) -> str:
    """Lines of the findings for a person, one a field; what is listed by joint is in the order of ``joint_names``."""

    def said(value: Any) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{name} {said(one)}" for name, one in value.items())
        if isinstance(value, list):
            return "; ".join(map(said, value)) or "none"
        return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)

    fields = {**found, **found["found"]}
    del fields["found"]
    return "\n".join(f"  {name:18}{said(value)}" for name, value in fields.items())


def passed(report: dict[str, Any]) -> bool:
    """Whether nothing is wrong with the board, as far as was looked."""
    failed = any(one["status"] == FAILED for one in report["checks"])
    return report["limits"]["match"] and not failed and report["left_as_found"] is not False


def verdict(report: dict[str, Any]) -> str:
    """Verdict on the board in one line."""
    ended = [one["status"] for one in report["checks"]]
    figures = ", ".join(f"{ended.count(one)} {one}" for one in (PASSED, FAILED, SKIPPED) if one in ended)
    said, ours = [f"checks: {figures or 'none made'}"], "{}.{}.{}".format(*FirmwareConfig.firmware_version)
    if report["firmware_version"] != ours:
        said.append(f"firmware {report['firmware_version']}, this program's sketch has {ours}")
    if not report["limits"]["match"]:
        said.append("other limits than the servo map's: flash the firmware that belongs to this arm")
    if report["left_as_found"] is False:
        said.append("the outputs are not as they were found")
    return "; ".join(said + ["interrupted"] * report["interrupted"])


def line(outcome: Outcome) -> str:
    """A check in a line, and what was expected where it failed."""
    text = f"  {outcome['status']:8}{outcome['name']}"
    if outcome["status"] == FAILED:
        return f"{text}\n          the protocol says: {outcome['says']}\n          {outcome['detail']}"
    return f"{text}  ({outcome['detail']})" if outcome["detail"] else text
