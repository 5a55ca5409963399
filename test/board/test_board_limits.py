"""The board's limits against the servo map they come from."""

from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import picker, servos

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.protocol import pulse_units

ARM, SERVOS = picker(), servos()


def test_every_setpoint_that_may_be_sent_fits_and_none_beyond():
    limits = board_limits(SERVOS)
    for share in np.linspace(0.0, 1.0, 101):
        q_cmd = SERVOS.setpoint_lower + share * (SERVOS.setpoint_upper - SERVOS.setpoint_lower)
        for limit, pulse in zip(limits, SERVOS.to_pulse_us(q_cmd)):
            assert limit.lowest <= pulse_units(pulse) <= limit.highest
    assert [(limit.lowest, limit.highest) for limit in limits[:4]] == [(4000, 20000)] * 4  # 500 and 2500 us


def test_the_board_knows_how_far_the_scissor_may_press():
    """0.25 N·m at the blades, so 0.4527 of the motor at K = 10 N·m/rad, half of deadband and play: before contact."""
    scissor = board_limits(SERVOS)[ARM.joint_names.index("scissor")]
    contact_us = 1500.0 - 34.4 * 2000.0 / 180.0
    assert scissor.lowest == pytest.approx(8.0 * (contact_us - 0.04527 * 2000.0 / np.pi - 2.5 - 0.25 * 2000.0 / 180.0), abs=1.0)


def test_the_speed_limit_is_the_set_points_and_it_brakes_as_before():
    """0.04 rad in 10 ms; the servo's no-load speed, 7.48 rad/s, is braked away in 0.2 s."""
    unit = 2000.0 / np.pi * 0.02 * 8.0  # 1/8 us per frame, of 1 rad/s
    assert all(limit.speed == pytest.approx(4.0 * unit, abs=1.0) for limit in board_limits(SERVOS))
    assert all(limit.brake == pytest.approx(0.1 * 7.48 * unit, abs=1.0) for limit in board_limits(SERVOS))
    free = replace(SERVOS, servos=tuple(replace(servo, fastest_setpoint=np.inf) for servo in SERVOS.servos))
    assert all(limit.speed == pytest.approx(7.48 * unit, abs=1.0) for limit in board_limits(free))
