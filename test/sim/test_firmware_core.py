"""The firmware in Python under fire: noise, wild messages, 32-bit arithmetic, and the golden session of both firmwares."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from firmware_bench import FRAME_US, FUZZ, LIMITS, Bench, golden, play_golden_session, wire
from generated import LIFE, lives
from hypothesis import given
from hypothesis import strategies as st
from unruly_host import UnrulyHost

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import Adopt, Disable, Enable, Fault, FrameDecoder, Reason, Relax
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.output_motion import interpolate

CONFIG = FirmwareConfig(LIMITS[:1] * 5)
SEEN = ("pulses", "state", "faults", "live", "owned")


def test_a_found_pulse_just_outside_its_limit_is_moved_to_it_and_a_far_one_refused():
    bench = Bench(found_us=(497.0, 2504.0, 490.0))  # limits 500 and 2500; the output's step is 4.9
    bench.acked(Adopt(0b011))
    assert bench.pulses_us[:2] == (500.0, 2500.0)
    bench.refused(Adopt(0b100), Reason.OUT_OF_LIMITS, 2)
    assert bench.pulses_us[2] == 490.0


@golden("not_understood", "name")
def test_frames_that_are_not_understood_are_refused_by_name(vector):
    bench = Bench()
    bench.raw(wire(vector))
    assert bench.heard[-1][1].reason is Reason[vector["reason"]]


def test_a_board_drives_one_to_eight_joints():
    for count in (0, 9):
        with pytest.raises(ConfigurationError, match=f"{count} joints"):
            FirmwareConfig(LIMITS[:1] * count)


@golden("interpolation", "at_us")
def test_golden_interpolation(vector):
    vector = dict(vector)
    assert interpolate(**{key: vector[key] for key in vector if key != "pulse"}) == vector["pulse"]


@FUZZ
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 2_000_000), st.integers(0, 2_000_000), st.integers(1, 32767), st.integers(1, 32767)
)
def test_interpolation_is_the_straight_line_in_32_bits(start_us, span, elapsed, start, end):
    elapsed %= span + 1
    got = interpolate(start_us, start, (start_us + span) % 2**32, end, (start_us + elapsed) % 2**32)
    exact = start + Fraction(end - start) * elapsed / span
    time_grain = Fraction(2 * 2 ** max(0, span.bit_length() - 16), span)  # both times lose their low bits
    assert abs(got - exact) <= Fraction(1, 2) + abs(end - start) * (Fraction(1, 65536) + time_grain)
    assert min(start, end) <= got <= max(start, end)
    assert abs(end - start) * 65536 + 0x8000 < 2**31


def test_golden_session():
    play_golden_session(VirtualFirmware)


class Life:
    """A board on a bad line with a host that does nonsense: what its outputs do, frame by frame."""

    def __init__(self, seed: int):
        self.host, self.firmware = UnrulyHost(seed), VirtualFirmware(CONFIG, boot_id=seed)
        self.now_us, self.heard_us, self.steps, self.moved, self.decoder = 0, 0, (0,) * 5, 0, FrameDecoder()

    def live(self, frames: int) -> None:
        for _ in range(frames):
            firmware, pick = self.firmware, self.host.rng
            depth = SimpleNamespace(**{name: getattr(firmware, name) for name in SEEN}, queue_depth=pick.randrange(16))
            data, before = self.host.next(depth, firmware.board_time_us(self.now_us)), firmware.pulses
            sound = [message for _, message in self.decoder.feed(data)]
            firmware.receive(data, self.now_us)
            self.heard_us = self.now_us if sound else self.heard_us
            switched = any(isinstance(one, (Enable, Disable, Relax)) for one in sound)
            assert switched or firmware.pulses == before, "bytes alone move no output, nor switch one"
            for _ in range(pick.choice((0, 0, 1, 1, 2, 15))):
                self.frame()

    def frame(self) -> None:
        """One servo frame: time alone switches nothing, and moves no output faster than it may."""
        firmware, before, live, faults = self.firmware, self.firmware.pulses, self.firmware.live, self.firmware.faults
        self.now_us += FRAME_US
        firmware.advance(self.now_us)
        steps = tuple(now - then for now, then in zip(firmware.pulses, before))
        assert firmware.live == live
        for joint, (limits, step, last) in enumerate(zip(CONFIG.joints, steps, self.steps)):
            assert limits.lowest <= firmware.pulses[joint] <= limits.highest if live >> joint & 1 else not firmware.pulses[joint]
            assert abs(step) <= limits.speed
            assert not faults or abs(step) <= max(abs(last) - limits.brake, 0), "it does not brake"
        lost = firmware.owned and self.now_us - self.heard_us > 1000 * CONFIG.host_timeout_ms + FRAME_US
        assert not lost or firmware.faults & Fault.HOST_LOST.bit, "a host that is silent is lost"
        self.steps, self.moved = steps, self.moved + any(steps)


@lives(9600)
def test_no_sequence_of_frames_breaks_a_limit(seed):
    life = Life(seed)
    for number in range(LIFE):
        try:
            life.live(10)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, sequence {number}") from error
    assert life.moved > LIFE, "it hardly ever moves"
