"""``hardware``: joint states, status, held pose and supply of an arm's outputs as topics, others' description of the arm, and the
services stop, relax, reset, enable, adopt and accept_board; what was asked before a stop cannot undo it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Routine, State
from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import PickerError
from picker_dynamics.files.reading import XML_BYTES
from picker_dynamics.robot.description import require_agreement
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.session.entry import OK
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.session.served import STOPS, ServedSession

from .runtime import LATCHED, LATEST, hear_stream, is_heard, joint_state, message_of, name_of, seconds, stamp_clock, steady_timer

SAME_SOURCE = 5e-4
"""Shares of the supply's source that are published as one."""

DESCRIPTION_BYTES = 4 * XML_BYTES + 100
"""The longest message of ``robot_description``: of so many characters."""

LOOK_S = 1.0
"""How often one looks whether a description is still published [s]."""

LOGGED = "state", "problem", "epoch", "stop_latched", "reset_needed"
"""Fields of ``hardware/status`` whose changes are logged."""


SETTLE_PERIOD_S = 0.02
"""How often one looks whether a stop is to be answered, while one is not [s]."""

SERVICES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "emergency_stop": (SetBool, "stop", {}),
    "relax": (Trigger, "relax", {}),
    "reset": (Trigger, "reset", {}),
    "enable": (SetBool, "enable", {"at_rest_pose": True}),
    "adopt": (Trigger, "enable", {"at_rest_pose": False}),
    "accept_board": (Trigger, "accept_board", {}),
}
"""Service -> its type, and the call of the session that it makes, with arguments."""


