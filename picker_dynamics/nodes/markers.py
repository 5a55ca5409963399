"""``markers``: torques, reference and scene as RViz markers beside the model; listens to everything, commands nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from functools import partial

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
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

from .marker_shapes.ghost import ghost
from .marker_shapes.plane import region_markers
from .marker_shapes.region import region_of
from .marker_shapes.scene import scene_markers
from .marker_shapes.torques import torque_markers
from .node_parameters import settings_of, take_settings
from .runtime import LATCHED, LATEST, frame_prefix, own_arguments, payload_in, run

STALE_S = 0.5
"""What is older than this is not shown, and RViz forgets what it showed of it [s]."""

TF_S = 1.0
"""From the first joint state to what is fixed to a moving link: its frame is known by then [s]."""

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
    """Markers from ``marker_shapes``, while somebody looks.

    Without commands the torques are those that hold the arm where it is, so that sliders suffice to try a pose.
    """

    def __init__(self):
        super().__init__("markers", cli_args=own_arguments("markers"), automatically_declare_parameters_from_overrides=True)
        settings = settings_of(self, "markers")
        known = load_arm(settings)
        settings.declare(*SETTINGS)
        take_settings(self, settings)
        self.arm, where, self.period_s = known.description, settings["scene"], 1.0 / settings["rate_hz"]
        self.limits = TorqueLimits.of_arm(known.torque) if known.servos is None else TorqueLimits.of_servos(known.servos)
        self.prefix = frame_prefix(self.get_namespace())
        self.is_picker = self._has_pickers_shape()
        if where in ("", "none"):
            where = resource("config/demo.yaml") if self.is_picker and not where else ""
        self.scene = scene_markers(where, self.arm.root) if where else []
        self.bare = self.model = lagrangian.analytic_model(self.arm)
        self.newest: dict[str, tuple[float, np.ndarray]] = {}
        self.settled_s, self.fixed_due, self.problem = float("inf"), True, ""
        self.out = self.create_publisher(MarkerArray, "markers", LATEST)
        self.fixed_out = self.create_publisher(MarkerArray, "markers/fixed", LATCHED)
        self.create_subscription(JointState, "joint_states", self.on_state, LATEST)
        self.create_subscription(JointState, "joint_commands", self.on_command, LATEST)
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)
        self.create_subscription(InertiaStamped, "payload", self.on_payload, LATCHED)

    def _has_pickers_shape(self) -> bool:
        try:
            read_shape(self.arm)
        except DescriptionError as error:
            self.get_logger().info(f"no region and no scene: {error}")
            return False
        return True

    # -- in --------------------------------------------------------------------------------------------------

    def on_state(self, message: JointState) -> None:
        self.keep("joint_states", message.name, message.position)
        self.settled_s = min(self.settled_s, time.monotonic() + TF_S)

    def on_command(self, message: JointState) -> None:
        self.keep("joint_commands", message.name, message.effort)

    def on_reference(self, message: JointTrajectory) -> None:
        if message.points:
            self.keep("reference", message.joint_names, message.points[0].positions)

    def keep(self, source: str, names, values) -> None:
        """Remember the newest values (n,) of what can be shown; say once what cannot."""
        try:
            self.newest[source] = time.monotonic(), ordered(names, values, self.arm.joint_names, source)
        except PickerError as error:
            self.complain(f"not shown: {error}")

    def on_payload(self, message: InertiaStamped) -> None:
        try:
            self.model, self.fixed_due = self.bare.with_payload(*payload_in(message)), True
        except PickerError as error:
            self.complain(f"payload not shown: {error}")

    def complain(self, problem: str) -> None:
        if problem != self.problem:
            self.get_logger().error(problem)
        self.problem = problem

    # -- out -------------------------------------------------------------------------------------------------

    def every_period(self) -> None:
        """Publish what has changed, if anybody wants it."""
        if self.fixed_due and self.fixed_out.get_subscription_count() and time.monotonic() > self.settled_s:
            self.fixed_due = False
            self.fixed_out.publish(self.message([Marker(action=Marker.DELETEALL), *self.fixed()]))
        if self.out.get_subscription_count():
            self.out.publish(self.message(self.moving(), STALE_S))

    def fresh(self, source: str) -> np.ndarray | None:
        """The newest value of that, if it is not too old."""
        time_s, vector = self.newest.get(source, (-STALE_S, None))
        return vector if time.monotonic() < time_s + STALE_S else None

    def moving(self) -> list[Marker]:
        """Markers that follow the arm."""
        reference, state, torque = map(self.fresh, ("reference", "joint_states", "joint_commands"))
        made = [] if reference is None else ghost(self.arm, reference)
        where = reference if state is None else state
        if where is not None:
            torque = self.model.gravity(where) if torque is None else torque
            made += torque_markers(self.arm, where, torque, self.limits.full, self.limits.hold)
        return made

    def fixed(self) -> list[Marker]:
        """Scene, and the region for the present payload."""
        region = region_of(self.arm, self.model, self.limits.hold) if self.is_picker else None
        return [*self.scene, *([] if region is None else region_markers(self.arm, region))]

    def message(self, markers: Iterable[Marker], lifetime_s: float = 0.0) -> MarkerArray:
        """The markers with the frames of this node's namespace."""
        made = MarkerArray(markers=list(markers))
        for one in made.markers:
            frame = one.header.frame_id.removeprefix(self.prefix) or self.arm.root
            one.header.frame_id, one.frame_locked = self.prefix + frame, frame != self.arm.root
            one.lifetime.nanosec = int(1e9 * lifetime_s)
        return made


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
