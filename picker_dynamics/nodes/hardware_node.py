"""Lifecycle node of an arm on servos."""

from __future__ import annotations

from functools import wraps

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from picker_dynamics.controller import parameters
from picker_dynamics.errors import PickerError
from picker_dynamics.session.running_arm import RunningArm

from .runtime import RCLError, node_arguments


def transition(method):
    """Decorate ``on_configure`` and friends: a PickerError becomes a logged FAILURE, anything else a logged ERROR."""

    @wraps(method)
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


class HardwareNode(LifecycleNode):
    """Lifecycle node: configure opens the port, activate takes commands, a fault deactivates.

    Attributes:
        arm: its arm; assign it before the node is spun.
        lifecycle: state by the transitions that were made.
    """

    arm: RunningArm

    def __init__(self) -> None:
        super().__init__(**node_arguments("hardware"))
        self.lifecycle = "unconfigured"
        for service in self.services:
            if service.srv_type is ChangeState:
                service.callback = self._refusing(service.callback)

    def _refusing(self, change):
        """Answer a transition that the present state does not allow with ``success = false``, where rclpy raises."""

        def answer(request, response):
            try:
                return change(request, response)
            except RCLError:
                wanted = request.transition.label or request.transition.id
                self.get_logger().error(f"transition {wanted} is not possible in state {self.lifecycle}")
                response.success = False
                return response

        return answer

    @transition
    def on_configure(self, _state) -> None:
        self.arm.configure()
        self.lifecycle = "inactive"

    @transition
    def on_activate(self, _state) -> None:
        if not self.arm.outputs.engaged:
            self.get_logger().info(self.arm.activate(self.arm.settings[parameters.HARDWARE]["at_rest_pose"]))
        self.lifecycle = "active"

    @transition
    def on_deactivate(self, _state) -> None:
        if self.arm.connection is not None:
            with self.arm.session.turn:
                self.arm.connection.session.release()
        self.lifecycle = "inactive"

    @transition
    def on_cleanup(self, _state) -> None:
        self.arm.disconnect()
        self.lifecycle = "unconfigured"

    on_error = on_shutdown = on_cleanup

    def follow(self) -> None:
        """Follow where the arm is active, or not any more, by somebody else's doing."""
        was, now = self.lifecycle, self.arm.lifecycle
        if (was, now) == ("active", "inactive"):
            self.trigger_deactivate()
        elif (was, now) == ("inactive", "active"):
            self.trigger_activate()
