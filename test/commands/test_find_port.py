"""``picker find-port``: the port that goes away when a person unplugs the board; ports are a machine's, hands are the test's."""

import pytest

from picker_dynamics.commands.find_port import found_port
from picker_dynamics.errors import LinkError

UNO, OTHER, HUB = "/dev/ttyACM0", "/dev/ttyUSB0", "/dev/ttyUSB1"


class PortsOfAMachine:
    """A machine with ports, and a person who unplugs some of them when asked."""

    def __init__(self, *ports: str, unplugs: tuple[str, ...] = ()):
        self.there, self.unplugs, self.asked = list(ports), unplugs, ""

    def ports(self) -> dict[str, str]:
        return dict.fromkeys(self.there, "a board")

    def ask(self, question: str) -> str:
        self.asked = question
        self.there = [port for port in self.there if port not in self.unplugs]
        return ""


def test_the_port_that_goes_away_is_the_boards():
    machine = PortsOfAMachine(UNO, OTHER, unplugs=(UNO,))
    said = found_port(machine.ask, machine.ports)
    assert said.startswith(f"the board is on {UNO}:") and f"--port {UNO}" in said
    assert UNO in machine.asked and OTHER in machine.asked and "press Enter" in machine.asked


@pytest.mark.parametrize(("ports", "unplugs", "text"), [((), (), "no serial port"), ((UNO,), (), "no port went away")])
def test_what_tells_nothing_is_said(ports, unplugs, text):
    machine = PortsOfAMachine(*ports, unplugs=unplugs)
    with pytest.raises(LinkError, match=text):
        found_port(machine.ask, machine.ports)
