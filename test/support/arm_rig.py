"""A whole arm by its settings, on virtual time: its board in memory, the true arm on it, and the loop called by the test."""

from __future__ import annotations

from functools import partial

import numpy as np
from arm_fixtures import picker

from picker_dynamics.board.session import State
from picker_dynamics.controller import parameters
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Outcome, Tolerances, Verdict
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import STEP_S, Plant

IDEAL = str(resource("config/servos.ideal.yaml"))
_, SERVOS = servo_arm.load("", "", IDEAL)
HOME, REST = np.array(SERVOS.home), np.array(SERVOS.rest)
PERIOD_S = 0.01


class Rig:
    """A ``RunningArm`` whose board lies in memory, connected, and what the true arm and the outputs did.

    Args:
        overlay: of the servo map.
        off: its outputs are off, and it lies at its rest pose; else they run, and it hangs from them at home.
        plant: in place of the picker's; ``dt``: step of that [s].
        board: makes the board of plant and servos.
        settings: ``part__name=value``, of names with dots ``part__first__second``.
    """

    def __init__(self, overlay: str = IDEAL, off: bool = False, plant=None, dt=STEP_S, board=BoardInMemory, **settings):
        values: dict[str, dict] = {part: {"servo_overlay": overlay} for part in parameters.PARTS}
        for name, value in settings.items():
            part, _, name = name.partition("__")
            values[part][name.replace("__", ".")] = value
        _, servos = servo_arm.load("", "", overlay)
        self.plant = plant or Plant(picker(), servos, q=REST if off else HOME, support=off, dt=dt)
        self.board = board(self.plant, servos, found=None if off else HOME.tolist())
        made = parameters.settings(values)
        self.arm = RunningArm(made, self.board, open_port=self.board.open, plans_beside=False)
        self.outputs, self.session, self.execution = self.arm.outputs, self.arm.session, self.arm.controller.execution
        self.board.on_arrival = self.outputs.link.poll
        self.tips, self.q, self.set_points, self.events = [], [], [], []
        self.asked: list[list[Verdict]] = []
        self.arm.connect()

    def run(self, seconds: float, stalls: bool = False) -> None:
        """Let time pass; ``stalls``: the control loop makes no cycle meanwhile."""
        for _ in range(round(seconds / PERIOD_S)):
            if not stalls:
                self.events += self.session.cycle().tick.events
            self.board.run(PERIOD_S)
            self.tips.append(self.plant.tip.copy())
            self.q.append(np.array(self.plant.q))
            self.set_points.append(np.array(self.plant.setpoint))

    def adopt(self) -> Rig:
        """Take over the outputs, which run."""
        self.session.enable(at_rest_pose=False)
        self.run(0.3)
        assert self.outputs.state is State.ACTIVE
        return self

    def move(self, q, duration_s: float = 0.5, tolerances: Tolerances | None = None) -> list[Verdict]:
        """Ask for a motion; the answers that it gets."""
        answers: list[Verdict] = []
        still, name = [0.0] * len(q), f"goal {len(self.asked)}"
        goal = Goal(self.outputs.joint_names, [duration_s], [np.asarray(q).tolist()], [still], [still])
        judge = partial(self.arm.tracker, tolerances=tolerances)
        self.session.submit(GoalRequest(lambda: goal, identifier=name, tracker=judge, answer=answers.append))
        self.asked.append(answers)
        return answers

    def fastest(self) -> float:
        """Largest speed of the true tip [m/s], over two servo frames, as a set-point is a step to a servo."""
        tips = np.array(self.tips)
        return float(np.linalg.norm(tips[4:] - tips[:-4], axis=1).max() / (4 * PERIOD_S))


def outcome(answers: list[Verdict]) -> Outcome:
    """What became of a goal, which is answered once."""
    (verdict,) = answers
    return verdict.outcome
