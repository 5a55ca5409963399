"""Motions that come too near to anything are refused, others are not: held to MuJoCo's distances along them."""

import math
import re
from functools import cache

import numpy as np
from arm_fixtures import picker, rigid_body, servos
from execution_rig import HOME, NAMES, ZERO, Rig, goal, limits
from pytest import approx, mark, raises

from benchmarks.mujoco_shapes import MujocoShapes
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import LimitError
from picker_dynamics.execution.checks import SampledMotion
from picker_dynamics.execution.collision import MAX_STEP_M, STATE_TOLERANCE_M, TOLERANCE_M, CollisionCheck
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.tip_uncertainty import tip_uncertainty
from picker_dynamics.robot.collision import CollisionModel
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.picker_shape import picker_inverse
from picker_dynamics.robot.scene import payload_radius, scene_shape
from picker_dynamics.trajectory.trajectory import from_points

PERIOD_S = 0.01
MARGIN_M = 0.005
SCENE = {
    "crate": scene_shape("crate", "box", [0.1, 0.1, 0.06], [0.22, 0.0, 0.03], np.eye(3), ""),
    "post": scene_shape("post", "cylinder", [0.01, 0.4], [0.15, 0.2, 0.2], np.eye(3), ""),
    "lamp": scene_shape("lamp", "sphere", 0.04, [0.0, -0.25, 0.45], np.eye(3), ""),
}


@cache
def collision() -> CollisionModel:
    return CollisionModel(picker(), SCENE, 0.0, [servos().home, servos().rest])


def check(margin_m: float = MARGIN_M, **options) -> CollisionCheck:
    return CollisionCheck(collision(), margin_m, **options)


@cache
def truth(drawn: bool = False) -> MujocoShapes:
    return MujocoShapes(picker(), SCENE, 0.0, drawn)


def looked_at() -> list[tuple[str, str]]:
    return list(dict.fromkeys(pair.names for pair in collision().pairs if pair.a.name != "payload"))


def least(q, pairs=None, drawn: bool = False) -> float:
    """Over poses (s, n), of those pairs [m]; of what is drawn of the links, or of their collision shapes."""
    return min(truth(drawn).distance(pose, *names) for pose in np.atleast_2d(q) for names in pairs or looked_at())


def motion(begin, end, payload: float = 0.0, duration_s: float = 2.0) -> SampledMotion:
    made = from_points([duration_s], [end], start=(begin, ZERO, ZERO), joint_names=NAMES)
    return SampledMotion.along(made, rigid_body(payload), PERIOD_S)


def dense(one: SampledMotion):
    """Poses along it at other instants than the samples."""
    return one.trajectory.sample(np.linspace(0.0, one.trajectory.duration, 61))[0]


def at(x: float, z: float, pitch: float = -1.2, y: float = 0.0) -> np.ndarray:
    """The tool is there [m], the hand points down."""
    return picker_inverse(picker(), [x, y, z], pitch, HOME)


# -- motions against MuJoCo --------------------------------------------------------------------------------------------


def test_random_motions_are_refused_where_mujoco_finds_them_too_near_and_only_there():
    """Begun clear of everything.  One that keeps twice the margin passes, one that keeps less than it does not."""
    ends = sample_poses(picker(), 200, seed=11)
    clear = [q for q in ends if collision().distances(q)[~collision().of_payload].min() > 0.02]
    verdicts = {"clear": 0, "near": 0, "refused": 0}
    for begin, end, share in zip(clear, ends[:60], np.tile([0.5, 1.0], 30)):
        one, asked = motion(begin, begin + share * (end - begin)), check()
        usage, distance = asked.worst(one), least(dense(one), drawn=True)
        verdicts["refused" if usage.broken else "clear" if distance >= 2.0 * MARGIN_M else "near"] += 1
        if not usage.broken:
            assert distance >= MARGIN_M - TOLERANCE_M
            continue
        assert distance < 2.0 * MARGIN_M
        which, other = re.match(r"(\S+) would (?:hit|come within \d+ mm of) ([^ ,]+)", usage.text).groups()
        if usage.value > 0.0:
            assert usage.value == approx(least(dense(one), [(which, other)]), abs=MAX_STEP_M)
        else:
            assert least(dense(one), [(which, other)]) <= 1e-4
        assert least([one.trajectory.sample(usage.time_s)[0]]) < MARGIN_M + MAX_STEP_M
    assert min(verdicts["clear"], verdicts["refused"]) > 5


@mark.parametrize("link", ["upper_arm", "forearm", "hand"])
def test_the_servo_beside_a_link_is_kept_clear_too(link):
    """A ball of 3 mm hangs where the swing ends with the middle of the housing's outer face, 25 mm and more from the beam."""
    end, housing = HOME + [0.4, 0.0, 0.0, 0.0, 0.0], picker().links[link].visuals[2]
    outwards = np.eye(3)[2 if link == "hand" else 1] * (-1.0 if link == "hand" else 1.0)
    place = link_poses(picker(), end)[link].apply(housing.xyz + outwards * (0.5 * np.abs(outwards) @ housing.size))
    scene = {"ball": scene_shape("ball", "sphere", 0.003, place.tolist(), np.eye(3), "")}
    assert MujocoShapes(picker(), scene, 0.0, drawn=True).distance(end, link, "ball") < 0.0
    asked = CollisionCheck(CollisionModel(picker(), scene, 0.0, [servos().home, servos().rest]), MARGIN_M)
    with raises(LimitError, match=f"^{link} would hit ball, [2-4] mm deep"):
        Rig(limits(further=(asked,))).submit(goal(end))


