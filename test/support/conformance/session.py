"""Session of a host with a board: what the board is, and how each check finds and leaves it."""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.board.protocol import (
    Adopt,
    Disable,
    Enable,
    Hello,
    Info,
    JointLimits,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
)

from .host import LEAD_US, Host
from .requirements import CheckSkipped, Violation

PERIOD_MS = 20
"""Telemetry period from boot on."""
PCA9685_NS = 2_500
"""A resolution above this means a PCA9685 [ns]."""
SLOW = 20
"""Change of a pulse per servo frame in a slow motion [1/8 us]."""
REACH = 320
"""How far a slow motion takes a joint from where it was found [1/8 us]: 40 us."""
FIRST_WORD_US = 4_000_000
"""How long a board may take to speak."""


class Session:
    """A host's session with one board, from the handshake to leaving it as it was found; made by :func:`meet`.

    Attributes:
        host: frames to and from the board.
        info: what the board says it is.
        found: telemetry as it was before anything was sent; first: the telemetry before it.
        limits: of the joints.
        start: pulses [1/8 us] at which the joints are: as found, or where off, as given.
        touched: outputs were switched or moved, and have to be left as they were found.
        phase_us: board time of some evaluation of the queue, where it was found out, to within ``phase_slack_us``.
    """

    def __init__(self, host: Host, info: Info, first: Sequence[Telemetry], limits: Sequence[JointLimits], start: Sequence[int]):
        self.host, self.info, self.first, self.found = host, info, tuple(first), first[-1]
        self.limits = tuple(limits)
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
        return sum(1 << j for j, limit in enumerate(self.limits) if limit.lowest <= self.start[j] <= limit.highest)

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
        self.host.ask(TelemetryPeriod(PERIOD_MS))
        telemetry = self.host.fresh()
        if telemetry.faults:
            self.host.ask(Reset())
            telemetry = self.host.fresh()
        if telemetry.faults:
            raise CheckSkipped(f"a fault stays latched: {telemetry.fault_text}")
        return telemetry

    def take(self, mask: int | None = None) -> Telemetry:
        """Own these joints (default: all that may be used), standing at ``start``, watched by pings."""
        mask = self.usable if mask is None else mask
        host, self.touched = self.host, True
        host.keep_alive = True
        self.still()
        telemetry = self.calm()
        if telemetry.live & ~mask & ~self.found.live:
            host.expect_ack(Disable(telemetry.live & ~mask & ~self.found.live), "DISABLE of joints that run")
        if telemetry.owned & telemetry.live & mask:
            self.go_back(telemetry)
        if on := telemetry.live & mask & ~telemetry.owned:
            host.expect_ack(Adopt(on), "ADOPT of joints that run")
        if off := mask & ~telemetry.live:
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
        return self.usable & -self.usable

    # -- after a check ---------------------------------------------------------------------------------

    def still(self) -> Telemetry:
        """Wait until nothing moves."""
        self.host.fresh()
        self.host.until(lambda: not self.host.telemetry[-1].state.moves, 4_000_000)
        return self.host.fresh()

    def go_back(self, telemetry: Telemetry) -> None:
        """Move what is owned back to ``start`` on a line of few points, and wait for it."""
        here = self.masked(telemetry.pulses, telemetry.owned)
        target = self.masked(self.start, telemetry.owned)
        away = max(abs(a - b) for a, b in zip(here, target))
        if not away:
            return
        host, begin_us = self.host, self.host.board_now_us() + LEAD_US
        duration_us = max(2, -(-away // (4 * SLOW))) * self.frame_us
        steps = -(-duration_us // (self.info.max_lead_ms * 1000 - 2 * LEAD_US))
        host.send(SetPoint(begin_us % 2**32, here))
        for step in range(1, steps + 1):
            if step > 1:
                host.wait(duration_us // steps)
            at = tuple(a + (b - a) * step // steps for a, b in zip(here, target))
            host.send(SetPoint((begin_us + duration_us * step // steps) % 2**32, at))
        host.send(SetPoint((begin_us + duration_us + self.frame_us) % 2**32, target))
        host.wait(LEAD_US + duration_us // steps + 2 * self.frame_us)
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
        except (CheckSkipped, Violation):  # the next check will say so
            pass

    def leave(self) -> None:
        """Leave the outputs as they were found: what ran stands where it stood, what was off is off."""
        host = self.host
        host.keep_alive = True
        if self.touched:
            telemetry = self.still()
            if not telemetry.faults:
                self.go_back(telemetry)
            ours = host.fresh().live & ~self.found.live
            if ours:
                host.ask(Disable(ours))
            self.touched = False
        host.ask(TelemetryPeriod(PERIOD_MS))
        host.keep_alive = False


def meet(host: Host, *, limits: Sequence[JointLimits], start: Sequence[int] = ()) -> Session:
    """Wait until the board speaks, look at it for a moment, and shake hands.

    Args:
        host: of the board.
        limits: of the joints, as the board has them.
        start: pulses [1/8 us] at which joints stand whose outputs are off.
    """
    assert host.listen(FIRST_WORD_US, lambda: len(host.telemetry) > 4), "the board is silent"
    info = host.ask(Hello())
    assert isinstance(info, Info), "HELLO is not answered"
    return Session(host, info, host.telemetry, limits, start)


def spread_us(telemetry: Sequence[Telemetry]) -> list[int]:
    """Board time between telemetry frames that follow one another [us]."""
    return [ahead_us(b.time_us, a.time_us) for a, b in zip(telemetry, telemetry[1:])]
