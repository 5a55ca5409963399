"""Distances of an arm's shapes against MuJoCo's of the same, and by how much a joint can change them."""

import math

import numpy as np
from arm_fixtures import picker, servos, shipped_arm
from pytest import approx, fixture, mark, raises

from benchmarks.mujoco_shapes import MujocoShapes
from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.collision import CollisionModel
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.scene import scene_shape
from picker_dynamics.robot.urdf_elements import rotation_from_rpy

SCENE = {
    "crate": scene_shape("crate", "box", [0.2, 0.3, 0.1], [0.35, 0.0, 0.05], rotation_from_rpy([0.1, 0.2, 0.5]), ""),
    "post": scene_shape("post", "cylinder", [0.01, 0.4], [0.1, 0.25, 0.2], rotation_from_rpy([0.3, 0.0, 0.0]), ""),
    "lamp": scene_shape("lamp", "sphere", 0.04, [0.0, 0.2, 0.5], np.eye(3), ""),
}


@fixture(scope="module")
def model():
    return CollisionModel(picker(), SCENE, -0.01, [servos().home, servos().rest])


def test_distances_are_mujocos(model):
    """Of links, pair by pair, where they are near each other and where one is in the other; both engines iterate to 1e-6."""
    truth, looked_at = MujocoShapes(picker(), SCENE, -0.01), 0
    for q in sample_poses(picker(), 40, seed=3):
        found, placed = {}, model.placed(q[None])
        for pair in model.pairs:
            if pair.a.name != "payload":
                found[pair.names] = min(found.get(pair.names, math.inf), placed.distance(pair, 0))
        for names, distance in found.items():
            expected = truth.distance(q, *names)
            if expected > 0.0:
                assert distance == approx(expected, abs=2e-5), names
                looked_at += 1
            else:  # how deep depends on the direction out of it
                assert distance < 1e-5, names
        lower = model.distances(q)
        exact = [placed.distance(pair, 0) for pair in model.pairs]
        assert (lower <= np.array(exact) + 1e-6).all()
    assert looked_at > 300


@mark.parametrize("name", ["picker", "rrp", "cylindrical", "three_link"])
def test_no_distance_changes_by_more_than_its_levers_allow(name):
    arm = picker() if name == "picker" else shipped_arm(name).description
    model = CollisionModel(arm, SCENE, -0.5, sample_poses(arm, 1)).carrying((0.05, 0.02, -0.03))
    begins, rng = sample_poses(arm, 60, seed=5), np.random.default_rng(7)
    ends = begins + rng.uniform(-0.3, 0.3, begins.shape) * rng.integers(0, 2, begins.shape)
    largest = 0.0
    for begin, end in zip(begins, ends):
        placed = model.placed(np.array([begin, end]))
        for pair, lever in zip(model.pairs, model.lipschitz):
            ways = [placed.distance(pair, k) for k in range(2)]
            if min(ways) > 0.0:
                allowed = float(lever @ np.abs(end - begin))
                assert abs(ways[1] - ways[0]) <= allowed + 1e-5, pair.names
                largest = max(largest, abs(ways[1] - ways[0]) / allowed if allowed else 0.0)
    assert largest > 0.6  # not larger than they have to be


def test_shapes_that_overlap_at_home_are_no_pair_and_that_is_said():
    thick = description.parse(picker().urdf.replace('<box size="0.159 0.032 0.028"/>', '<box size="0.159 0.032 0.36"/>'))
    model = CollisionModel(thick, {}, 0.0, [servos().home, servos().rest])
    assert any("forearm and turret" in note for note in model.notes)
    thick_one = next(body for body in model.bodies if body.link == "forearm")
    of_turret = [pair for pair in model.pairs if pair.a is thick_one and pair.b.link == "turret"]  # its disc is farther down
    heights = [body.pose[2, 3] for body in model.bodies if body.link == "turret"]
    assert len(of_turret) == 1 < len(heights) and of_turret[0].b.pose[2, 3] == min(heights)
    assert ("forearm", "floor") in {pair.names for pair in model.pairs}


