"""The control loop on virtual time, through session, sender, link and bytes; judged by the true arm and the outputs."""

import numpy as np
import pytest
from arm_fixtures import picker
from arm_rig import HOME, Rig, outcome

from picker_dynamics.board.session import State
from picker_dynamics.errors import InfeasibleError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.resources import resource

ARM = picker()
TIP_SPEED, TYPICAL = 0.25, str(resource("config/servos.sim.yaml"))
SWING = 1.12
"""A servo is a spring: the true tip swings about a set-point that keeps the limit."""


@pytest.fixture
def bench():
    return Rig(TYPICAL).adopt()


def pose(**by) -> np.ndarray:
    q = HOME.copy()
    for joint, amount in by.items():
        q[ARM.joint_names.index(joint)] += amount
    return q


def test_a_goal_ends_where_it_was_told_to_and_no_faster(bench):
    name = bench.move(pose(base=0.6, shoulder=0.1))
    bench.run(6.0)
    assert outcome(name) is Outcome.SUCCEEDED
    off_m = np.linalg.norm(bench.tips[-1] - bench.arm.model.forward_kinematics(pose(base=0.6, shoulder=0.1)))
    assert off_m < 4e-3 and bench.fastest() < SWING * TIP_SPEED
    assert bench.outputs.counts.sent > 500 and bench.outputs.counts.away == 0


@pytest.mark.parametrize("tolerance", [0.02, 1e-6])
def test_a_goal_that_the_board_plays_late_has_its_goal_time_from_then_on(tolerance):
    bench = Rig(
        TYPICAL, trajectory_controller__constraints__goal_time=0.2, trajectory_controller__constraints__base__goal=tolerance
    )
    answers = bench.adopt().move(pose(base=1.2), duration_s=2.0)
    bench.run(0.3)
    for _ in range(4):
        bench.run(0.2)
        bench.board.run(0.18)  # and nobody calls the loop
    bench.run(0.1)
    delay_s = bench.outputs.delay_s
    bench.run(1.0)
    assert delay_s > 0.3
    (verdict,) = answers
    if tolerance > 0.01:
        assert verdict.outcome is Outcome.SUCCEEDED and abs(bench.q[-1][0] - pose(base=1.2)[0]) < tolerance
    else:
        assert f"s after the end, which the board played {delay_s:.2f} s late (goal time 0.2 s)" in verdict.text


def test_the_same_happens_twice():
    runs = []
    for _ in range(2):
        bench = Rig(TYPICAL).adopt()
        bench.move(pose(base=0.4))
        bench.run(1.0)
        bench.session.stop()
        bench.run(0.5)
        runs.append((np.array(bench.q), np.array(bench.set_points), [event.text for event in bench.events]))
    (q, outputs, texts), (q2, outputs2, texts2) = runs
    assert (q == q2).all() and (outputs == outputs2).all() and texts == texts2


def test_after_stop_reset_and_enable_the_arm_stays_where_it_is_held(bench):
    name = bench.move(pose(base=0.8), duration_s=2.0)
    bench.run(1.0)
    bench.session.stop()
    bench.run(1.5)
    assert outcome(name) is Outcome.ABORTED and bench.outputs.stop_latched
    with pytest.raises(PickerError, match="stop is latched"):
        bench.session.enable(at_rest_pose=False)
    held = bench.q[-1]
    bench.session.reset()
    bench.run(0.1)
    bench.session.enable(at_rest_pose=False)
    bench.run(1.5)
    assert np.abs(np.array(bench.q[-150:]) - held).max() < 0.02
    again = bench.move(pose(base=0.2))
    bench.run(5.0)
    assert outcome(again) is Outcome.SUCCEEDED and bench.fastest() < SWING * TIP_SPEED


def test_reasons_come_from_one_place_however_fast_the_arm_is_stopped_and_enabled_again(bench):
    """It was "aborted: active", the state that it had again by the time that somebody looked."""
    answers = bench.move(pose(base=0.8), duration_s=2.0)
    bench.run(1.0)
    bench.session.stop()
    bench.board.run(0.5)
    bench.outputs.tick(bench.board.now())
    bench.session.reset()
    bench.session.enable(at_rest_pose=False)
    bench.run(0.5)
    (verdict,) = answers
    assert verdict.text.startswith("aborted: the arm is held anew: it was stopped, reset or enabled meanwhile")
    said = [event.text for event in bench.events if event.kind is EventKind.ABORTED]
    assert said == [verdict.text] and bench.outputs.state is State.ACTIVE


@pytest.mark.parametrize("stall_s", [0.0, 0.1, 0.2])
def test_a_cancel_is_answered_when_the_arm_stands_on_a_machine_that_was_late_too(bench, stall_s):
    """After a stall of 0.2 s, by which the board plays late, the arm moved 0.11 rad after the answer."""
    answered_at = []
    goal = Goal(ARM.joint_names, [3.0], [pose(base=1.2).tolist()], [[0.0] * 5], [[0.0] * 5])
    request = GoalRequest(lambda: goal, tracker=bench.arm.tracker, answer=lambda _: answered_at.append(bench.plant.q[0]))
    bench.session.submit(request)
    bench.run(2.0)
    bench.board.run(stall_s)
    bench.session.cancel(request)
    assert not answered_at
    bench.run(4.0)
    (at,) = answered_at
    assert abs(bench.plant.q[0] - at) < 0.005, "its spring swings out, no more"


def test_a_pulled_cable_stops_the_arm_and_nothing_goes_on_by_itself(bench):
    name = bench.move(pose(base=0.8), duration_s=2.0)
    bench.run(1.0)
    bench.board.plugged = False
    with pytest.raises(PickerError, match="cable"):
        bench.session.reset()
    bench.run(1.0)
    assert bench.outputs.state is State.OFFLINE and outcome(name) is Outcome.ABORTED
    assert np.ptp(np.array(bench.set_points[-40:]), axis=0).max() == 0.0, "the board holds"
    bench.board.plugged = True
    held = bench.q[-1]
    bench.outputs.connect()
    bench.run(0.5)
    assert bench.outputs.state is State.IDLE and "reset" in bench.outputs.problem
    bench.session.reset()
    bench.session.enable(at_rest_pose=False)
    bench.run(1.0)
    assert bench.outputs.state is State.ACTIVE and np.abs(bench.q[-1] - held).max() < 0.02
    assert bench.fastest() < SWING * TIP_SPEED


def test_a_payload_changes_plans_compensation_and_modelled_state_together(bench):
    bench.run(0.1)
    bench.arm.settings["dynamics"].change({"payload.mass": 0.025})
    controller = bench.arm.controller
    models = controller.execution.limits.model, controller.law.model, bench.outputs.model.model
    assert [model.payload_mass for model in models] == [0.025] * 3
    with pytest.raises(InfeasibleError):
        bench.arm.settings["dynamics"].change({"payload.mass": 2.0})
    assert [model.payload_mass for model in (controller.execution.limits.model, controller.law.model)] == [0.025] * 2
    assert bench.arm.controller.payload.mass == 0.025
