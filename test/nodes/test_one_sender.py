"""One sender of a topic: what the others say is refused, in words that stay the same."""

from __future__ import annotations

import pytest
from sensor_msgs.msg import JointState

from picker_dynamics.execution.lease import HeldError
from picker_dynamics.nodes.duplicate_publishers import OneSender


def state(sender: str) -> JointState:
    message = JointState()
    message.header.frame_id = sender
    return message


def counted(number: int) -> dict[str, int]:
    return {"publication_sequence_number": number}


@pytest.mark.parametrize(
    ("followed", "other", "said"),
    [
        ("hardware", "stranger", "joint_states come from two senders: hardware and stranger; one arm, one sender"),
        ("", "", "joint_states come from two senders: one without a name and another; one arm, one sender"),
    ],
)
def test_two_senders_are_said_in_the_same_words_again_and_again(followed, other, said):
    senders = OneSender("joint_states")
    told = set()
    for number in range(1000, 1200):
        senders.hear(state(followed), counted(number))
        for sender in (other, other and f"{other} {number}"):
            with pytest.raises(HeldError) as refusal:
                senders.hear(state(sender), counted(number - 1000))
            told.add(str(refusal.value))
    assert told == {said} and senders.problem == said
