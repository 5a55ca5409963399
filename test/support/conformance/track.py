"""Motions played on a board, and what its telemetry shows of them, servo frame by servo frame.

Where the pulses have to be between set-points is written from the protocol's page, not from any firmware.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from picker_dynamics.board.protocol import TIME_MODULUS, Nack, SetPoint, Telemetry, TelemetryPeriod, ahead_us

from .host import LEAD_US
from .requirements import CheckSkipped, Violation, require, require_taken
from .session import REACH, SLOW, Session

SETTLING_US = 1_500
"""So long after the start of a servo frame its pulses may not be out yet."""
STEP_US = 17_000
"""Spacing of a motion's points: no multiple of the servo frame, so that every fraction of it occurs."""
PERIODS_MS = (3, 7, 11)
PACE_US = 2_000
"""Time between set-points: a host at its fastest sends 500 a second, not many at once."""

Point = tuple[int, tuple[int, ...]]


def on_line(t0: int, p0: int, t1: int, p1: int, t: int) -> int:
    """The pulse at ``t`` on the line from (t0, p0) to (t1, p1), to the last bit as the page has it."""
    span, elapsed = ahead_us(t1, t0), ahead_us(t, t0)
    while span > 65535:
        span, elapsed = span // 2, elapsed // 2
    fraction = elapsed * 65536 // span
    return p0 + ((p1 - p0) * fraction + 32768) // 65536


class Way:
    """Points (time_us, pulses) in order; before the first and after the last the pulses stand.

    Args:
        points: at least one; times modulo 2^32.
    """

    def __init__(self, points: Sequence[Point]):
        self.points = tuple(points)

    def at(self, time_us: int) -> tuple[int, ...]:
        """The pulses that hold at a board time."""
        before = self.points[0]
        for point in self.points:
            if ahead_us(point[0], time_us) > 0:
                if point is before:
                    return before[1]
                return tuple(on_line(before[0], a, point[0], b, time_us) for a, b in zip(before[1], point[1]))
            before = point
        return before[1]


class Run(NamedTuple):
    """Telemetry frames in a row that show the same pulses: times of the first, of the last, and of the one before."""

    pulses: tuple[int, ...]
    first_us: int
    last_us: int
    before_us: int


def watch_closely(session: Session) -> None:
    """Telemetry as often as the wire carries it, at a period that meets every part of a servo frame."""
    byte_us = 10e6 / session.host.baud
    need_ms = 1.3e-3 * byte_us * (39 + 4 * session.n)
    period = next((one for one in PERIODS_MS if one >= need_ms), PERIODS_MS[-1])
    session.host.expect_ack(TelemetryPeriod(period), f"a telemetry period of {period} ms")


def directions(session: Session) -> tuple[int, ...]:
    """+1 or -1 for each joint: where there is more room; 0 for joints that may not be used."""
    return tuple(
        0 if not session.usable >> joint & 1 else 1 if limit.highest - pulse >= pulse - limit.lowest else -1
        for joint, (pulse, limit) in enumerate(zip(session.start, session.limits))
    )


def moved(session: Session, by: Sequence[int]) -> tuple[int, ...]:
    """Pulses of a pose near ``start``: each joint moved by so much towards where there is more room."""
    return tuple(pulse + sign * step for pulse, sign, step in zip(session.start, directions(session), by))


def play(session: Session, points: Sequence[Point], *, settle: bool = True) -> list[Telemetry]:
    """Send all points at once, and wait until nothing moves; the telemetry of the whole motion.

    Raises:
        Violation: a point was refused.
    """
    host = session.host
    begin = len(host.telemetry)
    send(session, points)
    last_us = points[-1][0]
    host.listen(4_000_000, lambda: ahead_us(host.telemetry[-1].time_us, last_us) >= session.frame_us)
    if settle:
        session.still()
        host.wait(2 * session.frame_us)
    return host.telemetry[begin:]


def send(session: Session, points: Sequence[Point]) -> None:
    """Send points, and see that they are taken."""
    host, mark = session.host, session.host.mark()
    before = host.telemetry[-1]
    for time_us, pulses in points:
        host.send(SetPoint(time_us % TIME_MODULUS, tuple(pulses)))
        host.listen(PACE_US)
    after = host.fresh()
    require_taken(host.since(mark, Nack), "every point to be taken")
    taken = after.accepted - before.accepted & 0xFFFF
    require(
        taken == len(points),
        f"{len(points)} points to arrive",
        f"{taken}, {after.bad_frames - before.bad_frames & 0xFFFF} damaged frames",
    )


