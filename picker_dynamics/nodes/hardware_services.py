"""Services of an arm's outputs: stop, relax, reset, enable, adopt, accept_board; what was asked before a stop cannot undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import PickerError
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.session.served import STOPS, ServedSession

from .runtime import steady_timer

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


class HardwareServices:
    """The services, on ``node``; a stop acts at once, and is answered when what was asked before can undo it no more.

    Args:
        wake: wakes the executor, from any thread.
        said: is called when a service has changed something.
    """

    def __init__(self, node, arm: RunningArm, report: Report, wake: Callable[[], None], said: Callable[[], None]):
        self._arm, self._session = arm, arm.session
        self._wake, self._said, self._served = wake, said, ServedSession(arm, report)
        self._answers = list[Future]()
        self._session.settles = False
        self._settling = steady_timer(node, SETTLE_PERIOD_S, self._settle)
        self._settling.cancel()
        group = ReentrantCallbackGroup()
        for name, (kind, call, how) in SERVICES.items():
            node.create_service(kind, name, self._answering(call, how), callback_group=group)

    def _answering(self, call: str, how: dict[str, Any]) -> Callable[..., Any]:
        """Make what answers a service."""

        async def answer(request, response):
            settled = Future() if call in STOPS else None
            with self._session.turn:
                try:
                    response.success, response.message = True, self._carry_out(call, how, getattr(request, "data", True))
                    self._answers += [settled] if settled else []
                except PickerError as error:
                    response.success, response.message, settled = False, str(error), None
                self._said()
            if settled is not None:
                await settled
            return response

        return answer

    def _carry_out(self, call: str, how: dict[str, Any], wanted: bool) -> str:
        if not wanted and call == "stop":
            raise PickerError("emergency_stop only latches; call reset to clear it")
        return str(self._served.carry_out(call, how) if wanted else self._served.disable())

    def on_cycle(self, _cycle: Cycle) -> None:
        """Have the executor look when the gate opens; called by the control loop."""
        if self._session.gate.settling and self._settling.is_canceled():
            self._settling.reset()
            self._wake()

    def _settle(self) -> None:
        """Answer stops where it is time."""
        with self._session.turn:
            if not self._session.gate.settle(self._arm.clock.now()):
                return
            self._said()
        self._settling.cancel()
        answers, self._answers = self._answers, []
        for settled in answers:
            settled.set_result(None)