class Hardware:
    """Shell of an arm's outputs on ``node``; ``wake`` wakes the executor, from any thread.

    A stop acts at once, and is answered when what was asked before can undo it no more.
    """

    def __init__(self, node, arm: RunningArm, report: Report, wake: Callable[[], None]):
        self.node, self.running, self.report, self.session, self.outputs = node, arm, report, arm.session, arm.outputs
        self._stamps, self._names = stamp_clock(node, arm.clock), arm.description.joint_names
        self._facts, self._told = dict[str, Any](), JointState(name=list(self._names))
        self._epoch: int | None = -1
        self._source, self._state_due_s, self._look_s = 1.0, 0.0, 0.0
        self._state_period_s = 0.0 if arm.servos is None else 1.0 / arm.settings[parameters.HARDWARE]["state_rate_hz"]
        self._state_out = node.create_publisher(JointState, "joint_states", 10)
        self._status_out = node.create_publisher(DiagnosticStatus, "hardware/status", LATCHED)
        self._held_out = node.create_publisher(JointState, "hardware/held_pose", LATCHED)
        if arm.servos is not None:
            self._source_out = node.create_publisher(Float64, "hardware/supply", LATCHED)
        if isinstance(self.outputs, HardwareSession):
            self.outputs.link.on_refused = lambda error: self._complain(f"set-point refused by the board: {error}")
        if arm.connection is not None:
            topic, refuse = "robot_description", lambda error: self._take_description(str(error))
            hear_stream(node, String, topic, self._on_description, LATCHED, DESCRIPTION_BYTES, refuse)
        if arm.controller.passive:
            hear_stream(node, JointState, "joint_commands", self._on_command, LATEST)
        self._wake, self._served, self._answers = wake, ServedSession(arm, report), list[Future]()
        self.session.settles = False
        self._settling = steady_timer(node, SETTLE_PERIOD_S, self._settle)
        self._settling.cancel()
        group = ReentrantCallbackGroup()
        for name, (kind, call, how) in SERVICES.items():
            node.create_service(kind, name, self._answering(call, how), callback_group=group)
        self.session.subscribe(self.on_cycle)
        self.publish_status()

    def _complain(self, text: str) -> None:
        self.node.get_logger().error(text, throttle_duration_sec=1.0)

    # -- description ---------------------------------------------------------------------------------------

    def _on_description(self, message: String, _info: dict) -> None:
        """Compare a published description with this arm: while another one is there the arm holds."""
        problem = ""
        try:
            require_agreement(message.data, self.running.description)
        except PickerError as error:
            problem = str(error)
        self._take_description(problem)

    def _take_description(self, problem: str) -> None:
        with self.session.turn:
            news = problem not in (self.report.description_problem, "")
            self.report.description_problem = self.session.obstacle = problem
            if news:
                self._complain(problem)
            if news and self.outputs.engaged and self.running.connection is not None:
                self.running.connection.session.release()
                self.outputs.problem = f"{problem}: holding"

    # -- alone ---------------------------------------------------------------------------------------------

    def _on_command(self, message: JointState, _info: dict) -> None:
        """Send a set-point of whoever controls the arm that holds at its stamp, by the same sender."""
        assert isinstance(self.outputs, HardwareSession)
        try:
            with self.session.turn:
                setpoint = ordered(message.name, message.position, self._names, "joint_commands")
                self.outputs.command(self._stamps.to_steady(seconds(message.header.stamp)), setpoint, self.running.clock.now())
        except PickerError as error:
            self._complain(f"command ignored: {error}")

    # -- services ------------------------------------------------------------------------------------------

    def _answering(self, call: str, how: dict[str, Any]) -> Callable[..., Any]:
        """Make what answers a service."""

        async def answer(request, response):
            settled = Future() if call in STOPS else None
            with self.session.turn:
                try:
                    response.success, response.message = True, self._carry_out(call, how, getattr(request, "data", True))
                    self._answers += [settled] if settled else []
                except PickerError as error:
                    response.success, response.message, settled = False, str(error), None
                self.publish_status()
            if settled is not None:
                await settled
            return response

        return answer

    def _carry_out(self, call: str, how: dict[str, Any], wanted: bool) -> str:
        if not wanted and call == "stop":
            raise PickerError("emergency_stop only latches; call reset to clear it")
        return str(self._served.carry_out(call, how) if wanted else self._served.disable())

    def _settle(self) -> None:
        """Answer stops where it is time."""
        with self.session.turn:
            if not self.session.gate.settle(self.running.clock.now()):
                return
            self.publish_status()
        self._settling.cancel()
        answers, self._answers = self._answers, []
        for settled in answers:
            settled.set_result(None)

    # -- out -----------------------------------------------------------------------------------------------

    def on_cycle(self, cycle: Cycle) -> None:
        """Publish what the hardware says, have the executor look when the gate opens; called by the control loop."""
        if self.session.gate.settling and self._settling.is_canceled():
            self._settling.reset()
            self._wake()
        source, now_s, state = self.running.controller.hardware.source, cycle.now_s, cycle.state
        if abs(source - self._source) > SAME_SOURCE:
            self._source = source
            self._source_out.publish(Float64(data=source))
        self.publish_status(self.report.facts["hardware"])
        if state is not None and self.outputs.state is not State.OFFLINE and now_s >= self._state_due_s - 1e-3:
            self._state_due_s = max(self._state_due_s + self._state_period_s, now_s)
            stamp_s = self._stamps.to_stamp(state.time_s)
            if is_heard(self._state_out):
                self._state_out.publish(joint_state(self._told, stamp_s, state.q, state.v, state.effort))
        if now_s >= self._look_s:
            self._look_s = now_s + LOOK_S
            if self.node.count_publishers("robot_description") == 0:
                self.report.description_problem, self.session.obstacle = None, ""

    def publish_status(self, facts: dict[str, Any] | None = None) -> None:
        """Publish ``hardware/status`` where something about it changed, and behind it ``hardware/held_pose`` where that did."""
        outputs, facts = self.outputs, facts or self.report.hardware_facts()
        if facts != self._facts:
            if any(facts[what] != self._facts.get(what) for what in LOGGED):
                log, message = self.node.get_logger(), outputs.problem or Routine(outputs.state.value)
                log.info(message) if self.report.level == OK or isinstance(message, Routine) else log.warning(message)
            self._facts = facts
            self._status_out.publish(message_of(self.report.hardware_status(), name_of(self.node)))
        epoch = outputs.epoch if outputs.state is State.ACTIVE else None
        if epoch != self._epoch:
            self._epoch, stamp_s = epoch, self._stamps.to_stamp(self._stamps.now_s())
            q = None if epoch is None else outputs.held
            names, effort = ([], None) if q is None else (list(self._names), outputs.held_effort)
            self._held_out.publish(joint_state(JointState(name=names), stamp_s, q, None, effort))
