"""Client of a view: looks at a running graph some thirty times a second, and has the arm only while somebody drives.

One thread spins it.  Others may ask it to send something: a message or request leaves at once, on their thread, so that a stop
waits for nothing; answers come in with the next look.  While somebody drives, a thread of its own says so, as long as the first
one looks: what is computed for a page must not cost it the arm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import TwistStamped
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.errors import LinkError, PickerError
from picker_dynamics.robot.joint_order import ordered

from .driver import BEAT_S, Driver, Request
from .executor import PacedExecutor, Polled
from .graph_client import ANSWER_S
from .runtime import LATCHED, LATEST
from .told import Told

LOOK_S = 1.0 / 30.0
"""How often it is looked at the graph [s]."""

PATIENCE_S, POLL_S = 1.0, 0.003
"""How long the controller has to say who drives, and how often an answer is looked for [s]."""

UNRELIABLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For velocities: what is lost is said again."""

HANGS_S = 0.4
"""Without a look for so long nobody drives any more [s]."""

SHAPES = {Marker.CUBE: "box", Marker.CYLINDER: "cylinder", Marker.SPHERE: "sphere"}


class Shape(NamedTuple):
    """A shape of the collision scene: edges [m], place (3,) [m] and quaternion (x, y, z, w) in the root frame."""

    name: str
    kind: str
    edges: tuple[float, ...]
    place: tuple[float, ...]
    turn: tuple[float, ...]


class Newest(NamedTuple):
    """A vector (n,) and when it came, on the monotonic clock [s]."""

    values: np.ndarray
    time_s: float


