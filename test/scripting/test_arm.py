"""``Arm`` without ROS: questions, motions of a simulated arm judged by the simulation's truth, refusals, Ctrl-C, recordings."""

import re
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos

from picker_dynamics import Arm, Waypoint, load
from picker_dynamics.errors import (
    ClosedError,
    GoalAbortedError,
    GoalRefusedError,
    InfeasibleError,
    InputError,
    JointNamesError,
    PickerError,
    RecordingError,
)
from picker_dynamics.scripting.legs import Replay
from picker_dynamics.trajectory.straight_line import off_line

HOME, NAMES = np.array(servos().home), picker().joint_names
TIP = (0.26, 0.08, 0.17)
THERE_M = 4e-3
"""Where a tip of typical servos is when it is there, at the worst."""


@pytest.fixture(scope="module")
def standing():
    """One simulated arm for the tests that leave it as it was, or at home."""
    with Arm.simulated(real_time=False) as arm:
        yield arm


@pytest.fixture
def arm(standing):
    standing.home()
    return standing


# -- what is brought in ------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["", "rrp"])
def test_the_dynamics_alone_are_those_of_the_equations(which):
    model, rng = load(which), np.random.default_rng(3)
    q, v, a = rng.uniform(-0.4, 0.4, (3, 7, model.n))
    by_parts = np.einsum("sij,sj->si", model.mass_matrix(q), a) + model.gravity(q) + model.friction(v)
    by_parts += np.einsum("sij,sj->si", model.coriolis_matrix(q, v), v)
    np.testing.assert_allclose(model.torque(q, v, a), by_parts, atol=1e-12)
    np.testing.assert_allclose(model.torque(q[0], v[0], a[0]), by_parts[0], atol=1e-12)


# -- questions ---------------------------------------------------------------------------------------------


def test_questions_are_answered_without_an_arm():
    with Arm.offline() as arm:
        np.testing.assert_allclose(arm.gravity_torque(), rigid_body().gravity(HOME), atol=1e-9)
        np.testing.assert_allclose(arm.tip, rigid_body().forward_kinematics(HOME), atol=1e-9)
        assert arm.gravity_torque(np.zeros((4, 5))).shape == (4, 5) and arm.payload == 0.0 and arm.joint_names == NAMES
        assert not arm.plan(shoulder=0.0, elbow=0.0)
        for act in (arm.home, lambda: arm.move(base=0.1), lambda: arm.wait(1.0)):
            with pytest.raises(PickerError, match="offline"):
                act()
    for ask in (lambda: arm.q, lambda: arm.tip, lambda: arm.plan(base=0.1), arm.home):
        with pytest.raises(ClosedError, match="closed"):
            ask()


SAG = [0.0, 60.0, -80.0, 0.0, 0.0]
TO = {"tip": (0.26, 0.08, 0.17)}


@pytest.mark.parametrize(
    "mistake, said",
    [
        (lambda _: Arm(), r"call Arm.simulated\(\), Arm.offline\(\), "),
        (lambda _: Arm("picker"), r"call Arm.simulated\('picker'\), Arm.offline\('picker'\), "),
        (lambda _: load("nosuch"), "no arm 'nosuch'; there are .*picker"),
        (lambda _: load("nosuch.urdf"), "cannot read URDF nosuch.urdf"),
        (lambda _: Arm.offline(q=SAG), "60 rad: are degrees meant"),
        (lambda arm: arm.gravity_torque([[0.0] * 5, SAG]), "shoulder is in radians .60 rad: are degrees meant"),
        (lambda arm: arm.tip_at(SAG), "numpy.radians.q. converts"),
        (lambda arm: arm.plan(**TO, via=(0.2, 0.0, 0.2)), r"via=\[\(x, y, z\), ...\]"),
        (lambda arm: setattr(arm, "payload", 1000.0), "payload mass is 1000 kg, at most 100"),
        (lambda arm: setattr(arm, "compensation", "none"), "no attribute 'compensation': only payload can be set"),
    ],
)
def test_a_mistake_is_answered_with_the_way_out(mistake, said):
    with Arm.offline() as arm, pytest.raises((PickerError, AttributeError), match=said):
        mistake(arm)


