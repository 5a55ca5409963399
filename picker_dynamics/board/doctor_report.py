"""Findings of ``picker doctor`` about a board, in words and as JSON; the frequency of a PCA9685's oscillator among them.

The board counts a pulse in periods of an oscillator that it takes for ``assumed_hz``.  If it runs at f, a pulse that is
commanded as w is w assumed_hz / f long.  A servo that stands where its pulse tells it shows that length on its
potentiometer, once the potentiometer was read at two pulses of an exact source (timer-driven pins, a servo tester):

    w_true = pulse_0 + (raw - raw_0) (pulse_1 - pulse_0) / (raw_1 - raw_0),        f = assumed_hz w / w_true
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from picker_dynamics.errors import InputError

from .doctor_checks import Outcome, Status
from .doctor_session import DoctorSession
from .protocol import PROTOCOL_VERSION, PULSE_UNITS_PER_US, JointLimits, Telemetry, describe_faults, limits_checksum
from .protocol.codes import FAULT_TEXT, faults_in

READINGS_MIN = 10
TIMING = ("queue_capacity", "frame_us", "resolution_ns", "host_timeout_ms", "max_lead_ms")
"""Fields of INFO that are reported as they are."""
_FORM = re.compile(r"(?P<joint>[\w-]+)=(?P<raw_0>[\d.]+)@(?P<pulse_0>[\d.]+),(?P<raw_1>[\d.]+)@(?P<pulse_1>[\d.]+)", re.ASCII)


@dataclass(frozen=True)
class Potentiometer:
    """A joint's potentiometer: raw ADC values at two exact pulses [us]."""

    joint: str
    raw: tuple[float, float]
    pulses_us: tuple[float, float]

    @classmethod
    def parse(cls, text: str) -> Potentiometer:
        """Potentiometer from ``joint=raw@pulse_us,raw@pulse_us``, for example ``shoulder=212@1000,790@2000``.

        Raises:
            InputError: the text has another form, or names one pulse twice.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise InputError(
                f"potentiometer {text!r} is not of the form joint=raw@pulse_us,raw@pulse_us", subject="pot", value=text
            )
        raw = (float(match["raw_0"]), float(match["raw_1"]))
        pulses_us = (float(match["pulse_0"]), float(match["pulse_1"]))
        if raw[0] == raw[1] or pulses_us[0] == pulses_us[1]:
            raise InputError(f"potentiometer {text!r} needs two readings at two pulses", subject="pot", value=text)
        return cls(match["joint"], raw, pulses_us)

    @property
    def us_per_count(self) -> float:
        """Pulse per ADC count [us]."""
        return (self.pulses_us[1] - self.pulses_us[0]) / (self.raw[1] - self.raw[0])

    def pulse_us(self, raw: float) -> float:
        """The pulse that holds the servo where it reads ``raw`` [us]."""
        return self.pulses_us[0] + (raw - self.raw[0]) * self.us_per_count


@dataclass(frozen=True)
class OscillatorEstimate:
    """Estimated frequency of a PCA9685's oscillator.

    Args:
        hz: frequency [Hz].
        error_hz: how far off it may be, from the servo's deadband and one ADC count [Hz].
        joint: whose potentiometer was read.
    """

    hz: float
    error_hz: float
    joint: str


def estimate(
    pot: Potentiometer, index: int, telemetry: Sequence[Telemetry], assumed_hz: float, deadband_us: float
) -> OscillatorEstimate | None:
    """The oscillator's frequency from telemetry of a standing joint; None where it was not live, or has no ADC value.

    Args:
        pot: of the joint.
        index: of the joint.
        telemetry: of a board that makes pulses with a PCA9685.
        assumed_hz: what the firmware takes the oscillator for [Hz].
        deadband_us: of the servo, in all [us].
    """
    readings = [
        (one.pulses[index], raw)
        for one in telemetry
        if one.live >> index & 1 and (raw := one.feedback[index]) is not None and not one.state.moves
    ]
    standing = [raw for pulse, raw in readings if pulse == readings[-1][0]]
    if len(standing) < READINGS_MIN:
        return None
    commanded_us, true_us = readings[-1][0] / PULSE_UNITS_PER_US, pot.pulse_us(sum(standing) / len(standing))
    if true_us <= 0.0:
        return None
    hz = assumed_hz * commanded_us / true_us
    return OscillatorEstimate(hz, hz * (0.5 * deadband_us + abs(pot.us_per_count)) / true_us, pot.joint)


def link_figures(session: DoctorSession) -> dict[str, Any]:
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


@dataclass(frozen=True)
class Patient:
    """An examined board, as it was found.

    Args:
        port, baud: where.
        session: the meeting.
        joint_names: of the servo map.
        map_limits: what the servo map says of the joints.
        link: what the wire did.
    """

    port: str
    baud: int
    session: DoctorSession
    joint_names: tuple[str, ...]
    map_limits: tuple[JointLimits, ...]
    link: dict[str, Any]

    @property
    def limits_match(self) -> bool:
        """Whether the board was flashed for this servo map."""
        return bool(self.session.limits)

    def names(self, mask: int) -> str:
        """The joints in a mask."""
        chosen = [self.name(joint) for joint in range(self.session.n) if mask >> joint & 1]
        return " ".join(chosen) or "none"

    def name(self, joint: int) -> str:
        """A joint's name, where the board has the map's joints."""
        return self.joint_names[joint] if len(self.joint_names) == self.session.n else f"#{joint}"

    def _joined(self, values: Iterable[float | None]) -> str:
        return ", ".join(f"{self.name(joint)} {value:g}" for joint, value in enumerate(values) if value is not None)

    def facts(self) -> list[tuple[str, str]]:
        """Name and value of each finding, for a person."""
        info, found, link = self.session.info, self.session.found, self.link
        output = "PCA9685" if self.session.keeps_outputs else "timer-driven pins"
        crcs = f"board {info.limits_crc:#06x}, servo map {limits_checksum(self.map_limits):#06x}"
        pulses = self._joined(pulse / PULSE_UNITS_PER_US if pulse else None for pulse in found.pulses)
        trips = "{round_trip_median_ms:g} ms median, {round_trip_max_ms:g} ms at most"
        same = len(self.joint_names) == info.joints
        joints = ": " + " ".join(self.joint_names) if same else f", the servo map has {len(self.joint_names)}"
        return [
            ("firmware", f"{info.firmware_version}, protocol version {PROTOCOL_VERSION}"),
            ("boot id", f"{info.boot_id}, board time {found.time_us * 1e-6:.1f} s"),
            ("joints", f"{info.joints}{joints}"),
            (
                "limits",
                f"those of the servo map ({crcs})"
                if self.limits_match
                else f"NOT those of the servo map ({crcs}): flash the firmware that belongs to this arm",
            ),
            ("outputs", f"{output}, {info.resolution_ns / 1e3:g} us a step, a frame every {info.frame_us / 1e3:g} ms"),
            ("found live", f"{self.names(found.live)}" + (f" at {pulses} us" if pulses else "")),
            ("found owned", f"{self.names(found.owned)}, state {found.state.name}"),
            ("faults", describe_faults(found.faults) or "none latched"),
            ("supply", f"{found.supply_mv / 1000:g} V" if found.supply_mv else "not measured"),
            ("feedback", self._joined(found.feedback) or "no potentiometers"),
            ("queue", f"{info.queue_capacity} set-points, at most {info.max_lead_ms} ms ahead"),
            ("host timeout", f"{info.host_timeout_ms} ms"),
            (
                "link",
                "{frames} frames in {seconds:g} s, {damaged} damaged, {missed} missed; "
                "the board saw {board_bad_frames} damaged, {board_missed_frames} missed".format_map(link),
            ),
            ("round trip", "none came back" if link["round_trip_median_ms"] is None else trips.format_map(link)),
            ("clock", "{drift_ppm:+.0f} ppm against this machine, {latency_ms:g} ms one way".format_map(link)),
        ]


@dataclass
class Report:
    """Report of an examination: the board, the checks made on it, and how it was left.

    Args:
        patient: the board as it was found.
        outcomes: of the checks.
        oscillator: estimate, or why there is none.
        left_as_found: None where nothing was touched.
        drift_ppm: how much faster the board's clock runs than this machine's, at the end.
        interrupted: by a person.
    """

    patient: Patient
    outcomes: list[Outcome] = field(default_factory=list)
    oscillator: OscillatorEstimate | str = ""
    left_as_found: bool | None = None
    drift_ppm: float | None = None
    interrupted: bool = False

    def count(self, status: Status) -> int:
        """Number of checks that ended with this status."""
        return sum(one.status is status for one in self.outcomes)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong with the board, as far as was looked."""
        return self.patient.limits_match and not self.count(Status.FAILED) and self.left_as_found is not False

    def oscillator_text(self) -> str:
        """Estimate of the oscillator's frequency in words."""
        one = self.oscillator
        return (
            one
            if isinstance(one, str)
            else (
                f"about {one.hz / 1e6:.2f} MHz, give or take {one.error_hz / 1e6:.2f} "
                f"(from the potentiometer of {one.joint}); write it into the servo map"
            )
        )

    def verdict(self) -> str:
        """Verdict on the board in one line."""
        figures = ", ".join(f"{self.count(status)} {status.value}" for status in Status if self.count(status))
        troubles = []
        if not self.patient.limits_match:
            troubles.append("other limits than the servo map's")
        if self.left_as_found is False:
            troubles.append("the outputs are not as they were found")
        if self.interrupted:
            troubles.append("interrupted")
        return f"checks: {figures or 'none made'}" + "".join(f"; {one}" for one in troubles)

    def as_dict(self) -> dict[str, Any]:
        """Report as a dictionary, ready for JSON."""
        patient = self.patient
        info, found = patient.session.info, patient.session.found
        return {
            "port": patient.port,
            "baud": patient.baud,
            "firmware_version": info.firmware_version,
            "protocol_version": PROTOCOL_VERSION,
            "boot_id": info.boot_id,
            "joints": info.joints,
            "joint_names": list(patient.joint_names),
            "limits": {
                "match": patient.limits_match,
                "board_crc": info.limits_crc,
                "servo_map_crc": limits_checksum(patient.map_limits),
            },
            **{name: getattr(info, name) for name in TIMING},
            "found": _telemetry(found),
            "supply_mv": found.supply_mv or None,
            "link": patient.link,
            "oscillator": self.oscillator if isinstance(self.oscillator, str) else asdict(self.oscillator),
            "checks": [one.as_dict() for one in self.outcomes],
            "drift_ppm": self.drift_ppm,
            "left_as_found": self.left_as_found,
            "interrupted": self.interrupted,
            "passed": self.passed,
        }


def _telemetry(found: Telemetry) -> dict[str, Any]:
    return {
        "live": found.live,
        "owned": found.owned,
        "state": found.state.name,
        "pulses_us": list(found.pulses_us),
        "feedback": list(found.feedback),
        "faults": [
            {"number": int(fault), "name": fault.name, "action": FAULT_TEXT[fault].action} for fault in faults_in(found.faults)
        ],
    }


def line(outcome: Outcome) -> str:
    """A check in a line, and what was expected where it failed."""
    text = f"  {outcome.status.value:8}{outcome.check.name}"
    if outcome.status is Status.FAILED:
        return f"{text}\n          the protocol says: {outcome.check.says}\n          {outcome.detail}"
    return f"{text}  ({outcome.detail})" if outcome.detail else text


def table(facts: Sequence[tuple[str, str]]) -> str:
    """Table of findings, one a line."""
    return "\n".join(f"  {name:14}{value}" for name, value in facts)
