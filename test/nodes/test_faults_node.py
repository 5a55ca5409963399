"""The hardware node in bad company: what it is told wrongly, each with one clear message; what it says of itself."""

from __future__ import annotations

import gc
import re
import time

import hardware_bench
import pytest
import rclpy
from arm_fixtures import picker
from board_on_pty import ALL
from hardware_bench import ACTIVATE, CONFIGURE, OVERLAY, Spun, Strangers, ask, change, entry, hardware, port_of, ros, words
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.board.protocol import Ack, FrameDecoder, Info, MessageType, Nack, Reason, encode
from picker_dynamics.board.session import State
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.nodes.diagnostics import ERROR, OK, WARN, values_of
from picker_dynamics.nodes.dynamics import Dynamics
from picker_dynamics.nodes.hardware import DESCRIPTION_BYTES, Hardware
from picker_dynamics.nodes.runtime import LATCHED
from picker_dynamics.nodes.trajectory_controller import TrajectoryController

pytestmark = pytest.mark.ros


board = hardware_bench.board


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
        assert node.lifecycle_state == "inactive" and node.failure is None and not node.gave_up
        board.firmware.transmit = honest
        spun.until(lambda: node.lifecycle_state == "active", "another try")


# -- who is in command ---------------------------------------------------------------------------------


def test_two_nodes_on_one_port_the_second_says_busy_and_the_first_does_not_notice(board):
    with ros(*words({"port": port_of(board), "servo_overlay": OVERLAY, "autostart": True})):
        first = Hardware()
        spun = Spun(first)
        spun.until(lambda: first.lifecycle_state == "active", "activation")
        second = Hardware(namespace="second")
        both = Spun(first, second)
        both.until(lambda: "busy" in second.session.problem, "the refusal")
        assert f"{port_of(board)} is busy: another program has it open" in second.session.problem
        frames = first.session.link.statistics.frames_received
        both.spin(0.7)  # it tries again, and again
        statistics = first.session.link.statistics
        assert first.lifecycle_state == "active" and statistics.losses == statistics.frames_damaged == 0
        assert statistics.frames_received > frames and board.firmware.boot_id == 7
        assert second.lifecycle_state == "inactive"
        both.close()
        for executor in spun.executors:
            executor.shutdown()


def test_more_than_one_sender_of_commands_is_said_with_names(board, stranger):
    with hardware(port_of(board), autostart=True) as (node, spun):
        others = [stranger(rclpy.create_node(name)) for name in ("one", "two")]
        publishers = [other.create_publisher(JointState, "joint_commands", 1) for other in others]
        spun.until(lambda: node.count_publishers(node.commands) == len(publishers), "discovery")
        node.diagnostics_out = Sink()
        node.on_diagnostics()
        timing = next(one for one in node.diagnostics_out.last.status if one.name == "hardware: timing")
        assert timing.level == WARN
        assert timing.message == "2 nodes send joint_commands (/one, /two): one arm, one sender"


class Sink:
    """Where a node publishes, kept."""

    last = None

    def publish(self, message) -> None:
        self.last = message


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
        node.on_diagnostics()
        spun.until(lambda: node.count_publishers("robot_description") == 0, "its end")
        node.on_diagnostics()
        assert entry(node, "robot description").message == "nobody publishes one"
        assert change(node, ACTIVATE) is True