def test_a_link_without_collision_shape_counts_as_drawn_or_as_a_capsule():
    bare = picker().urdf
    for tag in ("collision", "visual"):
        while f"<{tag}>" in bare:
            begin = bare.index(f"<{tag}>")
            bare = bare[:begin] + bare[bare.index(f"</{tag}>") + len(tag) + 3 :]
        model = CollisionModel(description.parse(bare), {}, -math.inf, [servos().home])
        said = "what is drawn" if tag == "collision" else "a capsule of 20 mm"
        links = ("upper_arm", "forearm", "hand", *(["base_link"] if tag == "collision" else []))
        assert all(any(link in note and said in note for note in model.notes) for link in links)
        assert (("hand", "base_link") in {pair.names for pair in model.pairs}) == (tag == "collision")
    model = CollisionModel(description.parse(bare), SCENE, 0.0, [servos().home])
    pair = next(pair for pair in model.pairs if pair.names == ("forearm", "floor"))
    assert model.placed(np.zeros((1, 5))).distance(pair, 0) == approx(0.09 - 0.02, abs=1e-5)


def inside(shape, points):
    """Whether points (k, 3) of a link are in a box, cylinder or sphere of it."""
    local = np.abs((points - shape.xyz) @ shape.rotation)
    if shape.kind == "box":
        return (local <= np.array(shape.size) / 2.0 + 1e-9).all(axis=1)
    axes = 2 if shape.kind == "cylinder" else 3
    within = np.linalg.norm(local[:, :axes], axis=1) <= shape.size[0] + 1e-9
    return within & (local[:, 2] <= (shape.size[1] / 2.0 if axes == 2 else np.inf) + 1e-9)


@mark.parametrize("name", arms.names())
def test_all_that_a_shipped_arm_draws_is_in_its_collision_shapes(name):
    arm, rng = picker() if name == "picker" else shipped_arm(name).description, np.random.default_rng(2)
    drawn = [(link, shape) for link in arm.links.values() for shape in link.visuals]
    for link, shape in drawn:
        edges = {"box": shape.size, "cylinder": [2.0 * shape.size[0]] * 2 + [shape.size[-1]], "sphere": [2.0 * shape.size[0]] * 3}
        points = shape.xyz + (rng.uniform(-0.5, 0.5, (1000, 3)) * edges[shape.kind]) @ shape.rotation.T
        points = points[inside(shape, points)]
        assert len(points) > 400
        assert np.any([inside(solid, points) for solid in link.collisions], axis=0).all(), link.name
    assert drawn and not any("what is drawn" in note for note in CollisionModel(arm, {}, 0.0, [arm.middle]).notes)


def test_a_mesh_is_its_convex_hull(tmp_path):
    """An L-shaped prism: a point in its notch is inside the hull."""
    corners = [(0, 0), (0.1, 0), (0.1, 0.02), (0.02, 0.02), (0.02, 0.1), (0, 0.1)]
    points = [(x, y, z) for z in (-0.01, 0.01) for x, y in corners]
    faces = [(1, 3, 2), (1, 4, 3), (1, 5, 4), (1, 6, 5), (7, 8, 9), (7, 9, 10), (7, 10, 11), (7, 11, 12)]
    text = "\n".join([*(f"v {x} {y} {z}" for x, y, z in points), *(f"f {a} {b} {c}" for a, b, c in faces)])
    (tmp_path / "hand.obj").write_text(text)
    mesh = '<mesh filename="{}" scale="2 1 1"/>'
    urdf = picker().urdf.replace('<box size="0.093 0.028 0.026"/>', mesh)
    scene = {"pin": scene_shape("pin", "sphere", 0.001, [0.345 + 0.0335 + 0.12, 0.06, 0.09], np.eye(3), "")}
    for name in ("hand.obj", "package://" + tmp_path.name + "/hand.obj"):
        arm = description.parse(urdf.format(name), source=str(tmp_path / "arm.urdf"))
        model = CollisionModel(arm, scene, -math.inf, [servos().home])
        hulls = [pair for pair in model.pairs if pair.names == ("hand", "pin")]
        placed = model.placed(np.zeros((1, 5)))
        # the slanted face of the hull in the hand's frame: x / 0.2 + y / 0.1 = 1 beyond its ends at 0.02
        a, b = np.array([0.2, 0.02]), np.array([0.04, 0.1])
        normal = np.array([b[1] - a[1], a[0] - b[0]]) / np.linalg.norm(b - a)
        expected = (np.array([0.12, 0.06]) - a) @ normal - 0.001
        assert min(placed.distance(pair, 0) for pair in hulls) == approx(expected, abs=1e-4)
    with raises(DescriptionError, match="link hand: no file of the mesh package://nowhere/meshes/hand.obj"):
        lost = description.parse(urdf.format("package://nowhere/meshes/hand.obj"), source=str(tmp_path / "arm.urdf"))
        CollisionModel(lost, {}, 0.0, [servos().home])
