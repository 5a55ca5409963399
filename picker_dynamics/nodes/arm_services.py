"""The services of whoever drives the joints: stop, reset, enable and relax, each answered with what came of it."""

from __future__ import annotations

from std_srvs.srv import SetBool, Trigger

from picker_dynamics.errors import PickerError

STOP_NEEDS_RESET = "emergency_stop only latches; call reset to clear it"


class ArmServices:
    """Services of ``node``, carried out on its ``session``.

    Args:
        node: has ``session`` (``stop``, ``reset``, ``relax``, ``disable``, each may return what it has to say) and
            ``tell()``, called after each.
        enable: what switches the outputs on.
        stopped: what is said of a stop.
        before: called first, each time.
    """

    def __init__(self, node, enable, *, stopped: str, before=lambda: None):
        self._node, self._enable, self._stopped, self._before = node, enable, stopped, before
        node.create_service(SetBool, "emergency_stop", self._on_stop)
        node.create_service(Trigger, "reset", self._on_reset)
        node.create_service(SetBool, "enable", self._on_enable)
        node.create_service(Trigger, "relax", self._on_relax)

    def _on_stop(self, request, response):
        if not request.data:
            response.success, response.message = False, STOP_NEEDS_RESET
            return response
        return self._answer(response, self._node.session.stop, self._stopped)

    def _on_reset(self, _request, response):
        return self._answer(response, self._node.session.reset, "reset: nothing moves; call enable to go on")

    def _on_relax(self, _request, response):
        return self._answer(response, self._node.session.relax, "relaxed: all outputs off")

    def _on_enable(self, request, response):
        if not request.data:
            return self._answer(response, self._node.session.disable, "outputs off")
        return self._answer(response, self._enable, "")

    def _answer(self, response, action, done: str):
        """Carry out ``action``; success and message tell what came of it."""
        self._before()
        try:
            response.success, response.message = True, action() or done
        except PickerError as error:
            response.success, response.message = False, str(error)
        self._node.tell()
        return response
