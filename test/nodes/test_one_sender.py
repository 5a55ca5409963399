"""One sender of a topic: what the others say is refused, in words that stay the same."""

from __future__ import annotations

import contextlib

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from waiting import until

from picker_dynamics.execution.lease import HeldError
from picker_dynamics.nodes.duplicate_publishers import OnePublisher, OneSender, sources
from picker_dynamics.nodes.runtime import LATCHED


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


@pytest.mark.parametrize("alone", [True, False])
def test_who_is_expected_comes_first_even_after_a_silence(alone, monkeypatch):
    """The controller of an arm that is stopped says nothing: nobody else has the arm for that."""
    now_s = [100.0]
    monkeypatch.setattr("picker_dynamics.nodes.duplicate_publishers.time.monotonic", lambda: now_s[0])
    senders = OneSender("references", "left/trajectory_controller", lambda: alone)
    if alone:
        senders.hear(state("stranger"), counted(5))
    else:
        with pytest.raises(HeldError, match="two senders: left/trajectory_controller and stranger"):
            senders.hear(state("stranger"), counted(5))
    senders.hear(state("left/trajectory_controller"), counted(1))
    with pytest.raises(HeldError, match="two senders: left/trajectory_controller and stranger"):
        senders.hear(state("stranger"), counted(6))
    now_s[0] += 10.0
    if alone:
        senders.hear(state("stranger"), counted(7))
        senders.hear(state("left/trajectory_controller"), counted(2))
    for _ in range(3):
        with pytest.raises(HeldError):
            senders.hear(state("stranger"), counted(8))
    senders.hear(state("left/trajectory_controller"), counted(3))


class Graph:
    """An ear, and nodes that publish what it hears."""

    def __init__(self, stack: contextlib.ExitStack):
        context = Context()
        rclpy.init(context=context)
        stack.callback(context.try_shutdown)
        self.stack = stack
        self.context, self.executor = context, SingleThreadedExecutor(context=context)
        self.taken: list[str] = []
        self.said: list[str] = []
        self.ear_node = self.node("ear")
        self.ear = OnePublisher(
            self.ear_node, JointState, "pose", lambda message: self.taken.append(message.header.frame_id), self.said.append
        )

    def node(self, name: str):
        node = rclpy.create_node(name, context=self.context)
        self.executor.add_node(node)
        self.stack.callback(node.destroy_node)
        return node

    def publisher(self, name: str):
        return self.node(name).create_publisher(JointState, "pose", LATCHED)

    def until(self, condition) -> None:
        until(condition, lambda: f"{(self.taken, self.said)}; more", step=lambda: self.executor.spin_once(0.02))


@pytest.fixture
def graph(domain):
    with contextlib.ExitStack() as stack:
        yield Graph(stack)


@pytest.mark.ros
def test_with_a_second_publisher_neither_is_taken_and_the_one_that_stays_says_its_last_word_again(graph):
    own, there = graph.publisher("own"), graph.node("stranger")
    stranger = there.create_publisher(JointState, "pose", LATCHED)
    own.publish(state("first"))
    graph.until(lambda: graph.said)
    assert graph.said == ["pose is published by /own and /stranger: one arm, one sender; holding until one is gone"]
    stranger.publish(state("false"))
    own.publish(state("last"))
    there.destroy_publisher(stranger)
    graph.until(lambda: graph.taken)
    assert graph.taken == ["last"] and graph.said[1:] == [""] and not graph.ear.problem


@pytest.mark.ros
def test_one_that_takes_the_place_of_a_silent_namesake_is_taken_and_two_that_speak_are_not(graph):
    dead = graph.publisher("own")
    dead.publish(state("a"))
    graph.until(lambda: graph.taken == ["a"])
    anew = graph.publisher("own")
    graph.until(lambda: sources(graph.ear_node, "pose") == ["/own", "/own"])
    dead.publish(state("b"))
    graph.until(lambda: graph.taken == ["a", "b"])
    anew.publish(state("anew"))
    graph.until(lambda: graph.taken[-1] == "anew" or graph.said)
    for number in range(50):
        for one in (dead, anew):
            one.publish(state(str(number)))
            for _ in range(3):
                graph.executor.spin_once(0.01)
    assert graph.said == ["pose is published by /own and /own: one arm, one sender; holding until one is gone"]
    assert len(graph.taken) < 10
