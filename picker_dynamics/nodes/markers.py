"""``markers``: torques, reference and scene as RViz markers beside the model; listens to everything, commands nothing."""

from __future__ import annotations

import sys
import time

import numpy as np
from geometry_msgs.msg import InertiaStamped, Point
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.controller.arm_settings import load_arm
from picker_dynamics.controller.settings import Setting
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import DescriptionError, PickerError
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.resources import resource
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.picker_shape import read_shape

from .executor import PacedExecutor
from .marker_shapes import region, scene
from .marker_shapes.ghost import ghost_shapes
from .marker_shapes.shapes import Shape
from .marker_shapes.torques import torque_shapes
from .runtime import LATCHED, LATEST, own_arguments, payload_in, run, settings_of, take_settings

FIXED_TOPIC = "markers/fixed"
STALE_S = 0.5
"""What is older than this is not shown, and RViz forgets what it showed of it [s]."""

TF_S = 1.0
"""From the first joint state to what is fixed to a moving link: its frame is known by then [s]."""

KINDS = {
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
    "mesh": Marker.MESH_RESOURCE,
    "text": Marker.TEXT_VIEW_FACING,
    "arrow": Marker.ARROW,
    "line": Marker.LINE_STRIP,
    "triangles": Marker.TRIANGLE_LIST,
}


SETTINGS = (
    Setting("rate_hz", 8.0, "rate of markers [Hz]", 1.0, 30.0, fixed=True),
    Setting(
        "scene",
        "",
        "file with berries and tray; empty: config/demo.yaml, for an arm of the picker's shape; none: nothing",
        fixed=True,
    ),
)


