"""``hardware``: joint commands in, pulses out; joint states, and the condition of board and link; lifecycle node."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import Future

from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import BAUD, Link
from picker_dynamics.board.request_gate import SETTLE_S
from picker_dynamics.board.session import Routine, State
from picker_dynamics.board.stamp_clock import StampReader
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError, DescriptionError, InputError, LinkError, PickerError
from picker_dynamics.execution.worker import Worker
from picker_dynamics.files.reading import XML_BYTES
from picker_dynamics.robot.description import ArmDescription, require_agreement
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.servo_budget import ServoBudget

from .arm_setup import load_arm
from .diagnostics import array, name_of
from .duplicate_publishers import OnePublisher
from .executor import serve_waiting
from .hardware_report import PROVENANCE, HardwareReport
from .lifecycle_guard import GuardedLifecycleNode, transition
from .park import park
from .runtime import LATCHED, declare, hear_stream, payload_in, run, seconds, stamp_clock, steady_timer
from .session_node import SessionNode

PATIENCE = 1.6
"""Periods of the joint states after which the timer takes over from commands that come no more."""

MODEL_STEP_S = 0.005
"""Of the modelled joint state [s]: within 0.6 mrad of much finer steps for the stiffest servos, at a tenth of their cost."""

JOIN_S = 0.05
SAME_SOURCE = 5e-4
"""Shares of the supply's source that are said as one."""

DESCRIPTION_BYTES = 4 * XML_BYTES + 100
"""The longest message of ``robot_description``: of so many characters."""

CHOICES = {"on_shutdown": ("hold", "park", "relax"), "on_overheat": ("warn", "stop"), "state_source": (PROVENANCE,)}
"""What these parameters may be."""


def disagreement(urdf: str, arm: ArmDescription) -> str:
    """Remark on a description that is not that of ``arm``; empty if it is."""
    try:
        require_agreement(urdf, arm)
    except PickerError as error:
        return str(error)
    return ""


