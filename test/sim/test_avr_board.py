"""The simulated Uno as ``picker up --sim --board avr`` runs it: paced, on a pseudo-terminal, moving the simulated arm.

Time is real here, so nothing is asserted of how long anything takes.
"""

import numpy as np
import pytest
import serial
from avr_bench import avr, picker, with_inputs
from conformance.bench import units
from firmware_tools import require
from waiting import until

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Adopt, Enable, Fault, Reset, limits_checksum
from picker_dynamics.bringup import bringup
from picker_dynamics.commands import cli
from picker_dynamics.errors import ConfigurationError, InputError, LinkError, MissingDependencyError
from picker_dynamics.sim.avr_board import avr_firmware, compiled_in
from picker_dynamics.sim.board import spawn_board
from picker_dynamics.sim.control_socket import BoardControl
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.simulated_board import adc_counts
from picker_dynamics.sim.virtual_board import VirtualBoard

require("avr", "sim")

ALL = 0b11111


@pytest.fixture
def board(tmp_path):
    """A board in a thread of this process, and the client of its side door."""
    arm, servos = picker()
    plant = Plant(arm, servos, support=True, quantise=False)
    name = tmp_path / "tty"
    made = VirtualBoard(plant, servos, name, control=f"{name}.control", boot_silence_s=0.3, firmware=avr())
    with made, BoardControl(f"{name}.control") as control:
        yield made, control


def test_the_link_finds_the_real_firmware_and_moves_the_arm(board):
    made, control = board
    _, servos = picker()
    with Link(str(made.port.link)) as link:
        info = link.info
        assert (info.joints, info.queue_capacity, info.resolution_ns) == (5, 24, 4883)
        assert info.limits_crc == limits_checksum(made.firmware.config.joints)
        link.request(Enable(ALL, units(servos, servos.rest)))
        until(lambda: control.truth().live == ALL, "all outputs on")
        truth = control.truth()
        for pulse_us, wanted in zip(truth.pulses_us, servos.to_pulse_us(servos.rest)):
            assert pulse_us == pytest.approx(wanted, abs=2.5)
        exact = [servo.to_angle(pulse) for servo, pulse in zip(servos.servos, truth.pulses_us)]
        assert truth.setpoint == pytest.approx(exact, abs=1e-12)  # the plant rounds nothing on top


def test_a_brown_out_is_told_and_the_arm_stays_where_it_is(board):
    made, control = board
    _, servos = picker()
    with Link(str(made.port.link)) as link:
        link.request(Enable(ALL, units(servos, servos.rest)))
        before, boot_id = control.truth().pulses_us, link.telemetry.boot_id
        control.reset(fault="RESTARTED")
        until(lambda: link.telemetry and link.telemetry.boot_id != boot_id, "another boot id")
        assert link.telemetry.faults == Fault.RESTARTED.bit
        link.request(Reset())
        link.request(Adopt(ALL))
        assert np.array_equal(control.truth().pulses_us, before)
    with pytest.raises(InputError, match="HOST_LOST"):
        control.cause("HOST_LOST", True)


def test_the_chip_can_be_unplugged_by_the_side_door(board):
    made, control = board
    with Link(str(made.port.link)) as link:
        control.cause("OUTPUT_FAILED", True)
        until(lambda: link.telemetry.faults == Fault.OUTPUT_FAILED.bit, "OUTPUT_FAILED")


def test_a_client_at_another_speed_understands_nothing(board):
    made, _ = board
    with pytest.raises(LinkError):
        Link(str(made.port.link), baud=115_200).open(timeout_s=1.5)
    assert made.firmware.uno.statistics.noise > 0
    with serial.Serial(str(made.port.link), 500_000) as port:
        until(lambda: made.firmware.telemetry is not None and port.in_waiting > 100, "telemetry at the right speed")


def test_it_runs_as_a_process_and_refuses_what_is_not_compiled_in(tmp_path):
    with spawn_board(tmp_path / "tty", "--board", "avr", "--live") as control:
        assert control.truth().live == ALL
    refused = spawn_board(tmp_path / "tty", "--board", "avr", "--host-timeout", "0.7")
    with pytest.raises(LinkError, match="host_timeout is 0.7 s"), refused:
        pass


# --- wiring -----------------------------------------------------------------------------------------------------------


def test_potentiometers_follow_the_arm(tmp_path):
    servos = with_inputs(tmp_path)
    assert adc_counts(picker()[1], np.zeros(5)) == (None,) * 5
    middle = np.array([servo.to_angle(0.5 * (servo.pulses_us[0] + servo.pulses_us[-1])) for servo in servos.servos])
    assert adc_counts(servos, middle)[1] in (511, 512) and adc_counts(servos, middle)[0] is None
    lower, upper = (adc_counts(servos, q) for q in (servos.setpoint_lower, servos.setpoint_upper))
    assert {lower[3], upper[3]} == {102, 921}


def test_what_is_compiled_in_is_what_the_servo_map_says(tmp_path):
    assert compiled_in(picker()[1]).supply_min_mv == 0
    assert compiled_in(with_inputs(tmp_path)).supply_min_mv == 4500
    assert compiled_in(picker()[1], "timer").resolution_ns == 500


def test_timer_driven_pins_cannot_be_found_live():
    arm, servos = picker()
    with pytest.raises(InputError, match="do not outlive"):
        avr_firmware(arm, servos, servos.rest, backend="timer")


# --- bring-up ---------------------------------------------------------------------------------------------------------


def test_the_graph_runs_the_simulated_uno_on_request(tmp_path):
    made = bringup.graph(bringup.Options(board="avr", directory=str(tmp_path)))
    assert made.board.arguments[made.board.arguments.index("--board") + 1] == "avr"
    assert "--board" not in bringup.graph(bringup.Options(directory=str(tmp_path))).board.arguments


@pytest.mark.parametrize(
    "options", [{"board": "mega"}, {"board": "avr", "hardware": "serial", "port": "/dev/ttyACM0"}, {"board": "avr", "arm": "rrp"}]
)
def test_boards_that_do_not_fit_are_refused(options):
    with pytest.raises(ConfigurationError, match="board"):
        bringup.Options(**options)


@pytest.mark.parametrize("command", ["up", "demo"])
def test_the_command_line_takes_the_board(command):
    assert cli.parser().parse_args([command, "--board", "avr"]).board == "avr"
    assert cli.parser().parse_args([command]).board == "virtual"


def test_missing_tools_are_named_before_anything_starts(monkeypatch):
    def nothing_there(*_needs):
        return "firmware tools missing (avr-g++): apt install gcc-avr"

    monkeypatch.setattr(toolchain, "missing", nothing_there)
    with pytest.raises(MissingDependencyError, match="apt install gcc-avr"):
        bringup.graph(bringup.Options(board="avr"))
