"""The simulated Uno as ``picker up --sim --board avr`` runs it: on a pseudo-terminal, moving the simulated arm."""

import numpy as np
import pytest
from avr_bench import picker, with_inputs
from firmware_tools import require
from spawned_board import spawn_board
from waiting import until

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Adopt, Enable, limits_checksum, pulse_units
from picker_dynamics.bringup import bringup
from picker_dynamics.commands import cli
from picker_dynamics.errors import ConfigurationError, LinkError, MissingDependencyError
from picker_dynamics.sim.avr_firmware import compiled_in
from picker_dynamics.sim.simulated_board import adc_counts

require("avr", "sim")

ALL = 0b11111


def test_the_real_firmware_moves_the_arm_and_has_a_side_door(tmp_path):
    _, servos = picker()
    rest_us = servos.to_pulse_us(servos.rest)
    with spawn_board(tmp_path / "tty", "--board", "avr", "--boot-silence", "0.2") as control, Link(str(tmp_path / "tty")) as link:
        assert (link.info.joints, link.info.queue_capacity, link.info.resolution_ns) == (5, 24, 4883)
        assert link.info.limits_crc == limits_checksum(compiled_in(servos).joints)
        link.request(Enable(ALL, tuple(pulse_units(pulse) for pulse in rest_us)))
        until(lambda: control.truth().live == ALL, "all outputs on")
        truth = control.truth()
        np.testing.assert_allclose(truth.pulses_us, rest_us, atol=2.5)
        exact = [servo.to_angle(pulse) for servo, pulse in zip(servos.servos, truth.pulses_us)]
        assert truth.setpoint == pytest.approx(exact, abs=1e-12)  # the plant rounds nothing on top
        boot_id = link.telemetry.boot_id
        control.command("reset")
        until(lambda: link.telemetry and link.telemetry.boot_id != boot_id, "another boot id")
        link.request(Adopt(ALL))
        assert np.array_equal(control.truth().pulses_us, truth.pulses_us)


def test_what_does_not_fit_the_firmware_is_refused(tmp_path):
    with (
        pytest.raises(LinkError, match="host_timeout is 0.7 s"),
        spawn_board(tmp_path / "tty", "--board", "avr", "--host-timeout", "0.7"),
    ):
        pass


def test_potentiometers_follow_the_arm_and_the_firmware_is_the_maps(tmp_path):
    servos = with_inputs(tmp_path)
    assert adc_counts(picker()[1], np.zeros(5)) == (None,) * 5
    middle = np.array([servo.to_angle(0.5 * (servo.pulses_us[0] + servo.pulses_us[-1])) for servo in servos.servos])
    assert adc_counts(servos, middle)[1] in (511, 512) and adc_counts(servos, middle)[0] is None
    lower, upper = (adc_counts(servos, q) for q in (servos.setpoint_lower, servos.setpoint_upper))
    assert {lower[3], upper[3]} == {102, 921}
    assert (compiled_in(picker()[1]).supply_min_mv, compiled_in(servos).supply_min_mv) == (0, 4500)


@pytest.mark.parametrize("command", ["up", "demo"])
def test_the_command_line_takes_the_board_and_the_graph_runs_it(command, tmp_path, monkeypatch):
    assert [cli.parser().parse_args([command, *words]).board for words in (["--board", "avr"], [])] == ["avr", "virtual"]
    arguments = bringup.graph(bringup.Options(board="avr", directory=str(tmp_path))).board.arguments
    assert arguments[arguments.index("--board") + 1] == "avr"
    monkeypatch.setattr(toolchain, "missing", lambda *_: "firmware tools missing (avr-g++): apt install gcc-avr")
    with pytest.raises(MissingDependencyError, match="apt install gcc-avr"):
        bringup.graph(bringup.Options(board="avr"))


@pytest.mark.parametrize(
    "options", [{"board": "mega"}, {"board": "avr", "hardware": "serial", "port": "/dev/ttyACM0"}, {"board": "avr", "arm": "rrp"}]
)
def test_boards_that_do_not_fit_are_refused(options):
    with pytest.raises(ConfigurationError, match="board"):
        bringup.Options(**options)
