"""rclpy's lifecycle on Jazzy, made safe: an illegal request is refused, and an exception in a transition is told.

Without this, a ``change_state`` that the present state does not allow raises through ``spin`` and kills the node
(rclpy 7.1.6), and an exception in ``on_activate`` and friends is swallowed without a word.
"""

from __future__ import annotations

import functools

from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from picker_dynamics.errors import PickerError


def state_of(node: LifecycleNode) -> str:
    """Label of the present state: unconfigured, inactive, active, finalized, or that of a transition."""
    return node._state_machine.current_state[1]


def allowed(node: LifecycleNode) -> dict[int, str]:
    """Transitions that the present state allows: id -> label."""
    state = node._state_machine.current_state[0]
    return {transition[0]: transition[1] for transition in node._state_machine.available_transitions if transition[2] == state}


def guard_change_state(node: LifecycleNode) -> None:
    """Let the node's ``change_state`` service answer an illegal request with ``success = false``."""
    service = node._service_change_state
    change_state = service.callback

    def guarded(request, response):
        legal = allowed(node)
        label, number = request.transition.label, request.transition.id
        if (label not in legal.values()) if label else (number not in legal):
            node.get_logger().error(
                f"transition {label or number} is not possible in state {state_of(node)}; possible: "
                + ", ".join(f"{name} ({key})" for key, name in legal.items())
            )
            response.success = False
            return response
        return change_state(request, response)

    service.callback = guarded


def transition(method):
    """Decorate ``on_configure`` and friends: a PickerError becomes a logged FAILURE, anything else a logged ERROR."""

    @functools.wraps(method)
    def told(self, state):
        try:
            method(self, state)
        except PickerError as error:
            self.get_logger().error(f"{method.__name__}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception as error:  # rclpy would swallow it
            self.get_logger().fatal(f"{method.__name__}: {type(error).__name__}: {error}")
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    return told
