"""A host for a VirtualFirmware in simulated time, and the small board that it drives."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import settings

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    Ack,
    BoardState,
    Enable,
    FrameDecoder,
    Hello,
    JointLimits,
    Ping,
    SetPoint,
    Telemetry,
    encode,
)
from picker_dynamics.sim.firmware_core import VirtualFirmware

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden_frames.json").read_text())
FUZZ = settings(max_examples=100, deadline=None, derandomize=True, database=None)
FRAME_US = 20_000
HALF_US = 10_000
SPEED, BRAKE = 400, 40
LIMITS = (JointLimits(4000, 20000, SPEED, BRAKE),) * 3
CONFIG = FirmwareConfig(LIMITS, queue_capacity=16)
ALL = 0b111
MIDDLE = (12000, 12000, 12000)


class Bench:
    """A host with a clock of its own: sends frames, keeps what the board answered, looks at the pulses."""

    def __init__(self, config=CONFIG, **firmware):
        self.firmware = VirtualFirmware(config, **firmware)
        self.now_us = 0
        self.sequence = 0
        self.decoder = FrameDecoder()
        self.telemetry: list[Telemetry] = []
        self.track: list[tuple[int, ...]] = []

    def send(self, message, *, sequence=None):
        """Send one message now; what the board answers, without telemetry."""
        if sequence is None:
            sequence, self.sequence = self.sequence, self.sequence + 1 & 0xFFFF
        return self.send_bytes(encode(message, sequence))

    def send_bytes(self, data):
        self.firmware.receive(data, self.now_us)
        return self.listen()

    def listen(self):
        answers = []
        for _, message in self.decoder.feed(self.firmware.transmit()):
            (self.telemetry if isinstance(message, Telemetry) else answers).append(message)
        return answers

    def run(self, duration_us, *, host_alive=True):
        """Let time pass, frame by frame, noting the pulses of each; a live host pings ten times a second."""
        until_us = self.now_us + duration_us
        while self.now_us < until_us:
            self.now_us = min(until_us, (self.now_us // FRAME_US + 1) * FRAME_US)
            self.firmware.advance(self.now_us)
            self.listen()
            if self.now_us % FRAME_US == 0:
                self.track.append(self.firmware.pulses)
            if host_alive and self.now_us % 100_000 == 0:
                self.send(Ping())
        return self

    def enabled(self, pulses=MIDDLE):
        """Hello, and all joints on."""
        self.send(Hello())
        [answer] = self.send(Enable(ALL, pulses))
        assert isinstance(answer, Ack)
        return self

    def stream(self, points):
        """Send points (time_us, pulses) at once; answers, which are refusals."""
        return [answer for time_us, pulses in points for answer in self.send(SetPoint(time_us, pulses))]

    def moving(self, speed=200, *, lead_us=100_000):
        """In the middle of a motion of ``speed`` [1/8 us per frame]; the queue reaches ``lead_us`` far."""
        self.run(FRAME_US)
        start = self.now_us
        points = [(start + 20_000 * k, (12000 + speed * k,) * 3) for k in range(1, 6 + lead_us // 20_000)]
        assert self.stream(points) == []
        self.run(100_000)
        assert self.firmware.state is BoardState.MOVE
        return self

    @property
    def last(self):
        """Telemetry as of now."""
        self.firmware.advance(self.now_us)
        self.listen()
        return self.telemetry[-1]


def steps(track, joint=0):
    """Changes of a joint's pulse from frame to frame."""
    return [b[joint] - a[joint] for a, b in zip(track, track[1:])]
