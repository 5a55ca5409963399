"""Base of ``hardware`` and ``torque_arm_sim``: joint states, status and held pose of a session; stop, reset, enable, relax."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.board.request_gate import RequestGate
from picker_dynamics.board.session import Routine, Session, State
from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription

from .claims import EXCLUSIVE, Claimant
from .diagnostics import AT_ONCE_HZ, ERROR, OK, STALE, WARN, Flood, name_of, neighbour, status
from .duplicate_publishers import Alone, OneSender
from .executor import serve_waiting
from .runtime import LATCHED, LATEST, hear_stream, steady_timer, take_parameters

DIAGNOSTIC_PERIOD_S = 1.0
SETTLE_PERIOD_S = 0.02
"""How often one looks whether a stop is to be answered, while one is not [s]."""

NOTHING = np.zeros(0)

PRESENT_S, PRESENT = 0.1, 1e-3
"""How often the held pose is said again on the way at the most [s], and from what change on [rad or m]."""


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
        """Offer publishers, services and timers; ``stopped`` is what is said of a stop."""
        self.claim(EXCLUSIVE["hardware"])
        self.status_facts: tuple | None = None
        self.state_told: tuple | None = None
        self.diagnosed = Flood(AT_ONCE_HZ)
        self.senders = OneSender("joint_commands", neighbour(self, "dynamics"), Alone(self, "joint_commands"))
        self.held_epoch: int | None = -1
        self.held, self.held_said_s = JointState(), 0.0
        self.state = JointState(name=list(self.arm.joint_names))
        self.state_out = self.create_publisher(JointState, "joint_states", 10)
        self.status_out = self.create_publisher(DiagnosticStatus, "hardware/status", LATCHED)
        self.held_pose_out = self.create_publisher(JointState, "hardware/held_pose", LATCHED)
        self.diagnostics_out = self.create_publisher(DiagnosticArray, "/diagnostics", LATCHED)
        hear_stream(self, JointState, "joint_commands", self.hear_command, LATEST)

        self.gate = RequestGate(partial(serve_waiting, self))
        self.settling = steady_timer(self, SETTLE_PERIOD_S, self.settle)
        self.settling.cancel()
        self.latched: tuple[bool, str] = (False, "")

        def serve(kind, name: str, carry_out, stops: bool = False) -> None:
            """A service whose success and message tell what came of ``carry_out(request)``."""

            def answer(request, response):
                before_service()
                try:
                    response.success, response.message = True, carry_out(request)
                except PickerError as error:
                    response.success, response.message = False, str(error)
                if not stops:
                    self.publish_status()
                return response

            service = self.create_service(kind, name, answer)
            if stops:
                self.answer_later(service)

        def stop(request) -> str:
            if not request.data:
                raise PickerError("emergency_stop only latches; call reset to clear it")
            self.session.stop()
            return stopped

        def undo(carry_out) -> str:
            self.gate.require_open()
            return carry_out()

        def disable() -> str:
            wrong = self.session.problem and not isinstance(self.session.problem, Routine)
            self.session.disable()
            if not wrong:
                self.session.problem = Routine(self.session.problem)  # asked for, and done
            return "outputs off"

        def enable(request) -> str:
            return undo(self.enable) if request.data else disable()

        serve(SetBool, "emergency_stop", stop, stops=True)
        serve(Trigger, "relax", lambda _: self.session.relax() or "relaxed: all outputs off", stops=True)
        serve(Trigger, "reset", lambda _: undo(self.session.reset) or "reset: nothing moves; call enable to go on")
        serve(SetBool, "enable", enable)
        serve(Trigger, "adopt", lambda _: undo(self.adopt))
        steady_timer(self, DIAGNOSTIC_PERIOD_S, self.on_diagnostics)
        take_parameters(self, self.change)
        self.publish_status()

    @abstractmethod
    def enable(self) -> str:
        """Switch the outputs on; returns what is being done."""

    @abstractmethod
    def adopt(self) -> str:
        """Take over outputs that run, switch none on; returns what is being done."""

    def answer_later(self, service) -> None:
        """Have a service that stops the arm answer when nothing that was asked before can undo the stop any more."""
        send = service.send_response

        def hold(response, header) -> None:
            if self.session.stop_latched:
                self.gate.hold(partial(send, response, header), time.monotonic())
                self.settling.reset()
            else:
                send(response, header)
            self.publish_status()

        service.send_response = hold

    def settle(self) -> None:
        self.gate.settle(time.monotonic())
        if not self.gate.settling:
            self.settling.cancel()
            self.publish_status()

    def level(self) -> bytes:
        session = self.session
        if session.state is State.OFFLINE:
            return STALE
        wrong = session.problem and not isinstance(session.problem, Routine)
        if session.stop_latched or session.fault_latched or (wrong and session.state is State.IDLE):
            return ERROR
        return WARN if session.state is not State.ACTIVE or session.problem else OK

    def publish_state(self, q: np.ndarray, v: np.ndarray, effort: np.ndarray = NOTHING) -> None:
        """``joint_states``, as of now, or of when it was last seen what the outputs do."""
        seen = self.get_clock().now() - Duration(seconds=self.session.unseen_s)
        self.state.header.stamp = seen.to_msg()
        self.state.position, self.state.velocity, self.state.effort = q.tolist(), v.tolist(), effort.tolist()
        self.state_out.publish(self.state)

    def publish_status(self) -> None:
        """Publish ``hardware/status`` where something about it changed, and behind it ``hardware/held_pose`` where that did."""
        session = self.session
        were, self.latched = self.latched, (session.stop_latched, session.fault_latched)
        if self.latched != were and any(self.latched):
            self.gate.refuse_waiting()
        epoch = session.epoch if session.state is State.ACTIVE else None
        facts = (session.state, session.problem, session.epoch, session.stop_latched, session.fault_latched)
        facts += (session.outputs, session.commanded, session.confirmed, self.gate.settling)
        if facts != self.status_facts:
            if facts[:-4] != (self.status_facts or ())[:-4]:
                log, message = self.get_logger(), session.problem or Routine(session.state.value)
                log.info(message) if self.level() == OK or isinstance(message, Routine) else log.warning(message)
            self.status_facts = facts
            self.status_out.publish(self.status_message())
            before, self.state_told = self.state_told, (session.state, *self.latched)
            if before not in (None, self.state_told) and self.diagnosed.lets_pass():
                self.on_diagnostics()  # whoever asks now is not to hear what was so a second ago
        if epoch != self.held_epoch:
            self.held_epoch, self.held = epoch, JointState()
            self.held.header.stamp = self.get_clock().now().to_msg()
            self.publish_held_pose()
        elif epoch is not None and self.held_changed():
            self.publish_held_pose()

    def status_message(self) -> DiagnosticStatus:
        """Status of the session, as a message."""
        session = self.session
        return status(
            self.level(),
            name_of(self),
            session.problem or session.state.value,
            self.hardware_id,
            state=session.state.value,
            epoch=session.epoch,
            stop_latched=session.stop_latched,
            reset_needed=session.stop_latched or bool(session.fault_latched),
            outputs=session.outputs,
            commanded=session.commanded,
            confirmed=session.confirmed,
            settling=self.gate.settling,
            provenance=self.provenance,
            problem=session.problem,
        )

    def held_changed(self) -> bool:
        """Whether the pose that is held has changed: who joins now would start from another one."""
        held, said = self.session.held, self.held.position
        if held is None or len(said) != len(held) or time.monotonic() - self.held_said_s < PRESENT_S:
            return False
        return bool(np.abs(held - said).max() > PRESENT)

    def publish_held_pose(self) -> None:
        """Publish where commands have to start, and what bears the arm there; no names: none are followed.

        One stamp an epoch: said again with it on the way, it is for who joins, and nothing new to who commands.
        """
        session, held = self.session, self.held
        if self.held_epoch is not None and session.held is not None:
            held.name, held.position = list(self.arm.joint_names), session.held.tolist()
            if session.held_effort is not None:
                held.effort = session.held_effort.tolist()
        self.held_said_s = time.monotonic()
        self.held_pose_out.publish(held)

    def hear_command(self, message: JointState, info) -> None:
        """Hear who commands: whoever commands the active arm is the only one."""
        try:
            if self.session.state is State.ACTIVE:
                self.senders.hear(message, info)
        except PickerError as error:
            self.session.refuse_foreign()
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
