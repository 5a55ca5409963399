"""The sketch as the Arduino IDE builds it, around the Arduino core: it behaves as the build without."""

import math

import pytest
from avr_bench import AvrBench
from firmware_bench import FRAME_US
from firmware_tools import require

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.protocol import SetPoint, TelemetryPeriod

require("arduino", "sim")

PERIOD_US, COUNT_US = 10_000, 4.88


@pytest.fixture(scope="module")
def sketch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arduino")
    toolchain.make("arduino", folder)
    return folder / "arduino" / toolchain.ELF


def streamed(bench, points=100):
    """A motion of a second, a point and a telemetry frame every 10 ms; the pulses after every servo frame."""
    bench.enabled()
    bench.send(TelemetryPeriod(10))
    start_us = (bench.board_us() // FRAME_US + 4) * FRAME_US  # the same phase in every build
    bench.uno.clear_statistics()
    for k in range(points):
        swing = 1000 * (1 - math.cos(math.pi * k / 50))
        bench.write(SetPoint((start_us + PERIOD_US * k) % 2**32, tuple(round(pulse + swing) for pulse in bench.start)))
        bench.run(PERIOD_US, host_alive=False)
    return bench


def changes(bench):
    """The pulses [us] from change to change."""
    track = [pulses for _, pulses in bench.track if None not in pulses]
    return [after for before, after in zip(track, track[1:]) if after != before]


def test_the_core_does_not_disturb_it(sketch):
    with_core, without = streamed(AvrBench(elf=sketch)), streamed(AvrBench())
    for bench in (with_core, without):
        bench.tells(accepted=100, rejected=0, bad_frames=0, missed_frames=0, underruns=0, faults=0)
    ways = [changes(bench) for bench in (with_core, without)]
    assert len(ways[0]) == len(ways[1]) > 45  # every servo frame of the motion
    assert max(abs(a - b) for one, other in zip(*ways) for a, b in zip(one, other)) < 1.5 * COUNT_US
    with_core.require_unhurt()
    assert with_core.uno.statistics.load < 0.35 and with_core.uno.statistics.bad_sleeps == 0
