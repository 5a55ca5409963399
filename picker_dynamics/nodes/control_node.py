"""Base of ``dynamics`` and ``torque_control``: reference in, joint commands out; owner of the payload; self-test at the start."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.board.stamp_clock import StampReader
from picker_dynamics.control.laws.law import Reference
from picker_dynamics.control.payload_follow import Following, Payload, PayloadFollower
from picker_dynamics.control.reference_reader import ReferenceReader
from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.payload_hold import require_graspable, require_holdable, unbearable
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.joint_order import ordered

from .claims import EXCLUSIVE, Claimant
from .diagnostics import AT_ONCE_HZ, ERROR, OK, Flood, array, name_of, neighbour, status
from .duplicate_publishers import Alone, OnePublisher, OneSender
from .executor import Polled
from .goal_messages import ArmStates
from .hardware_status import HardwareStatus
from .runtime import (
    LATCHED,
    LATEST,
    Epochs,
    declare,
    hear_stream,
    seconds,
    stamp_clock,
    steady_timer,
    stream_message,
    take_parameters,
)

DIAGNOSTIC_PERIOD_S = 1.0

FRESH_S = 1.0
"""How old a joint state may be that tells where an arm is that is not driven [s]."""


class ControlNode(Claimant, Node, ABC):
    """Owns model, payload and diagnostics; what becomes of references and states is the subclasses'.

    A subclass reads its arm, calls ``set_up``, makes its controller, and calls ``start``.

    Raises:
        CrossCheckError: at the start, where the hand-written model and Pinocchio disagree about the URDF.
    """

    arm: ArmDescription

    def set_up(self, arm: ArmDescription, limits: TorqueLimits, resting: Sequence[np.ndarray], armature=None) -> None:
        """Model and self-test of ``arm``, and the payload's parameters; ``limits`` say what can be held.

        Args:
            resting: poses (n,) at one of which the arm is expected where nobody knows where it is.
        """
        self.claim(EXCLUSIVE["dynamics"])
        self.arm, self.limits, self.resting = arm, limits, resting
        self.stamps = stamp_clock(self)
        self.reference_stamps, self.state_stamps = StampReader(self.stamps), StampReader(self.stamps)
        self.model = RigidBody(arm, armature=armature)
        self.cross_check_worst = self.self_test(armature)
        mass = declare(self, "payload.mass", 0.0, "mass at the tool, beside what the URDF has there [kg]", low=0.0, high=5.0)
        com = declare(self, "payload.com", [0.0, 0.0, 0.0], "centre of mass of the payload in the tool frame [m]")
        self.transition_s = declare(
            self, "payload.transition_s", 0.5, "shortest duration of a change of payload [s]", low=0.1, high=10.0, read_only=True
        )
        self.following = Following(
            self,
            Payload(mass, com),
            wished=declare(
                self, "payload.follow", False, "follow the payload by what the joints measure; refused where they measure nothing"
            ),
            max_kg=declare(self, "payload.follow_max", 0.5, "largest mass that is followed [kg]", low=0.001, high=5.0),
            rate_kg_s=declare(self, "payload.follow_rate", 0.1, "fastest change of what is followed [kg/s]", low=0.001, high=5.0),
            transition_s=self.transition_s,
        )
        self.pose: np.ndarray | None = None
        self.begun: np.ndarray | None = None
        self.unbearable = ""
        self.states_of_arm = ArmStates(self, arm.joint_names)
        self.epochs = Epochs()
        self.still = np.zeros(self.model.n)
        self.processed = self.rejected = 0
        self.diagnosed = Flood(AT_ONCE_HZ)
        self.problem = ""
        self.command = JointState(name=list(arm.joint_names))
        self.command.header.frame_id = name_of(self)
        self.references = OneSender(
            "references", neighbour(self, "trajectory_controller"), Alone(self, "arm_controller/reference")
        )
        self.reader, self.follow_timer = ReferenceReader(arm.joint_names), None

    def self_test(self, armature) -> float:
        """Worst relative difference of the two models; raises where they disagree."""
        analytic_model = lagrangian.analytic_model(self.arm, armature=armature)
        report = cross_check.compare(analytic_model, self.model, self.arm.lower, self.arm.upper, self.arm.velocity)
        report.require()
        self.get_logger().info(f"cross-check passed: two models of {self.arm.name} agree to {report.worst:.1e}")
        return float(report.worst)

    def start(self) -> None:
        """Make the payload known, and begin to listen."""
        self.command_out = self.create_publisher(JointState, "joint_commands", LATEST)
        self.payload_out = self.create_publisher(InertiaStamped, "payload", LATCHED)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", LATCHED)
        if self.following.payload.mass:
            self.require_holdable(self.following.payload)
        self.following.set_payload(*self.following.payload)
        hear_stream(self, JointTrajectory, "arm_controller/reference", self.hear_reference, LATEST)
        self.hardware = Polled(self, DiagnosticStatus, "hardware/status", LATCHED, raw=True)
        self.held_poses = OnePublisher(self, JointState, "hardware/held_pose", self.hear_held_pose)
        take_parameters(self, self.change)
        steady_timer(self, DIAGNOSTIC_PERIOD_S, self.on_diagnostics)

    # -- topics and parameters -----------------------------------------------------------------------------

    def look_at_hardware(self) -> None:
        """Look whether the payload can be followed; nothing else in the status matters here, so it need not wake this node."""
        if self.hardware.look():
            with contextlib.suppress(InputError):  # the controller says so
                self.on_hardware(stream_message(DiagnosticStatus, "hardware/status", self.hardware.newest))

    def on_hardware(self, message: DiagnosticStatus) -> None:
        self.following.set_provenance(HardwareStatus.of(message).provenance)

    def hear_held_pose(self, message: JointState) -> None:
        if self.epochs.begins(message.header.stamp):
            self.on_held_pose(message)

    @abstractmethod
    def on_held_pose(self, message: JointState) -> None:
        """A new epoch begins at the pose in the message; without names the arm is not active any more."""

    def begin(self, pose: np.ndarray | None) -> None:
        """Begin an epoch: whether the arm may be driven from ``pose`` (n,) on with its payload; None: it is not active any more.

        Where it may not, there are no commands, and so it is held as it is.
        """
        self.begun, self.unbearable = pose, ""
        if pose is not None:
            self.unbearable = unbearable(self.loaded, self.limits, self.loaded.payload_mass, pose)
        if self.unbearable:
            self.complain(self.unbearable)

    def hear_reference(self, message: JointTrajectory, info) -> None:
        try:
            self.references.hear(message, info)
        except PickerError as error:
            self.rejected += 1
            self.get_logger().error(f"reference ignored: {error}", throttle_duration_sec=1.0)
            return
        self.on_reference(message)

    def on_reference(self, message: JointTrajectory) -> None:
        if self.begun is None or self.unbearable:
            return
        try:
            reference = self.reader.read(message.joint_names, message.points)
            self.take(reference, self.reference_stamps.read(seconds(message.header.stamp)), message)
        except PickerError as error:
            self.complain(f"reference ignored: {error}")

    @abstractmethod
    def take(self, reference: Reference, time_s: float, message: JointTrajectory) -> None:
        """Follow a reference that holds at ``time_s`` [s, steady]; raises a PickerError where that is not possible."""

    def vector(self, message: JointState, field: str) -> np.ndarray:
        """A field of ``joint_states`` in the arm's order."""
        return ordered(message.name, getattr(message, field), self.arm.joint_names, "joint_states")

    def publish_command(self, message, tau, setpoint=()) -> None:
        """Publish the command that answers ``message``, with its stamp."""
        self.processed += 1
        self.problem = ""
        self.command.header.stamp = message.header.stamp
        if len(setpoint):
            self.command.position = setpoint.tolist()
        self.command.effort = tau.tolist()
        self.command_out.publish(self.command)

    def change(self, parameters: dict[str, object]) -> None:
        """Change payload or mode while running; raises a PickerError where a value does not fit, and nothing changes."""
        self.look_at_hardware()
        self.following.change(parameters)

    # -- payload: what ``Following`` asks of its owner -----------------------------------------------------

    @abstractmethod
    def make_follower(self, **bounds) -> PayloadFollower:
        """A follower for the efforts that this node hears of."""

    @abstractmethod
    def use_payload(self, payload: Payload) -> None:
        """Control with this payload from now on."""

    @property
    @abstractmethod
    def loaded(self) -> RigidBody:
        """The arm with the payload that it is controlled with."""

    def require_holdable(self, payload: Payload) -> None:
        """Require that the joints hold the payload where the arm is: more raises an InfeasibleError or LimitError."""
        require_graspable(*payload, self.limits)
        require_holdable(self.model.with_payload(*payload), self.limits, self.standing())

    def standing(self) -> Sequence[np.ndarray]:
        """Poses where the arm may be: its reference, else its last state, else where it rests and starts."""
        if self.pose is not None:
            return (self.pose,)
        self.states_of_arm.look()
        state = self.states_of_arm.state
        if state is not None and self.stamps.now_s() - state.time_s < FRESH_S:
            return (state.q,)
        return self.resting if self.begun is None else (self.begun,)

    def publish_payload(self, payload: Payload) -> None:
        message = InertiaStamped()
        message.header.frame_id = self.arm.tool
        message.header.stamp = self.get_clock().now().to_msg()
        message.inertia.m = payload.mass
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = payload.com
        self.payload_out.publish(message)

    def switch_following(self, on: bool) -> None:
        if on:
            self.follow_timer = steady_timer(self, self.following.period_s, self.on_follow)
        else:
            self.destroy_timer(self.follow_timer)

    def on_follow(self) -> None:
        if problem := self.following.update_estimate():
            self.get_logger().warning(problem)

    # -- what is said --------------------------------------------------------------------------------------

    def complain(self, problem: str) -> None:
        self.rejected += 1
        if problem != self.problem:
            self.get_logger().error(problem)
        self.problem = problem

    @abstractmethod
    def condition(self) -> tuple[bytes, str]:
        """Level and message where neither an error nor the payload is in the way."""

    def facts(self) -> dict[str, object]:
        """Further key-value pairs for the diagnostics."""
        return {}

    def on_diagnostics(self) -> None:
        self.look_at_hardware()
        problem = self.problem or self.held_poses.problem or self.references.problem
        level, message = (ERROR, problem) if problem else self.condition()
        entry = status(
            level,
            name_of(self),
            message,
            self.arm.name,
            cross_check_worst=self.cross_check_worst,
            payload_kg=self.following.payload.mass,
            processed=self.processed,
            rejected=self.rejected,
            **self.facts(),
            **self.following.facts(),
        )
        agreement = status(
            OK,
            f"{entry.name}: cross-check",
            f"two models of {self.arm.name} agree to {self.cross_check_worst:.1e}",
            self.arm.name,
            worst=self.cross_check_worst,
            limit=cross_check.LIMIT,
        )
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), entry, agreement))
