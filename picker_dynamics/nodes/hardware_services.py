"""Services of an arm's outputs: stop, relax, reset, enable, adopt; what was asked before a stop cannot undo it."""

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
from picker_dynamics.session.served import ServedSession

from .runtime import steady_timer

SETTLE_PERIOD_S = 0.02
"""How often one looks whether a stop is to be answered, while one is not [s]."""


class HardwareServices:
    """The services, on ``node``.

    Args:
        wake: wakes the executor, from any thread.
        said: is called when a service has changed something.
    """

    def __init__(self, node, arm: RunningArm, report: Report, wake: Callable[[], None], said: Callable[[], None]):
        self._node, self._arm, self._session, self._outputs = node, arm, arm.session, arm.outputs
        self._wake, self._said, served = wake, said, ServedSession(arm, report)
        self._group, self._answers = ReentrantCallbackGroup(), list[Future]()
        self._latched: tuple[bool, str] = (False, "")
        self._session.settles = False
        self._settling = steady_timer(node, SETTLE_PERIOD_S, self._settle)
        self._settling.cancel()
        self._serve(SetBool, "emergency_stop", lambda request: served.stop() if request.data else _latches_only(), stops=True)
        self._serve(Trigger, "relax", lambda _: served.relax(), stops=True)
        self._serve(Trigger, "reset", lambda _: served.reset())
        self._serve(SetBool, "enable", lambda request: served.enable(True) if request.data else served.disable())
        self._serve(Trigger, "adopt", lambda _: served.enable(False))

    def _serve(self, kind: Any, name: str, carry_out: Callable[[Any], str], stops: bool = False) -> None:
        """Offer a service; one that ``stops`` acts at once, and answers when what was asked before cannot undo that any more."""

        async def answer(request, response):
            settled: Future | None = None
            with self._session.turn:
                try:
                    response.success, response.message = True, carry_out(request)
                    if stops:
                        settled = Future()
                        self._answers.append(settled)
                except PickerError as error:
                    response.success, response.message = False, str(error)
                self._said()
            if settled is not None:
                await settled
            return response

        self._node.create_service(kind, name, answer, callback_group=self._group)

    def on_cycle(self, cycle: Cycle) -> None:
        """Close the gate at a new stop or fault, and have the executor look when it opens; called by the control loop."""
        gate, latched = self._session.gate, (self._outputs.stop_latched, self._outputs.fault_latched)
        if latched != self._latched and any(latched) and not gate.settling:
            gate.close(cycle.now_s, for_s=0.0)
        self._latched = latched
        if gate.settling and self._settling.is_canceled():
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


def _latches_only() -> str:
    raise PickerError("emergency_stop only latches; call reset to clear it")
