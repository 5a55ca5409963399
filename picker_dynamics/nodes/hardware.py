"""``hardware``: lifecycle and services of an arm's outputs, joint states, and the condition of board and link.

Alone it takes ``joint_commands`` of whoever controls the arm, through the same guard and sender.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as Work
from functools import wraps

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.srv import ChangeState
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Routine, State
from picker_dynamics.board.stamp_clock import StampReader
from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.settings import Settings, given
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.files.reading import XML_BYTES
from picker_dynamics.robot.description import ArmDescription, require_agreement
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.session.entry import OK
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm

from .diagnostics import message_of, name_of
from .runtime import (
    LATCHED,
    LATEST,
    RCLError,
    hear_stream,
    own_arguments,
    seconds,
    settings_of,
    stamp_clock,
    steady_timer,
    take_settings,
    to_stamp,
)

SETTLE_PERIOD_S = 0.02
"""How often one looks whether a stop is to be answered, while one is not [s]."""

SAME_SOURCE = 5e-4
"""Shares of the supply's source that are published as one."""

DESCRIPTION_BYTES = 4 * XML_BYTES + 100
"""The longest message of ``robot_description``: of so many characters."""

LOOK_S = 1.0
"""How often one looks whether a description is still published [s]."""

PRESENT_S, PRESENT = 0.1, 1e-3
"""How often the held pose is published again on the way at the most [s], and from what change on [rad or m]."""


def disagreement(urdf: str, arm: ArmDescription) -> str:
    """Remark on a description that is not that of ``arm``; empty if it is."""
    try:
        require_agreement(urdf, arm)
    except PickerError as error:
        return str(error)
    return ""


