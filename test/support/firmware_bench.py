"""A host for a board in simulated time: it sends frames, and keeps what the board answers and does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    TIME_MODULUS,
    Ack,
    BoardState,
    Enable,
    FrameDecoder,
    Hello,
    Info,
    JointLimits,
    Message,
    Nack,
    Ping,
    SetPoint,
    Telemetry,
    ahead_us,
    encode,
)
from picker_dynamics.sim.firmware_core import VirtualFirmware

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden_frames.json").read_text())
FUZZ = settings(max_examples=60, deadline=None, derandomize=True, database=None)
FRAME_US = 20_000
SPEED, BRAKE = 400, 40
LIMITS = (JointLimits(4000, 20000, SPEED, BRAKE),) * 3
CONFIG = FirmwareConfig(LIMITS, queue_capacity=16, supply_min_mv=4500)
SUPPLY_MV = 6000
MIDDLE = (12000, 12000, 12000)
Answer = Ack | Nack | Info


def golden(name: str, key: str):
    """Mark for a test of each vector of that name in the golden file."""
    return pytest.mark.parametrize("vector", GOLDEN[name], ids=lambda vector: f"{vector[key]}"[:30])


def wire(vector) -> bytes:
    """The bytes of a golden vector on the line."""
    return bytes.fromhex(vector["wire"])


def play_golden_session(make):
    """The golden session on a board that ``make`` makes: its outputs after every frame and its answers; the board."""
    session = GOLDEN["session"]
    config = dict(session["config"])
    limits, boot_id = tuple(JointLimits(*four) for four in config.pop("limits")), config.pop("boot_id")
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
    """A host whose board's time runs only while it waits.

    Args:
        config: of the ``VirtualFirmware`` that it drives.
        firmware: its keyword arguments.

    Attributes:
        heard: (sequence, message) of every frame from the board.  telemetry: those of them that are telemetry.
        track: (time [us], true pulses [us]) after each step.
        wire_us: how long a frame and its answer take.  grain_us: how closely the start of a servo frame is known.
    """

    step_us, wire_us, grain_us = 1000, 0, 0

    def __init__(self, config: FirmwareConfig = CONFIG, **firmware):
        self.connect(VirtualFirmware(config, **firmware))

    def connect(self, firmware: Any) -> None:
        """Talk to this board, from its power-on."""
        self.firmware, self.config = firmware, firmware.config
        self.limits, self.n = self.config.joints, len(self.config.joints)
        self.all, self.start = (1 << self.n) - 1, (12000,) * self.n
        self.now_us = self.sequence = self.pinged_us = 0
        self.decoder = FrameDecoder()
        self.heard: list[tuple[int, Any]] = []
        self.telemetry: list[Telemetry] = []
        self.track: list[tuple[int, tuple[float | None, ...]]] = []

    pulses_us = property(lambda self: self.firmware.pulses_us)
    live = property(lambda self: self.firmware.live)

    def board_us(self) -> int:
        """Board time now."""
        return self.firmware.board_time_us(self.now_us)

    def phase_us(self, time_us: int | None = None) -> int:
        """Time since the servo frame began, at a board time or now [us]."""
        return ahead_us(self.board_us() if time_us is None else time_us, self.config.start_time_us) % FRAME_US

    # -- sending -------------------------------------------------------------------------------------------------------

    def write(self, message: Message, *, sequence: int | None = None) -> int:
        """Put one frame on the line; its sequence number."""
        if sequence is None:
            sequence, self.sequence = self.sequence, self.sequence + 1 & 0xFFFF
        self.raw(encode(message, sequence))
        return sequence & 0xFFFF

    def raw(self, data: bytes) -> None:
        """Put bytes on the line."""
        self.firmware.receive(data, self.now_us)
        self.listen()

    def answer(self, number: int, begin: int, patience_us: int = 20_000) -> Answer | None:
        """The answer to a sequence number among what was heard since ``begin``, waited for; None where none comes in time."""
        until_us = self.now_us + patience_us
        while True:
            for _, message in self.heard[begin:]:
                if isinstance(message, Answer) and message.request == number:
                    return message
            if self.now_us >= until_us:
                return None
            self.run(1000, host_alive=False)

    def send(self, message: Message, *, sequence: int | None = None) -> Answer | None:
        """Send a message and wait for its answer; of a set-point as long as the line takes."""
        begin, number = len(self.heard), self.write(message, sequence=sequence)
        return self.answer(number, begin, 5 * self.wire_us if isinstance(message, SetPoint) else 20_000)

    def acked(self, message: Message, **options) -> Ack:
        """Send a request that has to be carried out."""
        answer = self.send(message, **options)
        assert isinstance(answer, Ack) and answer.request_type == message.TYPE, (message, answer)
        return answer

    def refused(self, message: Message, reason, detail: int | None = None, **options) -> None:
        """Send what has to be refused for this reason, and with this detail where one is given."""
        require_nack(self.send(message, **options), reason, detail, message)

    def points(self, *points: tuple[int, Sequence[int]]) -> list[Nack]:
        """Send set-points (board time, pulses); the refusals."""
        begin = len(self.heard)
        for time_us, pulses in points:
            self.write(SetPoint(time_us % TIME_MODULUS, tuple(pulses)))
            self.run(self.wire_us, host_alive=False)
        self.run(self.wire_us, host_alive=False)
        return [one for _, one in self.heard[begin:] if isinstance(one, Nack) and one.request_type == SetPoint.TYPE]

    # -- listening -----------------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take what the board has said."""
        for sequence, message in self.decoder.feed(self.firmware.transmit()):
            self.heard.append((sequence, message))
            if isinstance(message, Telemetry):
                self.telemetry.append(message)

    def run(self, duration_us: int, *, host_alive: bool = True) -> Bench:
        """Let time pass, step by step; a live host pings ten times a second."""
        until_us = self.now_us + duration_us
        while self.now_us < until_us:
            self.now_us = min(until_us, (self.now_us // self.step_us + 1) * self.step_us)
            self.firmware.advance(self.now_us)
            self.listen()
            self.track.append((self.now_us, self.firmware.pulses_us))
            if host_alive and self.now_us - self.pinged_us >= 90_000:
                self.pinged_us = self.now_us
                self.write(Ping())
        return self

    @property
    def last(self) -> Telemetry:
        """Telemetry that is built after this call, and after what was sent before it."""
        seen = len(self.telemetry)
        while len(self.telemetry) < seen + 2:
            self.run(1000)
        return self.telemetry[-1]

    def tells(self, **expected: object) -> Telemetry:
        """Telemetry as of now has to say this."""
        last = self.last
        assert {name: getattr(last, name) for name in expected} == expected, last
        return last

    # -- moving --------------------------------------------------------------------------------------------------------

    def greeted(self) -> Bench:
        """Wait for the board, and say hello."""
        self.info = self.run(50_000).send(Hello())
        assert isinstance(self.info, Info)
        return self

    def enabled(self, pulses: Sequence[int] | None = None) -> Bench:
        """Hello, and all joints on."""
        self.greeted()
        self.acked(Enable(self.all, tuple(pulses or self.start)))
        return self

    def at(self, by: float) -> tuple[int, ...]:
        """Pulses of all joints, ``by`` away from where they are switched on."""
        return tuple(pulse + round(by) for pulse in self.start)

    def even(self, speed: float, count: int, begin_us: int) -> list[tuple[int, tuple[int, ...]]]:
        """Points one frame apart in which every joint moves by ``speed`` a frame; the last is not repeated."""
        return [(begin_us + FRAME_US * k, self.at(speed * k)) for k in range(count + 1)]

    def moving(self, speed: float = 200, points: int = 14) -> Bench:
        """In the middle of a motion of ``speed`` [1/8 us per frame], with what is left of ``points`` queued."""
        assert self.points(*self.even(speed, points, self.board_us() + FRAME_US)) == []
        self.run(150_000)
        assert self.telemetry[-1].state is BoardState.MOVE
        return self

    def still(self) -> Telemetry:
        """Wait until nothing moves."""
        while self.last.state.moves:
            assert self.now_us < 60_000_000
        return self.telemetry[-1]


def require_nack(answer: object, reason, detail: int | None = None, what: object = "") -> None:
    """Require a refusal for this reason, and with this detail where one is given."""
    fits = isinstance(answer, Nack) and answer.reason is reason and detail in (None, answer.detail)
    assert fits, f"{reason.name} ({detail}) to {what}; got {answer}"
