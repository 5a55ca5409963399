"""``hardware``: joint states, status, held pose and supply of an arm's outputs as topics, and others' description of the arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Routine, State
from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.files.reading import XML_BYTES
from picker_dynamics.robot.description import ArmDescription, require_agreement
from picker_dynamics.session.entry import OK
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm

from .diagnostics import message_of, name_of
from .hardware_services import HardwareServices
from .runtime import LATCHED, hear_stream, stamp_clock, to_stamp

SAME_SOURCE = 5e-4
"""Shares of the supply's source that are published as one."""

DESCRIPTION_BYTES = 4 * XML_BYTES + 100
"""The longest message of ``robot_description``: of so many characters."""

LOOK_S = 1.0
"""How often one looks whether a description is still published [s]."""

PRESENT_S, PRESENT = 0.1, 1e-3
"""How often the held pose is published again on the way at the most [s], and from what change on [rad or m]."""

LOGGED = "state", "problem", "epoch", "stop_latched", "reset_needed"
"""Fields of ``hardware/status`` whose changes are logged."""


def disagreement(urdf: str, arm: ArmDescription) -> str:
    """Remark on a description that is not that of ``arm``; empty if it is."""
    try:
        require_agreement(urdf, arm)
    except PickerError as error:
        return str(error)
    return ""


class Hardware:
    """Shell of an arm's outputs on ``node``; ``wake`` wakes the executor, from any thread."""

    def __init__(self, node, arm: RunningArm, report: Report, wake: Callable[[], None]):
        self.node, self.running, self.report, self.session, self.outputs = node, arm, report, arm.session, arm.outputs
        self.arm, self._stamps = arm.description, stamp_clock(node, arm.clock)
        self._facts: dict[str, Any] = {}
        self._held_epoch: int | None = -1
        self._held, self._held_s = JointState(), 0.0
        self._source, self._state_due_s, self._look_s = 1.0, 0.0, 0.0
        self._state_period_s = 0.0 if arm.servos is None else 1.0 / arm.settings[parameters.HARDWARE]["state_rate_hz"]
        self._state_out = node.create_publisher(JointState, "joint_states", 10)
        self._status_out = node.create_publisher(DiagnosticStatus, "hardware/status", LATCHED)
        self._held_out = node.create_publisher(JointState, "hardware/held_pose", LATCHED)
        if isinstance(self.outputs, HardwareSession):
            self._source_out = node.create_publisher(Float64, "hardware/supply", LATCHED)
            self.outputs.link.on_refused = self._on_refused
            topic, refuse = "robot_description", lambda error: self._take_description(str(error))
            hear_stream(node, String, topic, self._on_description, LATCHED, DESCRIPTION_BYTES, refuse)
        self.services = HardwareServices(node, arm, report, wake, self.publish_status)
        self.session.subscribe(self.on_cycle)
        self.publish_status()

    # -- description ---------------------------------------------------------------------------------------

    def _on_description(self, message: String, _info: dict) -> None:
        """Compare a published description with this arm: while another one is there the arm holds."""
        self._take_description(disagreement(message.data, self.arm))

    def _take_description(self, problem: str) -> None:
        with self.session.turn:
            before, self.report.description_problem = self.report.description_problem, problem
            self.session.obstacle = problem
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
        self.services.on_cycle(cycle)
        source, now_s = self.running.controller.hardware.source, cycle.now_s
        if abs(source - self._source) > SAME_SOURCE:
            self._source = source
            self._source_out.publish(Float64(data=source))
        self.publish_status()
        if cycle.state is not None and self.outputs.state is not State.OFFLINE and now_s >= self._state_due_s - 1e-3:
            self._state_due_s = max(self._state_due_s + self._state_period_s, now_s)
            self._publish_state(cycle.state)
        if now_s >= self._look_s:
            self._look_s = now_s + LOOK_S
            if self.node.count_publishers("robot_description") == 0:
                self._described, self.report.description_problem, self.session.obstacle = None, None, ""

    def _publish_state(self, state: ArmState) -> None:
        message = JointState(name=list(self.arm.joint_names), position=state.q.tolist())
        to_stamp(message.header.stamp, self._stamps.to_stamp(state.time_s))
        message.velocity = [] if state.v is None else state.v.tolist()
        message.effort = [] if state.effort is None else state.effort.tolist()
        self._state_out.publish(message)

    def publish_status(self) -> None:
        """Publish ``hardware/status`` where something about it changed, and behind it ``hardware/held_pose`` where that did."""
        outputs, facts = self.outputs, self.report.hardware_facts()
        if facts != self._facts:
            if any(facts[what] != self._facts.get(what) for what in LOGGED):
                log, message = self.node.get_logger(), outputs.problem or Routine(outputs.state.value)
                log.info(message) if self.report.level == OK or isinstance(message, Routine) else log.warning(message)
            self._facts = facts
            self._status_out.publish(message_of(self.report.hardware_status(), name_of(self.node)))
        epoch = outputs.epoch if outputs.state is State.ACTIVE else None
        if epoch != self._held_epoch:
            self._held_epoch, self._held = epoch, JointState()
            to_stamp(self._held.header.stamp, self._stamps.to_stamp(self._stamps.now_s()))
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
            held.effort = [] if outputs.held_effort is None else outputs.held_effort.tolist()
        self._held_s = self._stamps.now_s()
        self._held_out.publish(held)
