"""What is put into a moving arm's way: it stops before that if a way to rest does, and goes no further than by a stop."""

from __future__ import annotations

import numpy as np
from arm_fixtures import picker
from arm_rig import HOME, PERIOD_S, Rig, outcome
from generated import numbers, share
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import approx, mark

from benchmarks.mujoco_shapes import MujocoShapes
from picker_dynamics.board.session import State
from picker_dynamics.controller import parameters
from picker_dynamics.execution.collision import MARGIN_M
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.scene import Scene, scene_shape

SPEED = 0.26
"""Of the tip [m/s]."""

AFTER_S = 1.2
"""Within which each stop is over, and the arm is still [s]."""

STILL = 2e-3
"""Of a true joint in that time's last 0.1 s, at most [rad]."""

SAG_M = 1e-3
"""By which the true tip may be below the reference, at rest and on its way: servos are springs."""

AWAY = HOME + [1.5, 0.0, 0.0, 0.0, 0.0]


class Encounter:
    """An arm on its way, and how near its true links come to a scene that they do not know yet."""

    def __init__(self, scene: Scene, target=AWAY, duration_s: float = 0.5):
        self.truth, self.scene = MujocoShapes(picker(), scene), scene
        links = [name for name in self.truth.geoms if name not in (picker().root, *scene)]
        self.pairs = [(link, name) for link in links for name in scene]
        self.rig = Rig(trajectory_controller__collision__enabled=True, trajectory_controller__tip_speed_limit=SPEED).adopt()
        self.rig.run(0.5)
        self.answers = self.rig.move(target, duration_s)

    def distance(self, q) -> float:
        return min(self.truth.distance(q, *names) for names in self.pairs)

    def approach(self, distance_m: float, longest_s: float = 6.0) -> Encounter:
        """Go on until it is that near, and comes nearer."""
        while self.distance(self.rig.q[-1]) > distance_m:
            self.rig.run(PERIOD_S)
            longest_s -= PERIOD_S
            assert longest_s > 0.0, "it never comes near"
        return self

    def least(self) -> float:
        """Least distance from now on, until the arm is still [m]."""
        begin = len(self.rig.q)
        self.rig.run(AFTER_S)
        assert np.abs(np.ptp(self.rig.q[-10:], axis=0)).max() < STILL
        return min(map(self.distance, self.rig.q[begin:]))

    def appears(self) -> float:
        self.rig.arm.surroundings.add(self.scene)
        return self.least()

    def stopped(self) -> float:
        """The same where somebody stops the arm instead."""
        self.rig.session.stop()
        return self.least()


def post(radius_m: float = 0.01, angle: float = 1.0) -> Scene:
    """Upright, where the hand comes to as it swings by ``angle`` [rad]."""
    place = link_poses(picker(), HOME + [angle, 0.0, 0.0, 0.0, 0.0])["hand"].apply(np.array([0.03, 0.0, 0.0]))
    return {"post": scene_shape("post", "cylinder", [radius_m, 1.0], [place[0], place[1], 0.5], np.eye(3), "")}


def ball(q, link: str, beside, radius_m: float = 0.01) -> Scene:
    """At ``beside`` (3,) [m] from a link that is at ``q``."""
    place = link_poses(picker(), q)[link].apply(np.array(beside))
    return {"ball": scene_shape("ball", "sphere", radius_m, place.tolist(), np.eye(3), "")}


@mark.parametrize(
    "radius_mm, distance_mm", [(10, mm) for mm in (76, 54, 40, 28, 15, 5, 1, 0)] + [(2, mm) for mm in (15, 5, 1, 0)]
)
def test_a_post_that_appears_before_the_hand_is_not_passed_and_no_nearer_than_by_the_stop(radius_mm, distance_mm):
    """A thin one is passed, or half passed, by what was sent already when it appears."""
    scene = post(radius_m=1e-3 * radius_mm)
    met = Encounter(scene).approach(1e-3 * distance_mm)
    assert met.distance(met.rig.q[-1]) > 1e-3 * (distance_mm - 4.0), "it comes from farther away"
    least = met.appears()
    by_stop = Encounter(scene).approach(1e-3 * distance_mm).stopped()
    assert least >= min(by_stop, MARGIN_M)
    assert outcome(met.answers) is Outcome.ABORTED and "would" in met.answers[0].text
    if met.rig.outputs.state is State.ACTIVE:
        assert least >= MARGIN_M
    else:
        assert met.rig.outputs.problem.startswith("stopped: ") and "post" in met.rig.outputs.problem
        assert least == approx(by_stop, abs=1e-9), "as soon as by the stop"


