"""The hardware node in bad company: what it is told wrongly, each with one clear message; what it says of itself."""

from __future__ import annotations

import re
import time

import hardware_bench
import pytest
import rclpy
from arm_fixtures import picker
from board_on_pty import ALL
from hardware_bench import ACTIVATE, CONFIGURE, OVERLAY, ask, change, entry, hardware, port_of, ros, words
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.board.protocol import Ack, FrameDecoder, Info, MessageType, Nack, Reason, encode
from picker_dynamics.board.session import State
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.nodes.arm import ArmProcess
from picker_dynamics.nodes.hardware import DESCRIPTION_BYTES
from picker_dynamics.nodes.runtime import LATCHED
from picker_dynamics.session.entry import ERROR, OK, WARN

pytestmark = pytest.mark.ros


board = hardware_bench.board


class Strangers:
    """Other nodes, that are gone at the end whatever happens."""

    def __init__(self):
        self._nodes = []

    def __call__(self, node):
        self._nodes.append(node)
        return node

    def close(self) -> None:
        while self._nodes:
            self._nodes.pop().destroy_node()


@pytest.fixture
def stranger():
    made = Strangers()
    yield made
    made.close()


# -- boards that answer oddly ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda info: Ack(info.request, MessageType.HELLO, 0), "the board answers HELLO with ACK"),
        (lambda info: Nack(info.request, MessageType.HELLO, Reason.UNKNOWN_TYPE, 0), "the board refuses HELLO"),
        (lambda info: Nack(info.request, MessageType.HELLO, Reason.FAULT, 1), "the board refuses HELLO"),
    ],
    ids=["ack", "nack", "fault"],
)
def test_a_board_that_greets_oddly_is_named_and_greeted_again(board, answer, said):
    honest, decoder = board.firmware.transmit, FrameDecoder()

    def oddly() -> bytes:
        heard = decoder.feed(honest())
        return b"".join(encode(answer(one) if isinstance(one, Info) else one, sequence) for sequence, one in heard)

    board.firmware.transmit = oddly
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: said in node.session.problem, "the reason")
        assert node.lifecycle_state == "inactive" and node.arm.connection.failure is None
        board.firmware.transmit = honest
        spun.until(lambda: node.lifecycle_state == "active", "another try")


# -- robot_description ---------------------------------------------------------------------------------


def test_a_robot_description_of_another_arm_is_told_and_nothing_is_enabled(board, stranger):
    wider = picker().urdf.replace('upper="0.45"', 'upper="2.0"')
    assert wider != picker().urdf
    with hardware(port_of(board)) as (node, spun):
        other = stranger(rclpy.create_node("publisher"))
        out = other.create_publisher(String, "robot_description", LATCHED)
        out.publish(String(data=wider))
        spun.until(lambda: node.report.description_problem, "the message")
        change(node, CONFIGURE)
        spun.until(lambda: node.session.state is State.IDLE, "connection")
        said = "robot_description: upper limit of elbow is 114.6 deg, this arm's is 25.8 deg"
        assert change(node, ACTIVATE) is False
        assert (entry(node, "robot description").level, entry(node, "robot description").message) == (ERROR, said)
        assert ask(node, SetBool, "enable", SetBool.Request(data=True)).message == said
        assert board.firmware.owned == 0
        out.publish(String(data=DESCRIPTION_BYTES * "x"))
        spun.until(lambda: "bytes is ignored, at most" in node.report.description_problem, "one that is too long to be looked at")
        assert change(node, ACTIVATE) is False
        out.publish(String(data=picker().urdf))
        spun.until(lambda: node.report.description_problem == "", "agreement")
        assert entry(node, "robot description").level == OK
        assert change(node, ACTIVATE) is True
        out.publish(String(data=wider))
        spun.until(lambda: node.lifecycle_state == "inactive", "holding")
        assert said in node.session.problem and board.firmware.live == ALL
        stranger.close()
        spun.until(lambda: node.report.description_problem is None, "its end")
        assert entry(node, "robot description").message == "nobody publishes one"
        assert change(node, ACTIVATE) is True


