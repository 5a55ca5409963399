"""A simulated board whose process stands still in motion: its arm moves as if it had not, and no faster."""

import numpy as np
from arm_fixtures import picker, rigid_body, servos

from picker_dynamics.board.protocol import Adopt, Ping, SetPoint, encode, pulse_units
from picker_dynamics.sim import real_time
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.virtual_board import VirtualBoard
from picker_dynamics.trajectory.profiles import joint_move, limit_tip_speed

SERVOS = servos()
START = np.array([0.0, 0.7, -0.9, -0.5, 1.2])
GOAL = START + np.array([1.2, 0.15, 0.1, 0.0, 0.0])
TIP_SPEED, LEAD_S, PERIOD_S, BEGIN_S = 0.25, 0.06, 0.01, 1.5
WAY = limit_tip_speed(joint_move(START, GOAL, 3.0, 20.0, joint_names=SERVOS.joint_names), rigid_body(), TIP_SPEED)
ALL = (1 << SERVOS.n) - 1
TOLERANCE = 0.08
"""By which the true tip may be faster than its set-points [m/s]: the arm swings on its servos."""


class Stepped:
    """A board whose time is this object's, on a wire that takes a host's bytes; the host goes on while the board stands still.

    Args:
        stalls: begin and length [s] of each time in which the board's process does not run.
        silent_s: from when on the host says nothing.
    """

    def __init__(self, tmp_path, monkeypatch, *stalls: tuple[float, float], silent_s: float = np.inf):
        self.now_s, self.begun_s, self.sequence, self.stalls = 100.0, 100.0, 0, list(stalls)
        self.tips, self.told, self.silent_s, self.wire = [], 0.0, silent_s, b""
        monkeypatch.setattr(real_time, "time", self)
        plant = Plant(picker(), SERVOS, q=START, quantise=False)
        self.board = VirtualBoard(plant, SERVOS, tmp_path / "tty", boot_silence_s=0.0, found=plant.q)
        self.board.wait = self.wait
        self.board.port.read = self.read
        advance = plant.advance

        def seen(pulses, duration_s):
            for _ in range(round(duration_s / plant.dt)):
                advance(pulses, plant.dt)
                self.tips.append(plant.tip)

        plant.advance = seen
        self.board.run()
        begin = round((BEGIN_S - 0.1) / plant.dt)  # before that it settles on its servos
        self.speeds = np.linalg.norm(np.diff(self.tips[begin::10], axis=0), axis=1) / (10 * plant.dt)

    def monotonic(self) -> float:
        return self.now_s

    def read(self) -> bytes:
        data, self.wire = self.wire, b""
        return data

    def wait(self, until_s: float) -> list:
        self.pass_to(max(until_s, self.now_s))
        if self.stalls and self.since_s >= self.stalls[0][0]:
            self.pass_to(self.now_s + self.stalls.pop(0)[1])
        if self.since_s > BEGIN_S + WAY.duration + 2.0:
            self.board.stop()
        return []

    @property
    def since_s(self) -> float:
        return self.now_s - self.begun_s

    def pass_to(self, until_s: float) -> None:
        """The host sends a set-point every 10 ms, and a ping every 100 ms."""
        while self.begun_s + self.told <= until_s:
            if self.told >= self.silent_s:
                pass
            elif self.told == 0.0:
                self.send(Adopt(ALL))
            elif self.told >= BEGIN_S:
                holds_s = self.told + LEAD_S
                q = WAY.sample(min(max(holds_s - BEGIN_S - 0.1, 0.0), WAY.duration))[0]
                self.send(SetPoint(round(1e6 * holds_s), tuple(pulse_units(pulse) for pulse in SERVOS.to_pulse_us(q))))
            if round(self.told / PERIOD_S) % 10 == 0 and self.told < self.silent_s:
                self.send(Ping())
            self.told = round(self.told + PERIOD_S, 9)
        self.now_s = until_s

    def send(self, message) -> None:
        self.wire += encode(message, self.sequence)
        self.sequence = self.sequence + 1 & 0xFFFF


def test_a_board_that_stood_still_in_motion_moves_its_arm_as_one_that_did_not(tmp_path, monkeypatch):
    stall_s = 0.45
    plain, stalled = Stepped(tmp_path, monkeypatch), Stepped(tmp_path, monkeypatch, (2.5, stall_s), (4.0, stall_s))
    assert 0.8 * TIP_SPEED < plain.speeds.max() < TIP_SPEED + TOLERANCE, "or the arm did not move"
    assert stalled.board.behind_max_s > 0.9 * stall_s and stalled.board.skipped_s == 0.0
    assert stalled.speeds.max() < 1.05 * plain.speeds.max()
    np.testing.assert_allclose(stalled.board.plant.q, plain.board.plant.q, atol=1e-3)
    assert stalled.board.firmware.faults == 0