# -- parameters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "parameters", "named"),
    [
        (Hardware, {"baud": "fast"}, "baud"),
        (Hardware, {"baud": 10}, "baud"),
        (Hardware, {"state_rate_hz": 0.0}, "state_rate_hz"),
        (Hardware, {"state_rate_hz": "'50'"}, "state_rate_hz"),
        (Hardware, {"autostart": 1}, "autostart"),
        (Hardware, {"port": 7}, "port"),
        (Hardware, {"on_shutdown": "drop"}, "on_shutdown is 'drop', must be one of hold, park, relax"),
        (Hardware, {"on_overheat": "panic"}, "on_overheat is 'panic', must be one of warn, stop"),
        (Hardware, {"state_source": "measured"}, "state_source is 'measured', must be one of modelled"),
        (Hardware, {"temperature_limit_c": 500.0}, "temperature_limit_c"),
        (
            Hardware,
            {"temperature_limit_c": 40.0, "ambient_c": 45.0},
            "temperature_limit_c is 40 deg C, must be above ambient_c, 45",
        ),
        (Hardware, {"servos": "/nowhere/servos.yaml"}, "cannot read servo map /nowhere/servos.yaml"),
        (TrajectoryController, {"rate_hz": 5.0}, "rate_hz"),
        (TrajectoryController, {"rate_hz": "often"}, "rate_hz"),
        (TrajectoryController, {"tip_speed_limit": -1.0}, "tip_speed_limit"),
        (TrajectoryController, {"lead_s": ".nan"}, "lead_s"),
        (Dynamics, {"compensation": "most"}, "compensation|most"),
        (Dynamics, {"payload.mass": -1.0}, "payload.mass"),
        (Dynamics, {"payload.mass": "heavy"}, "payload.mass"),
        (Dynamics, {"payload.com": "[0.0, 0.1]"}, "payload.com has 2 numbers, expected 3"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or (str(value) if isinstance(value, dict) else ""),
)
def test_a_parameter_that_does_not_fit_at_the_start_is_named_in_one_line(make, parameters, named):
    gc.collect()  # of the node before, which was never made, and what it claimed
    with ros(*words({"servo_overlay": OVERLAY, **parameters})), pytest.raises(Exception) as caught:
        make()
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
        node.on_diagnostics()
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
        entries = {one.name.removeprefix("hardware: "): one for one in node.report.entries(node.level(), ["/dynamics"])}
        assert set(entries) == {"board", "link", "queue", "timing", "temperature", "supply", "joint state", "robot description"}
        assert all(one.level == OK for one in entries.values()), [(name, one.message) for name, one in entries.items()]
        figures = {name: values_of(one) for name, one in entries.items()}
        assert figures["board"]["boot_id"] == "7" and figures["board"]["commands_sent"] == "0"
        assert {"round_trip_p99_ms", "latency_ms", "losses"} <= set(figures["link"])
        assert figures["queue"]["accepted"] == "0" and figures["timing"]["command_sources"] == "/dynamics"
        assert 0.15 < float(figures["temperature"]["stall_share.shoulder"]) < 0.3, "of the motor"
        assert figures["temperature"]["provenance"] == "estimated"
        assert "shoulder.thermal_s" in figures["temperature"]["assumed"]
        assert 0.5 < float(figures["supply"]["ampere"]) < 3.0 and figures["supply"]["supply_gives_ampere"] == "5.0"
        assert figures["joint state"]["provenance"] == "modelled"


def test_a_supply_that_is_measured_is_told_and_one_that_cannot_be_is_a_warning(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        spun.until(
            lambda: values_of(entry(node, "supply"))["source_volt"] in ("6.04", "6.05"), "6 V and what the arm takes of them"
        )
        node.source_out = Sink()
        board.firmware.set_supply(5400)
        spun.until(lambda: node.source_out.last is not None and node.source_out.last.data < 0.92, "the supply")
        assert node.session.model.source == pytest.approx(node.source_out.last.data, abs=1e-3)
        for reading, said in ((0, "is not measured; 6 V are assumed"), (20_000, "reads 20.00 V, must be 3.6 ... 8.4 V")):
            board.firmware.set_supply(reading)
            spun.until(lambda words=said: words in entry(node, "supply").message, "the warning")
            assert entry(node, "supply").level == WARN and node.session.state is State.ACTIVE
        spun.until(lambda: node.source_out.last.data > 0.98, "the nominal voltage")


def test_the_state_has_no_provenance_where_nobody_knows_it(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.lifecycle_state == "active", "activation")
        node.state_out = Sink()
        ask(node, Trigger, "relax", Trigger.Request())
        spun.until(lambda: board.firmware.live == 0 and node.session.held is None, "relax")
        node.state_out.last = None
        spun.spin(0.1)
        assert node.state_out.last is None
        assert (entry(node, "joint state").level, values_of(entry(node, "joint state"))["provenance"]) == (WARN, "none")
        assert float(values_of(entry(node, "supply"))["ampere"]) == 0.0


def test_refused_set_points_are_a_warning_once(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(
            lambda: node.state_told is not None and node.state_told[0] is State.ACTIVE and node.lifecycle_state == "active",
            "activation, and said",
        )
        assert entry(node, "queue").level == OK
        link = node.session.link
        link.send_setpoint(link.board_time_us(time.monotonic() - 1.0), link.telemetry.pulses)
        spun.until(lambda: link.telemetry.rejected == 1, "a refusal")
        told = entry(node, "queue")
        assert told.level == WARN and told.message == "0 times empty in motion, 1 set-points refused (PAST)"
        assert values_of(told)["refused_past"] == "1"
        assert entry(node, "queue").level == OK
