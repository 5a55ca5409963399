"""Scene as markers: shapes that visualization_msgs/MarkerArray add to an arm's surroundings, and the whole scene, shown.

A marker is a shape by the name ``ns`` (``ns/id`` where the id is not 0), as RViz counts them: ADD takes the place of one of
that name, DELETE and DELETEALL take away what came by the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rclpy.qos import QoSProfile
from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.robot.description import Geometry
from picker_dynamics.robot.scene import Scene, require_few, require_frame, scene_shape
from picker_dynamics.session.running_arm import RunningArm

from .marker_shapes.shapes import quaternion_of, rotation_of
from .runtime import LATCHED, hear_stream

TOPIC, SHOWN_TOPIC = "collision_scene", "collision_scene/shapes"
GREY = 0.55, 0.55, 0.60, 0.6
WAITING = 10
"""Depth of the topic: of messages that each add something none is left out."""

SCENE_BYTES = 131_072
"""The longest message of it [bytes]: 200 shapes that take the place of 200 others have some 100 000."""


def frame_prefix(namespace: str) -> str:
    """Prefix to the frames of an arm in this namespace."""
    return f"{namespace.strip('/')}/" if namespace.strip("/") else ""


class SceneMarkers:
    """Topics of the scene on ``node``; ``complain`` is called with what is wrong with a message; the scene stays as it was."""

    def __init__(self, node, arm: RunningArm, complain: Callable[[str, PickerError], None]):
        self._arm, self._complain, self._root = arm, complain, arm.description.root
        self._prefix = frame_prefix(node.get_namespace())
        self._out = node.create_publisher(MarkerArray, SHOWN_TOPIC, LATCHED)
        arm.surroundings.shown = self._show
        self._show(arm.surroundings.scene)
        hear_stream(node, MarkerArray, TOPIC, self.on_markers, QoSProfile(depth=WAITING), SCENE_BYTES, self.refuse)

    def on_markers(self, message: MarkerArray, _info: dict) -> None:
        """Take all of a message of markers or nothing."""
        try:
            with self._arm.session.turn:
                named = _named_after(self._arm.surroundings.added, message.markers)
                require_few(len(named), TOPIC)
                self._arm.surroundings.add(_shapes_of(named, self._root, self._prefix))
        except PickerError as error:
            self.refuse(error)

    def refuse(self, error: PickerError) -> None:
        self._complain(f"{TOPIC} refused: {error}", error)

    def _show(self, scene: Scene) -> None:
        """Publish the scene, what was shown before taken away."""
        markers = [Marker(action=Marker.DELETEALL), *(_marker(name, shape) for name, shape in scene.items())]
        for marker in markers:
            marker.header.frame_id = self._prefix + self._root
        self._out.publish(MarkerArray(markers=markers))


def _marker(name: str, shape: Geometry) -> Marker:
    types = {"box": Marker.CUBE, "cylinder": Marker.CYLINDER, "sphere": Marker.SPHERE}
    marker, size = Marker(ns=name, type=types[shape.kind]), shape.size
    edges = size if shape.kind == "box" else (2.0 * size[0], 2.0 * size[0], size[1] if len(size) > 1 else 2.0 * size[0])
    marker.scale.x, marker.scale.y, marker.scale.z = (float(edge) for edge in edges)
    place, turn, colour = marker.pose.position, marker.pose.orientation, marker.color
    place.x, place.y, place.z = (float(x) for x in shape.xyz)
    turn.x, turn.y, turn.z, turn.w = quaternion_of(shape.rotation)
    colour.r, colour.g, colour.b, colour.a = GREY
    return marker


def shapes_after(before: Scene, markers: Iterable[Marker], root: str, prefix: str) -> dict[str, Geometry]:
    """The shapes after a message of markers.

    Raises:
        ConfigurationError: a marker that is no shape in the frame ``root``, perhaps with the namespace's ``prefix``.
    """
    return _shapes_of(_named_after(before, markers), root, prefix)


def _named_after(before: Scene, markers: Iterable[Marker]) -> dict[str, Geometry | Marker]:
    """What there is after a message of markers, by name; what is new not looked at yet."""
    named: dict[str, Geometry | Marker] = dict(before)
    for marker in markers:
        name = marker.ns if marker.id == 0 and marker.ns else f"{marker.ns}/{marker.id}"
        if marker.action == marker.DELETEALL:
            named.clear()
        elif marker.action == marker.DELETE:
            named.pop(name, None)
        else:
            named[name] = marker
    return named


def _shapes_of(named: dict[str, Geometry | Marker], root: str, prefix: str) -> dict[str, Geometry]:
    return {name: one if isinstance(one, Geometry) else _shape(name, one, root, prefix) for name, one in named.items()}


def _shape(name: str, marker: Marker, root: str, prefix: str) -> Geometry:
    where = f"{TOPIC}: {name}"
    require_frame(marker.header.frame_id.removeprefix(prefix), root, where)
    place, turn, (x, y, z) = marker.pose.position, marker.pose.orientation, (marker.scale.x, marker.scale.y, marker.scale.z)
    kinds = {
        marker.CUBE: ("box", [x, y, z], (x, y)),
        marker.CYLINDER: ("cylinder", [0.5 * x, z], (x, y)),
        marker.SPHERE: ("sphere", [0.5 * x], (x, z)),
    }
    if marker.type not in kinds:
        raise ConfigurationError(
            f"{where}: a marker of type {marker.type}, must be CUBE, SPHERE or CYLINDER", subject=name, value=marker.type
        )
    kind, size, round_in = kinds[marker.type]
    if kind != "box" and (x != y or round_in[0] != round_in[1]):
        raise ConfigurationError(f"{where}: scale is {x:g}, {y:g}, {z:g}: a {kind} must be round", subject=name)
    rotation = rotation_of((turn.x, turn.y, turn.z, turn.w))
    if rotation is None:
        raise ConfigurationError(f"{where}: its orientation is no unit quaternion", subject=name)
    return scene_shape(name, kind, size, [place.x, place.y, place.z], rotation, where)
