"""Base of ``hardware`` and ``torque_arm_sim``: joint states, status and held pose of a session; stop, reset, enable, relax."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.board.session import Session, State
from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription

from .claims import EXCLUSIVE, Claimant
from .diagnostics import ERROR, HELD, OK, SETPOINT, STALE, WARN, name_of, status
from .duplicate_publishers import OneSender
from .runtime import LATCHED, LATEST, steady_timer, take_parameters

DIAGNOSTIC_PERIOD_S = 1.0
NOTHING = np.zeros(0)


class SessionNode(Claimant, ABC):
    """Mixin for the node that drives the joints; ``offer`` makes what it has in common with the other one.

    Attributes:
        session: whose state it is.
        hardware_id: of its status.
        provenance: where ``joint_states`` come from.
    """

    arm: ArmDescription
    session: Session
    hardware_id: str
    provenance: str

    def offer(self, stopped: str, before_service: Callable[[], None] = lambda: None) -> None:
        """Publishers, services and timers; ``stopped`` is what is said of a stop."""
        self.claim(EXCLUSIVE["hardware"])
        self.status_facts: tuple | None = None
        self.senders = OneSender("joint_commands")
        self.held_epoch: int | None = -1
        self.state = JointState(name=list(self.arm.joint_names))
        self.state_out = self.create_publisher(JointState, "joint_states", 10)
        self.status_out = self.create_publisher(DiagnosticStatus, "hardware/status", LATCHED)
        self.held_pose_out = self.create_publisher(JointState, "hardware/held_pose", LATCHED)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_subscription(JointState, "joint_commands", self.hear_command, LATEST)

        def serve(kind, name: str, carry_out) -> None:
            """A service whose success and message tell what came of ``carry_out(request)``."""

            def answer(request, response):
                before_service()
                try:
                    response.success, response.message = True, carry_out(request)
                except PickerError as error:
                    response.success, response.message = False, str(error)
                self.publish_status()
                return response

            self.create_service(kind, name, answer)

        def stop(request) -> str:
            if not request.data:
                raise PickerError("emergency_stop only latches; call reset to clear it")
            self.session.stop()
            return stopped

        serve(SetBool, "emergency_stop", stop)
        serve(Trigger, "reset", lambda _: self.session.reset() or "reset: nothing moves; call enable to go on")
        serve(SetBool, "enable", lambda request: self.enable() if request.data else self.session.disable() or "outputs off")
        serve(Trigger, "relax", lambda _: self.session.relax() or "relaxed: all outputs off")
        steady_timer(self, DIAGNOSTIC_PERIOD_S, self.on_diagnostics)
        take_parameters(self, self.change)
        self.publish_status()

    @abstractmethod
    def enable(self) -> str:
        """Switch the outputs on; returns what is being done."""

    def level(self) -> bytes:
        session = self.session
        if session.state is State.OFFLINE:
            return STALE
        if session.stop_latched or (session.problem and session.state is State.IDLE):
            return ERROR
        return WARN if session.state is not State.ACTIVE or session.problem else OK

    def publish_state(self, q: np.ndarray, v: np.ndarray, effort: np.ndarray = NOTHING) -> None:
        """``joint_states``, as of now."""
        self.state.header.stamp = self.get_clock().now().to_msg()
        self.state.position, self.state.velocity, self.state.effort = q.tolist(), v.tolist(), effort.tolist()
        self.state_out.publish(self.state)

    def publish_status(self) -> None:
        """Publish ``hardware/status`` where something about it changed, and behind it ``hardware/held_pose`` where that did."""
        session = self.session
        facts = (session.state, session.problem, session.epoch, session.stop_latched)
        if facts == self.status_facts:
            return
        self.status_facts = facts
        active, level = session.state is State.ACTIVE, self.level()
        message = session.problem or session.state.value
        values = {
            "state": session.state.value,
            "epoch": session.epoch,
            "stop_latched": session.stop_latched,
            "provenance": self.provenance,
        }
        if active:
            for prefix, vector in ((HELD, session.held), (SETPOINT, session.setpoint)):
                if vector is not None:
                    values |= {prefix + name: float(value) for name, value in zip(self.arm.joint_names, vector)}
        log = self.get_logger()
        log.info(message) if level == OK else log.warning(message)
        self.status_out.publish(status(level, name_of(self), message, self.hardware_id, **values))
        epoch = session.epoch if active else None
        if epoch != self.held_epoch:
            self.held_epoch = epoch
            self.publish_held_pose(active)

    def publish_held_pose(self, active: bool) -> None:
        """Where commands have to start from now on, and what bears the arm there; no names: none are followed."""
        held = JointState()
        held.header.stamp = self.get_clock().now().to_msg()
        if active and self.session.held is not None:
            held.name, held.position = list(self.arm.joint_names), self.session.held.tolist()
            if self.session.held_effort is not None:
                held.effort = self.session.held_effort.tolist()
        self.held_pose_out.publish(held)

    def hear_command(self, message: JointState, info) -> None:
        """Whoever commands the active arm is the only one."""
        try:
            if self.session.state is State.ACTIVE:
                self.senders.hear(message, info)
        except PickerError as error:
            self.get_logger().error(f"command ignored: {error}", throttle_duration_sec=1.0)
            return
        self.on_command(message)

    @abstractmethod
    def on_command(self, message: JointState) -> None:
        """Pass ``joint_commands`` on to the session."""

    @abstractmethod
    def change(self, parameters: dict[str, object]) -> None:
        """Take new values of parameters; raises a PickerError where one does not fit."""

    @abstractmethod
    def on_diagnostics(self) -> None:
        """Publish ``/diagnostics``."""
