"""The audit of set-points (benchmarks): clean where the board does what it should, and not where it does not."""

import numpy as np
import pytest
from firmware_bench import CONFIG, FRAME_US, LIMITS, Bench

from benchmarks.kept_board import KeptFirmware
from benchmarks.ledger import Ledger
from picker_dynamics.board.protocol import SetPoint
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.output_motion import OutputMotion


class Rig(Bench):
    """A host that streams to a firmware of which books are kept."""

    step_us = 2_000

    def __init__(self):
        self.ledger = Ledger(LIMITS, FRAME_US, ("a", "b", "c"))
        self.connect(KeptFirmware(VirtualFirmware(CONFIG), self.ledger))
        self.firmware.advance(0)
        self.enabled()

    def swing(self, seconds: float, *, lost=()) -> int:
        """A swing at 100 Hz, 60 ms ahead; ``lost``: which of the set-points the wire loses.  How many were sent."""
        count = round(100 * seconds)
        for k in range(count):
            pulse = round(12000 + 2500 * min(seconds, 1.0) * np.sin(2.0 * np.pi * k / count) ** 3)
            if k in lost:
                self.sequence = self.sequence + 1 & 0xFFFF
            else:
                self.send(SetPoint(self.now_us - self.boot_us + 63_000, (pulse, 24000 - pulse, 12000)))
            self.run(10_000)
        return count

    boot_us = 0
    counts = property(lambda self: self.ledger.counts)

    def require_balance(self) -> None:
        counts = self.counts
        assert counts.arrived == counts.deaf + counts.rejected + counts.accepted
        assert counts.accepted == counts.executed + counts.dropped + self.ledger.as_dict()["queued"]


def streamed(seconds, **options):
    """Another rig, after a swing."""
    rig = Rig()
    rig.swing(seconds, **options)
    return rig


@pytest.mark.parametrize("lost", [(), range(60, 64)], ids=["all arrive", "played with delay"])
def test_a_motion_is_executed_to_the_last_set_point(lost):
    rig = Rig()
    sent = rig.swing(2.0, lost=lost) - len(lost)
    rig.run(200_000)
    rig.require_balance()
    assert (rig.counts.arrived, rig.counts.executed) == (sent, sent)
    assert (max(one.behind_ms for one in rig.telemetry[:90]) > 0) == bool(lost)
    assert rig.counts.frames_compared > 90 and rig.counts.telemetry_compared > 90
    assert rig.counts.frames_off_line == rig.counts.telemetry_wrong == rig.counts.dropped == rig.counts.repeated == 0
    assert rig.counts.first_trouble == "" and 0.1 < rig.counts.worst_step_share <= 1.0


# -- boards that do it wrong ---------------------------------------------------------------------------


def test_a_board_that_loses_a_set_point_from_its_queue_is_found_out(monkeypatch):
    accept, accepted = OutputMotion.accept, []

    def forgetful(motion, point, *rest):
        answer = accept(motion, point, *rest)
        if motion.points and motion.points[-1] is point:
            accepted.append(point)
            if len(accepted) == 40:
                motion.points.pop()
        return answer

    monkeypatch.setattr(OutputMotion, "accept", forgetful)
    rig = streamed(1.0)
    assert rig.counts.telemetry_wrong > 0 and "the books of" in rig.counts.first_trouble
