"""What a board says of itself, what it makes of bytes, and requests that are answered once and carried out once."""

from firmware_bench import Answer, Bench, require_nack

from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    Ack,
    Adopt,
    Disable,
    Enable,
    Fault,
    Hello,
    MessageType,
    Nack,
    Ping,
    Reason,
    Reset,
    Stop,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
    encode,
)
from picker_dynamics.board.protocol.framing import build

from .rule import Rules

rule = Rules()
BUILT_US = 1_000
"""How far the building of telemetry may wander from its period [us]: the board may be busy with something else."""


def gaps_us(seen: list[Telemetry]) -> list[int]:
    """Board time from one telemetry frame to the next [us]."""
    return [ahead_us(b.time_us, a.time_us) for a, b in zip(seen, seen[1:])]


def require_period(bench: Bench, period_ms: int) -> None:
    """Require this telemetry period: the visible effect of a harmless request."""
    bench.run(1000 * period_ms, host_alive=False)
    begin = len(bench.telemetry)
    gaps = gaps_us(bench.run(3_500 * period_ms).telemetry[begin:])
    assert len(gaps) > 1 and all(abs(gap - 1000 * period_ms) <= BUILT_US for gap in gaps), (period_ms, gaps)


def ask(
    bench: Bench, kind: int, payload: bytes = b"", version: int = PROTOCOL_VERSION, number: int | None = None
) -> Answer | None:
    """Send any frame with a right checksum, and wait for its answer."""
    if number is None:
        number, bench.sequence = bench.sequence, bench.sequence + 1
    begin = len(bench.heard)
    bench.raw(build(version, kind, number, payload))
    return bench.answer(number, begin)


def answers(bench: Bench, begin: int) -> list[int]:
    """Sequence numbers of what was answered since, in order."""
    return [one.request for _, one in bench.heard[begin:] if isinstance(one, Answer)]


# -- what it says of itself ------------------------------------------------------------------------------------------


@rule
def telemetry_comes_from_boot_on(bench: Bench) -> None:
    """Every 20 ms, host or no host; the first frame may have waited for the outputs."""
    gaps = gaps_us(bench.run(300_000, host_alive=False).telemetry[1:])
    assert len(gaps) > 8 and all(abs(gap - 20_000) <= BUILT_US for gap in gaps), gaps


@rule
def the_board_counts_its_frames(bench: Bench) -> None:
    """Modulo 2^16, each once."""
    bench.greeted().run(200_000)
    numbers = [sequence for sequence, _ in bench.heard]
    assert {(b - a) & 0xFFFF for a, b in zip(numbers, numbers[1:])} == {1}


@rule
def ping_is_acknowledged_and_not_remembered(bench: Bench) -> None:
    """With the time of each answer; the same sequence is answered again, never STALE; each once, in order."""
    bench.greeted()
    number = bench.sequence
    first = bench.acked(Ping())
    assert 0 <= ahead_us(first.time_us, bench.telemetry[-1].time_us) and ahead_us(bench.last.time_us, first.time_us) > 0
    bench.acked(TelemetryPeriod(20))
    assert ahead_us(bench.acked(Ping(), sequence=number).time_us, first.time_us) >= 9_000
    bench.run(5_000, host_alive=False)
    begin, numbers = len(bench.heard), [bench.write(Ping()) for _ in range(4)]
    bench.run(30_000, host_alive=False)
    assert answers(bench, begin) == numbers


# -- what it refuses at once -----------------------------------------------------------------------------------------


@rule
def unknown_types_are_refused(bench: Bench) -> None:
    """And so are the messages of a board."""
    board = (bench.greeted().info, Ack(1, 2, 3), Nack(1, 2, Reason.STALE, 0), bench.telemetry[-1])
    for kind, payload in [
        *((kind, b"") for kind in (0x00, 0x0C, 0x7F, 0x80, 0x85, 0xFF)),
        *((m.TYPE, m.payload()) for m in board),
    ]:
        answer = ask(bench, kind, payload)
        require_nack(answer, Reason.UNKNOWN_TYPE, 0, kind)
        assert answer.request_type == kind


@rule
def other_lengths_are_refused(bench: Bench) -> None:
    """With BAD_LENGTH; a STOP of another length does nothing."""
    bench.greeted()
    lengths = {MessageType.ENABLE: 1 + 2 * bench.n, MessageType.ADOPT: 1, MessageType.DISABLE: 1, MessageType.TELEMETRY_PERIOD: 2}
    lengths[MessageType.SET_POINT] = 4 + 2 * bench.n
    for kind in [one for one in MessageType if one < MessageType.INFO]:
        right = lengths.get(kind, 0)
        for size in {0, right - 2, right - 1, right + 1, right + 2} - {right, -1, -2}:
            require_nack(ask(bench, kind, bytes((1,) * size)), Reason.BAD_LENGTH, 0, (kind, size))
    bench.tells(faults=0)


@rule
def masks_and_periods_without_meaning_are_refused(bench: Bench) -> None:
    """With BAD_VALUE and the value; nothing is switched."""
    bench.enabled()
    for mask in {0, 1 << bench.n & 0xFF, 0x80 & ~bench.all, 0xFF & ~bench.all}:
        for message in (Adopt(mask), Disable(mask), Enable(mask, (0,) * bench.n)):
            bench.refused(message, Reason.BAD_VALUE, mask)
    for period_ms in (0, 1, 1001, 65535):
        bench.refused(TelemetryPeriod(period_ms), Reason.BAD_VALUE, period_ms)
    bench.tells(live=bench.all, owned=bench.all)


