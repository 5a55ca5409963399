"""``markers``: torques, reference and scene as RViz markers beside the model; listens to everything, commands nothing."""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.controller.parameters import load_arm
from picker_dynamics.controller.settings import Setting
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import DescriptionError, PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.resources import resource
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.picker_shape import read_shape

from .node_parameters import settings_of, take_settings
from .region import region_of
from .runtime import LATCHED, LATEST, frame_prefix, node_arguments, payload_in, run
from .shapes import ghost, region_markers, scene_markers, torque_markers

STALE_S = 0.5
"""What is older than this is not shown, and RViz forgets what it showed of it [s]."""

TF_S = 1.0
"""From the first joint state to what is fixed to a moving link: its frame is known by then [s]."""

RATE = Setting("rate_hz", 8.0, "rate of markers [Hz]", 1.0, 30.0, fixed=True)
SCENE_TEXT = "file with berries and tray; empty: config/demo.yaml, for an arm of the picker's shape; none: nothing"


class Markers(Node):
    """Markers from ``shapes``, while somebody looks.

    Without commands the torques are those that hold the arm where it is, so that sliders suffice to try a pose.
    """

    def __init__(self):
        super().__init__(**node_arguments("markers"))
        settings = settings_of(self, "markers")
        known = load_arm(settings)
        settings.declare(RATE, Setting("scene", "", SCENE_TEXT, fixed=True))
        take_settings(self, settings)
        self.arm, self.period_s = known.description, 1.0 / settings["rate_hz"]
        if known.servos is not None:
            self.limits = TorqueLimits.of_servos(known.servos)
        else:
            assert known.torque is not None
            self.limits = TorqueLimits.of_arm(known.torque)
        self.prefix = frame_prefix(self.get_namespace())
        self.bare = self.model = lagrangian.analytic_model(self.arm)
        self.is_picker = True
        try:
            read_shape(self.arm)
        except DescriptionError as error:
            self.is_picker = False
            self.get_logger().info(f"no region and no scene: {error}")
        scene = settings["scene"] or (resource("config/demo.yaml") if self.is_picker else "none")
        self.scene = [] if scene == "none" else scene_markers(scene, self.arm.root)
        self.newest: dict[str, tuple[float, np.ndarray]] = {}
        self.settled_s, self.fixed_due = float("inf"), True
        self.out = self.create_publisher(MarkerArray, "markers", LATEST)
        self.fixed_out = self.create_publisher(MarkerArray, "markers/fixed", LATCHED)
        for kind, topic, hear in (
            (JointState, "joint_states", self.on_state),
            (JointState, "joint_commands", lambda message: self.keep("joint_commands", message.name, message.effort)),
            (JointTrajectory, "arm_controller/reference", self.on_reference),
        ):
            self.create_subscription(kind, topic, hear, LATEST)
        self.create_subscription(InertiaStamped, "payload", self.on_payload, LATCHED)

    def on_state(self, message: JointState) -> None:
        self.keep("joint_states", message.name, message.position)
        self.settled_s = min(self.settled_s, time.monotonic() + TF_S)

    def on_reference(self, message: JointTrajectory) -> None:
        if message.points:
            self.keep("reference", message.joint_names, message.points[0].positions)

    def keep(self, source: str, names, values) -> None:
        """Remember the newest values (n,) of what can be shown; say what cannot."""
        try:
            self.newest[source] = time.monotonic(), ordered(names, values, self.arm.joint_names, source)
        except PickerError as error:
            self.get_logger().error(f"not shown: {error}", throttle_duration_sec=10.0)

    def on_payload(self, message: InertiaStamped) -> None:
        try:
            self.model, self.fixed_due = self.bare.with_payload(*payload_in(message)), True
        except PickerError as error:
            self.get_logger().error(f"payload not shown: {error}")

    # -- out -------------------------------------------------------------------------------------------------

    def every_period(self) -> None:
        """Publish what has changed, if anybody wants it."""
        if self.fixed_due and self.fixed_out.get_subscription_count() and time.monotonic() > self.settled_s:
            self.fixed_due = False
            region = region_markers(self.arm, region_of(self.arm, self.model, self.limits.hold)) if self.is_picker else []
            self.fixed_out.publish(self.message([Marker(action=Marker.DELETEALL), *self.scene, *region]))
        if self.out.get_subscription_count():
            self.out.publish(self.message(self.moving(), STALE_S))

    def moving(self) -> list[Marker]:
        """Draw what follows the arm, by what is fresh."""
        fresh = {source: values for source, (time_s, values) in self.newest.items() if time.monotonic() < time_s + STALE_S}
        reference, torque = fresh.get("reference"), fresh.get("joint_commands")
        made = [] if reference is None else ghost(self.arm, reference)
        where = fresh.get("joint_states", reference)
        if where is not None:
            torque = self.model.gravity(where) if torque is None else torque
            made += torque_markers(self.arm, where, torque, self.limits.full, self.limits.hold)
        return made

    def message(self, markers: list[Marker], lifetime_s: float = 0.0) -> MarkerArray:
        """Make a message of markers, with the frames of this node's namespace."""
        for one in markers:
            frame = one.header.frame_id.removeprefix(self.prefix) or self.arm.root
            one.header.frame_id, one.frame_locked = self.prefix + frame, frame != self.arm.root
            one.lifetime.nanosec = int(1e9 * lifetime_s)
        return MarkerArray(markers=markers)


def paced(node: Markers, executor: SingleThreadedExecutor) -> None:
    """Sleep until the next turn, take the newest of each topic and publish, however often messages come.

    A subscription of depth 1 has the newest message by then; those in between were dropped by DDS at no cost in Python.
    """
    time.sleep(node.period_s)
    for _ in range(2 * len(list(node.subscriptions)) + 1):
        executor.spin_once(0.0)
    node.every_period()


main = partial(run, Markers, turn=paced)

if __name__ == "__main__":
    sys.exit(main())