def test_offline_a_payload_is_borne_and_tuples_are_places_on_the_way():
    with Arm.offline() as arm:
        bare = arm.gravity_torque()
        arm.payload = 0.02
        np.testing.assert_allclose(arm.gravity_torque(), arm.known.model(0.02).gravity(HOME))
        assert arm.payload == 0.02 and (np.abs(arm.gravity_torque()) >= np.abs(bare)).all()
        tuples, places = (arm.plan(**TO, via=[place]) for place in ((0.2, 0.0, 0.2), Waypoint((0.2, 0.0, 0.2))))
        np.testing.assert_array_equal(tuples.motion.q, places.motion.q)


def test_a_plan_names_the_worst_joint_and_what_each_has_left(arm):
    stretched = arm.plan(shoulder=0, elbow=0, wrist=0, unit="deg")
    assert not stretched.possible and stretched.worst_joint == stretched.refusal.subject == "shoulder"
    pose = HOME * [1, 0, 0, 0, 1]
    torque = np.abs(rigid_body().gravity(pose))
    share = float(torque[1] / stretched.hold[1])
    assert stretched.hold_share["shoulder"] == pytest.approx(share) and stretched.margins["shoulder"] <= 1.0 - share
    assert str(stretched).startswith("refused: shoulder needs") and "-" in str(stretched).splitlines()[3]
    easy = arm.plan(base=20, unit="deg", duration=2.0)
    assert easy and easy.duration == 2.0 and easy.slowed == 1.0 and min(easy.margins.values()) > 0.0
    fast = arm.plan(base=80, unit="deg")
    assert fast and fast.slowed > 1.0 and fast.duration == pytest.approx(0.8 * fast.slowed)
    np.testing.assert_allclose(np.abs(fast.motion.torque).max(axis=0) / fast.peak, list(fast.peak_share.values()))


# -- motions -----------------------------------------------------------------------------------------------


def test_the_tip_is_where_it_was_told_to_be(arm):
    arm.move(tip=TIP)
    arm.wait(1.0)
    assert np.linalg.norm(arm.tip - TIP) < THERE_M
    took = arm.move(base=-20, wrist=-40, unit="deg", duration=1.5)
    arm.wait(1.0)
    assert took.duration >= 1.5 and took.done() and took.progress == 1.0
    np.testing.assert_allclose(arm.q[[0, 3]], np.radians([-20, -40]), atol=0.03)
    arm.park()
    arm.wait(1.0)
    np.testing.assert_allclose(arm.q, servos().rest, atol=0.03)


@pytest.mark.parametrize(
    ("asked", "error", "text"),
    [
        ({}, InputError, "given: none"),
        ({"tip": TIP, "base": 0.1}, InputError, "given: tip and joints by name"),
        ({"tip": (260, 80, 170)}, InputError, "are these millimetres"),
        ({"tip": TIP, "pitch": 0.1, "direction": (1.0, 0.0, 0.0)}, InputError, "pitch or a direction"),
        ({"base": 0.1, "pitch": 0.1}, InputError, "pitch and direction belong to a tip"),
        ({"q": [0.0, 0.0]}, InputError, "q has shape"),
        ({"knee": 1.0}, JointNamesError, "no joint 'knee'"),
        ({"base": 1.0, "unit": "grad"}, InputError, "unit is 'grad'"),
    ],
)
def test_a_target_that_can_be_none_is_refused_by_name(arm, asked, error, text):
    with pytest.raises(error, match=text):
        arm.move(**asked)


def test_ctrl_c_in_a_script_stops_its_motion_and_latches_nothing(arm):
    left = iter(range(60))

    def meanwhile():
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        arm.move(base=0.8, duration=4.0, wait=False).wait(meanwhile)
    arm.wait(1.0)
    assert 0.0 < arm.q[0] < 0.7
    arm.home()
    arm.wait(1.0)
    assert arm.q[0] == pytest.approx(HOME[0], abs=0.03)