# -- parameters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "parameters", "named"),
    [
        ("hardware", {"baud": "fast"}, "baud"),
        ("hardware", {"baud": 10}, "baud"),
        ("hardware", {"state_rate_hz": 0.0}, "state_rate_hz"),
        ("hardware", {"state_rate_hz": "'50'"}, "state_rate_hz"),
        ("hardware", {"autostart": 1}, "autostart"),
        ("hardware", {"port": 7}, "port"),
        ("hardware", {"on_shutdown": "drop"}, "on_shutdown is 'drop', must be one of hold, park, relax"),
        ("hardware", {"on_overheat": "panic"}, "on_overheat is 'panic', must be one of warn, stop"),
        ("hardware", {"state_source": "measured"}, "state_source is 'measured', must be one of modelled"),
        ("hardware", {"temperature_limit_c": 500.0}, "temperature_limit_c"),
        (
            "hardware",
            {"temperature_limit_c": 40.0, "ambient_c": 45.0},
            "temperature_limit_c is 40 deg C, must be above ambient_c, 45",
        ),
        ("hardware", {"servos": "/nowhere/servos.yaml"}, "servos is '/nowhere/servos.yaml' for hardware"),
        ("trajectory_controller", {"servos": "/nowhere/servos.yaml"}, "cannot read servo map /nowhere/servos.yaml"),
        ("trajectory_controller", {"rate_hz": 5.0}, "rate_hz"),
        ("trajectory_controller", {"rate_hz": "often"}, "rate_hz"),
        ("trajectory_controller", {"tip_speed_limit": -1.0}, "tip_speed_limit"),
        ("trajectory_controller", {"lead_s": ".nan"}, "lead_s"),
        ("dynamics", {"compensation": "most"}, "compensation|most"),
        ("dynamics", {"payload.mass": -1.0}, "payload.mass"),
        ("dynamics", {"payload.mass": "heavy"}, "payload.mass"),
        ("dynamics", {"payload.com": "[0.0, 0.1]"}, "payload.com has 2 numbers, expected 3"),
    ],
    ids=str,
)
def test_a_parameter_that_does_not_fit_at_the_start_is_named_in_one_line(domain, part, parameters, named):
    given = {f"{part}:{name}": value for name, value in parameters.items()}
    with ros(*words({"servo_overlay": OVERLAY, **given})), pytest.raises(Exception) as caught:
        ArmProcess([], alone=False)
    assert isinstance(caught.value, (ConfigurationError, ValueError)), repr(caught.value)
    assert re.search(named, str(caught.value)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("on_shutdown", "drop", "on_shutdown is 'drop', must be one of hold, park, relax"),
        ("on_overheat", "panic", "on_overheat is 'panic', must be one of warn, stop"),
        ("on_overheat", 3, "type"),
        ("temperature_limit_c", 500.0, "range"),
        ("temperature_limit_c", 31.0, "must be above ambient_c, 35"),
        ("temperature_limit_c", float("nan"), "range|must be above"),
        ("temperature_limit_c", "hot", "type"),
        ("port", "/dev/ttyACM9", "read-only|read only"),
        ("nonsense", 1, "not declared|undeclared"),
    ],
    ids=str,
)
def test_a_parameter_that_does_not_fit_while_running_is_refused_and_changes_nothing(board, name, value, said):
    with hardware(port_of(board), autostart=True, ambient_c=35.0) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        before = {key: node.get_parameter(key).value for key in ("on_shutdown", "on_overheat", "temperature_limit_c", "port")}
        try:
            answer = node.set_parameters([Parameter(name, value=value)])[0]
            refused, reason = not answer.successful, answer.reason
        except rclpy.exceptions.ParameterNotDeclaredException:
            refused, reason = True, "not declared"
        assert refused and re.search(said, reason, re.IGNORECASE), reason
        assert before == {key: node.get_parameter(key).value for key in before}
        assert node.session.budget.limit_c == 75.0 and node.lifecycle_state == "active"


# -- heat, and what is said ----------------------------------------------------------------------------


