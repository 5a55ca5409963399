"""The scene of a controller in this process: what it cannot take, with everything as before."""

from __future__ import annotations

import numpy as np
import pytest
from arm_fixtures import picker
from geometry_msgs.msg import Point
from hardware_bench import ros, words
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.control.compensation import NONE
from picker_dynamics.execution.collision import MARGIN_M, CollisionCheck
from picker_dynamics.nodes import collision_scene
from picker_dynamics.nodes.collision_scene import SCENE_BYTES
from picker_dynamics.nodes.trajectory_controller import TrajectoryController
from picker_dynamics.resources import resource
from picker_dynamics.robot.scene import MAX_SHAPES

pytestmark = [pytest.mark.ros, pytest.mark.usefixtures("domain")]

CORNERS = [(x, y, z) for x in (0.0, 0.08) for y in (-0.01, 0.01) for z in (-0.01, 0.01)]
FACES = [(1, 2, 3), (2, 4, 3), (5, 7, 6), (6, 7, 8), (1, 5, 2), (2, 5, 6), (3, 4, 7), (4, 8, 7), (1, 3, 5), (3, 7, 5)]


@pytest.fixture
def mesh(tmp_path):
    path = tmp_path / "hand.obj"
    path.write_text("\n".join([*(f"v {x} {y} {z}" for x, y, z in CORNERS), *(f"f {a} {b} {c}" for a, b, c in FACES)]))
    return path


@pytest.fixture
def controller(mesh, tmp_path):
    """One whose hand is a mesh; ``complaints`` are what it says of what it was told."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(picker().urdf.replace('<box size="0.080 0.028 0.020"/>', f'<mesh filename="{mesh.name}"/>'))
    given = {"urdf": urdf, "servos": resource("config/servos.yaml"), "collision.enabled": "true"}
    with ros(*words(given)):
        node = TrajectoryController()
        node.complaints = []
        node.collision.complain = lambda text, _error: node.complaints.append(text)
        yield node
        node.destroy_node()


def balls(count: int) -> MarkerArray:
    made = []
    for number in range(count):
        marker = Marker(ns="ball", id=number + 1, type=Marker.SPHERE)
        marker.header.frame_id = "base_link"
        marker.scale.x = marker.scale.y = marker.scale.z = 0.01
        marker.pose.position.x = 1.0
        made.append(marker)
    return MarkerArray(markers=made)


def test_a_mesh_that_is_gone_refuses_a_parameter_and_a_shape_and_all_stays(controller, mesh):
    before, limits = dict(controller.parameters.values), controller.execution.limits
    text = mesh.read_text()
    mesh.unlink()
    (answer,) = controller.set_parameters([Parameter("floor_z", value=-0.5)])
    assert not answer.successful and "no file of the mesh hand.obj" in answer.reason
    assert controller.get_parameter("floor_z").value == controller.parameters["floor_z"] == before["floor_z"]
    controller.collision.on_markers(balls(1))
    assert (
        len(controller.complaints) == 1 and "collision_scene refused: link hand: no file of the mesh" in controller.complaints[0]
    )
    assert controller.collision.scene == {} and controller.execution.limits is limits
    assert controller.set_parameters([Parameter("speed_scaling", value=0.5)])[0].successful, "which needs no shapes"
    controller.collision.on_mode(String(data=NONE))
    mesh.write_text(text)
    controller.collision.on_markers(balls(1))
    assert set(controller.collision.scene) == {"ball/1"} and len(controller.complaints) == 1
    assert controller.set_parameters([Parameter("floor_z", value=-0.5)])[0].successful
    assert controller.parameters["floor_z"] == -0.5 and controller.execution.limits is not limits


def test_another_margin_is_kept_by_the_same_pairs(controller, mesh):
    """Shapes are not looked at again for it, so that it takes no time."""
    mesh.unlink()
    (before,) = (each for each in controller.execution.limits.further if isinstance(each, CollisionCheck))
    assert controller.set_parameters([Parameter("collision.margin", value=0.05)])[0].successful
    (after,) = (each for each in controller.execution.limits.further if isinstance(each, CollisionCheck))
    assert after.collision is before.collision and (before.margin_m, after.margin_m) == (MARGIN_M, 0.05)


def test_too_many_markers_are_refused_before_shapes_are_made_of_them(controller, monkeypatch):
    made = []
    monkeypatch.setattr(collision_scene, "scene_shape", lambda *arguments: made.append(arguments))
    controller.collision.on_markers(balls(MAX_SHAPES + 1))
    assert f"has {MAX_SHAPES + 1} shapes, at most {MAX_SHAPES} are taken" in controller.complaints[0] and not made


def test_a_message_that_is_too_long_is_refused_by_its_bytes_where_all_refusals_are_said(controller):
    (heard,) = (one for one in controller.subscriptions if one.topic_name == "/collision_scene")
    message = balls(1)
    message.markers[0].points = [Point()] * SCENE_BYTES
    heard.callback(serialize_message(message), {})
    assert controller.complaints[0].startswith("collision_scene refused: collision_scene: a message of")
    assert not controller.collision.scene
    taken = balls(MAX_SHAPES)
    for marker in taken.markers:
        marker.ns, marker.header.frame_id = "obstacle that was seen", "base_link"
    gone = [Marker(ns=marker.ns, id=marker.id, action=Marker.DELETE) for marker in taken.markers]
    heard.callback(serialize_message(MarkerArray(markers=[*gone, *taken.markers])), {})
    assert len(controller.collision.scene) == MAX_SHAPES and len(controller.complaints) == 1


def test_of_markers_of_one_name_the_last_counts_and_what_is_deleted_does_not(controller):
    message = balls(3)
    message.markers[1].id = 1
    message.markers[1].pose.position.x = 2.0
    message.markers.append(Marker(ns="ball", id=3, action=Marker.DELETE))
    controller.collision.on_markers(message)
    assert set(controller.collision.scene) == {"ball/1"} and not controller.complaints
    np.testing.assert_allclose(controller.collision.scene["ball/1"].xyz, (2.0, 0.0, 0.0))
