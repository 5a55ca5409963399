"""Speed of the true tip behind lines that lose, damage, hold and delay: ``python -m benchmarks.line``.

The base swings with the tip at the speed that motions may have; the whole loop, the bytes and MuJoCo's arm on typical servos, on
virtual time.
"""

from __future__ import annotations

import json

import numpy as np

from benchmarks.bad_line import BROKEN, PASSING, BadLine, Fault
from picker_dynamics.controller import parameters
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.sim.plant import Plant

PERIOD_S, SECONDS, FRAMES_S, TYPICAL = 0.01, 6.0, 0.04, "config/servos.sim.yaml"


def run(seconds: float = SECONDS) -> dict:
    """For each line the largest speed of the true tip over two servo frames [m/s], and what became of the goal."""
    lines = {name: _swing(seconds, fault) for name, fault in (PASSING | BROKEN).items()}
    return {
        "allowed_m_s": 0.25,
        "without": _swing(seconds),
        "lines": lines,
        "worst_tip_m_s": max(one["tip_m_s"] for one in lines.values()),
    }


def _swing(seconds: float, *faults: Fault) -> dict:
    overlay = str(resource(TYPICAL))
    arm, servos = servo_arm.load("", "", overlay)
    plant, home = Plant(arm, servos, q=servos.home, dt=1e-3), np.array(servos.home)
    board = BadLine(plant, servos, found=home.tolist(), faults=faults)
    settings = parameters.settings({part: {"servo_overlay": overlay} for part in parameters.PARTS})
    running = RunningArm(settings, board, open_port=board.open, plans_beside=False)
    board.on_arrival = running.outputs.link.poll
    running.connect()
    running.session.enable(at_rest_pose=False)
    tips: list = []

    def live(duration_s: float) -> None:
        for _ in range(round(duration_s / PERIOD_S)):
            running.session.cycle()
            board.run(PERIOD_S)
            tips.append(plant.tip.copy())

    live(1.0)
    board.begin()
    answers: list = []
    goal = Goal(arm.joint_names, [0.5], [(home + [1.2, 0.25, 0.2, 0.0, 0.0]).tolist()])
    running.session.submit(GoalRequest(lambda: goal, tracker=running.tracker, answer=answers.append))
    live(seconds)
    apart = round(FRAMES_S / PERIOD_S)
    speed = np.linalg.norm(np.array(tips[apart:]) - tips[:-apart], axis=1) / FRAMES_S
    return {"tip_m_s": round(float(speed.max()), 3), "goal": answers[0].outcome.value if answers else "under way"}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