def test_ctrl_c_while_a_motion_is_asked_for_cancels_it(arm, monkeypatch):
    session, ended = arm.session, arm.session.ended

    def interrupted(goal):
        if session.reference()[0] > 0.1:
            monkeypatch.setattr(session, "ended", ended)
            raise KeyboardInterrupt
        return ended(goal)

    monkeypatch.setattr(session, "ended", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.move({"base": 0.8}, least_s=4.0)
    arm.wait(4.0)
    assert 0.1 < arm.q[0] < 0.4


@pytest.mark.parametrize("how", [KeyboardInterrupt, None])
def test_an_arm_that_is_closed_makes_no_motion_to_its_end(how):
    with pytest.raises(how) if how else nullcontext(), Arm.simulated(real_time=False) as arm:
        moving, session = arm.move(base=0.8, duration=4.0, wait=False), arm.session
        arm.wait(1.0)
        assert not moving.over()
        if how:
            raise how
    with pytest.raises(GoalAbortedError, match="cancelled"):
        moving.done()
    held = session.reference()
    session.spin(4.0)
    assert 0.0 < session.plant.q[0] < 0.5 and abs(session.plant.q[0] - held[0]) < 0.03


def test_while_one_thread_moves_the_arm_another_is_refused_but_may_ask_and_cancel(arm):
    found, said = arm.pick(TIP, mass=0.0, check=True), []
    pause = next(leg for leg in found.legs if not leg.moves)

    def another(*acts):
        def heard(act):
            try:
                said.append(act())
            except PickerError as error:
                said.append(error)

        for act in acts:
            thread = threading.Thread(target=heard, args=(act,))
            thread.start()
            thread.join()

    def refused(leg, _share):
        if not said:
            another(lambda: arm.move(base=0.3), arm.home, lambda: arm.grip(0.3), lambda: arm.play(found), lambda: arm.q)

    arm.play(Replay((pause,)), refused)
    assert [type(one) for one in said] == 4 * [GoalRefusedError] + [np.ndarray]
    assert all("another thread or task moves this arm" in str(one) for one in said[:4])

    said.clear()
    with pytest.raises(GoalAbortedError, match="cancelled"):
        arm.play(Replay(found.legs[:1]), lambda _leg, share: another(arm.cancel) if share > 0.3 and not said else None)
    assert said == [None]
    assert arm.move(base=0.1).done(), "the next one may"


def test_a_motion_that_has_ended_cancels_no_other(arm):
    first = arm.move(base=0.2, wait=False)
    first.wait()
    second = arm.move(base=0.4, wait=False)
    first.cancel()
    assert second.wait() > 0.0
    arm.home()


def test_a_payload_is_carried_held_and_counted_in_what_is_refused(arm):
    pose = {"shoulder": 60, "elbow": -80, "unit": "deg"}
    assert arm.plan(**pose)
    arm.payload = 0.02
    try:
        arm.wait(1.0)
        arm.move(tip=TIP)
        arm.wait(1.0)
        assert arm.payload == 0.02 and np.linalg.norm(arm.tip - TIP) < THERE_M
        assert not arm.plan(**pose)
        np.testing.assert_allclose(arm.gravity_torque(HOME), rigid_body(0.02).gravity(HOME), atol=1e-9)
        with pytest.raises(InputError, match="payload.mass is 25, must be 0 to 5"):
            arm.payload = 25.0
        with pytest.raises(InfeasibleError, match="shoulder needs .* to hold its pose"):
            arm.payload = 0.5
        arm.wait(0.2)
        assert arm.payload == 0.02 and np.linalg.norm(arm.tip - TIP) < THERE_M
    finally:
        arm.home()
        arm.payload = 0.0


def test_with_a_scene_motions_are_held_clear_of_it_and_of_the_arm_itself(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("shapes: {crate: {box_m: [0.1, 0.1, 0.1], at_m: [0.22, 0, 0.05]}}")
    into_crate, into_itself = {"tip": (0.2, 0.0, 0.08)}, {"shoulder": 1.2, "elbow": -2.5, "wrist": -1.5}
    with Arm.simulated(scene=path, real_time=False) as arm, Arm.offline(scene="") as bare, Arm.offline() as none:
        with pytest.raises(GoalRefusedError, match="refused: (hand|scissor) would hit crate, .* at .* s"):
            arm.move(**into_crate)
        assert re.search("would (hit|come within .* of) (turret|base_link|upper_arm)", str(bare.plan(**into_itself).refusal))
        assert bare.plan(**into_crate) and none.plan(**into_crate) and none.plan(**into_itself)


def test_what_it_did_is_recorded_as_arrays(arm):
    with pytest.raises(RecordingError, match="nothing was recorded"), arm.record() as nothing:
        nothing.arrays  # noqa: B018
    with arm.record() as recorded:
        arm.move(base=0.3, duration=1.0)
    length = len(recorded.rows)
    arm.wait(0.1)
    assert len(recorded.rows) == length
    arrays = recorded.arrays
    assert arrays["t"][0] == 0.0 and (np.diff(arrays["t"]) > 0.0).all() and arrays["t"][-1] > 0.98
    assert arrays["q_ref"][-1, 0] == pytest.approx(0.3, abs=0.01) and np.abs(arrays["q"] - arrays["q_ref"]).max() < 0.1
    assert np.isfinite(arrays["torque"]).all()
    np.testing.assert_allclose(arrays["tip"], rigid_body().forward_kinematics(arrays["q"]), atol=1e-9)


# -- other arms ----------------------------------------------------------------------------------------------


def test_an_arm_whose_joints_take_efforts_moves_too():
    with Arm.simulated("rrp", real_time=False) as arm:
        target = arm.q + 0.1
        arm.move(q=target)
        arm.wait(1.0)
        np.testing.assert_allclose(arm.q, target, atol=2e-3)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"arm": "no_such.urdf"}, PickerError, "no_such"),
        ({"servo": "perfect"}, InputError, "servo is 'perfect'"),
        ({"plant_error": 2.0}, InputError, "plant error is 2.0"),
    ],
)
def test_what_an_arm_cannot_be_made_of_is_said(options, error, text):
    with pytest.raises(error, match=text):
        Arm.simulated(real_time=False, **options)