class Hardware:
    """Shell of an arm's outputs on ``node``.

    Args:
        wake: wakes the executor, from any thread.
    """

    def __init__(self, node, arm: RunningArm, report: Report, wake: Callable[[], None]):
        self.node, self.running, self.report, self.session, self.outputs, self._wake = (
            node,
            arm,
            report,
            arm.session,
            arm.outputs,
            wake,
        )
        self.arm, self._stamps = arm.description, stamp_clock(node)
        self._facts: tuple | None = None
        self._latched: tuple[bool, str] = (False, "")
        self._held_epoch: int | None = -1
        self._held, self._held_s = JointState(), 0.0
        self._source, self._state_due_s, self._look_s = 1.0, 0.0, 0.0
        self._state_period_s = 0.0 if arm.servos is None else 1.0 / arm.settings[parameters.HARDWARE]["state_rate_hz"]
        self._state = JointState(name=list(self.arm.joint_names))
        self._state_out = node.create_publisher(JointState, "joint_states", 10)
        self._status_out = node.create_publisher(DiagnosticStatus, "hardware/status", LATCHED)
        self._held_out = node.create_publisher(JointState, "hardware/held_pose", LATCHED)
        self._source_out, self._described = None, None
        if isinstance(self.outputs, HardwareSession):
            self._source_out = node.create_publisher(Float64, "hardware/supply", LATCHED)
            self.outputs.link.on_refused = self._on_refused
            hear_stream(
                node, String, "robot_description", self._on_description, LATCHED, DESCRIPTION_BYTES, self._refuse_description
            )
        self._offer_services()
        self.session.subscribe(self.on_cycle)
        self.publish_status()

    # -- services ------------------------------------------------------------------------------------------

    def _offer_services(self) -> None:
        self._answers: list[Future] = []
        self.session.settles = False
        self._settling = steady_timer(self.node, SETTLE_PERIOD_S, self._settle)
        self._settling.cancel()
        braked = "decelerating" if self.running.servos is not None else "braking"
        gate, session = self.session.gate, self.session

        def undo(carry_out: Callable[[], str | None]) -> str | None:
            gate.require_open()
            return carry_out()

        def stop(request: SetBool.Request) -> str:
            if not request.data:
                raise PickerError("emergency_stop only latches; call reset to clear it")
            session.stop()
            return f"stopped: {braked}, then holding; latched until reset"

        def enable(request: SetBool.Request) -> str | None:
            return undo(lambda: self._activate(True)) if request.data else self._disable()

        self._serve_stop(SetBool, "emergency_stop", stop)
        self._serve_stop(Trigger, "relax", lambda _: session.relax() or "relaxed: all outputs off")
        self._serve(Trigger, "reset", lambda _: undo(session.reset) or "reset: nothing moves; call enable to go on")
        self._serve(SetBool, "enable", enable)
        self._serve(Trigger, "adopt", lambda _: undo(lambda: self._activate(self.running.servos is None)))

    def _answer(self, carry_out, request, response):
        """Fill in success and message by what came of ``carry_out(request)``."""
        with self.session.turn:
            try:
                response.success, response.message = True, carry_out(request)
            except PickerError as error:
                response.success, response.message = False, str(error)
            self.publish_status()
        return response

    def _serve(self, kind, name: str, carry_out) -> None:
        self.node.create_service(kind, name, lambda request, response: self._answer(carry_out, request, response))

    def _serve_stop(self, kind, name: str, carry_out) -> None:
        """Offer a service that stops the arm at once, and answers when nothing that was asked before can undo that any more."""

        async def answer(request, response):
            with self.session.turn:
                self._answer(carry_out, request, response)
                stopped = response.success and self.outputs.stop_latched
                if stopped:
                    self.session.gate.close(self._stamps.now_s())
                    self.publish_status()
            if stopped:
                settled = Future()
                self._answers.append(settled)
                await settled
            return response

        self.node.create_service(kind, name, answer, callback_group=ReentrantCallbackGroup())

    def _settle(self) -> None:
        """Answer stops where it is time."""
        with self.session.turn:
            if not self.session.gate.settle(self._stamps.now_s()):
                return
            self.publish_status()
        self._settling.cancel()
        answers, self._answers = self._answers, []
        for settled in answers:
            settled.set_result(None)

    def _activate(self, at_rest_pose: bool) -> str:
        self.take_description()
        return self.session.enable(at_rest_pose)

    def _disable(self) -> str:
        wrong = self.outputs.problem and not isinstance(self.outputs.problem, Routine)
        self.session.disable()
        if not wrong:
            self.outputs.problem = Routine(self.outputs.problem)  # asked for, and done
        return "outputs off"

    # -- description ---------------------------------------------------------------------------------------

    def _on_description(self, message: String, _info: dict) -> None:
        """Compare a published description with this arm, in the worker: while another one is there the arm holds."""
        self._described = self.running.worker(disagreement, message.data, self.arm)

    def _refuse_description(self, error: InputError) -> None:
        self._described = Work()
        self._described.set_result(str(error))

    def take_description(self) -> None:
        """Take what came of a comparison."""
        if self._described is None:
            return
        looked, self._described = self._described, None
        before, self.report.description_problem = self.report.description_problem, looked.result()
        self.session.obstacle = problem = self.report.description_problem
        if problem in (before, ""):
            return
        self.node.get_logger().error(problem)
        if self.outputs.engaged and isinstance(self.outputs, HardwareSession):
            self.outputs.release()
            self.outputs.problem = f"{problem}: holding"

    def _on_refused(self, error: PickerError) -> None:
        """Log a set-point that the board refused; called by the link's thread."""
        self.node.get_logger().error(f"set-point refused by the board: {error}", throttle_duration_sec=1.0)

    # -- out -----------------------------------------------------------------------------------------------

    def on_cycle(self, cycle: Cycle) -> None:
        """Publish what the hardware says; called by the control loop."""
        latched = self.outputs.stop_latched, self.outputs.fault_latched
        if latched != self._latched and any(latched) and not self.session.gate.settling:
            self.session.gate.close(cycle.now_s, for_s=0.0)
        self._latched = latched
        if self.session.gate.settling and self._settling.is_canceled():
            self._settling.reset()
            self._wake()
        if self._described is not None and self._described.done():
            self.take_description()
        if self._source_out is not None and abs(self.running.controller.hardware.source - self._source) > SAME_SOURCE:
            self._source = self.running.controller.hardware.source
            self._source_out.publish(Float64(data=self._source))
        self.publish_status()
        if cycle.state is not None and self.outputs.state is not State.OFFLINE and cycle.now_s >= self._state_due_s - 1e-3:
            self._state_due_s = max(self._state_due_s + self._state_period_s, cycle.now_s)
            self._publish_state(cycle.state)
        if cycle.now_s >= self._look_s:
            self._look_s = cycle.now_s + LOOK_S
            if isinstance(self.outputs, HardwareSession) and self.node.count_publishers("robot_description") == 0:
                self.report.description_problem, self.session.obstacle = None, ""

    def _publish_state(self, state: ArmState) -> None:
        to_stamp(self._state.header.stamp, self._stamps.to_stamp(state.time_s))
        self._state.position = state.q.tolist()
        self._state.velocity = [] if state.v is None else state.v.tolist()
        self._state.effort = [] if state.effort is None else state.effort.tolist()
        self._state_out.publish(self._state)

    def publish_status(self) -> None:
        """Publish ``hardware/status`` where something about it changed, and behind it ``hardware/held_pose`` where that did."""
        outputs = self.outputs
        said = outputs.state, outputs.problem, outputs.epoch, outputs.stop_latched, outputs.fault_latched
        facts = (*said, outputs.outputs, outputs.commanded, outputs.confirmed, self.session.gate.settling)
        if facts != self._facts:
            if self._facts is None or said != self._facts[: len(said)]:
                log, message = self.node.get_logger(), outputs.problem or Routine(outputs.state.value)
                log.info(message) if self.report.level == OK or isinstance(message, Routine) else log.warning(message)
            self._facts = facts
            self._status_out.publish(message_of(self.report.hardware_status(), name_of(self.node)))
        epoch = outputs.epoch if outputs.state is State.ACTIVE else None
        if epoch != self._held_epoch:
            self._held_epoch, self._held = epoch, JointState()
            self._held.header.stamp = self.node.get_clock().now().to_msg()
            self._publish_held()
        elif epoch is not None and self._held_changed():
            self._publish_held()

    def _held_changed(self) -> bool:
        """Whether the pose that is held has changed: who joins now would start from another one."""
        held, said = self.outputs.held, self._held.position
        if held is None or len(said) != len(held) or self._stamps.now_s() - self._held_s < PRESENT_S:
            return False
        return bool(np.abs(held - said).max() > PRESENT)

    def _publish_held(self) -> None:
        """Publish where commands have to start, and what bears the arm there; no names: none are followed."""
        outputs, held = self.outputs, self._held
        if self._held_epoch is not None and outputs.held is not None:
            held.name, held.position = list(self.arm.joint_names), outputs.held.tolist()
            if outputs.held_effort is not None:
                held.effort = outputs.held_effort.tolist()
        self._held_s = self._stamps.now_s()
        self._held_out.publish(held)


