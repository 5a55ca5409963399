"""Stamps of a wall clock that jumps, in steady seconds."""

import pytest

from picker_dynamics.board.stamp_clock import StampClock, clocks_apart_s

APART_S = 1.7e9
NEAR_S = 1e-6
"""Of seconds since 1970 a float has a quarter of a microsecond."""


class Busy:
    """A machine with two clocks, 1000 s apart, that stands still for ``stalls`` [s] before one reading after another."""

    def __init__(self, *stalls):
        self.time_s, self.stalls, self.readings = 50.0, iter(stalls), 0

    def read(self, ahead_s: float = 0.0) -> float:
        self.time_s += 1e-6 + next(self.stalls, 0.0)
        self.readings += 1
        return self.time_s + ahead_s

    def apart_s(self) -> tuple[float, float]:
        return clocks_apart_s(self.read, lambda: self.read(1000.0))


@pytest.mark.parametrize(
    "stalls", [(), (0.0, 0.03), (0.0, 0.0, 0.03), (0.0, 0.03, 0.0, 0.0, 0.02, 0.0)], ids=["calm", "between", "after", "twice"]
)
def test_a_stall_between_two_clocks_does_not_count(stalls):
    apart_s, doubt_s = Busy(*stalls).apart_s()
    assert apart_s == pytest.approx(1000.0, abs=1e-5) and doubt_s < 1e-5


class Machine:
    """A steady clock and a wall clock that can be set; ``stamps`` as a process has them."""

    def __init__(self):
        self.steady_s, self.apart_s, self.jumps = 100.0, APART_S, []
        self.stamps = self.process()

    def process(self) -> StampClock:
        return StampClock(self.jumps.append, self.wall_s, lambda: self.steady_s)

    def wall_s(self) -> float:
        return self.steady_s + self.apart_s


@pytest.mark.parametrize("jump_s", [-5.0, 3600.0, -0.05, 0.02, 1e8])
def test_a_jump_shifts_stamps_and_no_steady_time_and_is_said_once(jump_s):
    machine = Machine()
    other = machine.process()
    for tick in range(400):
        machine.steady_s += 0.01
        machine.apart_s += jump_s if tick == 200 else 0.0
        wanted_s = machine.steady_s + 0.06
        stamp_s = machine.stamps.to_stamp(wanted_s)
        assert stamp_s == pytest.approx(wanted_s + machine.apart_s, abs=NEAR_S)
        assert other.to_steady(stamp_s) == pytest.approx(wanted_s, abs=NEAR_S)
    assert machine.jumps == pytest.approx([jump_s] * 2, abs=NEAR_S), "once in each process"


def test_slewing_is_followed_and_is_no_jump():
    machine = Machine()
    for _ in range(2000):
        machine.steady_s += 0.01
        machine.apart_s += 5e-6  # 500 ppm, the fastest that NTP slews
        assert machine.stamps.to_stamp(machine.steady_s) == pytest.approx(machine.steady_s + machine.apart_s, abs=2e-4)
    assert machine.jumps == []
