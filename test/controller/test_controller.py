"""The control loop on virtual time, through session, sender, link and bytes; judged by the true arm and the outputs."""

from __future__ import annotations

import numpy as np
import pytest

from picker_dynamics.board.session import State
from picker_dynamics.errors import InfeasibleError, PickerError
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.session.local import simulate

ARM = equipment()
TIP_SPEED = 0.25
SWING = 1.12
"""A servo is a spring: the true tip swings about a set-point that keeps the limit."""


class Bench:
    """A session with a simulated arm, and a record of what the true arm and the outputs did."""

    def __init__(self, seed: int = 0):
        self.local = simulate(ARM.known, seed=seed)
        self.arm, self.plant = self.local.arm, self.local.plant
        self.session, self.board, self.hardware = self.arm.session, self.arm.clock, self.arm.outputs
        self.verdicts: dict[str, list] = {}
        self.tip, self.q, self.outputs, self.events = [], [], [], []

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / self.arm.period_s)):
            self.events += self.session.cycle().tick.events
            self.board.run(self.arm.period_s)
            self.tip.append(self.plant.tip.copy())
            self.q.append(np.array(self.plant.q))
            self.outputs.append(np.array(self.plant.setpoint))

    def ask(self, q, duration_s: float = 0.5, name: str = "") -> str:
        name, still = name or f"goal {len(self.verdicts)}", [0.0] * ARM.description.n
        goal = Goal(ARM.description.joint_names, [duration_s], [np.asarray(q).tolist()], [still], [still])
        self.verdicts[name] = []
        self.session.submit(GoalRequest(lambda: goal, identifier=name, answer=self.verdicts[name].append))
        return name

    def outcome(self, name: str) -> Outcome:
        (verdict,) = self.verdicts[name]  # answered once
        return verdict.outcome

    def fastest(self, since: int = 0) -> float:
        """Largest speed of the true tip [m/s], over two servo frames, as a set-point is a step to a servo."""
        tip = np.array(self.tip[since:])
        return float(np.linalg.norm(tip[4:] - tip[:-4], axis=1).max() / (4 * self.arm.period_s))


@pytest.fixture
def bench():
    return Bench()


def pose(**by) -> np.ndarray:
    q = np.array(ARM.home)
    for joint, amount in by.items():
        q[ARM.description.joint_names.index(joint)] += amount
    return q


def test_a_goal_ends_where_it_was_told_to_and_no_faster(bench):
    name = bench.ask(pose(base=0.6, shoulder=0.1))
    bench.run(6.0)
    assert bench.outcome(name) is Outcome.SUCCEEDED
    model = ARM.model()
    off_m = np.linalg.norm(bench.tip[-1] - model.forward_kinematics(pose(base=0.6, shoulder=0.1)))
    assert off_m < 4e-3 and bench.fastest() < SWING * TIP_SPEED
    assert bench.hardware.counts.sent > 500 and bench.hardware.counts.away == 0


def test_the_same_happens_twice():
    runs = []
    for _ in range(2):
        bench = Bench(seed=3)
        bench.ask(pose(base=0.4))
        bench.run(1.0)
        bench.session.stop()
        bench.run(0.5)
        runs.append((np.array(bench.q), np.array(bench.outputs), [event.text for event in bench.events]))
    (q, outputs, texts), (q2, outputs2, texts2) = runs
    assert (q == q2).all() and (outputs == outputs2).all() and texts == texts2


def test_after_stop_reset_and_enable_the_arm_stays_where_it_is_held(bench):
    name = bench.ask(pose(base=0.8), duration_s=2.0)
    bench.run(1.0)
    bench.session.stop()
    bench.run(1.5)
    assert bench.outcome(name) is Outcome.ABORTED and bench.local.status().stop_latched
    with pytest.raises(PickerError, match="stop is latched"):
        bench.session.enable(at_rest_pose=False)
    held = bench.q[-1]
    bench.session.reset()
    bench.run(0.1)
    bench.session.enable(at_rest_pose=False)
    bench.run(1.5)
    assert np.abs(np.array(bench.q[-150:]) - held).max() < 0.02
    again = bench.ask(pose(base=0.2))
    bench.run(5.0)
    assert bench.outcome(again) is Outcome.SUCCEEDED and bench.fastest() < SWING * TIP_SPEED