def wavy(session: Session, count: int = 13) -> list[Point]:
    """A slow motion out and partly back whose speed changes at every point, and that ends at rest."""
    begin = session.host.board_now_us() + LEAD_US + 20_000
    points, way = [(begin, session.start)], [0] * session.n
    scale = min([SLOW, *(limit.speed // 2 for limit in session.limits)])
    for k in range(1, count + 1):
        for joint in range(session.n):
            way[joint] += scale * (11 + (5 * k + 3 * joint) % 7) // 20 * (1 if k < 9 else -1)
            way[joint] = min(REACH, way[joint])
        points.append((begin + STEP_US * k, moved(session, way)))
    points.append((points[-1][0] + STEP_US, points[-1][1]))
    return points


def runs(seen: Sequence[Telemetry]) -> list[Run]:
    """Telemetry grouped by the pulses that it shows; the first group has no beginning and is left out."""
    found: list[Run] = []
    for before, one in zip(seen, seen[1:]):
        if one.pulses != before.pulses:
            found.append(Run(one.pulses, one.time_us, one.time_us, before.time_us))
        elif found:
            found[-1] = found[-1]._replace(last_us=one.time_us)
    return found


def evaluations(session: Session, points: Sequence[Point], seen: Sequence[Telemetry]) -> range:
    """The board times, to within what rounding leaves open, at which the first frame that moved was evaluated.

    Every pulse that was seen has to be on the way, to the last bit, at instants one servo frame apart.

    Raises:
        Violation: there are no such instants.
    """
    frames = runs(seen)
    require(len(frames) >= 5, "pulses that move", f"{len(frames)} changes")
    base, frame = frames[0].first_us, session.frame_us
    candidates: Sequence[int] = range(-3 * frame // 2, 3 * frame // 2)
    joint = max(range(session.n), key=lambda j: abs(points[len(points) // 2][1][j] - points[0][1][j]))
    way = Way([(time_us, (pulses[joint],)) for time_us, pulses in points])
    ahead = [round(ahead_us(one.first_us, base) / frame) * frame for one in frames]
    for one, later in zip(frames, ahead):
        left = [at for at in candidates if way.at(base + at + later & 0xFFFF_FFFF)[0] == one.pulses[joint]]
        if not left:
            middle = base + candidates[len(candidates) // 2] + later & 0xFFFF_FFFF
            raise Violation(
                f"expected pulses on the line between set-points: joint {joint} at {way.at(middle)[0]} "
                f"around board time {middle}; got {one.pulses[joint]}"
            )
        candidates = left
    whole = Way(points)
    for one, later in zip(frames, ahead):
        left = [at for at in candidates if whole.at(base + at + later & 0xFFFF_FFFF) == one.pulses]
        if not left:
            middle = base + candidates[len(candidates) // 2] + later & 0xFFFF_FFFF
            raise Violation(f"expected pulses {whole.at(middle)} at board time {middle}; got {one.pulses}")
        candidates = left
    return range((base + candidates[0]) % TIME_MODULUS, (base + candidates[0]) % TIME_MODULUS + len(candidates))


def phase_us(session: Session) -> int:
    """An instant at which a servo frame was evaluated; found by a slow motion, once a session."""
    if session.phase_us is None:
        find_phase(session)
        session.go_back(session.host.fresh())
    assert session.phase_us is not None
    return session.phase_us


def find_phase(session: Session) -> tuple[range, list[Point], list[Telemetry]]:
    """Play a slow motion and keep when its frames were evaluated: the first of these times, its points, its telemetry."""
    watch_closely(session)
    points = wavy(session)
    seen = play(session, points)
    found = evaluations(session, points, seen)
    session.phase_us, session.phase_slack_us = found[len(found) // 2], len(found) // 2 + 1
    return found, points, seen


def take_in_phase(session: Session) -> Telemetry:
    """Own all joints, standing at ``start``, with the instant of an evaluation known."""
    session.take()
    phase_us(session)
    return session.take()


def evaluated_us(session: Session, at_us: int) -> tuple[int, int]:
    """The evaluation whose pulses hold at a board time, and the time since its frame began [us]."""
    half = session.frame_us // 2
    since = (ahead_us(at_us, phase_us(session)) + half) % session.frame_us
    return (at_us + half - since) % TIME_MODULUS, since


def by_frame(session: Session, seen: Sequence[Telemetry]) -> dict[int, Telemetry]:
    """Telemetry that shows the pulses of a frame for certain, by the time since the first evaluation [frames]."""
    shown: dict[int, Telemetry] = {}
    first = None
    for one in seen:
        at, since = evaluated_us(session, one.time_us)
        first = at if first is None else first
        if SETTLING_US <= since:
            shown.setdefault(round(ahead_us(at, first) / session.frame_us), one)
    return shown


def steps(session: Session, seen: Sequence[Telemetry], joint: int) -> list[int]:
    """Changes of a joint's pulse from frame to frame, forward being where there is more room.

    Raises:
        CheckSkipped: frames were not seen.
    """
    shown = by_frame(session, seen)
    keys = sorted(shown)
    if keys != list(range(keys[0], keys[-1] + 1)):
        raise CheckSkipped("telemetry was lost: not every servo frame was seen")
    sign = directions(session)[joint]
    return [sign * (shown[k + 1].pulses[joint] - shown[k].pulses[joint]) for k in keys[:-1]]


def require_on_way(session: Session, points: Sequence[Point], seen: Sequence[Telemetry], what: str) -> None:
    """Require every pulse seen to be on the way at the instant at which its frame was evaluated."""
    way = Way(points)
    for one in by_frame(session, seen).values():
        at, _ = evaluated_us(session, one.time_us)
        slack = session.phase_slack_us
        best = [way.at(at + off & 0xFFFF_FFFF) for off in (0, -slack, slack)]
        require(one.pulses in best or _between(one.pulses, best), f"{what}: pulses {best[0]} at board time {at}", one.pulses)


def _between(pulses: Sequence[int], best: Sequence[Sequence[int]]) -> bool:
    return all(min(column) <= pulse <= max(column) for pulse, column in zip(pulses, zip(*best)))
