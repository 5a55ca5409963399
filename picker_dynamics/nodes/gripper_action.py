"""``gripper_controller/gripper_cmd``: opens and closes the joint that grips; the arm goes on with what it does."""

from __future__ import annotations

from control_msgs.action import ParallelGripperCommand
from sensor_msgs.msg import JointState

from picker_dynamics.errors import PickerError, TrajectoryError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_tracking import Error, Verdict
from picker_dynamics.execution.gripping import TRACK, GripperCommand, GripperSettings, GripperTracker, goal_of, remark
from picker_dynamics.execution.pending_goals import GoalRequest

from .deferred_action import DeferredActionServer
from .runtime import to_stamp


class GripperAction:
    """The result of this action has no text: a command that makes no sense is rejected, and the log and
    ``arm_controller/status`` say why.

    Args:
        node: has ``arm``, ``execution``, ``states``, and ``complain(text)``.
    """

    def __init__(self, node, settings: GripperSettings):
        self.node, self.settings = node, settings
        self.index = node.arm.joint_names.index(settings.joint)
        self.requests: dict[bytes, GoalRequest] = {}
        self.server = DeferredActionServer(
            node, ParallelGripperCommand, "gripper_controller/gripper_cmd", self.on_goal, self.on_cancel, self.refuses
        )

    def refuses(self, request) -> bool:
        try:
            if isinstance(request, TrajectoryError):
                raise request
            self.goal(request.command, 0.0)
        except PickerError as error:
            self.node.complain(f"gripper command refused: {error}", error)
            return True
        return False

    def goal(self, command: JointState, now: float) -> Goal:
        wanted = GripperCommand(command.name, command.position, command.velocity, command.effort)
        return goal_of(wanted, self.settings, self.node.arm, now)

    def on_goal(self, handle) -> None:
        key, command, trackers = bytes(handle.goal_id.uuid), handle.request.command, []

        def goal() -> Goal:
            return self.goal(command, self.node.execution.position(self.index, self.node.stamps.now_s()))

        def tracker(motion) -> GripperTracker:
            unit = self.node.arm.position_units[self.index]
            trackers.append(GripperTracker(self.settings, self.index, float(command.position[0]), motion.start_s, unit))
            return trackers[0]

        def answer(verdict: Verdict) -> None:
            self.requests.pop(key, None)
            result = ParallelGripperCommand.Result(state=self.state())
            if trackers:
                result.reached_goal, result.stalled = trackers[0].reached, trackers[0].stalled
            self.server.conclude(handle, verdict, result)

        def feedback(_error: Error, _progress_s: float, _approaches: bool) -> None:
            handle.publish_feedback(ParallelGripperCommand.Feedback(state=self.state()))

        if said := remark(command, self.settings):
            self.node.execution.tell(EventKind.NOTICE, said, identifier=key.hex())
        self.requests[key] = GoalRequest(goal, TRACK, key.hex(), tracker, answer, feedback)
        self.node.execution.submit(self.requests[key])

    def on_cancel(self, handle) -> bool:
        request = self.requests.get(bytes(handle.goal_id.uuid))
        if request is None:
            return False
        self.node.execution.cancel(self.node.stamps.now_s(), request)
        return True

    def state(self) -> JointState:
        """State of the gripper; empty while nobody knows where it is."""
        message, state = JointState(name=[self.settings.joint]), self.node.states.state
        if state is not None:
            to_stamp(message.header.stamp, self.node.stamps.to_stamp(state.time_s))
            message.position = [float(state.q[self.index])]
            if state.v is not None:
                message.velocity = [float(state.v[self.index])]
        return message