def test_a_pulled_cable_stops_the_arm_and_nothing_goes_on_by_itself(bench):
    name = bench.ask(pose(base=0.8), duration_s=2.0)
    bench.run(1.0)
    bench.board.plugged = False
    bench.run(1.0)
    assert bench.hardware.state is State.OFFLINE and bench.outcome(name) is Outcome.ABORTED
    assert np.ptp(np.array(bench.outputs[-40:]), axis=0).max() == 0.0, "the board holds"
    bench.board.plugged = True
    held = bench.q[-1]
    bench.hardware.connect()
    bench.run(0.5)
    assert bench.hardware.state is State.IDLE and "reset" in bench.local.status().problem
    bench.session.reset()
    bench.session.enable(at_rest_pose=False)
    bench.run(1.0)
    assert bench.hardware.state is State.ACTIVE and np.abs(bench.q[-1] - held).max() < 0.02
    assert bench.fastest() < SWING * TIP_SPEED


def test_a_payload_changes_plans_compensation_and_modelled_state_together(bench):
    bench.run(0.1)
    bench.local.set("dynamics", {"payload.mass": 0.025})
    controller = bench.arm.controller
    models = controller.execution.limits.model, controller.law.model, bench.hardware.model.model
    assert [model.payload_mass for model in models] == [0.025] * 3
    with pytest.raises(InfeasibleError):
        bench.local.set("dynamics", {"payload.mass": 2.0})
    assert [model.payload_mass for model in (controller.execution.limits.model, controller.law.model)] == [0.025] * 2
    assert bench.local.status().payload_kg == 0.025


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_asked_the_true_arm_keeps_its_speed_and_every_goal_is_answered_once(seed):
    """Goals, cancels, stops, pulled cables, payloads and other speeds in any order."""
    rng, bench = np.random.default_rng(seed), Bench(seed)
    lower, upper = ARM.description.lower, ARM.description.upper
    for _ in range(14):
        what = rng.choice(["goal", "goal", "goal", "cancel", "stop", "pull", "payload", "speed", "wait"])
        if what == "goal":
            bench.ask(np.clip(pose() + rng.uniform(-0.8, 0.8, 5), lower, upper), float(rng.uniform(0.2, 2.0)))
        elif what == "cancel":
            bench.session.cancel()
        elif what == "stop":
            bench.session.stop()
            bench.run(float(rng.uniform(0.05, 0.6)))
            go_on(bench)
        elif what == "pull":
            bench.board.plugged = False
            bench.run(float(rng.uniform(0.02, 0.6)))
            bench.board.plugged = True
            if bench.hardware.state is State.OFFLINE:
                bench.hardware.connect()
            go_on(bench)
        elif what == "payload":
            try:
                bench.arm.controller.set_payload(float(rng.choice([0.0, 0.02])), (0.0, 0.0, 0.0), bench.board.now())
            except PickerError:
                assert bench.local.status().payload_kg in (0.0, 0.02)
        elif what == "speed":
            bench.session.change(speed=float(rng.choice([0.0, 0.3, 1.0])))
        bench.run(float(rng.uniform(0.05, 0.8)))
    bench.session.change(speed=1.0)
    bench.run(8.0)
    assert all(len(one) == 1 for one in bench.verdicts.values()), bench.verdicts
    assert bench.fastest() < SWING * TIP_SPEED
    assert bench.hardware.counts.invalid == 0


def go_on(bench) -> None:
    """Reset and enable, as soon as the outputs are at rest."""
    bench.run(0.6)
    bench.session.reset()
    if bench.hardware.state is not State.ACTIVE:
        bench.session.enable(at_rest_pose=False)
    bench.run(0.3)
