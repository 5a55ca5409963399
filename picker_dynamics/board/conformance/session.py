"""Session of a host with a board: what the board is, what may be done with it, and how it is left."""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.errors import LinkError, VersionError

from ..link.port import no_word
from ..protocol import (
    PROTOCOL_VERSION,
    Ack,
    Adopt,
    Disable,
    Enable,
    Hello,
    Info,
    JointLimits,
    Reason,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
    limits_checksum,
)
from ..protocol.messages import Unknown
from .host import PATIENCE_US, SILENCE_US, Host
from .requirements import CheckSkipped, Need

PERIOD_MS = 20
"""Telemetry period from boot on."""
PCA9685_NS = 2_500
"""A resolution above this means a PCA9685 [ns]."""
SLOW = 20
"""Change of a pulse per servo frame in a slow motion [1/8 us]: 125 us/s, or 11 degrees/s of an ordinary servo."""
REACH = 320
"""How far a slow motion may take a joint from where it was found [1/8 us]: 40 us."""
FIRST_WORD_US = 4_000_000
"""How long a board may take to speak after its port was opened: a boot loader runs for a second or two."""


class Session:
    """A host's session with one board, from the handshake to leaving it as it was found; made by :func:`meet`.

    Attributes:
        host: frames to and from the board.
        info: what the board says it is.
        found: telemetry as it was before anything was sent.
        first: all telemetry of the board's present start heard before anything was sent.
        damaged_before: frames from the board that were damaged until then, for example by a reset.
        limits: of the joints; empty where they are not those of the board.
        start: pulses [1/8 us] at which the joints are: as found, or where off, as the host's user says.
        allowed: what may be done to the arm.
        touched: outputs were switched or moved, and have to be left as they were found.
        phase_us: board time of some evaluation of the queue, where it was found out, to within ``phase_slack_us``.
    """

    def __init__(
        self,
        host: Host,
        info: Info,
        first: Sequence[Telemetry],
        limits: Sequence[JointLimits] | None,
        start: Sequence[int],
        allowed: Need,
    ):
        self.host, self.info, self.first, self.found = host, info, tuple(first), first[-1]
        self.damaged_before = host.damaged
        fits = limits is not None and limits_checksum(limits) == info.limits_crc and len(limits) == info.joints
        self.limits = tuple(limits) if limits and fits else ()
        self.allowed = allowed if fits else Need.WIRE
        self.start = tuple(
            pulse if self.found.live >> joint & 1 else asked
            for joint, (pulse, asked) in enumerate(zip(self.found.pulses, start or (0,) * info.joints))
        )
        self.touched = False
        self.phase_us: int | None = None
        self.phase_slack_us = 0
        host.keep_alive = self.watched

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.info.joints

    @property
    def all(self) -> int:
        """Mask of all joints."""
        return (1 << self.n) - 1

    @property
    def usable(self) -> int:
        """Joints that may be switched on or taken over: their pulses are within the limits."""
        return sum(
            1 << joint
            for joint, (pulse, limit) in enumerate(zip(self.start, self.limits))
            if limit.lowest <= pulse <= limit.highest
        )

    @property
    def watched(self) -> bool:
        """Whether the board watches over its host: joints are owned, by this host or since an earlier one."""
        return self.touched or bool(self.found.owned)

    @property
    def keeps_outputs(self) -> bool:
        """Whether the outputs are those of a PCA9685, which outlives a reset of the board; timer-driven pins do not."""
        return self.info.resolution_ns > PCA9685_NS

    @property
    def frame_us(self) -> int:
        """Servo frame [us]."""
        return self.info.frame_us

    # -- before a check --------------------------------------------------------------------------------

    def calm(self) -> Telemetry:
        """Bring the board to where every check begins: no fault latched, the telemetry as from boot on; telemetry as of then.

        Raises:
            CheckSkipped: a fault stays, for its cause does.
        """
        host = self.host
        for _ in range(2):
            if isinstance(host.ask(TelemetryPeriod(PERIOD_MS)), Ack):
                break
        telemetry = host.fresh()
        if telemetry.faults:
            host.ask(Reset())
            telemetry = host.fresh()
        if telemetry.faults:
            raise CheckSkipped(f"a fault stays latched: {telemetry.fault_text}")
        return telemetry

    def take(self, mask: int | None = None) -> Telemetry:
        """Own these joints (default: all that may be used), standing at ``start``, watched by pings.

        Raises:
            CheckSkipped: none may be used.
        """
        mask = self.usable if mask is None else mask
        if not mask:
            raise CheckSkipped("no joint's pulse is within its limits")
        host, self.touched = self.host, True
        host.keep_alive = True
        self.still()
        telemetry = self.calm()
        if telemetry.live & ~mask & ~self.found.live:
            host.expect_ack(Disable(telemetry.live & ~mask & ~self.found.live), "DISABLE of joints that run")
        if telemetry.owned & telemetry.live & mask:
            self.go_back(telemetry)
        on = telemetry.live & mask & ~telemetry.owned
        if on:
            host.expect_ack(Adopt(on), "ADOPT of joints that run")
        off = mask & ~telemetry.live
        if off:
            host.expect_ack(self.enable(off), "ENABLE of joints that are off")
        return host.fresh()

    def masked(self, pulses: Sequence[int], mask: int) -> tuple[int, ...]:
        """The pulses of the joints in a mask, 0 for the others."""
        return tuple(pulse if mask >> joint & 1 else 0 for joint, pulse in enumerate(pulses))

    def enable(self, mask: int) -> Enable:
        """The message that switches on the joints in a mask where they stand."""
        return Enable(mask, self.masked(self.start, mask))

    def one(self) -> int:
        """Mask of the first joint that may be used."""
        mask = self.usable
        if not mask:
            raise CheckSkipped("no joint's pulse is within its limits")
        return mask & -mask

    # -- after a check ---------------------------------------------------------------------------------

    def still(self) -> Telemetry:
        """Wait until nothing moves."""
        host = self.host
        host.fresh()
        host.until(lambda: not host.telemetry[-1].state.moves, 4_000_000)
        return host.fresh()

    def go_back(self, telemetry: Telemetry) -> None:
        """Move what is owned back to ``start``, slowly, and wait for it."""
        away = max(
            (
                abs(now - start)
                for joint, (now, start) in enumerate(zip(telemetry.pulses, self.start))
                if (telemetry.owned & telemetry.live) >> joint & 1
            ),
            default=0,
        )
        if not away:
            return
        fast = SLOW if self.allowed is Need.MOTION else 4 * SLOW
        duration_us = max(2, -(-away // fast)) * self.frame_us
        host, begin_us = self.host, self.host.board_now_us() + self.host.lead_us
        limit_us = self.info.max_lead_ms * 1000 - 2 * host.lead_us
        here = self.masked(telemetry.pulses, telemetry.owned)
        target = self.masked(self.start, telemetry.owned)
        host.send(SetPoint(begin_us % 2**32, here))
        steps = -(-duration_us // limit_us)
        for step in range(1, steps + 1):
            if step > 1:
                host.wait(duration_us // steps)
            at = tuple(a + (b - a) * step // steps for a, b in zip(here, target))
            host.send(SetPoint((begin_us + duration_us * step // steps) % 2**32, at))
        host.send(SetPoint((begin_us + duration_us + self.frame_us) % 2**32, target))
        host.wait(host.lead_us + duration_us // steps + 2 * self.frame_us)
        self.still()

    def forget(self) -> None:
        """Empty the queue without letting go: STOP, and RESET after it."""
        self.host.ask(Stop())
        self.host.ask(Reset())
        self.host.fresh()

    def settle(self) -> None:
        """Settle the board after a check: no stop latched, nothing moves, telemetry as from boot on."""
        self.host.keep_alive = self.watched
        try:
            self.still()
            self.calm()
        except CheckSkipped:  # the next check will say so
            pass

    def leave(self, *, hurry: bool = False) -> None:
        """Leave the outputs as they were found: what ran stands where it stood, what was off is off.

        Args:
            hurry: something went wrong: stop first.
        """
        host = self.host
        host.keep_alive = True
        if hurry and self.touched:
            host.ask(Stop())
        if self.touched:
            telemetry = self.still()
            if telemetry.faults:
                host.ask(Reset())
                telemetry = host.fresh()
            if not telemetry.faults:
                self.go_back(telemetry)
            ours = host.fresh().live & ~self.found.live
            if ours:
                host.ask(Disable(ours))
            self.touched = False
        host.ask(TelemetryPeriod(PERIOD_MS))
        host.keep_alive = False


def meet(
    host: Host, *, limits: Sequence[JointLimits] | None = None, start: Sequence[int] = (), allowed: Need = Need.WIRE
) -> Session:
    """Wait until the board speaks, look at it for a moment, and shake hands.

    Args:
        host: not yet used.
        limits: what the servo map says of the joints' limits; motion needs those of the board.
        start: pulses [1/8 us] at which joints stand whose outputs are off.
        allowed: what may be done to the arm.

    Raises:
        LinkError: the board is silent, or does not answer HELLO.
        VersionError: it speaks another protocol version.
    """
    host.listen(FIRST_WORD_US, lambda: len(_one_start(host.telemetry)) > 4 or _other_version(host) is not None)
    version = _other_version(host)
    if version is not None:
        raise VersionError(
            f"the board on {host.wire.name} speaks protocol version {version}, this program {PROTOCOL_VERSION}: "
            "flash the firmware that belongs to it",
            value=version,
            limit=PROTOCOL_VERSION,
        )
    if not host.telemetry:
        raise LinkError(_silence(host), value=FIRST_WORD_US * 1e-6)
    first = _one_start(host.telemetry)
    for _ in range(SILENCE_US // PATIENCE_US[host.exact]):
        info = host.ask(Hello())
        if isinstance(info, Info):
            break
    else:
        raise LinkError(f"the board on {host.wire.name} speaks, but does not answer HELLO")
    return Session(host, info, first, limits, start, allowed)


def spread_us(telemetry: Sequence[Telemetry]) -> list[int]:
    """Board time between telemetry frames that follow one another [us]."""
    return [ahead_us(b.time_us, a.time_us) for a, b in zip(telemetry, telemetry[1:])]


def _one_start(telemetry: Sequence[Telemetry]) -> list[Telemetry]:
    """The last of them that are of one start of the board: opening the port may have reset it."""
    last: list[Telemetry] = []
    for one in telemetry:
        if last and (one.boot_id != last[-1].boot_id or ahead_us(one.time_us, last[-1].time_us) < 0):
            last = []
        last.append(one)
    return last


def _other_version(host: Host) -> int | None:
    others = [
        one.message.version
        for one in host.heard
        if isinstance(one.message, Unknown) and one.message.reason is Reason.OTHER_VERSION
    ]
    return others[0] if others and not host.telemetry else None


def _silence(host: Host) -> str:
    return no_word(host.wire.name, host.wire.baud, host.bytes_received, FIRST_WORD_US * 1e-6)