class Hardware(SessionNode, GuardedLifecycleNode):
    """Lifecycle node around a :class:`HardwareSession`.

    configure opens the port and shakes hands in a thread, so that stop stays served; activate adopts outputs that run
    or switches them on; a fault deactivates the node, which stays alive.
    """

    provenance = PROVENANCE

    def __init__(self, **options):
        super().__init__("hardware", **options)
        self.arm, self.servos = load_arm(self)
        self.port = self.hardware_id = declare(self, "port", "/dev/ttyACM0", "serial port of the board", read_only=True)
        self.baud = declare(self, "baud", BAUD, "speed of the port [bit/s]", low=9600, high=2_000_000, read_only=True)
        state_rate = declare(self, "state_rate_hz", 50.0, "rate of joint_states [Hz]", low=1.0, high=200.0, read_only=True)
        self.on_end = declare(self, "on_shutdown", "hold", "what the arm does when the node ends: hold, park or relax")
        self.autostart = declare(self, "autostart", False, "configure and activate by itself", read_only=True)
        self.at_rest_pose = declare(
            self,
            "at_rest_pose",
            False,
            "the arm stands at its rest pose: outputs that are off may be switched on without asking (simulation only)",
            read_only=True,
        )
        declare(self, "state_source", PROVENANCE, "where joint_states come from: modelled (servos tell nothing)", read_only=True)
        ambient = declare(self, "ambient_c", 25.0, "temperature around the servos [deg C]", low=-20.0, high=60.0, read_only=True)
        limit = declare(
            self, "temperature_limit_c", 75.0, "temperature that no servo should reach (estimated) [deg C]", low=30.0, high=150.0
        )
        declare(self, "on_overheat", "warn", "what happens at that limit: warn, or stop (which latches, and holds)")
        for name in CHOICES:
            self.require_known(name, self.get_parameter(name).value)
        model = ArmStateModel(
            lagrangian.analytic_model(self.arm, self.servos.armature),
            self.servos.model,
            self.servos.rest,
            MODEL_STEP_S,
            self.arm.position_units,
        )
        self.session = HardwareSession(
            Link(self.port, baud=self.baud, joint_names=self.arm.joint_names),
            self.servos,
            model,
            ServoBudget(self.servos, ambient_c=ambient, limit_c=limit),
        )
        self.session.port_comes = self.at_rest_pose  # a simulated board makes its port while this node starts
        self.report = HardwareReport(name_of(self), self.port, self.arm.name, self.session)
        self.session.link.on_refused = self.on_refused
        self.refusals: list[str] = []
        self.command_stamps = StampReader(stamp_clock(self))
        self.connecting: threading.Thread | None = None
        self.gave_up = False
        self.failure: Exception | None = None
        self.tick_period_s, self.tick_s = 1.0 / state_rate, 0.0
        self.offer("stopped: decelerating, then holding; latched until reset")
        self.commands = self.resolve_topic_name("joint_commands")
        self.payloads = OnePublisher(self, InertiaStamped, "payload", self.on_payload)
        self.source_out = self.create_publisher(Float64, "hardware/supply", LATCHED)
        self.source_said = 1.0
        self.beside, self.described = Worker(), None
        hear_stream(self, String, "robot_description", self.on_description, LATCHED, DESCRIPTION_BYTES, self.refuse_description)
        self.ticks = steady_timer(self, self.tick_period_s, self.on_timer)
        if self.autostart:
            self.trigger_configure()

    @staticmethod
    def require_known(name: str, value) -> None:
        if value not in CHOICES[name]:
            raise ConfigurationError(f"{name} is {value!r}, must be one of {', '.join(CHOICES[name])}", subject=name, value=value)

    def change(self, parameters: dict[str, object]) -> None:
        for name in CHOICES:
            if name in parameters:
                self.require_known(name, parameters[name])
        if "temperature_limit_c" in parameters:
            budget, limit = self.session.budget, parameters["temperature_limit_c"]
            budget.require_limits(budget.ambient_c, limit)
            budget.limit_c = limit

    # -- lifecycle -----------------------------------------------------------------------------------------

    @transition
    def on_configure(self, _state) -> None:
        self.session.problem, self.gave_up = Routine(f"connecting to {self.port}"), False
        self.session.cancelled.clear()
        self.start_connecting()

    @transition
    def on_activate(self, _state) -> None:
        if self.session.engaged:
            return
        try:
            self.require_description()
            self.get_logger().info(self.session.activate(self.at_rest_pose))
        except PickerError as error:
            self.session.problem = str(error)
            raise

    @transition
    def on_deactivate(self, _state) -> None:
        self.session.release()

    @transition
    def on_cleanup(self, _state) -> None:
        self.disconnect()

    @transition
    def on_shutdown(self, _state) -> None:
        self.disconnect()

    @transition
    def on_error(self, _state) -> None:
        self.disconnect()

    def start_connecting(self) -> None:
        self.connecting = threading.Thread(target=self.connect, name="connect", daemon=True)
        self.connecting.start()

    def connect(self) -> None:
        """Runs in a thread of its own until the board answers, or there is no sense in going on."""
        try:
            self.session.connect()
        except PickerError as error:
            self.session.problem = str(error)
            self.gave_up = not isinstance(error, LinkError)
        except Exception as error:  # a thread's exception would only be printed: it ends the node instead
            self.failure = error

    def disconnect(self) -> None:
        self.session.cancelled.set()
        while self.connecting is not None and self.connecting.is_alive():
            self.session.link.close()  # a handshake under way would take its time
            self.connecting.join(JOIN_S)
        self.connecting = None
        self.session.disconnect()

    # -- topics --------------------------------------------------------------------------------------------

    def on_command(self, message: JointState) -> None:
        now = time.monotonic()
        try:
            try:
                q_cmd = ordered(message.name, message.position, self.arm.joint_names, "joint_commands")
            except PickerError:
                self.session.counts.invalid += 1
                raise
            holds = self.command_stamps.read(seconds(message.header.stamp))
            self.report.timing.note(now, holds)
            self.session.command(holds, q_cmd, now)
        except PickerError as error:
            self.get_logger().error(f"command ignored: {error}", throttle_duration_sec=1.0)
        if now - self.tick_s > 0.9 * self.tick_period_s:  # right behind a command: no other has to wait for it
            self.on_tick()
            self.tick_by_timer(PATIENCE * self.tick_period_s)

    def on_payload(self, message: InertiaStamped) -> None:
        try:
            model = lagrangian.analytic_model(self.arm, self.servos.armature, *payload_in(message))
        except PickerError as error:
            self.get_logger().error(f"payload ignored: {error}")
            return
        try:
            self.session.set_model(model)
        except PickerError as error:
            self.session.problem = f"with a payload of {message.inertia.m:g} kg {error}; set a smaller one, then enable"

    def on_description(self, message: String, _info=None) -> None:
        """Take a published description: where it is another arm's, this one holds, as planners would go by the other one."""
        self.described = self.beside(disagreement, message.data, self.arm)

    def refuse_description(self, error: InputError) -> None:
        """Refuse a description that is too long to be looked at: it is another arm's, as far as anybody knows."""
        self.described = Future()
        self.described.set_result(str(error))

    def take_description(self) -> None:
        """Take what became of the look at a description, beside the ticks."""
        looked, self.described = self.described, None
        before, self.report.description_problem = self.report.description_problem, looked.result()
        if self.report.description_problem in (before, ""):
            return
        self.get_logger().error(self.report.description_problem)
        if self.session.engaged:
            self.session.release()
            self.session.problem = f"{self.report.description_problem}: holding"

    def require_description(self) -> None:
        """Raise a DescriptionError where others go by an arm that is not this one."""
        if self.described is not None:
            self.take_description()
        if self.report.description_problem:
            raise DescriptionError(self.report.description_problem)

    def on_refused(self, error: PickerError) -> None:
        """Called by the link's thread for each set-point that the board refused."""
        self.refusals.append(str(error))

    def enable(self) -> str:
        """Activate; whoever calls this says that the arm stands at its rest pose if its outputs are off."""
        return self.activate(at_rest_pose=True)

    def adopt(self) -> str:
        return self.activate(at_rest_pose=False)

    def activate(self, at_rest_pose: bool) -> str:
        """Let the session take commands, and this node with it."""
        if self.session.engaged:
            return f"already {self.session.state.value}"
        self.require_description()
        said = self.session.activate(at_rest_pose)
        if self.lifecycle_state == "inactive":
            self.trigger_activate()
        return said

    # -- time ----------------------------------------------------------------------------------------------

    def on_timer(self) -> None:
        """Tick by the timer, where no command brings a tick along."""
        self.on_tick()
        self.tick_by_timer(self.tick_period_s)

    def tick_by_timer(self, period_s: float) -> None:
        """Have the timer wake this node after ``period_s``, unless a command has brought a tick along before."""
        period_ns = round(1e9 * period_s)
        if self.ticks.timer_period_ns != period_ns:
            self.ticks.timer_period_ns = period_ns
            self.ticks.reset()
        elif period_s > self.tick_period_s:
            self.ticks.reset()

    def on_tick(self) -> None:
        session, self.tick_s = self.session, time.monotonic()
        try:
            session.tick(time.monotonic())
        except PickerError as error:
            session.problem = str(error)
        self.publish_source()  # set-points are made of it, the first ones of an epoch too
        self.publish_status()  # before anybody looks for the board again: what broke is said first
        self.follow_lifecycle()
        if self.described is not None and self.described.done():
            self.take_description()
        while self.refusals:
            self.get_logger().error(f"set-point refused by the board: {self.refusals.pop(0)}", throttle_duration_sec=1.0)
        if session.held is not None and session.state is not State.OFFLINE:
            self.publish_state(session.model.q, session.model.v)

    def follow_lifecycle(self) -> None:
        """Activate by itself at the start, deactivate after a fault, look for the board again when it is gone."""
        lifecycle, state = self.lifecycle_state, self.session.state
        if lifecycle == "active" and state in (State.OFFLINE, State.IDLE):
            self.trigger_deactivate()
        if lifecycle == "inactive" and state is State.IDLE and self.autostart:
            self.autostart = False
            self.trigger_activate()
        if lifecycle == "inactive" and state is State.OFFLINE and not self.gave_up and not self.connecting.is_alive():
            if self.session.state is State.OFFLINE:  # the thread that has just ended has not found it
                self.start_connecting()

    def publish_source(self) -> None:
        """Say what the servos' supply gives without load, where that is measured and has changed."""
        source = self.session.supply.source
        if abs(source - self.source_said) > SAME_SOURCE:
            self.source_said = source
            self.source_out.publish(Float64(data=source))

    def on_diagnostics(self) -> None:
        self.stop_on_overtemperature()
        if self.count_publishers("robot_description") == 0:
            self.report.description_problem = None
        senders = self.get_publishers_info_by_topic(self.commands)
        sources = [f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in senders]
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), *self.report.entries(self.level(), sources)))

    def stop_on_overtemperature(self) -> None:
        """Stop at the temperature limit, where that is wanted."""
        temperature = self.session.budget.temperature()
        if temperature is None or not temperature.too_hot:
            return
        self.get_logger().warning(temperature.text, throttle_duration_sec=10.0)
        if self.get_parameter("on_overheat").value == "stop" and not self.session.stop_latched:
            self.session.stop()
            self.session.problem = f"stopped: {temperature.text}"
            self.publish_status()

    def close(self, hurried) -> None:
        """Leave the arm as ``on_shutdown`` says."""
        self.beside.close()
        self.on_end = self.get_parameter("on_shutdown").value
        try:
            if self.on_end == "relax" and self.session.state is not State.OFFLINE:
                self.session.disable()
            elif self.on_end == "park" and self.session.state is State.ACTIVE:
                park(self.session, self.arm, hurried, self.attend)
        except PickerError as error:
            self.get_logger().error(f"{self.on_end} at the end: {error}")
        finally:
            until_s = time.monotonic() + 2.0 * SETTLE_S  # whoever holds a stop button asks again and again
            while self.gate.settling and time.monotonic() < until_s and not hurried():
                self.attend()
                time.sleep(JOIN_S)
            self.disconnect()
            self.publish_status()

    def attend(self) -> None:
        """Serve who asks while the last word takes its time: a stop above all."""
        serve_waiting(self)
        if self.gate.settling:
            self.settle()


def main(args=None) -> int:
    return run(Hardware, args)


if __name__ == "__main__":
    sys.exit(main())
