"""Collisions on the running graph: the scene of the file and of the topic, goals refused, a motion stopped, what is shown."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from scenarios.bench import at_home, ends, goal, moved, publishing, refusal, stands, start, until
from view_pages import unbuilt, viewing
from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.nodes.runtime import LATCHED, OUTCOMES
from picker_dynamics.resources import resource

pytestmark = [pytest.mark.ros, pytest.mark.long]

GRAPH = {"scene": str(resource("config/scene.yaml"))}
SWING = moved(base=-0.9)
IN_THE_WAY = (0.16, -0.11, 0.2)
"""Of a swing of the base, ahead of where the hand is at home [m]."""


def box(size, at, frame: str = "base_link", **fields) -> Marker:
    marker = Marker(ns="box", type=Marker.CUBE, **fields)
    marker.header.frame_id = frame
    marker.scale.x, marker.scale.y, marker.scale.z = size
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = at
    return marker


BOX = box((0.05, 0.05, 0.2), IN_THE_WAY)
GONE = box((0.05, 0.05, 0.2), IN_THE_WAY, action=Marker.DELETE)


@pytest.fixture
def scene(client):
    """Publishes markers, and knows what the controller shows; takes its own away again."""

    def publish(*markers: Marker) -> None:
        out.publish(MarkerArray(markers=list(markers)))

    def names() -> set[str]:
        return {marker.ns for marker in shown[-1].markers if marker.action == Marker.ADD}

    with (
        client.hearing(MarkerArray, "collision_scene/shapes", LATCHED) as shown,
        publishing(client, MarkerArray, "collision_scene", 10) as out,
    ):
        until(client, lambda: shown, "a picture")
        publish.names = names
        yield publish
        publish(Marker(action=Marker.DELETEALL))
        until(client, lambda: "box" not in names(), "the box is gone")


def test_what_comes_by_the_topic_is_not_hit_until_it_is_taken_away(client, board, scene):
    at_home(client, board)
    scene(BOX)
    until(client, lambda: "box" in scene.names(), "the box")
    assert " box" in refusal(client, goal(SWING))
    scene(GONE)
    until(client, lambda: "box" not in scene.names(), "the box is gone")
    ends(client, start(client, goal(SWING)))


@pytest.mark.skipif(bool(unbuilt()), reason=unbuilt())
def test_a_page_is_told_of_the_new_box_before_anything_is_sent(client, board, scene, tmp_path):
    at_home(client, board)
    asked = {"do": "joints", "to": dict(zip(client.joint_names, SWING.tolist()))}
    with viewing(folder=tmp_path) as (_, page):

        def said() -> dict:
            return page.ask("/api/check", asked)[1]

        until(client, lambda: said().get("possible"), "a way")  # it knows where the arm is
        scene(BOX)
        until(client, lambda: " box" in said().get("why", ""), "the refusal")
        with publishing(client, MarkerArray, "collision_scene/shapes", LATCHED) as stranger:
            stranger.publish(MarkerArray(markers=[box((0.05, 0.05, 0.2), IN_THE_WAY, frame="elsewhere")]))
            client.spin(0.5)
            assert " box" in said()["why"], "it goes on"
        scene(GONE)
        until(client, lambda: said().get("possible"), "the way is free")


def test_a_box_put_into_the_way_stops_the_motion(client, board, scene):
    at_home(client, board)
    name = start(client, goal(SWING, times=[6.0]))
    scene(BOX)
    assert " box" in ends(client, name, "aborted")
    assert stands(client, board)[0] > SWING[0] + 0.3


ROUND, MESH, TURNED = (box((0.05, 0.04, 0.2), IN_THE_WAY) for _ in range(3))
ROUND.type, MESH.type, TURNED.pose.orientation.w = Marker.CYLINDER, Marker.MESH_RESOURCE, 0.0


@pytest.mark.parametrize(
    "marker, said",
    [
        (box((0.05, -0.05, 0.2), IN_THE_WAY), "box: box_m has -0.05"),
        (box((0.05, 0.05, 0.2), IN_THE_WAY, frame="map"), "box: frame is 'map', must be base_link"),
        (ROUND, "a cylinder must be round"),
        (MESH, "a marker of type 10, must be CUBE, SPHERE or CYLINDER"),
        (TURNED, "orientation is no unit quaternion"),
    ],
    ids=["negative", "frame", "oval", "mesh", "turn"],
)
def test_a_message_that_is_wrong_is_refused_whole_with_the_reason(client, scene, marker, said):
    with client.hearing(DiagnosticStatus, "arm_controller/status", OUTCOMES) as heard:
        until(client, lambda: heard, "a status")
        scene(BOX, marker)
        until(client, lambda: any(said in one.message for one in heard), said)
    assert scene.names() == {"tray", "wall", "stake"}
