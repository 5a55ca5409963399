"""The simulated bus behind a pseudo-terminal: its bytes by a real port, its time made by the test; and as a process."""

import pytest
from ros_graph import own_domain, running_graph

from picker_dynamics.board.link import SerialPort
from picker_dynamics.bringup import bringup
from picker_dynamics.bus import frames
from picker_dynamics.bus.dialects import STS
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.session.remote import RemoteSession
from picker_dynamics.sim.bus_in_memory import SERVO_S, BusInMemory
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.real_time import CATCH_UP_S
from picker_dynamics.sim.virtual_bus import VirtualBus

SO101 = str(resource("urdf/so101.urdf"))
ARM, SERVOS = servo_arm.load(SO101, "", "ideal")
POSITION = STS.span("present_position", "present_position")


@pytest.fixture
def bus(tmp_path):
    made = VirtualBus(BusInMemory(Plant(ARM, SERVOS, support=True, quantise=False, dt=SERVO_S), SERVOS), tmp_path / "tty")
    yield made
    made.port.close()


@pytest.fixture
def port(bus):
    with_it = SerialPort(str(bus.port.link), 1_000_000)
    yield with_it
    with_it.close()


def asked(bus, port, request: bytes, seconds: float = 0.01) -> list[frames.Frame]:
    """Replies to a request, ``seconds`` of the test's time later."""
    port.send(request)
    bus.catch_up(bus.time_s + seconds)
    return frames.take(bytearray(port.read(0.2)), POSITION[1])[0]


def goal(servo: int, ticks: int) -> bytes:
    address, block = STS.block({"acceleration": 0, "goal": ticks, "goal_time": 0, "speed": 1000, "torque_limit": 1000})
    return frames.sync_write(address, {servo: block})


def test_servos_answer_by_the_terminal_and_a_goal_moves_the_arm(bus, port):
    replies = asked(bus, port, frames.sync_read((1, 6), *POSITION))
    assert [one.id for one in replies] == [1, 6] and STS.decode("present_position", replies[0].data, POSITION[0]) == 2048
    assert bus.answer({"command": "truth"})["live"] == 0
    port.send(goal(1, 2148))
    bus.catch_up(bus.time_s + 1.0)
    (reply,) = asked(bus, port, frames.read(1, *POSITION))
    assert STS.decode("present_position", reply.data, POSITION[0]) == pytest.approx(2148, abs=4)
    truth = bus.answer({"command": "truth"})
    assert truth["live"] == 1 and truth["q"][0] == pytest.approx(100 * STS.step, abs=4 * STS.step), "within the servo's deadband"


def test_goals_stand_while_its_process_stands_still_and_what_cannot_be_made_up_is_left_out(bus, port):
    port.send(goal(1, 2148))
    bus.catch_up(5.0)
    assert bus.skipped_s == pytest.approx(5.0 - CATCH_UP_S) and bus.plant.time == pytest.approx(CATCH_UP_S)
    assert [one.id for one in asked(bus, port, frames.read(3, *POSITION))] == [3]


def test_its_power_can_be_cut_its_cable_pulled_and_its_bytes_damaged(bus, port):
    bus.answer({"command": "power", "on": False})
    assert asked(bus, port, frames.read(1, *POSITION)) == []
    bus.answer({"command": "power", "on": True})
    bus.answer({"command": "wire", "drop": 1.0})
    assert asked(bus, port, frames.read(1, *POSITION)) == []
    bus.answer({"command": "wire"})
    assert [one.id for one in asked(bus, port, frames.read(1, *POSITION))] == [1]
    bus.answer({"command": "supply", "volt": 5.0})
    bus.catch_up(bus.time_s + 0.01)
    assert asked(bus, port, frames.read(1, *POSITION))[0].code == 1
    assert bus.answer({"command": "truth"})["faults"] == ["voltage"]
    bus.answer({"command": "unplug", "seconds": 1.0})
    bus.catch_up(bus.time_s + 0.1)
    assert not bus.port.link.is_symlink()
    bus.catch_up(bus.time_s + 1.1)
    assert bus.port.link.is_symlink()


def test_an_arm_on_a_bus_has_no_uno():
    with pytest.raises(ConfigurationError, match="so101.*on a bus"):
        bringup.graph(bringup.Options(arm="so101", board="avr"))


@pytest.mark.ros
def test_a_simulated_so101_comes_up_on_its_bus_and_measures(tmp_path):
    """Its reason to be a process: the port, the bytes and both programs as they run on the robot.  Nothing moves."""
    with own_domain(), running_graph(tmp_path, urdf=SO101) as running:
        running.stands()
        with RemoteSession() as client:
            told = client.call("facts")["joints"]
            assert client.hardware["provenance"] == "measured"
        truth = running.board.truth()
        assert truth.live == 0b111111 and truth.state == "BUS"
        assert [told[joint]["position"] for joint in ARM.joint_names] == pytest.approx(truth.q, abs=2 * STS.step)
