"""Scene by topic: shapes that visualization_msgs/MarkerArray add to an arm's surroundings, and the whole scene, shown.

A marker is a shape by the name ``ns`` (``ns/id`` where the id is not 0), as RViz counts them: ADD takes the place of one of
that name, DELETE and DELETEALL take away what came by the topic.
"""

from __future__ import annotations

from collections.abc import Callable

from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.robot.description import Geometry
from picker_dynamics.robot.scene import Scene, require_few, require_frame, scene_shape
from picker_dynamics.session.running_arm import RunningArm

from .runtime import LATCHED, frame_prefix, hear_stream
from .shapes import marker, outer_size, rotation_of

TOPIC = "collision_scene"
GREY = 0.55, 0.55, 0.60, 0.6

SCENE_BYTES = 131_072
"""The longest message of it [bytes]: 200 shapes that take the place of 200 others have some 100 000."""


def offer_scene(node, arm: RunningArm, complain: Callable[[str, PickerError], None]) -> None:
    """Offer the topics of the scene on ``node``; ``complain`` is called with what is wrong with a message."""
    around, root, prefix = arm.surroundings, arm.description.root, frame_prefix(node.get_namespace())
    out = node.create_publisher(MarkerArray, f"{TOPIC}/shapes", LATCHED)

    def refuse(error: PickerError) -> None:
        complain(f"{TOPIC} refused: {error}", error)

    def take(message: MarkerArray, _info: dict) -> None:
        """Take all of a message of markers or nothing."""
        try:
            with arm.session.turn:
                shapes = dict(around.added)
                for one in message.markers:
                    name = one.ns if one.id == 0 and one.ns else f"{one.ns}/{one.id}"
                    if one.action == one.DELETEALL:
                        shapes.clear()
                    elif one.action == one.DELETE:
                        shapes.pop(name, None)
                    else:
                        require_few(len({*shapes, name}), TOPIC)
                        require_frame(one.header.frame_id.removeprefix(prefix), root, f"{TOPIC}: {name}")
                        shapes[name] = _shape(name, one)
                around.add(shapes)
        except PickerError as error:
            refuse(error)

    def show(scene: Scene) -> None:
        """Publish the scene, what was shown before taken away."""
        frame, made = prefix + root, [Marker(action=Marker.DELETEALL)]
        made[0].header.frame_id = frame
        made += [marker(name, 0, one.kind, frame, outer_size(one), GREY, one.xyz, one.rotation) for name, one in scene.items()]
        out.publish(MarkerArray(markers=made))

    around.shown = show
    show(around.scene)
    hear_stream(node, MarkerArray, TOPIC, take, 10, SCENE_BYTES, refuse)


def _shape(name: str, marker: Marker) -> Geometry:
    """The shape that a marker is; raises a ConfigurationError where it is none."""
    where, place, size = f"{TOPIC}: {name}", marker.pose.position, (marker.scale.x, marker.scale.y, marker.scale.z)
    x, y, z = size
    kinds = {marker.CUBE: ("box", size), marker.CYLINDER: ("cylinder", [0.5 * x, z]), marker.SPHERE: ("sphere", [0.5 * x])}
    if marker.type not in kinds:
        raise ConfigurationError(f"{where}: a marker of type {marker.type}, must be CUBE, SPHERE or CYLINDER", name)
    kind, dimensions = kinds[marker.type]
    if kind != "box" and (x != y or (kind == "sphere" and x != z)):
        raise ConfigurationError(f"{where}: scale is {x:g}, {y:g}, {z:g}: a {kind} must be round", name)
    rotation = rotation_of(marker.pose.orientation)
    if rotation is None:
        raise ConfigurationError(f"{where}: its orientation is not a unit quaternion", name)
    return scene_shape(name, kind, list(dimensions), [place.x, place.y, place.z], rotation, where)