# -- straight lines and via points -------------------------------------------------------------------------


def test_the_tool_goes_straight_and_no_approach_leaves_the_line(arm):
    begin = arm.tip
    with arm.record() as recorded:
        arm.move(tip=TIP, straight=True)
        arm.wait(1.0)
    asked, end = recorded.arrays["tip_ref"], np.array(TIP)
    assert off_line(asked, asked[0], end).max() < 5e-4
    np.testing.assert_allclose(asked[-1], TIP, atol=1e-5)
    assert off_line(recorded.arrays["tip"], begin, end).max() < 8e-3, "servos are springs, but it was near the line all the way"
    assert np.linalg.norm(arm.tip - TIP) < THERE_M
    with arm.record() as bent:
        arm.move(tip=tuple(begin))
    assert off_line(bent.arrays["tip_ref"], end, begin).max() > 1e-3, "else it proves nothing"


@pytest.mark.parametrize(
    "asked, error, said",
    [
        ({"tip": (0.33, 0.0, 0.17)}, GoalRefusedError, "refused: shoulder needs"),
        ({"q": HOME}, InputError, "straight belongs to a tip"),
        ({"tip": TIP, "via": [Waypoint((0.24, 0.08, 0.17), blend=0.2)]}, InputError, "blend of 200 mm at via point 1 is longer"),
    ],
)
def test_a_line_that_cannot_be_is_one_clear_error_and_the_arm_stands(arm, asked, error, said):
    arm.wait(0.3)
    with arm.record() as recorded:
        with pytest.raises(error, match=said):
            arm.move(straight=True, **asked)
        arm.wait(0.1)
    assert np.ptp(recorded.arrays["q_ref"], axis=0).max() < 1e-12
