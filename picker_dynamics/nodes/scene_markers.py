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

from .marker_shapes.shapes import marker, outer_size, rotation_of
from .runtime import LATCHED, frame_prefix, hear_stream

TOPIC, SHOWN_TOPIC = "collision_scene", "collision_scene/shapes"
GREY = 0.55, 0.55, 0.60, 0.6
WAITING = QoSProfile(depth=10)
"""Of messages that each add something none is left out."""

SCENE_BYTES = 131_072
"""The longest message of it [bytes]: 200 shapes that take the place of 200 others have some 100 000."""


def offer_scene(node, arm: RunningArm, complain: Callable[[str, PickerError], None]) -> None:
    """Offer the topics of the scene on ``node``; ``complain`` is called with what is wrong with a message."""
    around, root, prefix = arm.surroundings, arm.description.root, frame_prefix(node.get_namespace())
    out = node.create_publisher(MarkerArray, SHOWN_TOPIC, LATCHED)

    def refuse(error: PickerError) -> None:
        complain(f"{TOPIC} refused: {error}", error)

    def take(message: MarkerArray, _info: dict) -> None:
        """Take all of a message of markers or nothing."""
        try:
            with arm.session.turn:
                around.add(shapes_after(around.added, message.markers, root, prefix))
        except PickerError as error:
            refuse(error)

    def show(scene: Scene) -> None:
        """Publish the scene, what was shown before taken away."""
        markers = [Marker(action=Marker.DELETEALL)]
        for name, one in scene.items():
            markers.append(marker(name, 0, one.kind, root, outer_size(one), GREY, position=one.xyz, rotation=one.rotation))
        for one in markers:
            one.header.frame_id = prefix + root
        out.publish(MarkerArray(markers=markers))

    around.shown = show
    show(around.scene)
    hear_stream(node, MarkerArray, TOPIC, take, WAITING, SCENE_BYTES, refuse)


def shapes_after(before: Scene, markers: Iterable[Marker], root: str, prefix: str) -> dict[str, Geometry]:
    """The shapes after a message of markers.

    Raises:
        ConfigurationError: too many, or a marker that is no shape in the frame ``root``, perhaps with the namespace's ``prefix``.
    """
    named: dict[str, Geometry | Marker] = dict(before)
    for one in markers:
        name = one.ns if one.id == 0 and one.ns else f"{one.ns}/{one.id}"
        if one.action == one.DELETEALL:
            named.clear()
        elif one.action == one.DELETE:
            named.pop(name, None)
        else:
            named[name] = one
    require_few(len(named), TOPIC)
    return {name: one if isinstance(one, Geometry) else _shape(name, one, root, prefix) for name, one in named.items()}


def _shape(name: str, marker: Marker, root: str, prefix: str) -> Geometry:
    where = f"{TOPIC}: {name}"
    require_frame(marker.header.frame_id.removeprefix(prefix), root, where)
    place, (x, y, z) = marker.pose.position, (marker.scale.x, marker.scale.y, marker.scale.z)
    kinds = {marker.CUBE: ("box", [x, y, z]), marker.CYLINDER: ("cylinder", [0.5 * x, z]), marker.SPHERE: ("sphere", [0.5 * x])}
    if marker.type not in kinds:
        raise ConfigurationError(
            f"{where}: a marker of type {marker.type}, must be CUBE, SPHERE or CYLINDER", subject=name, value=marker.type
        )
    kind, size = kinds[marker.type]
    if kind != "box" and (x != y or (kind == "sphere" and x != z)):
        raise ConfigurationError(f"{where}: scale is {x:g}, {y:g}, {z:g}: a {kind} must be round", subject=name)
    rotation = rotation_of(marker.pose.orientation)
    if rotation is None:
        raise ConfigurationError(f"{where}: its orientation is no unit quaternion", subject=name)
    return scene_shape(name, kind, size, [place.x, place.y, place.z], rotation, where)
