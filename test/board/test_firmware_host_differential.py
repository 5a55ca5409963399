"""The C++ core and the Python firmware, side by side: the same bytes and times in, the same pulses, states and bytes out."""

from __future__ import annotations

import random

import pytest
from firmware_host import HostFirmware, require_compiler

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    PULSE_UNITS_PER_US,
    TIME_MODULUS,
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Hello,
    JointLimits,
    MessageType,
    Ping,
    Relax,
    Reset,
    SetPoint,
    Stop,
    TelemetryPeriod,
    encode,
)
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.sim.firmware_core import VirtualFirmware

require_compiler()
FRAMES, CORRUPTED = 8000, 0.3


class Pair:
    """Both firmwares, fed alike and compared after every step."""

    def __init__(self, config, found):
        self.config, self.now_us = config, 0
        self.python = VirtualFirmware(config, found_us=[pulse / PULSE_UNITS_PER_US or None for pulse in found])
        self.host = HostFirmware(config, found=found)

    def wait(self, until_us, look_us=20_000):
        """Let time pass, and take what is sent before Python's transmit buffer is full."""
        while self.now_us < until_us:
            self.now_us = min(until_us, self.now_us + look_us)
            self.python.advance(self.now_us)
            self.host.advance(self.now_us)
            self.compare()

    def step(self, data, later_us):
        self.wait(self.now_us + later_us)
        self.python.receive(data, self.now_us)
        self.host.receive(data, self.now_us)
        self.compare()

    def compare(self):
        names = ("pulses", "state", "faults", "live", "owned")
        assert [getattr(self.host, name) for name in names] == [getattr(self.python, name) for name in names]
        assert self.host.transmit() == self.python.transmit()


class RandomHost:
    """A host that mostly behaves: it greets, enables, streams and pings, and sometimes does anything at all."""

    def __init__(self, seed, pair):
        self.random, self.pair, self.sequence, self.last_time_us = random.Random(seed), pair, 0, 0
        self.at = [random.Random(seed).randrange(limits.lowest, limits.highest) for limits in pair.config.joints]

    def frame(self):
        choice = self.random.random()
        if choice < 0.02:
            kind = self.random.randrange(256)
            data = build(self.random.choice((1, 1, 2)), kind, self.sequence, self.random.randbytes(self.random.randrange(40)))
        elif choice < 0.04:
            data = self.request_of_wrong_length()
        else:
            data = encode(self.wild_message() if choice < 0.1 else self.wise_message(), self.sequence)
        if self.random.random() > 0.03:  # else the number is used again
            self.sequence = self.sequence + self.random.choice((1,) * 300 + (2, 5, 40_000)) & 0xFFFF
        return data

    def request_of_wrong_length(self):
        kind = self.random.choice([one for one in MessageType if one < 0x80])
        return build(1, kind, self.sequence, self.random.randbytes(self.random.randrange(24)))

    def wise_message(self):
        """What a host would send that wants the arm to move."""
        board, everything = self.pair.python, (1 << len(self.at)) - 1
        if board.faults:
            return self.random.choice((Reset(), Hello()))
        if board.owned == everything:
            return self.set_point() if self.random.random() < 0.95 else Ping()
        if board.owned != board.live:
            return self.random.choice((Adopt(board.live), Disable(board.live & ~board.owned)))
        missing = everything & ~board.live
        return Enable(missing, tuple(pulse if missing >> joint & 1 else 0 for joint, pulse in enumerate(self.at)))

    def wild_message(self):
        mask = self.random.choice((0, 1, 3, (1 << len(self.at)) - 1, self.random.randrange(256)))
        period = TelemetryPeriod(self.random.choice((0, 2, 20, 20, 1000, 1001)))
        return self.random.choice(
            (
                Stop(),
                Relax(),
                Disable(mask),
                Adopt(mask),
                Enable(mask, self.pulses()),
                Reset(),
                Ping(),
                Hello(),
                period,
                self.set_point(),
                self.set_point(),
            )
        )

    def pulses(self):
        if self.random.random() < 0.05:
            return tuple(self.random.randrange(0x8000) for _ in self.at)
        return tuple(self.at)

    def set_point(self):
        now_us = self.pair.python.board_time_us(self.pair.now_us)
        if self.random.random() < 0.05 or (self.last_time_us - now_us) % (1 << 32) > 500_000:
            self.last_time_us = now_us + self.random.choice((30_000, -10_000, 3_000_000))
        self.last_time_us = self.last_time_us + self.random.choice((10_000, 10_000, 7_123, 25_000, 70_000, 0)) & 0xFFFFFFFF
        speed = self.random.choice((0, 20, 400, 2000))
        for joint, limits in enumerate(self.pair.config.joints):
            moved = self.at[joint] + self.random.randint(-speed, speed)
            self.at[joint] = max(limits.lowest, min(limits.highest, moved))
        return SetPoint(self.last_time_us, self.pulses())

    def damaged(self, data):
        """What a bad cable makes of it: bytes flipped, lost, added, or cut off with the delimiter."""
        data, at = bytearray(data), self.random.randrange(len(data))
        kind = self.random.randrange(5)
        if kind == 0:
            data[at] ^= 1 << self.random.randrange(8)
        elif kind == 1:
            del data[at]
        elif kind == 2:
            data[at:at] = self.random.randbytes(self.random.randrange(1, 90))
        elif kind == 3:
            del data[at:]
        else:
            data[at] = self.random.randrange(256)
        return bytes(data)


