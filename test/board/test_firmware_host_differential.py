"""The C++ core and the Python firmware, side by side: the same bytes and times in, the same pulses, states and bytes out."""

import random
from types import SimpleNamespace

import pytest
from firmware_host import HostFirmware
from firmware_tools import require
from unruly_host import UnrulyHost

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import PULSE_UNITS_PER_US, BoardState, Fault, FrameDecoder, JointLimits, Telemetry
from picker_dynamics.sim.firmware_core import VirtualFirmware

require("host")
FRAMES = 6000
SEEN = ("pulses", "state", "faults", "live", "owned")


class Pair:
    """Both firmwares, fed alike and compared after every step."""

    def __init__(self, config, found):
        self.config, self.now_us, self.depth, self.decoder = config, 0, 0, FrameDecoder()
        self.python = VirtualFirmware(config, found_us=[pulse / PULSE_UNITS_PER_US or None for pulse in found])
        self.host = HostFirmware(config, found=found)

    def wait(self, until_us, look_us=20_000):
        """Let time pass, and take what is sent before Python's transmit buffer is full."""
        while True:  # once at least: telemetry of this very microsecond comes before what is received in it
            self.now_us = min(until_us, self.now_us + look_us)
            self.python.advance(self.now_us)
            self.host.advance(self.now_us)
            self.compare()
            if self.now_us >= until_us:
                return

    def step(self, data, later_us):
        self.wait(self.now_us + later_us)
        self.python.receive(data, self.now_us)
        self.host.receive(data, self.now_us)
        self.compare()

    def compare(self):
        assert [getattr(self.host, name) for name in SEEN] == [getattr(self.python, name) for name in SEEN]
        sent = self.python.transmit()
        assert self.host.transmit() == sent
        for _, message in self.decoder.feed(sent):
            if isinstance(message, Telemetry):
                self.depth = message.queue_depth

    def view(self):
        """What a host may know of the boards."""
        return SimpleNamespace(**{name: getattr(self.python, name) for name in SEEN}, queue_depth=self.depth)


def config_of(seed, joints, start_time_us):
    pick = random.Random(seed)
    limits = tuple(
        JointLimits(pick.randrange(1, 9000), pick.randrange(15000, 0x8000), speed, pick.randrange(1, speed + 1))
        for speed in (pick.randrange(20, 1500) for _ in range(joints))
    )
    return FirmwareConfig(limits, queue_capacity=pick.choice((16, 24)), supply_min_mv=4500, start_time_us=start_time_us)


@pytest.mark.parametrize(
    ("seed", "joints", "start_time_us"), [(2, 5, (1 << 32) - 3_000_000), (3, 8, 0), (4, 1, (1 << 31) - 2_000_000)]
)
def test_same_frames_in_same_pulses_states_and_answers_out(seed, joints, start_time_us):
    config = config_of(seed, joints, start_time_us)
    pick = random.Random(seed)
    found = [pick.choice((0, limits.lowest - 1, 12000)) for limits in config.joints]
    pair = Pair(config, found)
    host = UnrulyHost(seed, joints, periods=(0, 2, 20, 20, 1000, 1001))
    states, faults, moved = set(), 0, 0
    for _ in range(FRAMES):
        data = host.next(pair.view(), pair.python.board_time_us(pair.now_us))
        if pick.random() < 0.01:
            disturb(pair, pick)
        before = pair.python.pulses
        waits_us = (140_000, 290_000) if pick.random() < 0.02 else (0, 1000, 3000, 5000, 10_000, 10_000, 20_000)
        pair.step(data, pick.choice(waits_us))
        states.add(pair.python.state)
        faults |= pair.python.faults
        moved += pair.python.pulses != before
    pair.host.close()
    assert states == set(BoardState)
    assert faults == sum(fault.bit for fault in Fault)
    assert moved > FRAMES // 25, "the arm hardly ever moved"


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
