"""Pulses and angles: by hand for the shipped map, by round trip for others; the shipped files themselves."""

from __future__ import annotations

from math import pi, radians

import numpy as np
from arm_fixtures import picker, servos
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, mark, raises

from picker_dynamics.errors import InputError, LimitError
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.servo_file import STIFFNESS_UPPER_BOUND

SHIPPED, SIMULATED, PICKER = servos(simulated=False), servos(), picker()


def test_the_data_sheet():
    """MG996R at 6 V: 11 kgf·cm, 60 degrees in 0.14 s; a stiffness nobody has measured is its upper bound."""
    assert_allclose(SHIPPED.stall_torque, 11 * 9.81e-2, rtol=2e-3)
    assert_allclose(SHIPPED.no_load_speed, radians(60) / 0.14, rtol=1e-3)
    assert_allclose(SHIPPED.model.damping, 1.08 / 0.6 / 7.48)
    assert_array_equal(SHIPPED.model.stiffness, STIFFNESS_UPPER_BOUND)
    assert_allclose(SHIPPED.model.deadband, radians(0.225))  # 2.5 us of 2000 us per 180 degrees
    assert "shoulder.stiffness_nm_rad" in SHIPPED.unmeasured and "wrist.armature_kg_m2" in SHIPPED.unmeasured
    assert {"base.load_friction", "wrist.coulomb_nm", "elbow.play_deg"} <= set(SHIPPED.unmeasured)
    assert not any("stall" in name for name in SHIPPED.unmeasured)


def test_the_shipped_arm_agrees_with_its_urdf():
    assert SHIPPED.joint_names == PICKER.joint_names
    assert_allclose(PICKER.effort, SHIPPED.stall_torque)
    assert_allclose(PICKER.velocity, SHIPPED.no_load_speed)
    for pose in (SHIPPED.rest, SHIPPED.home):
        assert (pose >= PICKER.lower).all() and (pose <= PICKER.upper).all()


@mark.parametrize(
    "joint, angle, pulse",
    [
        ("base", 0.0, 1500.0),
        ("base", pi / 4, 2000.0),
        ("base", -pi / 2, 500.0),
        ("shoulder", radians(65), 1500.0),
        ("shoulder", radians(65 + 45), 2000.0),
        ("elbow", radians(-59.6), 1500.0),
        ("elbow", radians(-59.6 - 45), 2000.0),
        ("scissor", radians(34.4), 1500.0),
    ],
)
def test_pulses_by_hand(joint, angle, pulse):
    q = np.array(SHIPPED.rest)
    q[SHIPPED.joint_names.index(joint)] = angle
    pulses = SHIPPED.to_pulse_us(q)
    assert pulses[SHIPPED.joint_names.index(joint)] == approx(pulse, abs=1e-9)
    assert_allclose(SHIPPED.to_angle(pulses), q, atol=1e-12)


def test_a_map_of_many_points_bends_where_they_say():
    horn_angles, pulses_us = tuple(np.radians([-80, 0, 90])), (600.0, 1450.0, 2400.0)
    servo = servo_map.Servo("j", 0, -1, radians(10), horn_angles, pulses_us, 1.0, 7.0, 10.0, 5.0, 0.0, 0.8, 0.6, 0.0, 0.0)
    arm = servo_map.ServoMap((servo,), 0.02, 4.8828125)
    for horn_deg, pulse in ((-80, 600), (-40, 1025), (0, 1450), (45, 1925), (90, 2400)):
        q = [-radians(horn_deg - 10)]
        assert arm.to_pulse_us(q)[0] == approx(pulse)
        assert arm.to_angle([pulse])[0] == approx(q[0])
    assert arm.setpoint_lower[0] == approx(-radians(80)) and arm.setpoint_upper[0] == approx(radians(90))
    assert arm.model.deadband[0] == approx(0.5 * 5.0 * radians(170) / 1800)


def test_quantisation_is_a_pca9685_count():
    rng = np.random.default_rng(1)
    pulses = rng.uniform(500, 2500, 1000)
    quantised = SHIPPED.quantise_us(pulses)
    counts = quantised / (20000 / 4096)
    assert_allclose(counts, np.round(counts), atol=1e-9)
    assert np.abs(quantised - pulses).max() <= 20000 / 4096 / 2
    step = SHIPPED.to_angle(np.full(5, 1500 + SHIPPED.quantum_us)) - SHIPPED.to_angle(np.full(5, 1500.0))
    assert_allclose(np.abs(step), radians(0.44), rtol=2e-3)


def test_setpoints_outside_the_pulses_are_refused_or_clamped_as_asked():
    q = np.array(SHIPPED.rest)
    q[1] = 2.8
    with raises(LimitError, match=r"shoulder: set-point 160\.4 deg is outside -25\.0 deg \.\.\. 155\.0 deg") as caught:
        SHIPPED.to_pulse_us(q)
    assert (caught.value.subject, caught.value.value) == ("shoulder", 2.8)
    assert SHIPPED.to_pulse_us(SHIPPED.clamp(q))[1] == approx(2500.0)
    with raises(LimitError, match=r"wrist: pulse 2600"):
        SHIPPED.to_angle([1500, 1500, 1500, 2600, 1500])
    q[1] = np.nan
    for call in (SHIPPED.to_pulse_us, SHIPPED.clamp):
        with raises(InputError, match="nan"):
            call(q)


def test_the_grip_limits_torque_beyond_contact():
    """Blades that have met stand still at contact; the hardest set-point presses with the grip's torque."""
    for arm in (SHIPPED, SIMULATED):
        grip = arm.servos[4].grip
        contact = np.array([0.0, 0.0, 0.0, 0.0, grip.contact])
        pressing = arm.model.spring_torque(arm.clamp([0.0, 0.0, 0.0, 0.0, -1.0]), contact)
        assert pressing[4] + arm.model.friction(pressing)[4] == approx(-grip.torque), "what is left behind the gears"
        assert grip.torque < 0.3 * arm.stall_torque[4]
