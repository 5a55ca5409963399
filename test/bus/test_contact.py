"""Contact stop of an SO-101: noticed, stopped, backed off and held, judged by the true arm; and no stop where nothing is met."""

import numpy as np
import pytest
from arm_rig import outcome
from bus_rig import BusRig
from generated import LONG

from picker_dynamics.board.session import State
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm

SO101 = str(resource("urdf/so101.urdf"))
HOME = np.array(servo_arm.load(SO101, "", "typical")[1].home)
NAMES = servo_arm.load(SO101)[0].joint_names
PUSH_N, NOTICED_S, BACKS_S, HALF_S = 5.0, 0.15, 3.5, 0.75
GRIPPER = NAMES.index("gripper")


def swinging(seed, error=0.0, **named) -> BusRig:
    """An arm in the middle of a drawn motion."""
    rng = np.random.default_rng(seed)
    rig = BusRig(q=HOME, urdf=SO101, error=error, seed=seed, **named).enable()
    rig.answers = rig.move(HOME + rng.uniform(-0.6, 0.6, 6) * [1.5, 1, 1, 1, 1.5, 0], 2.0 * HALF_S)
    rig.run(HALF_S)
    return rig


def push(rig: BusRig) -> None:
    """Push the tip back with 5 N."""
    way = rig.tips[-1] - rig.tips[-6]
    rig.plant.push(-PUSH_N * way / np.linalg.norm(way))


@pytest.mark.parametrize(("seed", "error"), [(0, 0.0), (1, 0.15), *((seed, 0.15) for seed in range(2, 40 if LONG else 2))])
def test_five_newton_at_the_tip_are_noticed_and_the_arm_stops_and_holds(seed, error):
    rig = swinging(seed, error)
    push(rig)
    rig.run(NOTICED_S)
    goals = np.array(rig.outputs.sender.goals)
    rig.run(0.02)
    assert (rig.outputs.sender.goals == goals).all(), "it has stopped"
    rig.run(BACKS_S)
    (answer,) = rig.answers
    assert answer.outcome is Outcome.ABORTED and "N·m more than the motion needs, allowed" in answer.text
    assert any(answer.text.startswith(f"aborted: {name} meets something: ") for name in NAMES)
    assert rig.outputs.state is State.ACTIVE and all(servo.torque for servo in rig.bus.servos)
    assert np.abs(rig.plant.v).max() < 1e-2, "it bears the push"


def test_what_stands_in_the_way_is_not_pushed_and_the_way_back_is_free():
    rig = BusRig(q=HOME, urdf=SO101).enable()
    rig.plant.block(0, -2.0, 0.2)
    answers = rig.move(HOME + np.eye(6)[0] * 0.8, 1.5)
    rig.run(1.5 + BACKS_S)
    assert outcome(answers) is Outcome.ABORTED and answers[0].text.startswith("aborted: shoulder_pan meets something: ")
    friction = float(rig.plant.servo.coulomb[0])
    assert abs(rig.plant.spring[0]) < 3.0 * friction and rig.plant.q[0] == pytest.approx(0.2, abs=0.02)
    answers = rig.move(HOME, 1.5)
    rig.run(3.0)
    assert outcome(answers) is Outcome.SUCCEEDED


def test_another_compensation_on_the_way_is_no_contact():
    rig = swinging(0)
    rig.arm.settings["dynamics"].change({"compensation": "gravity"})
    rig.run(2.0)
    assert rig.outputs.epoch == 1


def test_switched_off_it_pushes_and_the_goal_says_where_it_is():
    rig = swinging(0, dynamics__contact_stop=False)
    push(rig)
    rig.run(1.0)
    assert rig.outputs.epoch == 1 and not rig.answers


@pytest.mark.parametrize("seed", range(10 if LONG else 1))
def test_nothing_is_met_where_nothing_is(seed):
    """Drawn motions of an arm whose figures are wrong, one after the other and into each other, jaws too."""
    rng = np.random.default_rng(seed)
    rig = BusRig(q=HOME, urdf=SO101, error=0.15, seed=seed).enable()
    for _ in range(200 if LONG else 12):
        rig.move(HOME + rng.uniform(-0.6, 0.6, 6) * [1.5, 1, 1, 1, 1.5, 0.3], float(rng.uniform(0.3, 1.5)))
        rig.run(float(rng.uniform(0.5, 1.5)))
        assert rig.outputs.epoch == 1, rig.outputs.problem