def config_of(seed, joints, start_time_us):
    pick = random.Random(seed)
    limits = tuple(
        JointLimits(pick.randrange(1, 9000), pick.randrange(15000, 0x8000), speed, pick.randrange(1, speed + 1))
        for speed in (pick.randrange(20, 1500) for _ in range(joints))
    )
    return FirmwareConfig(limits, queue_capacity=pick.choice((16, 24)), supply_min_mv=4500, start_time_us=start_time_us)


@pytest.mark.parametrize(
    ("seed", "joints", "start_time_us"),
    [(1, 5, 0), (2, 5, (1 << 32) - 3_000_000), (3, 8, 0), (4, 1, (1 << 31) - 2_000_000), (5, 3, (1 << 32) - 20_001)],
)
def test_same_frames_in_same_pulses_states_and_answers_out(seed, joints, start_time_us):
    config = config_of(seed, joints, start_time_us)
    pick = random.Random(seed)
    found = [pick.choice((0, limits.lowest - 1, 12000)) for limits in config.joints]
    pair = Pair(config, found)
    host = RandomHost(seed, pair)
    states, faults, moved = set(), 0, 0
    for _ in range(FRAMES):
        data = host.frame()
        if pick.random() < CORRUPTED:
            data = host.damaged(data)
        if pick.random() < 0.01:
            disturb(pair, pick)
        before = pair.python.pulses
        pair.step(data, 290_000 if pick.random() < 0.01 else pick.choice((0, 1000, 3000, 5000, 10_000, 10_000, 20_000)))
        states.add(pair.python.state)
        faults |= pair.python.faults
        moved += pair.python.pulses != before
    pair.host.close()
    assert states == set(BoardState)
    assert faults == sum(fault.bit for fault in Fault)
    assert moved > FRAMES // 16, "the arm hardly ever moved"


def disturb(pair, pick):
    """Something happens on the board: its supply changes, its output stage fails, or comes back."""
    event = pick.randrange(4)
    for one in (pair.python, pair.host):
        if event == 0:
            one.set_supply(4000)
        elif event == 1:
            one.set_supply(6000)
        else:
            one.set_cause(Fault.OUTPUT_FAILED, event == 2)
            one.set_cause(Fault.RESTARTED, False)
    if event == 2 and not pair.python.owned:
        pair.python.set_cause(Fault.RESTARTED, True)
        pair.host.set_cause(Fault.RESTARTED, True)


def test_motion_over_the_wrap_and_a_silence_of_more_than_half_the_clock():
    pair = Pair(config_of(7, 2, (1 << 32) - 6_000_000), (0, 0))
    at = tuple(limits.lowest + 3000 for limits in pair.config.joints)
    pair.step(encode(Hello(), 0) + encode(Enable(3, at), 1) + encode(TelemetryPeriod(1000), 2), 1000)
    for sequence in range(3, 1200):
        now_us = pair.python.board_time_us(pair.now_us)
        goal = tuple(pulse + sequence for pulse in at)
        pair.step(encode(SetPoint((now_us + 60_000) % TIME_MODULUS, goal), sequence), 9_973)
    assert pair.python.board_time_us(pair.now_us) < 6_000_000  # the clock has wrapped around
    assert pair.python.faults == 0 and pair.python.pulses[0] > at[0] + 1100
    pair.wait(pair.now_us + (1 << 31) + 1_000_000, look_us=5_000_000)
    assert pair.python.faults == Fault.HOST_LOST.bit
    pair.step(encode(Reset(), 1200), 20_000)
    assert pair.python.faults == 0
    pair.host.close()