class ViewClient(Driver):
    """A driver that begins as one who only looks.

    Attributes:
        told: diagnostics and payload, as the graph tells them.
        seen: newest ``state``, ``reference`` and ``torque``, those that have come.
        on_look: called after each look; on_beat: each time it is said that somebody drives.
        on_words: called with what the controller says, as it comes.
        on_shapes: called with the markers of a scene, as it counts from now on.
        scene: what the controller holds the arm clear of.
    """

    def __init__(self, namespace: str = ""):
        self.seen: dict[str, Newest] = {}
        self.on_look: Callable[[], None] = lambda: None
        self.on_beat: Callable[[], None] = lambda: None
        self.on_words: Callable[[object], None] = lambda _message: None
        self.on_shapes: Callable[[list[Marker]], None] = lambda _markers: None
        self.told = Told(namespace.strip("/"))
        self.scene: tuple[Shape, ...] = ()
        super().__init__((), namespace)
        self.leaving, self._looked_s = True, 0.0
        self.destroy_timer(self._timer)
        self.told.hear(self)
        self.create_subscription(MarkerArray, "collision_scene/shapes", self.on_scene, LATCHED)
        self._twists = self.create_publisher(TwistStamped, "arm_controller/delta_twist_cmds", UNRELIABLE)
        self._samples = self.create_publisher(JointState, "arm_controller/joint_reference", LATEST)
        self._setting = {
            name: self.create_client(SetParameters, f"{name}/set_parameters") for name in ("dynamics", "trajectory_controller")
        }
        self._getting = self.create_client(GetParameters, "trajectory_controller/get_parameters")
        self._executor: PacedExecutor | None = None

    # -- in ------------------------------------------------------------------------------------------------

    def hear_motion(self) -> None:
        """Listen to states and references, which come a hundred times a second; only the newest is looked at."""
        self._fast = {
            "state": Polled(self, JointState, "joint_states", LATEST),
            "reference": Polled(self, JointTrajectory, "arm_controller/reference", LATEST),
            "torque": Polled(self, JointState, "joint_commands", LATEST),
        }

    def look(self) -> None:
        """Take in what has come; sleeps until it is time for that."""
        if self._executor is None:
            self._executor = PacedExecutor(self)
        self._executor.spin_once()

    period_s = LOOK_S

    def every_period(self) -> None:
        self._looked_s = time.monotonic()
        for what, topic in self._fast.items():
            if self.joint_names and topic.look():
                self._see(what, topic.newest)
        self.on_look()

    def _see(self, what: str, message) -> None:
        try:
            if what == "reference":
                values = ordered(message.joint_names, message.points[0].positions, self.joint_names, what)
                self.desired = values
            elif what == "state":
                values = self.vector(message, "position")
                self.state, self.effort = values, self.vector(message, "effort") if len(message.effort) else None
            else:
                values = ordered(message.name, message.effort, self.joint_names, what)
        except (PickerError, IndexError):  # another arm's, or without points
            return
        self.heard_s = time.monotonic()
        self.seen[what] = Newest(values, self.heard_s)

    def on_controller(self, message) -> None:
        super().on_controller(message)
        self.on_words(message)

    def on_scene(self, message: MarkerArray) -> None:
        """Take the whole scene, as it counts."""
        self.scene = tuple(
            Shape(
                marker.ns,
                SHAPES[marker.type],
                (marker.scale.x, marker.scale.y, marker.scale.z),
                (marker.pose.position.x, marker.pose.position.y, marker.pose.position.z),
                (marker.pose.orientation.x, marker.pose.orientation.y, marker.pose.orientation.z, marker.pose.orientation.w),
            )
            for marker in message.markers
            if marker.action == Marker.ADD and marker.type in SHAPES
        )
        self.on_shapes(list(message.markers))

    # -- driving -------------------------------------------------------------------------------------------

    def keep_arm(self, over: Callable[[], bool]) -> None:
        """Say again and again that somebody drives, in a thread of its own, as long as it is looked at the graph."""

        def beat() -> None:
            while not over():
                if not self.leaving and time.monotonic() - self._looked_s < HANGS_S:
                    self.beat()
                    self.on_beat()
                time.sleep(BEAT_S)

        threading.Thread(target=beat, name="driver", daemon=True).start()

    def take_arm(self) -> None:
        """Drive from now on; to be asked on another thread than the one that looks.

        Raises:
            PickerError: somebody else moves the arm, and is named; or nobody answers.
        """
        if self.drives and not self.leaving:
            return
        self.refusal, self.leaving = "", False
        self.beat()
        try:
            self._until(lambda: self.drives or self.refusal, PATIENCE_S, "the controller does not say who has the arm")
        except LinkError:
            self.leave()
            raise
        if not self.drives:
            self.leave()
            raise PickerError(self.refusal, subject="driver")

    def leave(self) -> None:
        if not self.leaving:
            super().leave()

    def jog_tip(self, linear, angular, frame: str) -> None:
        """Velocity of the tip [m/s, rad/s] in the axes of a link, as this driver's."""
        message = TwistStamped()
        message.header.frame_id = f"{self.driver}/{frame}"
        for vector, values in ((message.twist.linear, linear), (message.twist.angular, angular)):
            vector.x, vector.y, vector.z = values
        self._twists.publish(message)

    def jog_to(self, q) -> None:
        """A sample of this driver's stream, (n,) [rad or m]."""
        message = JointState(name=list(self.joint_names), position=[float(x) for x in q])
        message.header.frame_id = self.driver
        self._samples.publish(message)

    # -- asking --------------------------------------------------------------------------------------------

    def answer_of(self, request: Request) -> str:
        """Answer of a service; to be waited for on another thread than the one that looks."""
        said: list[str] = []
        self._until(lambda: said or said.extend(filter(None, [request.answer()])), 2.0 * ANSWER_S, "no answer")
        return said[0]

    def set_now(self, node: str, name: str, value) -> None:
        """Set a parameter; to be asked on another thread than the one that looks.

        Raises:
            PickerError: it is refused.
        """
        parameter: ParameterMessage = Parameter(name, value=value).to_parameter_msg()
        future = self._setting[node].call_async(SetParameters.Request(parameters=[parameter]))
        self._until(future.done, ANSWER_S, f"{node} does not answer")
        if not (result := future.result().results[0]).successful:
            raise PickerError(f"{node}: {result.reason}", subject=name)

    def ask_parameters(self, names: list[str]):
        """The controller's parameters; a future of the answer."""
        return self._getting.call_async(GetParameters.Request(names=names))

    def hardware_port(self) -> str:
        """Port at which the arm has its board; empty: it has none."""
        return self.get_parameters("hardware", ["port"])[0].string_value

    def _until(self, condition: Callable[[], object], longest_s: float, complaint: str) -> None:
        deadline = time.monotonic() + longest_s
        while not condition():
            if time.monotonic() > deadline:
                raise LinkError(complaint)
            time.sleep(POLL_S)
