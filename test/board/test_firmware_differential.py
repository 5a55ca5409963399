"""The firmware in an AVR against the same firmware on this machine: the same frames at the same times, 30 % of them damaged."""

from dataclasses import replace

from avr_bench import COUNT_EIGHTHS, AvrBench
from firmware_bench import FRAME_US
from firmware_host import HostFirmware
from firmware_tools import require
from unruly_host import UnrulyHost

from picker_dynamics.board.protocol import Ack, BoardState, Fault, FrameDecoder, Telemetry, TelemetryPeriod

require("avr", "sim", "host")

FRAMES = 2500
LATE_US = 3000
"""An AVR takes time to read, to think and to write; what it stamps may be that much later than where that takes none."""
TENTH_US, AFTER_US = 10_000, 2_000
"""Servo frames and telemetry fall due every 20 or 10 ms of board time, and are looked at 2 ms later; frames arrive after that."""


def alike(avr, core) -> bool:
    """Whether two messages are the same, but for when they were written."""
    if isinstance(avr, (Ack, Telemetry)) and type(avr) is type(core):
        return 0 <= avr.time_us - core.time_us <= LATE_US and replace(avr, time_us=core.time_us) == core
    return avr == core


def frame_phase_us() -> int:
    """Board time of the AVR's first servo frame less 20 ms, to the microsecond: some instructions after the clock's start.

    A point where nothing moves is taken out of the queue by the first frame whose middle is not before it.
    """
    bench = AvrBench().enabled()
    bench.acked(TelemetryPeriod(10))
    least, most = 0, 1000
    while least < most:
        middle = (least + most) // 2
        bench.still()
        bench.run((FRAME_US - bench.board_us()) % FRAME_US + 5_000)
        middle_us = bench.board_us() // FRAME_US * FRAME_US + FRAME_US + FRAME_US // 2
        assert bench.points((middle_us + middle, bench.start), (middle_us + 100_000, bench.start)) == []
        bench.run(middle_us + 5_000 - bench.board_us(), host_alive=False)
        if bench.telemetry[-1].queue_depth == 1:
            least = middle + 1
        else:
            most = middle
    return least - 1


class Pair:
    """Both boards, on the clock of the AVR."""

    def __init__(self):
        phase_us = frame_phase_us()
        self.bench = AvrBench()
        self.avr, config = self.bench.firmware, self.bench.firmware.config
        self.now_us = 45_000
        self.avr.advance(self.now_us)
        self.booted_us = self.now_us - self.avr.board_time_us(self.now_us)
        config = replace(config, start_time_us=phase_us)
        self.core = HostFirmware(config, boot_id=self.avr.boot_id, now_us=self.booted_us + phase_us, gravity=True)
        self._boards = (self.avr, self.core)
        self._decoders, self._heard = (FrameDecoder(), FrameDecoder()), ([], [])
        self.answers = self.in_motion = self.hosts_lost = 0

    def go_on(self, until_us: int) -> None:
        """Let time pass; what both have said by then must be alike."""
        while self.now_us < until_us:
            board_us = self.now_us - self.booted_us
            self.now_us = min(until_us, self.now_us + TENTH_US - (board_us - AFTER_US) % TENTH_US)
            for board, decoder, heard in zip(self._boards, self._decoders, self._heard):
                board.advance(self.now_us)
                heard += [message for _, message in decoder.feed(board.transmit())]
            self._compare()

    def _compare(self) -> None:
        avr, core = self._heard
        count = min(len(avr), len(core))
        for ours, theirs in zip(avr[:count], core[:count]):
            assert alike(ours, theirs), f"{ours}\n{theirs}"
            if isinstance(ours, Telemetry):
                self.last = ours
                self.in_motion += ours.state is BoardState.MOVE
                self.hosts_lost += bool(ours.faults & Fault.HOST_LOST.bit)
            else:
                self.answers += 1
        del avr[:count], core[:count]
        assert len(avr) + len(core) <= 2, (avr, core)  # half of it is still on the wire

    def receive(self, data: bytes) -> None:
        for board in self._boards:
            board.receive(data, self.now_us)

    def next_quiet_us(self, later: int) -> int:
        """Between 0 and 5 ms after everything that is due has been done."""
        board_us = self.now_us - self.booted_us
        return self.now_us - board_us % TENTH_US + TENTH_US + AFTER_US + later

    def outputs_agree(self) -> bool:
        """What the outputs truly do, and what the core wants them to."""
        return all(
            abs(8 * (truly or 0.0) - wanted) <= 0.5 * COUNT_EIGHTHS + 1
            for truly, wanted in zip(self.avr.pulses_us, self.core.pulses)
        )


def test_an_avr_does_what_the_same_firmware_does_here():
    pair, host = Pair(), UnrulyHost(1)
    for _ in range(FRAMES):
        pair.go_on(pair.next_quiet_us(host.rng.randrange(5_000) + host.silence_us()))
        assert pair.outputs_agree(), (pair.avr.pulses_us, pair.core.pulses)
        pair.receive(host.next(pair.last, pair.now_us - pair.booted_us))
    pair.go_on(pair.now_us + 100_000)
    pair.core.close()
    print(f"{FRAMES} frames, {pair.answers} answers, {pair.in_motion} telemetry in motion; in the end {pair.last}")
    assert pair.avr.uno.statistics.overruns == 0
    assert pair.answers > FRAMES // 5 and pair.in_motion > 300 and pair.last.bad_frames > FRAMES // 8
    assert pair.last.underruns > 3 and pair.hosts_lost > 3
