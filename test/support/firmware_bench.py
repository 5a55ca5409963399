"""A host for a VirtualFirmware in simulated time, and the small board that it drives."""

import json
from pathlib import Path

import pytest
from hypothesis import settings

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    Ack,
    BoardState,
    Enable,
    FrameDecoder,
    Hello,
    JointLimits,
    Nack,
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


def golden(name, key):
    """Mark for a test of each vector of that name in the golden file."""
    return pytest.mark.parametrize("vector", GOLDEN[name], ids=lambda vector: f"{vector[key]}"[:30])


def wire(vector):
    """The bytes of a golden vector on the line."""
    return bytes.fromhex(vector["wire"])


def play_golden_session(make):
    """The golden session on a board that ``make`` makes: its outputs after every frame and its answers; the board."""
    session = GOLDEN["session"]
    config = dict(session["config"])
    limits, boot_id = tuple(JointLimits(*four) for four in config.pop("limits")), config.pop("boot_id")
    assert config["frame_us"] == FRAME_US
    firmware = make(FirmwareConfig(limits, **config), boot_id=boot_id)
    host, decoder, answers = list(session["host"]), FrameDecoder(), []
    for frame_us, *expected in session["expected"]:
        while host and host[0]["at_us"] < frame_us:
            event = host.pop(0)
            firmware.receive(wire(event), event["at_us"])
        firmware.advance(frame_us)
        assert [*firmware.pulses, firmware.state, firmware.faults] == expected, f"frame at {frame_us}"
        answers += [message for _, message in decoder.feed(firmware.transmit()) if not isinstance(message, Telemetry)]
    assert [
        (answer.TYPE.name, {name: getattr(answer, name) for name in reply["fields"]})
        for answer, reply in zip(answers, session["replies"], strict=True)
    ] == [(reply["message"], reply["fields"]) for reply in session["replies"]]
    return firmware


class Bench:
    """A host in simulated time: sends frames, keeps what the board answers, and notes the outputs.

    Args:
        config: of the ``VirtualFirmware`` that it drives.
        firmware: its keyword arguments.
    """

    step_us, all = FRAME_US, ALL
    pulses = property(lambda self: self.firmware.pulses)
    pulses_us = property(lambda self: self.firmware.pulses_us)
    live = property(lambda self: self.firmware.live)
    faults = property(lambda self: self.firmware.faults)

    def __init__(self, config=CONFIG, **firmware):
        self.connect(VirtualFirmware(config, **firmware))

    def connect(self, firmware):
        """Talk to this board, from its power-on."""
        self.firmware = firmware
        self.now_us = self.sequence = self.pinged_us = 0
        self.decoder = FrameDecoder()
        self.answers: list = []
        self.telemetry: list[Telemetry] = []
        self.track: list[tuple] = []

    def write(self, message, *, sequence=None):
        """Put one frame on the line; its sequence number."""
        if sequence is None:
            sequence, self.sequence = self.sequence, self.sequence + 1 & 0xFFFF
        self.firmware.receive(encode(message, sequence), self.now_us)
        return sequence

    def send(self, message, *, sequence=None):
        """Send one message now; the board's answer, None where there is none."""
        self.write(message, sequence=sequence)
        answers = self.listen()
        assert len(answers) <= 1, answers
        return answers[0] if answers else None

    def acked(self, message, **options):
        """Send a request that has to be carried out."""
        answer = self.send(message, **options)
        assert isinstance(answer, Ack), answer

    def refused(self, message, reason, detail=None, **options):
        """Send what has to be refused for this reason, and with this detail where one is given."""
        answer = self.send(message, **options)
        assert isinstance(answer, Nack) and answer.reason is reason and detail in (None, answer.detail), answer

    def send_bytes(self, data):
        self.firmware.receive(data, self.now_us)
        return self.listen()

    def listen(self):
        """New answers; telemetry is kept apart."""
        new = [message for _, message in self.decoder.feed(self.firmware.transmit())]
        self.telemetry += [message for message in new if isinstance(message, Telemetry)]
        answers = [message for message in new if not isinstance(message, Telemetry)]
        self.answers += answers
        return answers

    def run(self, duration_us, *, host_alive=True, step_us=None):
        """Let time pass, step by step, noting the pulses; a live host pings ten times a second."""
        until_us, step_us = self.now_us + duration_us, step_us or self.step_us
        while self.now_us < until_us:
            self.now_us = min(until_us, (self.now_us // step_us + 1) * step_us)
            self.firmware.advance(self.now_us)
            self.listen()
            self.note()
            if host_alive and self.now_us - self.pinged_us >= 100_000:
                self.pinged_us = self.now_us
                self.write(Ping())
                self.listen()
        return self

    def note(self):
        """The pulses of a servo frame."""
        if self.now_us % FRAME_US == 0:
            self.track.append(self.firmware.pulses)

    def enabled(self, pulses=MIDDLE):
        """Hello, and all joints on."""
        self.send(Hello())
        self.acked(Enable(self.all, pulses))
        return self

    def stream(self, points):
        """Send points (time_us, pulses) at once; answers, which are refusals."""
        return [answer for time_us, pulses in points if (answer := self.send(SetPoint(time_us, pulses)))]

    def stream_ahead(self, points):
        """The same with times from now on."""
        return self.stream([(self.now_us + ahead_us, pulses) for ahead_us, pulses in points])

    def moving(self, speed=200, *, lead_us=100_000):
        """In the middle of a motion of ``speed`` [1/8 us per frame]; the queue reaches ``lead_us`` far."""
        self.run(FRAME_US)
        start = self.now_us
        points = [(start + 20_000 * k, (12000 + speed * k,) * 3) for k in range(1, 6 + lead_us // 20_000)]
        assert self.stream(points) == []
        self.run(100_000)
        assert self.firmware.state is BoardState.MOVE
        return self

    def tells(self, **expected):
        """Telemetry as of now has to say this."""
        last = self.last
        assert {name: getattr(last, name) for name in expected} == expected, last

    @property
    def last(self):
        """Telemetry as of now."""
        self.firmware.advance(self.now_us)
        self.listen()
        return self.telemetry[-1]


def steps(track, joint=0):
    """Changes of a joint's pulse from frame to frame."""
    return [b[joint] - a[joint] for a, b in zip(track, track[1:])]