class Markers(Node):
    """Shapes from ``marker_shapes`` as messages, while somebody looks.

    Without commands the torques are those that hold the arm where it is, so that sliders suffice to try a pose.
    """

    def __init__(self):
        super().__init__("markers", cli_args=own_arguments("markers"), automatically_declare_parameters_from_overrides=True)
        settings = settings_of(self, "markers")
        known = load_arm(settings)
        settings.declare(*SETTINGS)
        take_settings(self, settings)
        self.arm, rate, where = known.description, settings["rate_hz"], settings["scene"]
        self.limits = TorqueLimits.of_arm(known.torque) if known.servos is None else TorqueLimits.of_servos(known.servos)
        self.period_s = 1.0 / rate
        namespace = self.get_namespace().strip("/")
        self.prefix = f"{namespace}/" if namespace else ""
        self.is_picker = self.has_pickers_shape()
        if where in ("", "none"):
            where = resource("config/demo.yaml") if self.is_picker and not where else ""
        self.scene = scene.scene_shapes(where, self.arm.root) if where else []
        self.bare = self.model = lagrangian.analytic_model(self.arm)
        self.newest: dict[str, tuple[float, np.ndarray]] = {}
        self.first_state_s: float | None = None
        self.fixed_due, self.problem = True, ""
        self.messages: dict[tuple[str, int], Marker] = {}

        self.out = self.create_publisher(MarkerArray, "markers", LATEST)
        self.fixed_out = self.create_publisher(MarkerArray, FIXED_TOPIC, LATCHED)
        self.create_subscription(JointState, "joint_states", self.on_state, LATEST)
        self.create_subscription(JointState, "joint_commands", self.on_command, LATEST)
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)
        self.create_subscription(InertiaStamped, "payload", self.on_payload, LATCHED)

    def has_pickers_shape(self) -> bool:
        try:
            read_shape(self.arm)
        except DescriptionError as error:
            self.get_logger().info(f"no region and no scene: {error}")
            return False
        return True

    # -- in --------------------------------------------------------------------------------------------------

    def on_state(self, message: JointState) -> None:
        self.keep("state", message.name, message.position, "joint_states")
        if self.first_state_s is None:
            self.first_state_s = time.monotonic()

    def on_command(self, message: JointState) -> None:
        self.keep("torque", message.name, message.effort, "joint_commands")

    def on_reference(self, message: JointTrajectory) -> None:
        if message.points:
            self.keep("reference", message.joint_names, message.points[0].positions, "reference")

    def keep(self, what: str, names, values, source: str) -> None:
        """Remember the newest values (n,) of what can be shown; say once what cannot."""
        try:
            self.newest[what] = time.monotonic(), ordered(names, values, self.arm.joint_names, source)
        except PickerError as error:
            self.complain(f"not shown: {error}")

    def on_payload(self, message: InertiaStamped) -> None:
        try:
            self.model = self.bare.with_payload(*payload_in(message))
        except PickerError as error:
            self.complain(f"payload not shown: {error}")
            return
        self.fixed_due = True

    def complain(self, problem: str) -> None:
        if problem != self.problem:
            self.get_logger().error(problem)
        self.problem = problem

    # -- out -------------------------------------------------------------------------------------------------

    def every_period(self) -> None:
        """Publish what has changed, if anybody wants it."""
        if self.fixed_due and self.fixed_out.get_subscription_count() and self.settled():
            self.fixed_due = False
            self.fixed_out.publish(self.fixed())
        if self.out.get_subscription_count():
            self.out.publish(MarkerArray(markers=[self.message(shape, STALE_S) for shape in self.moving()]))

    def settled(self) -> bool:
        return self.first_state_s is not None and time.monotonic() > self.first_state_s + TF_S

    def fresh(self, what: str) -> np.ndarray | None:
        """The newest value of that, if it is not too old."""
        time_s, vector = self.newest.get(what, (-STALE_S, None))
        return vector if time.monotonic() < time_s + STALE_S else None

    def moving(self) -> list[Shape]:
        """Shapes that follow the arm."""
        reference, state = self.fresh("reference"), self.fresh("state")
        shapes = [] if reference is None else ghost_shapes(self.arm, reference)
        where = reference if state is None else state
        if where is not None:
            torque = self.fresh("torque")
            torque = self.model.gravity(where) if torque is None else torque
            shapes += torque_shapes(self.arm, where, torque, self.limits.full, self.limits.hold)
        return shapes

    def fixed(self) -> MarkerArray:
        """Scene, and the region for the present payload; what was shown before of it goes."""
        shapes = list(self.scene)
        if self.is_picker:
            shapes += region.region_shapes(self.arm, region.region_of(self.arm, self.model, self.limits.hold))
        before = Marker(action=Marker.DELETEALL)
        before.header.frame_id = self.prefix + self.arm.root
        return MarkerArray(markers=[before, *(self.message(shape) for shape in shapes)])

    def message(self, shape: Shape, lifetime_s: float = 0.0) -> Marker:
        """The marker of a shape; one message a shape over time, as most of it stays.

        Its stamp stays 0: wherever the frame is now.
        """
        key = shape.group, shape.index
        marker = self.messages.get(key)
        if marker is None or marker.type != KINDS[shape.kind]:
            marker = self.messages[key] = Marker(ns=shape.group, id=shape.index, type=KINDS[shape.kind])
            marker.header.frame_id, marker.frame_locked = self.prefix + shape.frame, shape.frame != self.arm.root
            marker.lifetime.sec, marker.lifetime.nanosec = int(lifetime_s), int(lifetime_s % 1.0 * 1e9)
            marker.scale.x, marker.scale.y, marker.scale.z = shape.size
        place, turn, colour = marker.pose.position, marker.pose.orientation, marker.color
        place.x, place.y, place.z = (float(x) for x in shape.position)
        turn.x, turn.y, turn.z, turn.w = shape.quaternion
        colour.r, colour.g, colour.b, colour.a = shape.colour
        if shape.kind == "mesh":
            marker.mesh_resource = shape.text
        else:
            marker.text = shape.text
        if shape.points is not None:
            marker.points = [Point(x=x, y=y, z=z) for x, y, z in shape.points.tolist()]
        if shape.colours is not None:
            marker.colors = [ColorRGBA(r=r, g=g, b=b, a=a) for r, g, b, a in shape.colours.tolist()]
        return marker


def main(args=None) -> int:
    return run(Markers, args, PacedExecutor)


if __name__ == "__main__":
    sys.exit(main())