def test_the_refusal_names_pair_time_and_distance():
    rig = Rig(limits(further=(check(),)))
    with raises(LimitError, match=r"^(hand|scissor) would hit crate, \d+ mm deep at \d\.\d\d s; kept are 5 mm \(collision"):
        rig.submit(goal(at(0.2, 0.04)))
    with raises(LimitError, match=r"(hand|scissor) would come within \d mm of crate at \d\.\d\d s") as caught:
        rig.submit(goal(at(0.2, 0.091)))
    assert caught.value.subject in ("hand", "scissor") and caught.value.limit == approx(MARGIN_M)
    with raises(LimitError, match="(hand|scissor) would hit floor"):
        rig.submit(goal(at(0.15, -0.05, y=0.13)))
    folded = [0.0, 1.2, -2.5, -1.5, 1.2]
    with raises(LimitError, match="would (hit|come within .* of) (turret|base_link|upper_arm)"):
        rig.submit(goal(folded))
    assert rig.phase is Phase.HOLDING
    assert rig.submit(goal(at(0.2, 0.15))) is not None


def test_the_refusal_names_what_is_kept_where_home_or_rest_is_nearer_than_the_margin():
    model = CollisionModel(picker(), {}, 0.0, [servos().home, at(0.15, 0.012, y=0.13)])
    with raises(LimitError, match=r"floor at \d\.\d\d s; kept are \d\.\d mm, as at home or at rest$") as caught:
        Rig(limits(further=(CollisionCheck(model, MARGIN_M),))).submit(goal(at(0.15, 0.008, y=0.13)))
    limit = caught.value.limit
    assert limit < MARGIN_M and limit in model.near and f"kept are {1e3 * limit:.1f} mm" in str(caught.value)


# -- how much is kept ---------------------------------------------------------------------------------------------------


def test_what_the_tip_is_uncertain_by_is_kept_besides():
    still = motion(HOME, HOME)
    unsure_m = tip_uncertainty(rigid_body(), servos(), HOME)

    def kept(**options) -> dict[str, float]:
        """Of each link's first shape, its beam, and the floor."""
        kept = zip(collision().pairs, check(**options).kept(still, False).tolist())
        return {pair.a.name: least for pair, least in reversed(list(kept)) if pair.b.name == "floor"}

    links = ("upper_arm", "forearm", "hand", "scissor")
    assert kept() == approx({**dict.fromkeys(links, MARGIN_M), "payload": -math.inf})
    hand, upper_arm = kept(servos=servos())["hand"], kept(servos=servos())["upper_arm"]
    assert hand == approx(MARGIN_M + unsure_m, rel=0.35) and MARGIN_M < upper_arm < hand <= MARGIN_M + unsure_m + 1e-12
    droop = float(
        np.linalg.norm(rigid_body().jacobian(HOME), axis=0) @ np.abs(rigid_body().gravity(HOME) / servos().model.stiffness)
    )
    assert 0.5 * droop < kept(servos=servos(), droops=True)["hand"] - hand < 2.0 * droop


def test_what_the_tool_holds_reaches_to_its_centre():
    """As far as the tool is from there; and where it hangs somewhere else, the distances that are known do not count."""
    begin, over, asked = at(0.2, 0.2, -1.5), at(0.2, 0.14, -1.5), check()
    pose = link_poses(picker(), over)[picker().tool]

    def distance(com) -> float:
        return float(pose.apply(com)[2]) - 0.06 - payload_radius(0.02)

    for com in ((0.05, 0.0, 0.0), (0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (-0.05, 0.0, 0.0)):
        carrying = RigidBody(picker(), servos().armature).with_payload(0.02, com)
        made = from_points([2.0], [over], start=(begin, ZERO, ZERO), joint_names=NAMES)
        usage = asked.worst(SampledMotion.along(made, carrying, PERIOD_S))
        assert usage.broken == (com[0] > 0.0), com
        if usage.broken:
            assert usage.subject == "payload" and usage.value == approx(distance(com), abs=1e-3)


# -- where it is too near already --------------------------------------------------------------------------------------


@mark.parametrize("z", [0.062, 0.05], ids=["too near", "inside"])
def test_from_too_near_the_arm_may_go_away_and_not_closer(z):
    start = at(0.2, z + 0.012, -1.4)
    assert least([start]) < MARGIN_M
    rig = Rig(limits(further=(check(),)), pose=start)
    with raises(LimitError, match="crate"):
        rig.submit(goal(at(0.2, z, -1.4)))
    rig.submit(goal(at(0.2, z + 0.07, -1.4)))
    rig.to_rest()
    assert least([rig["q"][-1]]) > 2.0 * MARGIN_M
    with raises(LimitError, match="crate"):
        rig.submit(goal(start))


# -- streams and stops --------------------------------------------------------------------------------------------------


@mark.parametrize("speed", [0.1, 0.2])
def test_a_stream_into_a_box_is_refused_in_time_to_stop_before_it(speed):
    rig = Rig(limits(further=(check(),)), pose=at(0.2, 0.18), lead_s=0.06)
    with raises(LimitError, match="would (hit|come within .* of) crate"):
        rig.feed(at(0.2, 0.18 - speed * 0.01 * max(k - 20, 0)) for k in range(3000))
    rig.to_rest()
    assert MARGIN_M - STATE_TOLERANCE_M < least(rig["q"][::5]) < 0.06