@pytest.mark.parametrize("reaction", ["warn", "stop"])
def test_a_servo_at_its_temperature_limit_is_named_and_stops_the_arm_where_that_is_wanted(board, reaction):
    with hardware(port_of(board), autostart=True, on_overheat=reaction) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        node.session.budget.celsius[1] = 71.0
        assert entry(node, "temperature").level == WARN and not node.session.stop_latched
        node.set_parameters([Parameter("temperature_limit_c", value=60.0)])
        spun.spin(1.2)
        told = entry(node, "temperature")
        assert told.level == ERROR and told.message.startswith("shoulder is at 71 deg C (estimated), limit 60")
        assert node.session.stop_latched is (reaction == "stop")
        if reaction == "stop":
            assert node.session.problem.startswith("stopped: shoulder is at 71 deg C")
            answer = ask(node, SetBool, "enable", SetBool.Request(data=True))
            assert not answer.success and "stop is latched" in answer.message
            spun.spin(0.1)
            assert board.firmware.live == ALL, "it holds: cutting the pulses would let it fall"
            assert ask(node, Trigger, "reset", Trigger.Request()).success


def test_diagnostics_have_an_entry_for_each_part_with_its_figures(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        spun.until(lambda: node.session.budget.celsius[1] > 25.0, "a servo above 25 °C")
        node.report.refresh()
        node.report.refresh()
        entries = {
            one.name.removeprefix("hardware: "): one for one in node.report.entries.values() if one.name.startswith("hardware: ")
        }
        assert set(entries) == {"board", "link", "queue", "timing", "temperature", "supply", "joint state", "robot description"}
        assert all(one.level == OK for one in entries.values()), [(name, one.message) for name, one in entries.items()]
        figures = {name: one.values for name, one in entries.items()}
        assert figures["board"]["boot_id"] == "7" and int(figures["board"]["commands_sent"]) > 0
        assert {"round_trip_p99_ms", "latency_ms", "losses"} <= set(figures["link"])
        assert int(figures["queue"]["rejected"]) == 0
        assert 0.15 < float(figures["temperature"]["stall_share.shoulder"]) < 0.3, "of the motor"
        assert figures["temperature"]["provenance"] == "estimated"
        assert "shoulder.thermal_s" in figures["temperature"]["assumed"]
        assert 0.5 < float(figures["supply"]["ampere"]) < 3.0 and figures["supply"]["supply_gives_ampere"] == "5.0"
        assert figures["joint state"]["provenance"] == "modelled"


def test_a_supply_that_is_measured_is_told_and_one_that_cannot_be_is_a_warning(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        spun.until(lambda: entry(node, "supply").values["source_volt"] in ("6.04", "6.05"), "6 V and what the arm takes of them")
        board.firmware.set_supply(5400)
        spun.until(lambda: node.session.supply.source < 0.92, "the supply")
        assert node.session.model.source == pytest.approx(node.session.supply.source, abs=1e-3)
        for reading, said in ((0, "is not measured; 6 V are assumed"), (20_000, "reads 20.00 V, must be 3.6 ... 8.4 V")):
            board.firmware.set_supply(reading)
            spun.until(lambda words=said: words in entry(node, "supply").message, "the warning")
            assert entry(node, "supply").level == WARN and node.session.state is State.ACTIVE
        spun.until(lambda: node.session.supply.source > 0.98, "the nominal voltage")


def test_the_state_has_no_provenance_where_nobody_knows_it(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        ask(node, Trigger, "relax", Trigger.Request())
        spun.until(lambda: board.firmware.live == 0 and node.session.held is None, "relax")
        spun.spin(0.1)
        assert node.arm.controller.state is None
        assert (entry(node, "joint state").level, entry(node, "joint state").values["provenance"]) == (WARN, "none")
        assert float(entry(node, "supply").values["ampere"]) == 0.0


def test_refused_set_points_are_a_warning_once(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        assert entry(node, "queue").level == OK
        link = node.session.link
        link.send_setpoint(link.board_time_us(time.monotonic() - 1.0), link.telemetry.pulses)
        spun.until(lambda: link.telemetry.rejected == 1, "a refusal")
        told = entry(node, "queue")
        assert told.level == WARN and told.message == "0 times empty in motion, 1 set-points refused (PAST)"
        assert told.values["refused_past"] == "1"
        assert entry(node, "queue").level == OK
