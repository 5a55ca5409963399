"""Collisions in the trajectory controller: parameters, the scene of the file and of the topic, and what is looked at shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rclpy.qos import QoSProfile
from std_msgs.msg import String

from picker_dynamics.control.compensation import MODES, NONE
from picker_dynamics.errors import ConfigurationError, PickerError, shown
from picker_dynamics.execution.checks import Check
from picker_dynamics.execution.collision import CollisionCheck, collision_check
from picker_dynamics.robot.description import ArmDescription, Geometry
from picker_dynamics.robot.scene import Scene, read_scene, require_few, require_frame, scene_shape
from picker_dynamics.robot.srdf import Allowed, read_srdf, srdf_beside

from .arm_setup import ControlledArm
from .client import ArmClient
from .duplicate_publishers import OnePublisher
from .marker_shapes.shapes import quaternion_of, rotation_of
from .runtime import LATCHED, declare, hear_stream

if TYPE_CHECKING:  # loaded where collisions are looked at
    from visualization_msgs.msg import Marker, MarkerArray

TOPIC, SHOWN_TOPIC, MODE_TOPIC = "collision_scene", "collision_scene/shapes", "compensation"
GREY = 0.55, 0.55, 0.60, 0.6
WAITING = 10
"""Depth of the topic: of messages that each add something none is left out."""
SCENE_BYTES = 131_072
"""The longest message of it [bytes]: 200 shapes that take the place of 200 others have some 100 000."""


class CollisionScene:
    """Shapes about the arm: the scene file's, and those that visualization_msgs/MarkerArray add to them.

    A marker is a shape by the name ``ns`` (``ns/id`` where the id is not 0), as RViz counts them: ADD takes the place of one of
    that name, DELETE and DELETEALL take away what came by the topic.

    Args:
        node: on whose parameters and topics all this is.
        controlled: its arm.
        changed: called when the scene has changed; raises a PickerError where motions cannot be held clear of it.
        complain: called with what is wrong with a message; the scene stays as it was then.

    Attributes:
        enabled: whether collisions are looked at.
    """

    def __init__(
        self, node, controlled: ControlledArm, changed: Callable[[], None], complain: Callable[[str, PickerError], None]
    ):
        self.arm, self.changed, self.complain = controlled.description, changed, complain
        asked = declare(
            node,
            "collision.enabled",
            False,
            "hold motions clear of the arm itself, of the floor (by its shapes, not by the tool and the joints alone) and of the "
            "scene; needs coal, some 30 MB",
            read_only=True,
        )
        path = declare(
            node,
            "collision.scene",
            "",
            "file like config/scene.yaml: what stands about the arm; enables collision",
            read_only=True,
        )
        srdf = declare(
            node,
            "collision.srdf",
            srdf_beside(self.arm),
            "SRDF with pairs of links that may touch; by default that beside the URDF, of its name",
            read_only=True,
        )
        self.enabled = asked or bool(path)
        self._allowed: Allowed = read_srdf(srdf, self.arm) if srdf and self.enabled else frozenset()
        self._servos = controlled.limits.servo_map
        self._droops = self._servos is not None  # until the mode of the compensation is known
        self._poses = [controlled.rest, controlled.home]
        self._of_file: Scene = read_scene(path, self.arm.root) if path else {}
        self._of_topic: dict[str, Geometry] = {}
        self._check: CollisionCheck | None = None
        self._made_for: tuple[float, float] | None = None
        if not self.enabled:
            return
        from visualization_msgs.msg import MarkerArray

        namespace = node.get_namespace().strip("/")
        self._prefix = f"{namespace}/" if namespace else ""
        hear_stream(node, MarkerArray, TOPIC, self.on_markers, QoSProfile(depth=WAITING), SCENE_BYTES, self.refuse_markers)
        if self._servos is not None:
            self._modes = OnePublisher(node, String, MODE_TOPIC, self.on_mode)
        self._out = node.create_publisher(MarkerArray, SHOWN_TOPIC, LATCHED)

    def check(self, floor_z: float, margin_m: float, deceleration: float) -> Check:
        """The check for this floor and margin; the same one as long as nothing changes.

        Raises:
            InputError, DescriptionError, MissingDependencyError: as ``collision_check``.
        """
        if self._check is not None and self._made_for is not None and self._made_for[0] == floor_z:
            if self._made_for[1] != margin_m:
                self._check, self._made_for = replace(self._check, margin_m=margin_m), (floor_z, margin_m)
        else:
            self._check = collision_check(
                self.arm,
                self.scene,
                floor_z,
                self._poses,
                margin_m=margin_m,
                allowed=self._allowed,
                deceleration=deceleration,
                servos=self._servos,
                droops=self._droops,
            )
            self._made_for = floor_z, margin_m
            self._out.publish(self._shown())
        return self._check

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the arm's shapes."""
        return self._check.collision.notes if self._check is not None else ()

    @property
    def scene(self) -> Scene:
        return {**self._of_file, **self._of_topic}

    def on_markers(self, message: MarkerArray, _info=None) -> None:
        """Take all of a message of markers or nothing."""
        try:
            named = _named_after(self._of_topic, message.markers)
            require_few(len({**self._of_file, **named}), TOPIC)
            shapes = _shapes_of(named, self.arm.root, self._prefix)
        except PickerError as error:
            self.complain(f"{TOPIC} refused: {error}", error)
            return
        self._go_by(TOPIC, shapes, self._droops, None)

    def refuse_markers(self, error: PickerError) -> None:
        """Refuse a message of markers that is too long to be looked at."""
        self.complain(f"{TOPIC} refused: {error}", error)

    def on_mode(self, message: String) -> None:
        """The compensation has another mode: with none the arm hangs lower, by what its servos give way."""
        if message.data not in MODES:
            error = ConfigurationError(
                f"compensation is {shown(repr(message.data), 40)}, must be one of {', '.join(MODES)}",
                subject="compensation",
                value=shown(message.data, 40),
            )
            self.complain(f"{MODE_TOPIC} refused: {error}", error)
            return
        droops = message.data == NONE
        if droops != self._droops:
            check = None if self._check is None else replace(self._check, droops=droops)
            self._go_by(MODE_TOPIC, self._of_topic, droops, check)

    # -- how -----------------------------------------------------------------------------------------------

    def _go_by(self, topic: str, shapes: dict[str, Geometry], droops: bool, check: CollisionCheck | None) -> None:
        """Go by what a topic says; as before, and complain, where no check can be made of it: a mesh may be gone by now."""
        before = self._of_topic, self._droops, self._check
        self._of_topic, self._droops, self._check = shapes, droops, check
        try:
            self.changed()
        except PickerError as error:
            self._of_topic, self._droops, self._check = before
            self.complain(f"{topic} refused: {error}", error)

    def _shown(self) -> MarkerArray:
        """The scene as markers, what was shown before taken away."""
        from visualization_msgs.msg import Marker, MarkerArray

        types = {"box": Marker.CUBE, "cylinder": Marker.CYLINDER, "sphere": Marker.SPHERE}
        markers = [Marker(action=Marker.DELETEALL)]
        for name, shape in self.scene.items():
            marker = Marker(ns=name, type=types[shape.kind])
            size = shape.size
            edges = size if shape.kind == "box" else (2.0 * size[0], 2.0 * size[0], size[1] if len(size) > 1 else 2.0 * size[0])
            marker.scale.x, marker.scale.y, marker.scale.z = (float(edge) for edge in edges)
            place, turn, colour = marker.pose.position, marker.pose.orientation, marker.color
            place.x, place.y, place.z = (float(x) for x in shape.xyz)
            turn.x, turn.y, turn.z, turn.w = quaternion_of(shape.rotation)
            colour.r, colour.g, colour.b, colour.a = GREY
            markers.append(marker)
        for marker in markers:
            marker.header.frame_id = self._prefix + self.arm.root
        return MarkerArray(markers=markers)