def test_what_appears_within_a_link_stops_the_arm_though_its_way_leads_out():
    """Of a plate no thicker than that, on either side of it."""
    met = Encounter(post(0.002, 0.5), HOME + [0.35, 0.0, 0.0, 0.0, 0.0]).approach(-1.6e-3)
    q = met.rig.q[-1]
    met.appears()
    assert outcome(met.answers) is Outcome.ABORTED and "forearm would hit post" in met.rig.outputs.problem
    assert np.abs(met.rig.q[-1] - q).max() < 0.06, "by the stop"


def test_what_stood_there_before_does_not_stop_the_arm_on_its_way_out():
    met = Encounter(ball(HOME - [0.06, 0.0, 0.0, 0.0, 0.0], "hand", [0.05, 0.0, 0.0]), HOME)
    met.rig.run(1.0)
    assert outcome(met.answers) is Outcome.SUCCEEDED and met.appears() < 0.0
    answers = met.rig.move(AWAY)
    met.rig.run(0.3)
    assert answers == [] and met.distance(met.rig.q[-1]) < -1e-3 and met.rig.q[-1][0] > 0.01
    met.rig.arm.surroundings.add({**met.scene, "lamp": scene_shape("lamp", "sphere", 0.01, [0.0, -0.3, 0.3], np.eye(3), "")})
    met.rig.run(4.0)
    assert outcome(answers) is Outcome.SUCCEEDED


@given(
    st.tuples(numbers(-1.2, 1.2), numbers(-0.3, 0.5), numbers(-0.5, 0.4), numbers(-0.5, 0.5), st.just(0.0)),
    numbers(0.1, 0.9),
    st.sampled_from(["hand", "forearm", "scissor"]),
    st.tuples(*[numbers(-0.02, 0.02, 0.005)] * 3),
    numbers(0.005, 0.03, 0.005),
    numbers(0.0, 0.05, 0.005),
)
@share(4, 0.02)
def test_whatever_appears_on_the_way_is_met_no_deeper_than_by_the_stop(by, along, link, beside, radius_m, distance_m):
    """A ball where a link of an arm comes to on its way."""
    target = HOME + np.array(by)
    scene = ball(HOME + along * np.array(by), link, beside, radius_m)
    met = Encounter(scene, target)
    assume(met.answers == [] and met.distance(HOME) > distance_m)
    by_stop = Encounter(scene, target)
    for one in (met, by_stop):
        one.approach(distance_m)
    begins = met.distance(met.rig.q[-1])
    assert met.appears() >= min(by_stop.stopped(), begins, MARGIN_M) - 1e-3


@mark.parametrize("above_mm", [80, 50, 10, 0, -20])
@mark.parametrize("collision", [False, True])
def test_a_floor_that_rises_under_a_falling_tip_is_met_no_deeper_than_by_the_stop(above_mm, collision):
    """With collisions shapes count: the lowest, a servo's housing, is 34 mm below the tip, and a stop takes it 16 mm further."""

    def falling() -> Rig:
        settings = {"tip_speed_limit": SPEED, "floor_z": -0.1, "collision__enabled": collision}
        rig = Rig(**{f"trajectory_controller__{name}": value for name, value in settings.items()}).adopt()
        rig.run(0.5)
        answers = rig.move(HOME + [0.0, -0.6, 0.0, 0.0, 0.0])
        while rig.tips[-1][2] > rig.tips[0][2] - 0.04:
            rig.run(PERIOD_S)
            assert answers == []
        return rig

    raised, stopped = falling(), falling()
    floor_z = float(raised.tips[-1][2]) - 1e-3 * above_mm
    begin = len(raised.tips)
    raised.arm.settings[parameters.CONTROLLER].change({"floor_z": floor_z})
    stopped.session.stop()
    for rig in (raised, stopped):
        rig.run(AFTER_S)
    lowest, by_stop = (min(tip[2] for tip in rig.tips[begin:]) for rig in (raised, stopped))
    assert lowest >= min(by_stop, floor_z - SAG_M) and np.ptp(raised.q[-10:], axis=0).max() < STILL
    assert (raised.outputs.state is State.ACTIVE) == (above_mm > (50 if collision else 10))
    if collision:
        slab = {"slab": scene_shape("slab", "box", [4.0, 4.0, 1.0], [0.0, 0.0, floor_z - 0.5], np.eye(3), "")}
        truth = MujocoShapes(picker(), slab)
        for link in ("upper_arm", "forearm", "hand", "scissor"):
            least, by_stop = (min(truth.distance(q, link, "slab") for q in rig.q[begin:]) for rig in (raised, stopped))
            assert least >= min(by_stop, MARGIN_M)
