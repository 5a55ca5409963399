"""An arm that a hand moves: the true arm is pushed at its tool, on virtual time."""

import numpy as np
import pytest
from view_pages import Told

from picker_dynamics import Arm
from picker_dynamics.commands.drive import GUIDE, Seat
from picker_dynamics.commands.keyboard import Action
from picker_dynamics.errors import GoalRefusedError, InputError
from picker_dynamics.scripting.scripted_arm import STEP_S
from picker_dynamics.scripting.view.arm_view import ArmView

STEP_RAD = 5e-3
"""By which a goal may move in a cycle of an arm at rest: friction lets go, at three steps of a servo [rad]."""

DRIFT_M = 2e-3
"""By which a guided arm that nobody touches may move in ten seconds."""


@pytest.fixture
def arm():
    with Arm.simulated("so101", real_time=False) as made:
        yield made


def moved(arm, seconds, force):
    """Way of the true tip while the tool is pushed with that force, (3,) [m]."""
    begin = arm.session.plant.tip.copy()
    arm.session.plant.push(force)
    arm.guide(seconds)
    return arm.session.plant.tip - begin


def test_nobody_touches_it_and_it_stays(arm):
    assert np.linalg.norm(moved(arm, 10.0, [0.0, 0.0, 0.0])) < DRIFT_M


@pytest.mark.parametrize("force", [[0.0, 5.0, 0.0], [0.0, 0.0, 5.0]], ids=["aside", "up"])
def test_it_goes_where_it_is_pushed_and_stays_where_it_was_left(arm, force):
    way = moved(arm, 1.2, force)
    assert way @ np.array(force) / np.linalg.norm(force) > 0.03
    moved(arm, 1.0, [0.0, 0.0, 0.0])
    assert np.linalg.norm(moved(arm, 3.0, [0.0, 0.0, 0.0])) < DRIFT_M
    assert arm.session.hardware["state"] == "active" and arm.session.controller["phase"] == "holding"


def test_no_limit_is_passed_however_hard_it_is_pushed(arm):
    held = []
    arm.session.plant.push([0.0, 30.0, 0.0])
    arm.guide(2.0, lambda: held.append(arm.held))
    assert np.abs(np.diff(held, axis=0)).max() <= 1.01 * STEP_S * arm.description.velocity.max()
    assert (np.array(held) >= arm.description.lower).all() and (np.array(held) <= arm.description.upper).all()
    assert held[-1][0] - held[0][0] < -0.3


def test_at_the_floor_it_holds_and_says_why(arm):
    arm.session.plant.push([0.0, 0.0, -4.0])
    with pytest.raises(GoalRefusedError, match="below the floor"):
        arm.guide(4.0)
    arm.session.plant.push([0.0, 0.0, 0.0])
    arm.wait(1.0)
    assert arm.session.controller["phase"] == "holding" and arm.session.plant.tip[2] > -0.02


def test_an_arm_that_does_not_measure_its_joints_is_not_guided():
    with Arm.simulated(real_time=False) as picker, pytest.raises(InputError, match="modelled: only an arm that measures"):
        picker.guide(1.0)


def test_from_the_keyboard_any_key_lets_go(arm):
    session = arm.session
    session.take_arm()
    seat = Seat(session, arm.known)
    seat.act(Action(GUIDE))
    begin = session.plant.q.copy()
    session.plant.push([0.0, 5.0, 0.0])
    for _ in range(100):
        session.spin(0.01)
        seat.turn()
    assert seat.hand is not None and np.abs(session.plant.q - begin).max() > 0.1
    seat.act(Action("x"))
    assert seat.hand is None and session.controller["phase"] == "holding"
    held = np.array(arm.held)
    for _ in range(50):
        session.spin(0.01)
        seat.turn()
    assert np.abs(arm.held - held).max() < 1e-6
    session.leave()


def test_from_the_page_until_a_motion_is_asked_for_or_it_is_ended(arm):
    session, page = arm.session, "a.01"
    view = ArmView(arm.known, session)
    Told(view.channel)
    assert view.status()["guided"] is False

    def guided(seconds):
        for _ in range(round(seconds / STEP_S)):
            session.spin(STEP_S)
            view.look()

    for end in ("cancel", "home"):
        view.do(("guide", {}), page)
        begin = session.plant.q.copy()
        session.plant.push([0.0, 5.0, 0.0])
        guided(0.5)
        assert view.status()["guided"] and np.abs(session.plant.q - begin).max() > 0.03
        session.plant.push([0.0, 0.0, 0.0])
        view.do((end, {}), page)
        assert view.status()["guided"] is False
        guided(2.0)
        assert session.controller["phase"] == "holding"
    np.testing.assert_allclose(arm.held, arm.known.home, atol=1e-6)
    view.do(("guide", {}), page)
    view.stop()
    guided(0.5)
    assert view.status()["guided"] is False and session.hardware["stop_latched"] == "true"
    view.channel.close()
    view.close()


def test_what_was_closed_at_rest_fades_along_the_way_of_the_hand_and_not_at_its_end():
    with Arm.simulated("so101", real_time=False, plant_error=0.15, seed=0) as arm:
        session = arm.session
        arm.home()
        arm.wait(4.0)
        sender, law = session.arm.outputs.sender, session.arm.controller.law
        assert np.abs(law.compensator.correction).max() > 0.01
        session.plant.push([0.0, 0.0, 5.0])
        arm.guide(1.2)
        session.plant.push([0.0, 0.0, 0.0])
        arm.wait(0.3)
        goals = []
        for _ in range(150):
            session.spin(STEP_S)
            goals.append(np.array(sender.goals))
        assert np.abs(np.diff(goals, axis=0)).max() < STEP_RAD
