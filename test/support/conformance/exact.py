"""Checks that only simulated time can make, where nothing is late: instants to the frame, a host that is late on purpose."""

from __future__ import annotations

import random

from picker_dynamics.board.protocol import Nack, Reason, SetPoint, ahead_us

from .check import Checks
from .fast import frames_of, room, top_speed
from .host import Host
from .motion import begin_us
from .outputs import joints_of
from .queue import require_refused, send_points
from .requirements import CheckSkipped, require, require_hold, require_nack, require_taken, require_underruns
from .session import REACH, Session
from .track import evaluated_us, moved, phase_us, play, require_on_way, send, take_in_phase, watch_closely

check = Checks(inside=True)
UNSURE_US = 100
"""How closely the instant of an evaluation is known from telemetry."""


@check("TOO_FAR begins at max_lead_ms, to some ms")
def the_lead_is_kept_closely(session: Session, host: Host) -> None:
    lead_us = session.info.max_lead_ms * 1000
    session.take()
    way_us = round(10e6 / host.baud * (12 + 2 * session.n)) + 1_000
    require_refused(session, host.board_now_us() + lead_us + 25_000 + way_us, Reason.TOO_FAR, "a point 25 ms beyond the lead")
    after, refusals = send_points(session, [host.board_now_us() + lead_us - 1_000])
    require_taken(refusals, "a point 1 ms within the lead to be taken")
    session.forget()


@check("PAST begins at the instant evaluated last, half a frame after the frame's start")
def the_past_begins_at_the_last_evaluation(session: Session, host: Host) -> None:
    session.take()
    phase_us(session)
    for beyond, past in ((-UNSURE_US, True), (UNSURE_US, False)):
        host.listen(session.frame_us, lambda: 4_000 <= evaluated_us(session, host.board_now_us())[1] < 6_000)
        played, _ = evaluated_us(session, host.board_now_us())
        _, refusals = send_points(session, [played + beyond])
        if past:
            require_nack(refusals[0] if refusals else None, Reason.PAST, f"a point {UNSURE_US} us before the last evaluation", 0)
        else:
            require_taken(refusals, f"a point {UNSURE_US} us after the last evaluation to be taken")
        session.still()


@check("a host that is late by up to 20 ms changes nothing in the pulses while the queue holds")
def jitter_changes_nothing(session: Session, host: Host) -> None:
    late = random.Random(2)
    session.take()
    phase_us(session)
    watch_closely(session)
    begin, count, spacing = host.board_now_us() + 70_000, 60, 10_000
    points = []
    for k in range(count + 1):
        way = REACH * min(k, count - 1) ** 2 // (count - 1) ** 2
        points.append((begin + spacing * k, moved(session, (way,) * session.n)))
    seen_from, mark = len(host.telemetry), host.mark()
    for time_us, pulses in points:
        due_us = time_us - 60_000 + late.randrange(20_000)
        host.listen(max(0, ahead_us(due_us & 0xFFFF_FFFF, host.board_now_us())))
        host.send(SetPoint(time_us & 0xFFFF_FFFF, pulses))
    session.still()
    refused = host.since(mark, Nack)
    require_taken(refused, "every point to be taken")
    seen = [one for one in host.telemetry[seen_from:] if ahead_us(one.time_us, begin & 0xFFFF_FFFF) > session.frame_us]
    require_on_way(session, points, seen, "with a jittery host")


@check("a point that finds the arm lagging starts its line at the target, not at where the arm is")
def a_lagging_arm_is_led_from_its_target(session: Session, host: Host) -> None:
    take_in_phase(session)
    watch_closely(session)
    speed = min(limit.speed for limit in session.limits)
    if room(session) < 3 * speed:
        raise CheckSkipped("too little room")
    ends = moved(session, (5 * speed // 2,) * session.n)
    begin, mark = begin_us(session), len(host.telemetry)
    send(session, [(begin, session.start), (begin + 1, ends), (begin + 2, ends)])
    host.until(lambda: host.telemetry[-1].limited and not host.telemetry[-1].queue_depth)
    host.send(SetPoint(host.board_now_us() + 5 * session.frame_us & 0xFFFF_FFFF, ends))
    session.still()
    host.wait(2 * session.frame_us)
    slowest = min(joints_of(session.usable), key=lambda joint: session.limits[joint].speed)
    got = frames_of(session, host.telemetry[mark:], slowest)
    require(got == [speed, speed, 5 * speed // 2 - 2 * speed], f"steps of {speed}, {speed}, {5 * speed // 2 - 2 * speed}", got)


@check("a motion that has ended leaves no speed behind: a small one after it is no underrun")
def a_motion_leaves_no_speed_behind(session: Session, host: Host) -> None:
    take_in_phase(session)
    speed = top_speed(session)
    begin = begin_us(session)
    ends = moved(session, (speed // 2 * 3,) * session.n)
    first = play(session, [(begin, session.start), (begin + 1, ends), (begin + 2, ends)])[-1]
    ends = moved(session, (speed // 2 * 3 + 1,) * session.n)
    host.listen(session.frame_us, lambda: 4_000 <= evaluated_us(session, host.board_now_us())[1] < 6_000)
    played, _ = evaluated_us(session, host.board_now_us())
    last = play(session, [(played + session.frame_us - 1_000, ends)])[-1]  # passed in the first frame that knows it
    require_hold(last, ends)
    require_underruns(first, last)
