"""An action server for goals that the node's own timer executes, however long their requests are.

rclpy makes a Python object of every point of a request: half a second for 10 000.  That is done in a thread beside the
executor's, which lets go of Python every millisecond; only what came out of it is handled by the executor.  Requests that are
too long become no Python objects at all.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace

import rclpy.task
from action_msgs.msg import GoalInfo
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.waitable import NumberOfEntities

from picker_dynamics.errors import TrajectoryError
from picker_dynamics.execution.goal import require_few
from picker_dynamics.execution.goal_tracking import Outcome, Verdict
from picker_dynamics.execution.worker import Worker

from .c_requests import Counted, CRequests, Text

GoalEvent = rclpy_implementation.GoalEvent

REQUESTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""So many goals may come at once, each is answered; of more the middleware drops the oldest."""

RESULT_TIMEOUT_S = 10
"""How long a result is kept for who asks late; every status message carries all goals that are kept."""


class GoalRequests(CRequests):
    """Requests for goals of an action server; of a goal that is too long comes a TrajectoryError, which says so, in its place."""

    def __init__(self, server, action):
        super().__init__(server, action.Impl.SendGoalService, "rcl_action_take_goal_request", "rcl_action_send_goal_response")

    def _look(self, message: ctypes.Structure):
        try:
            require_short(message)
        except TrajectoryError as error:
            goal_id = self._service.Request().goal_id
            goal_id.uuid = list(message.goal_id.uuid)
            return SimpleNamespace(goal_id=goal_id, goal=error)
        return None


def require_short(message: ctypes.Structure) -> None:
    """Raise a TrajectoryError where a field has more than a goal may have; what is in the entries is not looked at."""
    for slot, _ in message._fields_:
        value = getattr(message, slot)
        if isinstance(value, Counted):
            require_few(value.size, ("characters in " if isinstance(value, Text) else "") + slot)
        elif isinstance(value, ctypes.Structure):
            require_short(value)


class DeferredActionServer(ActionServer):
    """Accepts every goal, and is told later what became of it.

    rclpy would poll an execution that is under way at each turn of the executor; here it is entered when the verdict is known.

    Args:
        on_goal: called with each goal's handle, which executes already.
        on_cancel: called with the handle of a goal that somebody wants to cancel; whether it is still there to be cancelled.
        refuses: called with a goal's request; whether it is rejected at once.

    A request that is too long is a TrajectoryError, which says so, to both; where rclpy is none we know, the message as ever.

    Attributes:
        concluding: how many verdicts the executor has not delivered yet.
    """

    def __init__(
        self,
        node,
        kind,
        name: str,
        on_goal: Callable,
        on_cancel: Callable[..., bool],
        refuses: Callable[..., bool] = lambda _request: False,
    ):
        self.concluding = 0
        self._beside = Worker()
        self._taken: Future | None = None
        self._waits = False  # another request came while one is taken

        def accepted(handle) -> None:
            handle.execute()
            on_goal(handle)

        super().__init__(
            node,
            kind,
            name,
            lambda _handle: kind.Result(),
            handle_accepted_callback=accepted,
            goal_callback=lambda request: GoalResponse.REJECT if refuses(request) else GoalResponse.ACCEPT,
            cancel_callback=lambda handle: CancelResponse.ACCEPT if on_cancel(handle) else CancelResponse.REJECT,
            goal_service_qos_profile=REQUESTS,
            result_service_qos_profile=REQUESTS,
            cancel_service_qos_profile=REQUESTS,
            result_timeout=RESULT_TIMEOUT_S,
        )
        self._requests: GoalRequests | None = None
        with contextlib.suppress(AttributeError, OSError, TypeError, ValueError):
            self._requests = GoalRequests(self._handle, kind)

    # -- requests, beside the executor -----------------------------------------------------------------------

    def get_num_entities(self) -> NumberOfEntities:
        return NumberOfEntities() if self._waits else super().get_num_entities()

    def add_to_wait_set(self, wait_set) -> None:
        if not self._waits:
            super().add_to_wait_set(wait_set)

    def is_ready(self, wait_set) -> bool:
        """Whether there is something to do: requests of all kinds, and a goal's that is taken by now."""
        if self._waits:
            self._is_goal_request_ready = self._is_cancel_request_ready = self._is_result_request_ready = False
            self._is_goal_expired = False
        else:
            super().is_ready(wait_set)
        self._is_taken = self._taken is not None and self._taken.done()
        self._waits = self._taken is not None and not self._is_taken and (self._waits or self._is_goal_request_ready)
        begins = self._is_goal_request_ready and self._taken is None
        return any((self._is_taken, begins, self._is_cancel_request_ready, self._is_result_request_ready, self._is_goal_expired))

    def take_data(self) -> dict:
        """Data that is ready, as in rclpy, but a goal's request is taken beside, and handed on once it is there."""
        begins, self._is_goal_request_ready = self._is_goal_request_ready, False
        data = super().take_data()
        if self._is_taken:
            goal, self._taken = self._taken.result(), None
            if all(goal):
                data["goal"] = goal
        elif begins and self._taken is None:
            self._taken = self._beside(self.take_request)
            self._taken.add_done_callback(lambda _taken: self._node.executor.wake())
        return data

    def take_request(self) -> tuple:
        """Header and message of one goal's request, in the thread beside; None twice where there was none."""
        if self._requests:
            return self._requests.take()
        with self._handle:
            return self._handle.take_goal_request(self._action_type.Impl.SendGoalService.Request)

    def destroy(self) -> None:
        self._beside.close()
        super().destroy()

    async def _execute_goal_request(self, taken: tuple) -> None:
        """As in rclpy, which knows no identifiers but its own."""
        if self._requests is None:
            await super()._execute_goal_request(taken)
            return
        identifier, request = taken
        key, handle = bytes(request.goal_id.uuid), None
        answer = self._action_type.Impl.SendGoalService.Response()
        info = GoalInfo(goal_id=request.goal_id)
        if not self._handle.goal_exists(info) and self._goal_callback(request.goal) == GoalResponse.ACCEPT:
            info.stamp = answer.stamp = self._node.get_clock().now().to_msg()
            handle = self._goal_handles[key] = ServerGoalHandle(self, info, request.goal)
            self._result_futures[key] = rclpy.task.Future()
            self.add_future(self._result_futures[key])
        answer.accepted = handle is not None
        if not self._requests.answer(identifier, answer):
            self._logger.warning("a goal's response cannot be sent: its client may have gone")
        elif handle:
            self._handle.publish_status()
            self._handle_accepted_callback(handle)

    # -- goals -----------------------------------------------------------------------------------------------

    def notify_execute(self, goal_handle, execute_callback) -> None:
        """Note that a goal is executed from now on; nothing to enter yet."""

    def conclude(self, goal_handle, verdict: Verdict, result) -> None:
        """Give the goal its result, once."""
        self.concluding += 1

        def enter(handle):
            self.concluding -= 1
            if verdict.outcome is Outcome.SUCCEEDED:
                handle.succeed()
            elif verdict.outcome is Outcome.CANCELED:
                if not handle.is_cancel_requested:  # somebody else stopped the arm: rclpy has no other way to say so
                    handle._update_state(GoalEvent.CANCEL_GOAL)  # noqa: SLF001
                handle.canceled()
            else:
                handle.abort()
            return result

        super().notify_execute(goal_handle, enter)