def shapes_after(before: Scene, markers: list[Marker], root: str, prefix: str) -> dict[str, Geometry]:
    """The shapes after a message of markers.

    Raises:
        ConfigurationError: a marker that is no shape in the frame ``root``, perhaps with the namespace's ``prefix``.
    """
    return _shapes_of(_named_after(before, markers), root, prefix)


def _named_after(before: Scene, markers: list[Marker]) -> dict[str, Geometry | Marker]:
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


def scene_shown(client: ArmClient, arm: ArmDescription, markers: list[Marker]) -> Scene:
    """Scene that motions are kept clear of, as a running graph shows it; errors as ``shapes_after``."""
    namespace = client.get_namespace().strip("/")
    return shapes_after({}, markers, arm.root, f"{namespace}/" if namespace else "")


def surroundings(client: ArmClient, arm: ArmDescription) -> dict[str, Any]:
    """Surroundings that the motions of a running graph are kept clear of, as fields of a script's equipment.

    Raises:
        LinkError: nobody tells.
    """
    names = ["collision.enabled", "collision.scene", "collision.srdf", "collision.margin", "floor_z"]
    enabled, path, srdf, margin, floor = client.get_parameters("trajectory_controller", names)
    held: dict[str, Any] = {"floor_z": floor.double_value, "margin_m": margin.double_value, "scene": None}
    if enabled.bool_value or path.string_value:
        from visualization_msgs.msg import MarkerArray

        with client.hearing(MarkerArray, SHOWN_TOPIC, LATCHED) as heard:
            client.wait(lambda: heard, "no collision_scene/shapes come")
        held["scene"] = scene_shown(client, arm, heard[-1].markers)
        modes = client.get_parameters("dynamics", [MODE_TOPIC])  # none of a torque-controlled arm
        held["droops"] = bool(modes) and modes[0].string_value == NONE
        if os.path.isfile(srdf.string_value):  # on the graph's machine; elsewhere more pairs are looked at here than there
            held["allowed"] = read_srdf(srdf.string_value, arm)
    return held
