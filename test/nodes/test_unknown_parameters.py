"""Parameters given at the start that the node does not have: ROS ignores them without a word, the nodes do not."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from waiting import python

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.nodes.runtime import ALIKE, declare, require_known_parameters
from picker_dynamics.resources import resource

NODES = ("trajectory_controller", "dynamics", "hardware", "torque_control", "torque_arm_sim")


@pytest.fixture(scope="module")
def context(domain):
    context = Context()
    rclpy.init(context=context)
    yield context
    rclpy.shutdown(context=context)


@pytest.fixture
def made(context):
    """Makes nodes that have two parameters, and were given these."""
    with contextlib.ExitStack() as ends:

        def make(*given: str) -> Node:
            words = ["--ros-args", *(word for one in given for word in ("-p", one))]
            node = Node("probe", context=context, enable_rosout=False, start_parameter_services=False, cli_args=words)
            ends.callback(node.destroy_node)
            declare(node, "rate_hz", 100.0, "[Hz]")
            declare(node, "payload.mass", 0.0, "[kg]")
            return node

        yield make


@pytest.mark.parametrize(
    ("given", "name", "meant"),
    [
        (["rate_hs:=50.0"], "rate_hs", "rate_hz"),
        (["rate_hz:=50.0", "payload.mas:=0.1"], "payload.mas", "payload.mass"),
        (["rate_hz:=50.0", "Rate_hz:=10.0"], "Rate_hz", "rate_hz"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_one_that_is_meant(made, given, name, meant):
    node = made(*given)
    with pytest.raises(ConfigurationError, match=f"parameter {name} does not exist, did you mean {meant}\\?") as caught:
        require_known_parameters(node)
    assert caught.value.subject == name


def test_names_that_may_be_another_nodes_are_told(made, capfd):
    require_known_parameters(made("rate_hz:=50.0", "port:=x", "use_sim_time:=false", "qos_overrides./a.publisher.depth:=2"))
    assert capfd.readouterr().err.count("not parameters of this node, ignored: port\n") == 1


@pytest.mark.parametrize("others", [(), ("baud:=9600", "compensation:=full", "on_shutdown:=hold")], ids=["own", "other arms'"])
def test_what_exists_and_what_the_packages_own_file_gives_to_nodes_of_other_arms_is_not_mentioned(made, capfd, others):
    require_known_parameters(made("rate_hz:=50.0", *others))
    assert capfd.readouterr().err == ""


def test_simulated_time_is_refused_at_the_start_and_later(made):
    node = made("use_sim_time:=true")
    with pytest.raises(ConfigurationError, match="use_sim_time is true: the arm is driven by this machine's steady clock"):
        require_known_parameters(node)
    node = made("rate_hz:=50.0")
    require_known_parameters(node)
    for wanted, successful in ((True, False), (False, True)):
        answer = node.set_parameters([Parameter("use_sim_time", value=wanted)])[0]
        assert answer.successful is successful and ("steady clock" in answer.reason) is not successful
        assert node.get_parameter("use_sim_time").value is False and not node.get_clock().ros_time_is_active


def test_no_name_of_a_node_looks_like_a_misspelt_one_of_another():
    """Else a file with parameters for all nodes (/**) could not be used."""
    text = resource("docs/ros.md").read_text(encoding="utf-8")
    names = {
        node: set(re.findall(r"^\| `([\w.]+)` \| (?:bool|int|double|string)", section.partition("\n## ")[0], re.MULTILINE))
        for node in NODES
        for section in [text.split(f"\n### {node}")[1].partition("\n### ")[0]]
    }
    assert all(len(own) > 4 for own in names.values())
    for one, other in itertools.permutations(NODES, 2):
        for name in names[one] - names[other]:
            alike = difflib.get_close_matches(name, names[other], 1, ALIKE)
            assert not alike, f"{name} of {one} looks like {alike[0]} of {other}"


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["trajectory_controller", "--ros-args", "-p", "rate_hs:=50.0"],
            "parameter rate_hs does not exist, did you mean rate_hz?",
        ),
        *(
            (words, "use_sim_time is true: the arm is driven by this machine's steady clock, not by /clock; leave it false")
            for words in (
                *([name, "--ros-args", "-p", "use_sim_time:=true"] for name in (*NODES, "markers")),
                ["one_process", "--node", "trajectory_controller", "--ros-args", "-p", "use_sim_time:=true", "--"],
            )
        ),
    ],
    ids=lambda value: f"{value[0]} {value[-1]}" if isinstance(value, list) else "",
)
def test_a_node_ends_with_one_line(domain, words, said):
    ended = python("-m", f"picker_dynamics.nodes.{words[0]}", *words[1:])
    assert ended.returncode == ConfigurationError.exit_code and "Traceback" not in ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [f"error: {said}"]
