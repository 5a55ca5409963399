"""Commands that come late delay a motion and never make it faster: a controller or a node before the board that stalls in motion.

The real session, link and firmware, and the plant, in simulated time; judged by the board's outputs and the plant's tip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from stepped_board import STEP_S, Bench, SteppedLink, angles

from picker_dynamics.board.command_timing import LATEST_S
from picker_dynamics.board.hardware_session import HardwareSession, State
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.trajectory.profiles import joint_move, limit_tip_speed

SERVOS = servos()
HOME = np.array(SERVOS.home)
LEAD_S, PERIOD_S, TIP_SPEED = 0.06, 0.01, 0.24
AWAY = HOME + np.array([1.2, 0.15, 0.1, 0.0, 0.0])
FRAME_S = 0.02


@dataclass(frozen=True)
class Stall:
    """From ``at_s`` on no command comes for ``seconds``; ``old``: the first one then is of the beginning, and not of the present."""

    at_s: float
    seconds: float
    old: bool = False


class Ride:
    """A motion on the bench, and what was seen of it.

    Attributes:
        output_speed: the fastest joint on the outputs, over two servo frames [rad/s].
        tip_speed: the plant's fastest [m/s].
        away: how far from the goal the plant ends [rad].
    """

    def __init__(self, *stalls: Stall, tip_speed: float = TIP_SPEED, there_and_back: bool = False):
        self.bench = Bench(SERVOS, HOME)
        link = SteppedLink(self.bench, joint_names=SERVOS.joint_names)
        self.session = HardwareSession(link, SERVOS, ArmStateModel(rigid_body(), SERVOS.model, SERVOS.rest))
        self.stalls = list(stalls)
        with self.bench.clock():
            self.session.connect()
            self.session.activate(at_rest_pose=False)
            self.bench.run(0.1)
            first, way = len(self.bench.frames), joint_move(HOME, AWAY, 3.0, 20.0, joint_names=SERVOS.joint_names)
            way = limit_tip_speed(way, rigid_body(), tip_speed)
            self.delays, self.tips, self.begin_s = [], [], self.bench.now_s
            self._follow(way)
        frames = self.bench.frames[first - 1 :]
        t, q = np.array([frame.time_s for frame in frames]), angles(SERVOS, frames)
        own = np.abs(way.grid(1e-3)[2]).max()
        self.own_speed = float(own)
        self.output_speed = float((np.abs(q[2:] - q[:-2]) / np.maximum(t[2:] - t[:-2], 2 * FRAME_S)[:, None]).max())
        tips = np.array(self.tips)
        self.tip_speed = float(np.linalg.norm(tips[4:] - tips[:-4], axis=1).max() / (4 * STEP_S))
        self.away = float(np.abs(self.bench.plant.q - AWAY).max())

    def _follow(self, way) -> None:
        since = 0.0
        for k in range(round((way.duration + 1.5) / PERIOD_S)):
            now_s = self.bench.now_s - self.begin_s
            stall = next((one for one in self.stalls if one.at_s <= now_s < one.at_s + one.seconds), None)
            if stall is not None and stall.old and now_s < stall.at_s + PERIOD_S:
                held_back = now_s + LEAD_S
            if stall is None:
                ended = next((one for one in self.stalls if one.old and now_s - PERIOD_S < one.at_s + one.seconds <= now_s), None)
                if ended is not None:
                    self._command(way, held_back)
                self._command(way, now_s + LEAD_S)
            for _ in range(round(PERIOD_S / STEP_S)):
                self.bench.run(STEP_S)
                self.tips.append(self.bench.plant.tip)
            since += PERIOD_S
            if since > 0.015:
                since = 0.0
                self.session.tick(self.bench.now_s)
        self.way = way

    def _command(self, way, t: float) -> None:
        self.session.command(self.begin_s + t, way.sample(min(max(t - 0.1, 0.0), way.duration))[0], self.bench.now_s)
        self.delays.append(self.session.delay_s)


if __name__ == "__main__":
    import sys
    for v in (0.12, 0.24, 0.4):
      for stalls in [(), (Stall(0.8, 0.07),), (Stall(0.8, 0.12),), (Stall(0.8, 0.2),), (Stall(.8,.12,True),), (Stall(.8,.09,True),), (Stall(.6,.1),Stall(.8,.15),Stall(1.2,.2)), (Stall(.8,.3),)]:
        r = Ride(*stalls, tip_speed=v)
        tel = r.session.link.telemetry
        print(v, [(s.at_s, s.seconds, s.old) for s in stalls], f"own {r.own_speed:.3f} out {r.output_speed:.3f} tip {r.tip_speed:.3f} away {r.away:.4f} dur {r.way.duration:.2f} maxdelay {max(r.delays):.3f} end {r.delays[-1]:.3f}", r.session.counts, tel.underruns, tel.rejected, tel.last_reason.name, r.session.epoch, r.session.problem)
