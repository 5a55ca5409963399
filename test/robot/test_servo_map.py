"""Pulses and angles: by hand for the shipped map, by round trip for others; the shipped files themselves."""

from __future__ import annotations

import dataclasses
from math import pi, radians

import arm_fixtures
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from picker_dynamics.errors import InputError, LimitError
from picker_dynamics.robot import servo_map

JOINTS = ("base", "shoulder", "elbow", "wrist", "scissor")


@pytest.fixture
def shipped():
    return arm_fixtures.servos(simulated=False)


@pytest.fixture
def simulated():
    return arm_fixtures.servos()


def test_the_data_sheet(shipped):
    """MG996R at 6 V: 11 kgf·cm, 60 degrees in 0.14 s; a stiffness nobody has measured is its upper bound."""
    assert_allclose(shipped.stall_torque, 11 * 9.81e-2, rtol=2e-3)
    assert_allclose(shipped.no_load_speed, radians(60) / 0.14, rtol=1e-3)
    assert_allclose(shipped.model.damping, 1.08 / 7.48)
    assert_array_equal(shipped.model.stiffness, servo_map.STIFFNESS_UPPER_BOUND)
    assert_allclose(shipped.model.deadband, radians(0.225))  # 2.5 us of 2000 us per 180 degrees
    assert "shoulder.stiffness_nm_rad" in shipped.unmeasured and "wrist.armature_kg_m2" in shipped.unmeasured
    assert not any("stall" in name for name in shipped.unmeasured)


def test_the_virtual_arm_is_known_and_otherwise_the_same(shipped, simulated):
    assert_array_equal(simulated.model.stiffness, 10.0)
    assert_allclose(simulated.model.deadband, radians(0.225))
    assert simulated.unmeasured == ()
    known = {"stiffness": 0.0, "deadband_us": 0.0, "armature": 0.0, "unmeasured": (), "feedback_adc": None}
    for real, virtual in zip(shipped.servos, simulated.servos):
        assert dataclasses.replace(real, **known) == dataclasses.replace(virtual, **known)


def test_the_shipped_arm_agrees_with_its_urdf(shipped):
    arm = arm_fixtures.picker()
    assert shipped.joint_names == arm.joint_names
    assert_allclose(arm.effort, shipped.stall_torque)
    assert_allclose(arm.velocity, shipped.no_load_speed)
    for pose in (shipped.rest, shipped.home):
        assert (pose >= arm.lower).all() and (pose <= arm.upper).all()


def test_limits_leave_room_for_compensation(simulated):
    """At a limit the softest servo has the pulses to bear hold_share of stall torque (but for the grip)."""
    arm = arm_fixtures.picker()
    room = np.minimum(arm.lower - simulated.setpoint_lower, simulated.setpoint_upper - arm.upper)[:4]
    needed = simulated.model.offset(simulated.hold_share * simulated.stall_torque)[:4]
    assert (room >= needed - 1e-9).all(), f"room {room.round(4)} rad, needed {needed.round(4)} rad"


@pytest.mark.parametrize(
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
def test_pulses_by_hand(shipped, joint, angle, pulse):
    q = np.array(shipped.rest)
    q[JOINTS.index(joint)] = angle
    pulses = shipped.to_pulse_us(q)
    assert pulses[JOINTS.index(joint)] == pytest.approx(pulse, abs=1e-9)
    assert_allclose(shipped.to_angle(pulses), q, atol=1e-12)


def test_batches_round_trip(shipped):
    rng = np.random.default_rng(0)
    q = rng.uniform(shipped.setpoint_lower, shipped.setpoint_upper, (4, 7, 5))
    assert_allclose(shipped.to_angle(shipped.to_pulse_us(q)), q, atol=1e-12)


def test_a_map_of_many_points_bends_where_they_say():
    horn_angles, pulses_us = tuple(np.radians([-80, 0, 90])), (600.0, 1450.0, 2400.0)
    servo = servo_map.Servo("j", 0, -1, radians(10), horn_angles, pulses_us, 1.0, 7.0, 10.0, 5.0, 0.0, 0.8, 0.6, 0.0, 0.0)
    arm = servo_map.ServoMap((servo,), 0.02, 4.8828125)
    for horn_deg, pulse in ((-80, 600), (-40, 1025), (0, 1450), (45, 1925), (90, 2400)):
        q = [-radians(horn_deg - 10)]
        assert arm.to_pulse_us(q)[0] == pytest.approx(pulse)
        assert arm.to_angle([pulse])[0] == pytest.approx(q[0])
    assert arm.setpoint_lower[0] == pytest.approx(-radians(80)) and arm.setpoint_upper[0] == pytest.approx(radians(90))
    assert arm.model.deadband[0] == pytest.approx(0.5 * 5.0 * radians(170) / 1800)


def test_quantisation_is_a_pca9685_count(shipped):
    rng = np.random.default_rng(1)
    pulses = rng.uniform(500, 2500, 1000)
    quantised = shipped.quantise_us(pulses)
    counts = quantised / (20000 / 4096)
    assert_allclose(counts, np.round(counts), atol=1e-9)
    assert np.abs(quantised - pulses).max() <= 20000 / 4096 / 2
    step = shipped.to_angle(np.full(5, 1500 + shipped.quantum_us)) - shipped.to_angle(np.full(5, 1500.0))
    assert_allclose(np.abs(step), radians(0.44), rtol=2e-3)


def test_setpoints_outside_the_pulses_are_refused_or_clamped_as_asked(shipped):
    q = np.array(shipped.rest)
    q[1] = 2.8
    with pytest.raises(LimitError, match=r"shoulder: set-point 2\.8000 rad is outside -0\.4363 \.\.\. 2\.7053") as caught:
        shipped.to_pulse_us(q)
    assert (caught.value.subject, caught.value.value) == ("shoulder", 2.8)
    assert shipped.to_pulse_us(shipped.clamp(q))[1] == pytest.approx(2500.0)
    with pytest.raises(LimitError, match=r"wrist: pulse 2600"):
        shipped.to_angle([1500, 1500, 1500, 2600, 1500])
    q[1] = np.nan
    for call in (shipped.to_pulse_us, shipped.clamp):
        with pytest.raises(InputError, match="nan"):
            call(q)


def test_the_grip_limits_torque_beyond_contact(shipped, simulated):
    """Blades that have met stand still at contact; the hardest set-point presses with the grip's torque."""
    for arm in (shipped, simulated):
        grip = arm.servos[4].grip
        contact = np.array([0.0, 0.0, 0.0, 0.0, grip.contact])
        pressing = arm.model.spring_torque(arm.clamp([0.0, 0.0, 0.0, 0.0, -1.0]), contact)
        assert pressing[4] == pytest.approx(-grip.torque)
        assert grip.torque < 0.3 * arm.stall_torque[4]


def test_vectors_cannot_be_changed(shipped):
    for vector in (shipped.rest, shipped.stall_torque, shipped.setpoint_lower):
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 0.0
