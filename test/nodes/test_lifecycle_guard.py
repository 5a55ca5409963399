"""rclpy's lifecycle made safe: what would kill a node is answered, what would be swallowed is told."""

from __future__ import annotations

import hardware_bench
import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import TransitionCallbackReturn

from picker_dynamics.errors import LinkError
from picker_dynamics.nodes.lifecycle_guard import GuardedLifecycleNode, transition

pytestmark = pytest.mark.ros


class Fragile(GuardedLifecycleNode):
    """Fails as it is told to."""

    def __init__(self):
        super().__init__("fragile")
        self.failure: Exception | None = None

    @transition
    def on_configure(self, _state) -> None:
        if self.failure is not None:
            raise self.failure

    @transition
    def on_error(self, _state) -> None:
        self.failure = None


@pytest.fixture
def node(domain):
    rclpy.init()
    made = Fragile()
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def ask(node, number: int = 0, label: str = "") -> bool:
    """What the node's change_state service answers."""
    request = ChangeState.Request(transition=Transition(id=number, label=label))
    return hardware_bench.ask(node, ChangeState, "change_state", request).success


@pytest.mark.parametrize(
    "words", [{"number": Transition.TRANSITION_ACTIVATE}, {"number": 99}, {"label": "activate"}, {"label": "dance"}], ids=str
)
def test_an_illegal_request_is_refused_with_what_is_possible(node, words, capfd):
    assert ask(node, **words) is False
    assert node.lifecycle_state == "unconfigured"
    assert "is not possible in state unconfigured; possible: configure (1)" in capfd.readouterr().err


def test_a_legal_request_is_carried_out_by_number_or_label(node):
    assert ask(node, number=Transition.TRANSITION_CONFIGURE) is True
    assert node.lifecycle_state == "inactive"
    assert ask(node, label="activate") is True
    assert node.lifecycle_state == "active" and "deactivate" in node.allowed_transitions.values()


def test_an_expected_error_fails_the_transition_and_is_told(node, capfd):
    node.failure = LinkError("no serial port /dev/ttyACM9")
    assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
    assert node.lifecycle_state == "unconfigured"
    assert "on_configure: no serial port /dev/ttyACM9" in capfd.readouterr().err


def test_an_unexpected_error_is_told_too_and_the_node_can_start_anew(node, capfd):
    node.failure = ZeroDivisionError("by zero")
    assert node.trigger_configure() is TransitionCallbackReturn.ERROR
    assert "on_configure: ZeroDivisionError: by zero" in capfd.readouterr().err
    assert node.lifecycle_state == "unconfigured", "on_error has cleaned up"
    assert ask(node, number=Transition.TRANSITION_CONFIGURE) is True