@rule
def the_telemetry_period_is_kept(bench: Bench) -> None:
    """A new one counts from the telemetry sent last; where it is over already, the next goes out at once."""
    bench.greeted()
    for period_ms in (7, 37, 251):
        bench.acked(TelemetryPeriod(period_ms))
        require_period(bench, period_ms)
    bench.acked(TelemetryPeriod(1000))
    bench.run(300_000)
    begin, ack = len(bench.telemetry), bench.acked(TelemetryPeriod(20))
    bench.run(50_000)
    first, second = (ahead_us(one.time_us, ack.time_us) for one in bench.telemetry[begin:][:2])
    assert abs(first) <= BUILT_US and abs(second - first - 20_000) <= BUILT_US


@rule
def another_version_is_refused(bench: Bench) -> None:
    """With OTHER_VERSION, in the board's own version; a STOP of it does nothing."""
    bench.greeted()
    for version in (0, PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1, 255):
        for kind, payload in ((MessageType.STOP, b""), (0x55, b"any length")):
            require_nack(ask(bench, kind, payload, version), Reason.OTHER_VERSION, PROTOCOL_VERSION, version)
    bench.tells(faults=0)


# -- bytes -----------------------------------------------------------------------------------------------------------


@rule
def gaps_are_counted(bench: Bench) -> None:
    """Of good frames of this version alone; older ones, HELLO and the wrap from 65535 to 0 make none."""
    missed = bench.greeted().last.missed_frames
    for jump, gap in ((1, 0), (4, 3), (101, 100), (1, 0)):
        bench.sequence += jump - 1
        bench.acked(Ping())
        missed += gap
        bench.tells(missed_frames=missed)
    bench.acked(Ping(), sequence=bench.sequence - 3)
    damaged = bytearray(encode(Ping(), bench.sequence + 40))
    damaged[-2] ^= 1 if damaged[-2] != 1 else 2
    bench.raw(bytes(damaged))
    require_nack(ask(bench, MessageType.PING, version=PROTOCOL_VERSION + 1, number=bench.sequence + 50), Reason.OTHER_VERSION)
    bench.tells(missed_frames=missed)
    bench.sequence = 65530
    bench.send(Hello())
    for _ in range(12):
        bench.acked(Ping())
    bench.tells(missed_frames=missed)


# -- requests --------------------------------------------------------------------------------------------------------


@rule
def a_request_is_carried_out_once(bench: Bench) -> None:
    """Sent again with the same sequence it gets the answer given before."""
    number = bench.greeted().sequence
    bench.acked(TelemetryPeriod(30))
    bench.acked(TelemetryPeriod(10), sequence=number)
    require_period(bench, 30)
    number = bench.sequence
    bench.refused(TelemetryPeriod(0), Reason.BAD_VALUE, 0)
    bench.refused(TelemetryPeriod(10), Reason.BAD_VALUE, 0, sequence=number)


@rule
def an_older_request_is_stale(bench: Bench) -> None:
    """An old RESET does not undo a newer STOP, nor an old STOP a newer RESET."""
    first = bench.greeted().sequence
    bench.acked(Reset())
    bench.acked(Stop())
    bench.refused(Reset(), Reason.STALE, 0, sequence=first)
    bench.tells(faults=Fault.STOPPED.bit)
    bench.acked(Reset())
    bench.refused(Stop(), Reason.STALE, 0, sequence=first + 1)
    bench.tells(faults=0)


@rule
def a_lost_request_is_carried_out_late(bench: Bench) -> None:
    """After later frames that are no requests."""
    number = bench.greeted().sequence
    bench.sequence += 1
    bench.acked(Ping())
    bench.acked(TelemetryPeriod(40), sequence=number)
    require_period(bench, 40)


@rule
def what_is_not_understood_is_not_remembered(bench: Bench) -> None:
    """A request with the same sequence is carried out."""
    for kind, reason in ((MessageType.TELEMETRY_PERIOD, Reason.BAD_LENGTH), (0x7F, Reason.UNKNOWN_TYPE)):
        number = bench.greeted().sequence
        bench.sequence += 1
        require_nack(ask(bench, kind, b"\x1e", number=number), reason, 0)
        bench.acked(TelemetryPeriod(30), sequence=number)
        require_period(bench, 30)
        bench.acked(TelemetryPeriod(20))


@rule
def hello_begins_anew_and_changes_nothing_else(bench: Bench) -> None:
    """Lower sequences are new requests; outputs, ownership and faults stay."""
    bench.enabled().sequence = 5000
    bench.acked(Stop())
    before = bench.last
    bench.sequence = 3
    bench.send(Hello())
    bench.tells(**{name: getattr(before, name) for name in ("missed_frames", "faults", "live", "owned", "pulses", "state")})
    number = bench.sequence
    bench.acked(TelemetryPeriod(30))
    bench.sequence = number
    bench.send(Hello())
    bench.acked(TelemetryPeriod(40), sequence=number)
    require_period(bench, 40)


@rule
def a_long_stream_makes_nothing_stale(bench: Bench) -> None:
    """The number of an earlier request, two turns later, is a new one."""
    first = bench.greeted().sequence
    bench.acked(TelemetryPeriod(20))
    for step in range(20_000, 131_072, 20_000):
        bench.acked(Ping(), sequence=first + step & 0xFFFF)
    bench.sequence = first
    bench.acked(TelemetryPeriod(30))
    require_period(bench, 30)
