"""A ros2_control client swings on after stop, reset and enable, and loop, line and client stall: the true arm stays."""

from functools import partial

import numpy as np
import pytest
from arm_rig import PERIOD_S, Rig
from generated import LONG

from benchmarks.bad_line import BadLine, Fault
from picker_dynamics.board.session import State
from picker_dynamics.execution.motion import Phase
from picker_dynamics.resources import resource

TYPICAL = str(resource("config/servos.sim.yaml"))
STALLS_S = 0.03, 0.06, 0.12, 0.2, 0.4, 0.8, 1.2
HELD_S = 0.05, 0.1, 0.2, 0.24
"""For which a line holds bytes: for longer is a fault, after which the board waits for a person."""

OFTEN = 1.2
"""Stalls of each kind in a second."""

AWAY = 0.02
"""How far the arm may be from where it stopped [rad]: enabled, it settles within its servos' friction."""

BASE = np.arange(5) == 0


class Streamed:
    """An arm, and a joint_trajectory_controller that commands ``path(t)`` at 100 Hz; the newest waits for a loop that stalls."""

    def __init__(self, kinds: str, seed: int):
        self.rig, self.kinds, self.rng = (
            Rig(TYPICAL, dt=1e-3, board=partial(BadLine, seed=seed)).adopt(),
            kinds,
            np.random.default_rng(seed),
        )
        self.free_s = {"client": 0.0, "loop": 0.0}
        held = self.rig.execution.pose(self.now_s)
        self.path, self._waiting = lambda _now_s: held, None
        self.run(0.5, stalls=False)

    @property
    def now_s(self) -> float:
        return self.rig.board.now()

    @property
    def base(self) -> float:
        return float(self.rig.q[-1][0])

    def run(self, seconds: float, stalls: bool = True) -> np.ndarray:
        """Let time pass; the true base meanwhile (k,) [rad]."""
        begin = len(self.rig.q)
        for _ in range(round(seconds / PERIOD_S)):
            for kind in ("client", "loop", "line") if stalls else ():
                if kind in self.kinds and self.rng.random() < OFTEN * PERIOD_S:
                    self._stall(kind)
            if self.now_s >= self.free_s["client"]:
                self._waiting = self.path(self.now_s)
            if self.now_s < self.free_s["loop"]:
                self.rig.run(PERIOD_S, stalls=True)
                continue
            if self._waiting is not None:
                self.rig.session.stream(self.rig.arm.description.joint_names, self._waiting)
                self._waiting = None
            self.rig.run(PERIOD_S)
        return np.array(self.rig.q[begin:])[:, 0]

    def _stall(self, kind: str) -> None:
        if kind == "line":
            self.rig.board.faults = (Fault(0.0, float(self.rng.choice(HELD_S)), hold=True),)
            self.rig.board.begin()
        elif self.now_s >= self.free_s[kind]:
            self.free_s[kind] = self.now_s + float(self.rng.choice(STALLS_S))

    def swing(self, amplitude: float, rate: float) -> None:
        begin_s, middle = self.now_s, self.path(self.now_s)
        self.path = lambda now_s: middle + amplitude * (1.0 - np.cos(rate * (now_s - begin_s))) * BASE

    def stop_and_enable(self) -> None:
        """What a person does: stop, wait until it stands, reset, enable, until the arm is active again."""
        self.rig.session.stop()
        while np.ptp(self.run(0.5)) > 1e-4 or self.rig.outputs.state is State.ACTIVE:
            pass
        while self.rig.outputs.state is not State.ACTIVE:
            self.rig.session.reset()
            self.run(0.05)
            self.rig.session.enable(at_rest_pose=False)
            self.run(0.5)


@pytest.mark.parametrize("kinds", ["no stall", "client", "loop", "line", "client, loop and line"])
@pytest.mark.parametrize("seed", range(100 if LONG else 1))
def test_a_client_that_swings_on_after_a_stop_moves_nothing_whatever_stalls(kinds, seed):
    """Where it passes the arm, where it turns beside it, and where it is heard first after a stall."""
    arm = Streamed(kinds, seed)
    arm.swing(0.2, 1.5)
    swung = arm.run(float(arm.rng.uniform(0.7, 2.1)))
    assert np.ptp(swung) > 0.01 or "client" in kinds or "loop" in kinds, "or there is nothing to stop"
    arm.stop_and_enable()
    held = arm.base
    arm.rig.events.clear()
    assert np.abs(arm.run(5.0) - held).max() < AWAY
    assert not any("following" in event.text for event in arm.rig.events), "it is taken up"
    assert arm.rig.execution.phase is Phase.HOLDING or "line" in kinds, "a loop that stalls while its line holds is a fault"


def test_a_controller_that_is_activated_where_the_arm_is_held_moves_it_again():
    arm = Streamed("no stall", 0)
    arm.swing(0.2, 1.5)
    arm.run(1.0)
    arm.stop_and_enable()
    held = arm.rig.session.state.q
    arm.path = lambda _now_s: held
    arm.run(0.2)
    arm.swing(-0.1, 1.5)
    assert arm.run(2.1)[-1] < held[0] - 0.15
