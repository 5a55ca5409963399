"""An action server for goals that the node's own timer executes."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import QoSProfile, ReliabilityPolicy

from picker_dynamics.execution.goal_tracking import Outcome, Verdict

GoalEvent = rclpy_implementation.GoalEvent

REQUESTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""So many goals may come at once, each is answered; of more the middleware drops the oldest."""

RESULT_TIMEOUT_S = 10
"""How long a result is kept for who asks late; every status message carries all goals that are kept."""


class DeferredActionServer(ActionServer):
    """Accepts every goal, and is told later what became of it.

    rclpy would poll an execution that is under way at each turn of the executor; here it is entered when the verdict is known.

    Args:
        on_goal: called with each goal's handle, which executes already.
        on_cancel: called with the handle of a goal that somebody wants to cancel; whether it is still there to be cancelled.
        refuses: called with a goal's request; whether it is rejected at once.

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

    def notify_execute(self, goal_handle, execute_callback) -> None:
        """It executes from now on; nothing to enter yet."""

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
