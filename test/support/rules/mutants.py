"""Firmwares that each break one rule: a method of the sound one, done wrong; and the rule that has to notice.

A mutant is called with the honest method, then as it is; it stands in a table: (rule, honest method, what is done instead).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from picker_dynamics.board.protocol import Ack, BoardState, Fault, MessageType, Reason, Relax, Reset, Stop
from picker_dynamics.board.protocol.framing import FrameSplitter
from picker_dynamics.board.protocol.messages import decode
from picker_dynamics.sim.firmware_core import VirtualFirmware as Firmware
from picker_dynamics.sim.output_motion import OutputMotion as Motion
from picker_dynamics.sim.setpoint_queue import Point
from picker_dynamics.sim.setpoint_queue import SetPointQueue as Queue

from . import motion, outputs, talk

Wrong = Callable[..., Any]
OK = Reason.NONE, 0


def then(**values: Any) -> Wrong:
    """Done right, and then attributes set wrong; a value that is a function is called with the object."""

    def wrong(honest: Wrong, it: Any, *rest: Any, **named: Any) -> Any:
        result = honest(it, *rest, **named)
        for name, value in values.items():
            setattr(it, name, value(it) if callable(value) else value)
        return result

    return wrong


def unless(condition: Callable[..., object], otherwise: Any = None) -> Wrong:
    """Done right but where ``condition`` (of the object and its arguments) holds."""
    return lambda honest, it, *rest, **named: otherwise if condition(it, *rest) else honest(it, *rest, **named)


def forgiving(reason: Reason) -> Wrong:
    """A queue that does not know one reason."""
    return lambda honest, it, *rest: Reason.NONE if (found := honest(it, *rest)) is reason else found


def with_limits(other: Callable[..., Any]) -> Wrong:
    """Frames that are played within other limits of each joint."""

    def wrong(honest: Wrong, it: Any, at_us: int) -> None:
        limits, it.limits = it.limits, tuple(map(other, it.limits))
        honest(it, at_us)
        it.limits = limits

    return wrong


def acks_set_points(honest: Wrong, it: Any, raw: Any, *rest: Any) -> None:
    accepted = it._accepted
    honest(it, raw, *rest)
    if it._accepted != accepted:
        it._send(Ack(raw.sequence, raw.type_id, 0))


def starts_earlier(honest: Wrong, it: Any, *rest: Any) -> Any:
    begins = not len(it.queue)
    refusal = honest(it, *rest)
    if begins:
        it.queue.anchor = Point(it.queue.anchor.time_us - 100_000 & 0xFFFF_FFFF, it.queue.anchor.pulses)
    return refusal


def leads_from_the_arm(honest: Wrong, it: Any, *rest: Any) -> Any:
    begins = not len(it.queue)
    refusal = honest(it, *rest)
    if begins:
        it.queue.anchor = Point(it.played_us, tuple(it.pulses))
    return refusal


def enables_in_motion(honest: Wrong, it: Any, *rest: Any) -> Any:
    motion, it._motion = it._motion, BoardState.HOLD
    refusal = honest(it, *rest)
    it._motion = motion
    return refusal


def watches_always(honest: Wrong, it: Any, start_us: int) -> None:
    if start_us - it._heard_us > 1000 * it.config.host_timeout_ms:
        it._latch(Fault.HOST_LOST)
    honest(it, start_us)


def loses_the_next(honest: Wrong, it: Any, data: bytes) -> Any:
    before = it.broken
    frames = honest(it, data)
    if it.broken > before or getattr(it, "after_damage", False):
        it.after_damage = it.broken > before and not frames
        return frames[1:]
    return frames


def remembers_nonsense(honest: Wrong, it: Any, raw: Any, reason: Reason, detail: int) -> None:
    honest(it, raw, reason, detail)
    if reason is Reason.BAD_LENGTH:
        it._request_reply, it._request_age = (reason, detail), 0


def ages_in_16_bits(honest: Wrong, it: Any, sequence: int) -> int:
    newest, old = it._newest, it._request_age
    age = honest(it, sequence)
    if newest is not None and old != 0xFFFF:
        ahead = sequence - newest & 0xFFFF
        it._request_age = old + (ahead if ahead < 0x8000 else 0) & 0xFFFF
    return age


def carries_out_again(honest: Wrong, it: Any, raw: Any, now_us: int) -> None:
    if raw.sequence == it._newest and raw.type_id == MessageType.TELEMETRY_PERIOD:
        it._carry_out(decode(raw), now_us)
    honest(it, raw, now_us)


def forgets_what_was_carried_out(honest: Wrong, it: Any, raw: Any, *rest: Any) -> None:
    if it._newest is not None and (it._newest - raw.sequence & 0xFFFF) > it._request_age:
        it._request_age = 0xFFFF
    honest(it, raw, *rest)


def takes_late_for_stale(honest: Wrong, it: Any, raw: Any, *rest: Any) -> None:
    if it._newest is not None and raw.type_id > MessageType.PING and 0 < (it._newest - raw.sequence & 0xFFFF) < 0x8000:
        it._request_age = 0
    honest(it, raw, *rest)


def remembers_the_last_host(honest: Wrong, it: Any, raw: Any, *rest: Any) -> None:
    newest, age = it._newest, it._request_age
    honest(it, raw, *rest)
    if newest is not None and raw.type_id == MessageType.HELLO:
        it._newest, it._request_age = newest, age


def resumes(honest: Wrong, it: Any, message: Any, *rest: Any) -> Any:
    if isinstance(message, Stop):
        it.interrupted = tuple(it._motion.queue._points)
    elif isinstance(message, Reset) and getattr(it, "interrupted", ()):
        answer, played_us = honest(it, message, *rest), it._motion.played_us
        it._motion.accept(Point(played_us + 200_000 & 0xFFFF_FFFF, it.interrupted[-1].pulses), played_us, 2**30)
        return answer
    return honest(it, message, *rest)


def only_faults(honest: Wrong, it: Any, fault: Fault) -> None:
    it.faults |= fault.bit


MUTANTS: dict[str, tuple[Wrong, Wrong, Wrong]] = {
    # what it says of itself, and what it makes of bytes
    "slow telemetry": (talk.telemetry_comes_from_boot_on, Firmware._boot, then(_period_us=25_000)),
    "another boot id": (
        talk.telemetry_agrees_with_itself,
        Firmware._telemetry,
        lambda h, it, now: replace(h(it, now), boot_id=77),
    ),
    "counts every other": (
        talk.the_board_counts_its_frames,
        Firmware._send,
        then(_sequence=lambda it: it._sequence + 1 & 0xFFFF),
    ),
    "about nothing": (talk.hello_is_answered_with_info, Firmware._info, lambda h, it, _: h(it, 0)),
    "stopped clock": (talk.board_time_is_one_clock, Firmware._answer, lambda h, it, *rest: h(it, *rest[:3], 0)),
    "fast clock": (talk.board_time_is_one_clock, Firmware.board_time_us, lambda h, it, now: h(it, now * 103 // 100)),
    "answers twice": (talk.ping_is_acknowledged_and_not_remembered, Firmware._answer, lambda h, it, *r: (h(it, *r), h(it, *r))),
    "forgets unknown types": (
        talk.unknown_types_are_refused,
        Firmware._refuse,
        unless(lambda it, raw, reason, *_: reason is Reason.UNKNOWN_TYPE),
    ),
    "cuts long payloads": (
        talk.other_lengths_are_refused,
        Firmware._handle,
        lambda h, it, raw, now: h(it, raw._replace(payload=b"") if raw.type_id == MessageType.STOP else raw, now),
    ),
    "any period": (
        talk.masks_and_periods_without_meaning_are_refused,
        Firmware._set_period,
        lambda h, it, *r: (h(it, *r), OK)[1],
    ),
    "any version": (
        talk.another_version_is_refused,
        Firmware._handle,
        lambda h, it, raw, now: h(it, raw._replace(version=1), now),
    ),
    "counts delimiters": (
        talk.damage_is_counted_and_never_answered,
        FrameSplitter.feed,
        lambda h, it, data: (setattr(it, "broken", it.broken + data.count(b"\0\0")), h(it, data))[1],
    ),
    "loses the next": (talk.good_frames_pass_through_a_storm, FrameSplitter.feed, loses_the_next),
    "loses the next after half a frame": (talk.a_delimiter_flushes_half_a_frame, FrameSplitter.feed, loses_the_next),
    "waits for the old period": (
        talk.the_telemetry_period_is_kept,
        Firmware._set_period,
        lambda h, it, *r: (h(it, *r), setattr(it, "_next_telemetry_us", it._next_telemetry_us + 400_000))[0],
    ),
    "forgets halves": (
        talk.frames_come_as_they_like,
        FrameSplitter.feed,
        lambda h, it, data: (it._buffer.clear(), h(it, data))[1],
    ),
    "counts one too many": (talk.gaps_are_counted, Firmware._age, then(_missed=lambda it: it._missed + (it._missed == 3))),
    # requests
    "carries out again": (talk.a_request_is_carried_out_once, Firmware._handle, carries_out_again),
    "nothing is stale": (talk.an_older_request_is_stale, Firmware._handle, forgets_what_was_carried_out),
    "late is stale": (talk.a_lost_request_is_carried_out_late, Firmware._handle, takes_late_for_stale),
    "remembers nonsense": (talk.what_is_not_understood_is_not_remembered, Firmware._refuse, remembers_nonsense),
    "remembers the last host": (talk.hello_begins_anew_and_changes_nothing_else, Firmware._handle, remembers_the_last_host),
    "hello resets": (
        talk.hello_begins_anew_and_changes_nothing_else,
        Firmware._handle,
        lambda h, it, raw, now: (h(it, raw, now), raw.type_id == MessageType.HELLO and setattr(it, "faults", 0)),
    ),
    "age wraps": (talk.a_long_stream_makes_nothing_stale, Firmware._age, ages_in_16_bits),
    # stop, faults, outputs
    "reset needs a fault": (
        outputs.stop_is_latched_and_reset_clears_it,
        Firmware._carry_out,
        unless(lambda it, message, *_: isinstance(message, Reset) and not it.faults, (Reason.BAD_VALUE, 0)),
    ),
    "owner first": (
        outputs.a_set_point_is_refused_for_the_first_reason_and_counted,
        Firmware._set_point,
        lambda h, it, *r: (setattr(it, "faults", it.faults if it.owned else 0), h(it, *r)),
    ),
    "counts no refusals": (
        outputs.a_set_point_is_refused_for_the_first_reason_and_counted,
        Firmware._set_point,
        then(_rejected=0),
    ),
    "watches always": (outputs.an_idle_board_misses_no_host, Firmware._frame, watches_always),
    "no disable in fault": (
        outputs.disable_stop_and_relax_are_always_carried_out,
        Firmware._carry_out,
        unless(lambda it, message, *_: it.faults and not isinstance(message, (Stop, Reset)), (Reason.FAULT, 1)),
    ),
    "forgives a low supply": (outputs.a_low_supply_is_a_fault, Firmware._carry_out, then(faults=0, _causes=0)),
    "faults end no motion": (outputs.a_dead_output_is_a_fault, Firmware._latch, only_faults),
    "forgets outputs": (
        outputs.a_reset_of_the_board_keeps_the_outputs,
        Firmware._boot,
        lambda h, it, now, found: h(it, now, [0] * len(found)),
    ),
    "restarts in silence": (
        outputs.a_restart_is_latched,
        Firmware.reboot,
        lambda h, it, now, **named: h(it, now, **named | {"fault": None}),
    ),
    "off by five": (
        outputs.outputs_carry_the_pulses,
        Firmware.pulses_us.fget,
        lambda h, it: tuple(pulse and pulse + 5.0 for pulse in h(it)),
    ),
    "creeps": (
        outputs.owned_joints_stand_still,
        Motion.frame,
        then(pulses=lambda it: [pulse + bool(pulse) for pulse in it.pulses]),
    ),
    "enables all": (outputs.enable_switches_on_what_it_names, Motion.enable, then(live=lambda it: (1 << len(it.limits)) - 1)),
    "adopts what is off": (outputs.enable_switches_on_what_it_names, Motion.adopt, lambda h, it, mask: h(it, mask & it.live)),
    "enables anywhere": (
        outputs.enable_refuses_pulses_outside,
        Motion.enable,
        lambda h, it, mask, pulses: h(it, mask, [it._bounded(joint, pulse) for joint, pulse in enumerate(pulses)]),
    ),
    "enables in motion": (outputs.switching_on_waits_for_standstill, Motion.enable, enables_in_motion),
    "checks all pulses": (
        outputs.pulses_of_joints_that_are_not_owned_are_ignored,
        Motion.accept,
        unless(lambda it, point, *_: min(point.pulses) < 4000, (Reason.OUT_OF_LIMITS, 1)),
    ),
    "disable flushes": (outputs.disable_leaves_the_others, Motion.disable, lambda h, it, mask: (h(it, mask), it.queue.clear())),
    "relax stops": (
        outputs.relax_lets_go,
        Firmware._carry_out,
        lambda h, it, message, *r: (isinstance(message, Relax) and it._latch(Fault.STOPPED), h(it, message, *r))[1],
    ),
    # the queue
    "acks set-points": (outputs.taken_points_are_counted_not_answered, Firmware._set_point, acks_set_points),
    "never full": (outputs.the_queue_is_as_long_as_it_says, Queue.refusal, forgiving(Reason.QUEUE_FULL)),
    "takes equal times": (outputs.points_come_in_order, Queue.refusal, forgiving(Reason.NOT_LATER)),
    "clips pulses": (
        outputs.points_outside_the_limits_are_refused,
        Motion.accept,
        lambda h, it, p, *r: h(it, Point(p.time_us, tuple(it._bounded(j, pulse) for j, pulse in enumerate(p.pulses))), *r),
    ),
    "past is before now": (
        outputs.time_stamps_are_neither_past_nor_too_far,
        Queue.refusal,
        lambda h, it, time_us, now_us, played_us, lead_us: h(it, time_us, now_us, now_us, lead_us),
    ),
    # motion
    "stairs": (motion.pulses_are_interpolated, Queue.at, lambda h, it, at_us, joint: it.anchor.pulses[joint]),
    "plays the start": (motion.pulses_are_interpolated, Firmware._frame, lambda h, it, start_us: h(it, start_us - 10_000)),
    "coarse on long lines": (
        motion.long_lines_are_interpolated,
        Queue.at,
        lambda h, it, at_us, joint: h(it, at_us & ~0x3FFF if len(it) else at_us, joint),
    ),
    "starts earlier": (motion.a_line_starts_where_the_arm_is, Motion.accept, starts_earlier),
    "plays by arrival": (
        motion.jitter_changes_nothing,
        Motion.accept,
        lambda h, it, p, now_us, lead_us: h(it, Point(now_us + 60_000 & 0xFFFF_FFFF, p.pulses), now_us, lead_us),
    ),
    "creeping counts": (motion.a_creeping_end_is_no_underrun, Motion._moves, lambda h, it: any(it._speed)),
    "underruns are not counted": (motion.an_underrun_is_braked_counted_and_joined_again, Motion.frame, then(underruns=0)),
    "leads from the arm": (motion.a_lagging_arm_is_led_from_its_target, Motion.accept, leads_from_the_arm),
    "rushes": (motion.the_speed_limit_holds, Motion.frame, with_limits(lambda one: replace(one, speed=one.speed + 1))),
    "brakes harder": (
        motion.stop_brakes_evenly_and_nothing_resumes,
        Motion.frame,
        with_limits(lambda one: replace(one, brake=2 * one.brake)),
    ),
    "resumes": (motion.stop_brakes_evenly_and_nothing_resumes, Firmware._carry_out, resumes),
    "brakes beyond": (
        motion.braking_ends_at_the_limit,
        Motion.frame,
        with_limits(lambda one: replace(one, lowest=1, highest=32767)),
    ),
    # a host that is gone
    "lets go of the arm": (
        motion.a_silent_host_is_lost,
        Firmware._latch,
        lambda h, it, fault: (h(it, fault), fault is Fault.HOST_LOST and it._motion.disable(it.owned)),
    ),
    "follows the lost": (motion.a_lost_host_is_not_followed, Firmware._latch, only_faults),
    "hears noise": (
        motion.only_valid_frames_keep_the_host,
        Firmware.receive,
        lambda h, it, data, now_us: (setattr(it, "_heard_us", now_us), h(it, data, now_us)),
    ),
}
"""By name: the rule that has to notice, the honest method, and what is done instead of it."""


def apply(monkeypatch, name: str) -> None:
    """Let every firmware in Python be this mutant."""
    _, honest, wrong = MUTANTS[name]
    owner = getattr(sys.modules[honest.__module__], honest.__qualname__.split(".")[0])
    instead = lambda it, *rest, **named: wrong(honest, it, *rest, **named)  # noqa: E731
    prop = isinstance(vars(owner)[honest.__name__], property)
    monkeypatch.setattr(owner, honest.__name__, property(instead) if prop else instead)
