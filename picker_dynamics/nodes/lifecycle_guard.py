"""Guarded lifecycle node: an illegal request is refused, and an exception in a transition is logged, unlike in rclpy on Jazzy.

Without this, a request that the present state does not allow raises through ``spin`` and kills the node
(rclpy 7.1.6), and an exception in ``on_activate`` and friends is swallowed without a word.
"""

from __future__ import annotations

import functools

from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from picker_dynamics.errors import PickerError


class GuardedLifecycleNode(LifecycleNode):
    """A LifecycleNode whose ``change_state`` service answers an illegal request with ``success = false``."""

    def __init__(self, name: str, **options):
        super().__init__(name, **options)
        self._change_state = self._service_change_state.callback
        self._service_change_state.callback = self.change_state

    @property
    def lifecycle_state(self) -> str:
        """Label of the present state: unconfigured, inactive, active, finalized, or that of a transition."""
        return self._state_machine.current_state[1]

    @property
    def allowed_transitions(self) -> dict[int, str]:
        """Transitions that the present state allows: id -> label."""
        state = self._state_machine.current_state[0]
        return {one[0]: one[1] for one in self._state_machine.available_transitions if one[2] == state}

    def change_state(self, request, response):
        """Answer a request of the service."""
        legal = self.allowed_transitions
        label, number = request.transition.label, request.transition.id
        if (label in legal.values()) if label else (number in legal):
            return self._change_state(request, response)
        self.get_logger().error(
            f"transition {label or number} is not possible in state {self.lifecycle_state}; possible: "
            + ", ".join(f"{name} ({key})" for key, name in legal.items())
        )
        response.success = False
        return response


def transition(method):
    """Decorate ``on_configure`` and friends: a PickerError becomes a logged FAILURE, anything else a logged ERROR."""

    @functools.wraps(method)
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
