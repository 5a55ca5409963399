"""What only one node may publish is given once, and is free again with the process that had it, however that ended."""

import signal
import subprocess
import sys

import pytest
from picker_dynamics.nodes.claims import DOMAIN, EXCLUSIVE, Claim, OccupiedError, require_free
from ros_graph import own_domain

from picker_dynamics.errors import ConfigurationError

HOLD = """
import sys
from picker_dynamics.nodes.claims import Claim
claim = Claim(int(sys.argv[1]), sys.argv[2])
print("has it", flush=True)
sys.stdin.read()  # ends with who started it
"""
TOPIC = "/arm_controller/reference"
LONG = "/" + "a_long_namespace/" * 20 + "arm_controller/reference"


@pytest.fixture
def domain():
    """The tests of claims alone need no ROS, but a domain that nobody else is in."""
    with own_domain() as environment:
        yield int(environment["ROS_DOMAIN_ID"])


@pytest.mark.parametrize("topic", [TOPIC, LONG])
@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGTERM])
def test_a_claim_of_another_process_is_refused_by_its_number_and_free_when_that_has_ended(domain, topic, ends):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(domain), topic], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout.readline()
            for _ in range(20):
                with pytest.raises(
                    OccupiedError, match=rf"{topic} in ROS domain {domain} is published by process {process.pid} already"
                ):
                    Claim(domain, topic)
            Claim(domain + 1000, topic).close()
            Claim(domain, "/left" + topic).close()
            process.send_signal(signal.SIGSTOP)
            with pytest.raises(OccupiedError, match=str(process.pid)):
                Claim(domain, topic)
        finally:
            process.send_signal(signal.SIGCONT)
            process.send_signal(ends)
    Claim(domain, topic).close()


def test_what_was_closed_is_free_and_long_names_that_differ_at_their_end_are_two(domain):
    claims = [Claim(domain, LONG), Claim(domain, LONG + "s")]
    with pytest.raises(OccupiedError):
        Claim(domain, LONG)
    for claim in claims:
        claim.close()
        claim.close()
    Claim(domain, LONG).close()


@pytest.mark.parametrize("topic", EXCLUSIVE.values())
@pytest.mark.parametrize("namespace", ["", "left", "/left", "a/b/"])
def test_up_ends_before_it_starts_anything_where_a_graph_runs(domain, namespace, topic):
    claim = Claim(domain, "/" + "/".join(filter(None, (namespace.strip("/"), topic))))
    try:
        with pytest.raises(OccupiedError):
            require_free(namespace)
        require_free("right")
    finally:
        claim.close()
    require_free(namespace)


@pytest.mark.parametrize("value", ["xx", "-1", "233", "1.5", "\u0662", "9" * 5000])
def test_a_domain_that_does_not_exist_is_named(monkeypatch, value):
    monkeypatch.setenv(DOMAIN, value)
    with pytest.raises(ConfigurationError, match="ROS_DOMAIN_ID is .*, must be a whole number from 0 to 232"):
        require_free("")
