"""Session of ``picker doctor`` with a board: over the serial link, motion by the set-point sender, outputs left as found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from picker_dynamics.errors import BoardFaultError, LinkError
from picker_dynamics.robot.servo_map import ServoMap

from .clock import SYSTEM_CLOCK, Clock
from .firmware.config import board_difference, board_limits
from .link import Link, RefusedError
from .protocol import (
    PULSE_UNITS_PER_US,
    Adopt,
    Disable,
    Enable,
    Message,
    Ping,
    Reason,
    Reset,
    Stop,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
    pulse_units,
)
from .setpoint_sender import SetpointSender

PERIOD_MS = 20
"""Telemetry period from boot on."""
SLOW = 20
"""Change of a pulse per servo frame in a slow motion [1/8 us]: 125 us/s, or 11 degrees/s of an ordinary servo."""
FIRST_WORD_S = 4.0
"""How long a board may take to speak after its port was opened [s]: a boot loader runs for a second or two."""
LEAD_S = 0.1
"""How long before it holds a set-point is sent [s]."""

Pulses = tuple[int, ...]


class Violation(Exception):
    """A board breaks a rule of the protocol: what was expected, and what it did."""


class CheckSkipped(Exception):
    """A check cannot be made on this board, or in its present condition; why."""


def require(condition: object, expected: str, got: object = "something else") -> None:
    """Raise a Violation unless the condition holds."""
    if not condition:
        raise Violation(f"expected {expected}; got {got}")


class DoctorSession:
    """Session with one board, from the handshake to leaving it as it was found.

    Args:
        link: not opened yet.
        servos: the servo map that the board should have been flashed for; its rest pose is where joints stand that are off.
        may_move: a person allows that joints are switched on or taken over where they are, and move a little, slowly.
        clock: the link's.

    Attributes:
        info: what the board says it is.
        found: telemetry before any request but HELLO.
        opened: statistics of the link as of then.
        seen: telemetry since the port was opened.
        servos: the servo map; joint_names: its joints.
        limits: of the joints; empty where they are not those of the board, and then nothing is switched or moved.
        start: pulses [1/8 us] at which the joints are: as found, or where off, at rest.
        touched: outputs were switched or moved, and have to be left as they were found.
    """

    def __init__(self, link: Link, servos: ServoMap, may_move: bool = False, clock: Clock = SYSTEM_CLOCK):
        self.link, self.clock, self.servos = link, clock, servos
        self._sender = SetpointSender(link, servos)
        self.seen: list[Telemetry] = []
        self.touched = False
        link.on_telemetry = lambda telemetry, _arrived_s: self.seen.append(telemetry)
        self.info = link.open(FIRST_WORD_S)
        self.opened = link.statistics
        self.until(lambda: self.now.boot_id == self.info.boot_id)
        self.found = self.now
        limits, self.joint_names = board_limits(servos), servos.joint_names
        fits = not board_difference(self.info, servos)
        self.limits, self.may_move = (limits, may_move) if fits else ((), False)
        rest = tuple(pulse_units(pulse) for pulse in servos.to_pulse_us(servos.rest)) if fits else (0,) * self.info.joints
        self.start = tuple(p if self.found.live >> j & 1 else rest[j] for j, p in enumerate(self.found.pulses))

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.info.joints

    @property
    def usable(self) -> int:
        """Mask of the joints that may be switched on or taken over: their pulses are within the limits."""
        return sum(1 << j for j, limit in enumerate(self.limits) if limit.lowest <= self.start[j] <= limit.highest)

    @property
    def joints(self) -> list[int]:
        """The joints that may be used."""
        return [j for j in range(self.n) if self.usable >> j & 1]

    def names(self, mask: int) -> str:
        """The joints in a mask."""
        return " ".join(name for joint, name in enumerate(self.joint_names) if mask >> joint & 1)

    @property
    def now(self) -> Telemetry:
        """The latest telemetry.

        Raises:
            LinkError: the board is gone.
        """
        if not self.link.connected or self.link.telemetry is None:
            raise LinkError(f"the board on {self.link.port} is gone or has fallen silent")
        return self.link.telemetry

    # -- asking ------------------------------------------------------------------------------------------------------

    def answer(self, message: Message) -> str:
        """The board's answer to a request: ``ACK``, ``INFO``, a refusal with its detail, or what is wrong with it.

        Raises:
            LinkError: the board is gone.
        """
        try:
            return self.link.request(message).TYPE.name
        except RefusedError as error:
            return refusal(error.reason, error.value)
        except BoardFaultError as error:
            return refusal(Reason.FAULT, error.value)
        except LinkError as error:
            if not self.link.connected:
                raise
            return str(error)

    def expect(self, message: Message, expected: str = "ACK") -> None:
        """Raise a Violation where the answer to a request is another one."""
        got = self.answer(message)
        require(got == expected, f"{expected} to {message}", got)

    def until(self, condition: Callable[[], object], patience_s: float = 4.0) -> bool:
        """Wait for a condition; whether it came.  Raises a LinkError where the board is gone."""
        until_s = self.clock.now() + patience_s
        while not condition():
            if self.clock.now() >= until_s:
                return False
            self.clock.sleep(0.002)
        return True

    def watch(self, seconds: float) -> list[Telemetry]:
        """The telemetry of so much time [s]."""
        begin, until_s = len(self.seen), self.clock.now() + seconds
        self.until(lambda: self.now and self.clock.now() >= until_s, seconds + 1.0)
        return self.seen[begin:]

    def ping_us(self) -> int:
        """Board time at which a PING was answered [us]."""
        return self.link.request(Ping()).time_us  # type: ignore[union-attr]

    def fresh(self) -> Telemetry:
        """Telemetry built after everything that was sent so far has been handled."""
        time_us = self.ping_us()
        require(self.until(lambda: ahead_us(self.now.time_us, time_us) >= 0), "telemetry", "none")
        return self.now

    def still(self) -> Telemetry:
        """Wait until nothing moves."""
        self.fresh()
        self.until(lambda: not self.now.state.moves)
        return self.fresh()

    def calm(self) -> Telemetry:
        """Bring the board to where every check begins: no fault latched, the telemetry as from boot on.

        Raises:
            CheckSkipped: a fault stays, for its cause does.
        """
        self.answer(TelemetryPeriod(PERIOD_MS))
        if self.still().faults:
            self.answer(Reset())
        if self.fresh().faults:
            raise CheckSkipped(f"a fault stays latched: {self.now.fault_text}")
        return self.now

    # -- switching and moving ----------------------------------------------------------------------------------------

    def masked(self, mask: int) -> Pulses:
        """Start pulses of the joints in a mask, 0 for the others."""
        return tuple(pulse if mask >> j & 1 else 0 for j, pulse in enumerate(self.start))

    def take(self) -> Telemetry:
        """Own the joints that may be used, standing at ``start``.

        Raises:
            CheckSkipped: none may be used.
        """
        if not self.usable:
            raise CheckSkipped("no joint's pulse is within its limits")
        self.touched, telemetry = True, self.calm()
        if on := telemetry.live & self.usable & ~telemetry.owned:
            self.expect(Adopt(on))
        if off := self.usable & ~telemetry.live:
            self.expect(Enable(off, self.masked(off)))
        self.go_back()
        return self.fresh()

    def moved(self, by: float) -> Pulses:
        """Pulses of a pose near ``start``: each joint that may be used moved by so much [1/8 us] to where there is more room."""
        pulses = list(self.start)
        for j in self.joints:
            limit = self.limits[j]
            ahead = limit.highest - pulses[j] >= pulses[j] - limit.lowest
            pulses[j] += round(by) if ahead else -round(by)
        return tuple(pulses)

    def send(self, rows: Sequence[Pulses]) -> None:
        """Send pulses [1/8 us], one row a servo frame, the first as the outputs are.

        Raises:
            Violation: a set-point could not be sent: this machine was away for too long.
        """
        begin_s = self.clock.now() + LEAD_S
        self._sender.restart(self._setpoint(rows[0]))
        for k, row in enumerate(rows):
            at_s = begin_s + k * self.info.frame_us * 1e-6
            self.watch(at_s - LEAD_S - self.clock.now())
            refused = self._sender.send(at_s, self._setpoint(row), self.clock.now())
            require(refused is None, "set-points sent in time", self._sender.said or refused)

    def play(self, rows: Sequence[Pulses]) -> list[Telemetry]:
        """Send pulses as ``send`` does, and wait until nothing moves; the telemetry of the motion."""
        begin = len(self.seen)
        self.send(rows)
        self.watch(LEAD_S)
        self.still()
        self.watch(2e-6 * self.info.frame_us)
        return self.seen[begin:]

    def _setpoint(self, pulses: Pulses) -> np.ndarray:
        lower, upper = self.servos.pulse_lower_us, self.servos.pulse_upper_us
        pulses_us = np.array([pulse or start for pulse, start in zip(pulses, self.start)]) / PULSE_UNITS_PER_US
        return self.servos.clamp(self.servos.to_angle(np.clip(pulses_us, lower, upper)))

    def go_back(self) -> None:
        """Move what is owned back to ``start``, slowly, and wait for it."""
        now = self.fresh()
        here = [p if now.owned >> j & 1 else start for j, (p, start) in enumerate(zip(now.pulses, self.start))]
        if frames := -(-max(abs(p - start) for p, start in zip(here, self.start)) // (0.8 * SLOW)):
            shares = [k / frames for k in range(int(frames) + 1)]
            rows = [tuple(round(p + (start - p) * share) for p, start in zip(here, self.start)) for share in shares]
            self.play([*rows, rows[-1]])

    def leave(self, *, hurry: bool = False) -> None:
        """Leave the outputs as they were found: what ran stands where it stood, what was off is off.

        Args:
            hurry: something went wrong: stop first.
        """
        if hurry and self.touched:
            self.answer(Stop())
        try:
            self.calm()
            if self.touched:
                self.go_back()
        except CheckSkipped:  # a fault whose cause stays: nothing can be moved
            self.answer(TelemetryPeriod(PERIOD_MS))
        if self.touched:
            if ours := self.fresh().live & ~self.found.live:
                self.answer(Disable(ours))
            self.touched = False


def refusal(reason: Reason, detail: object = 0) -> str:
    """A refusal in words."""
    return f"NACK {reason.name} (detail {detail})"