def transition(method):
    """Decorate ``on_configure`` and friends: a PickerError becomes a logged FAILURE, anything else a logged ERROR."""

    @wraps(method)
    def guarded(self, state):
        try:
            method(self, state)
        except PickerError as error:
            self.get_logger().error(f"{method.__name__}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception as error:  # rclpy would swallow it
            self.get_logger().fatal(f"{method.__name__}: {type(error).__name__}: {error}")
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    return guarded


class HardwareNode(LifecycleNode):
    """Lifecycle node of an arm on servos: configure opens the port, activate takes commands, a fault deactivates.

    Attributes:
        arm: its arm; assign it before the node is spun.
        lifecycle: state by the transitions that were made.
    """

    arm: RunningArm

    def __init__(self) -> None:
        super().__init__("hardware", cli_args=own_arguments("hardware"), automatically_declare_parameters_from_overrides=True)
        self.lifecycle = "unconfigured"
        for service in self.services:
            if service.srv_type is ChangeState:
                service.callback = self._refusing(service.callback)

    def _refusing(self, change):
        """Answer a transition that the present state does not allow with ``success = false``, where rclpy raises."""

        def answer(request, response):
            try:
                return change(request, response)
            except RCLError:
                wanted = request.transition.label or request.transition.id
                self.get_logger().error(f"transition {wanted} is not possible in state {self.lifecycle}")
                response.success = False
                return response

        return answer

    @transition
    def on_configure(self, _state) -> None:
        self.arm.configure()
        self.lifecycle = "inactive"

    @transition
    def on_activate(self, _state) -> None:
        if not self.arm.outputs.engaged:
            self.get_logger().info(self.arm.activate(self.arm.settings[parameters.HARDWARE]["at_rest_pose"]))
        self.lifecycle = "active"

    @transition
    def on_deactivate(self, _state) -> None:
        with self.arm.session.turn:
            self.arm.outputs.release()
        self.lifecycle = "inactive"

    @transition
    def on_cleanup(self, _state) -> None:
        self.arm.disconnect()
        self.lifecycle = "unconfigured"

    @transition
    def on_shutdown(self, _state) -> None:
        self.arm.disconnect()
        self.lifecycle = "finalized"

    @transition
    def on_error(self, _state) -> None:
        self.arm.disconnect()
        self.lifecycle = "unconfigured"

    def follow(self) -> None:
        """Follow where the arm is active, or not any more, by somebody else's doing."""
        now = self.arm.lifecycle
        if self.lifecycle == "active" and now == "inactive":
            self.trigger_deactivate()
        elif self.lifecycle == "inactive" and now == "active":
            self.trigger_activate()


class HardwareAlone(HardwareNode):
    """``hardware`` without a controller: ``joint_commands`` in."""

    def __init__(self) -> None:
        super().__init__()
        settings = settings_of(self, parameters.HARDWARE)
        settings.declare(*parameters.SERVO_ARM)
        same = given({one.name: settings[one.name] for one in parameters.SERVO_ARM})
        others = {part: Settings(part, same) for part in parameters.PARTS if part != parameters.HARDWARE}
        self.arm = RunningArm({**others, parameters.HARDWARE: settings}, passive=True)
        self._stamps = StampReader(stamp_clock(self))
        hear_stream(self, JointState, "joint_commands", self._on_command, LATEST)
        take_settings(self, settings, self.arm.session.turn)

    def _on_command(self, message: JointState, _info: dict) -> None:
        """Send a set-point that holds at its stamp."""
        outputs = self.arm.outputs
        assert isinstance(outputs, HardwareSession)
        try:
            with self.arm.session.turn:
                setpoint = ordered(message.name, message.position, self.arm.description.joint_names, "joint_commands")
                outputs.command(self._stamps.read(seconds(message.header.stamp)), setpoint, self.arm.clock.now())
        except PickerError as error:
            self.get_logger().error(f"command ignored: {error}", throttle_duration_sec=1.0)
