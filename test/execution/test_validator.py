"""The gate against sums done by hand, against brute force in time, and against the words it must use."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError, JointNamesError, LimitError
from picker_dynamics.execution.feasibility import MAX_STRETCH, Gate
from picker_dynamics.resources import resource
from picker_dynamics.robot import description, servo_map
from picker_dynamics.trajectory import profiles
from picker_dynamics.trajectory.trajectory import from_points

STALL = 1.08
REACH = 9.81 * (0.15 * 0.1 + 0.12 * 0.2725 + 0.08 * 0.385 + 0.05 * 0.425)
"""Shoulder torque, stretched out: every mass times its distance; 0.98 N·m."""
BERRY = 9.81 * 0.025 * 0.425


@pytest.fixture(scope="module")
def arm():
    return description.load(resource("urdf/picker.urdf"))


@pytest.fixture(scope="module")
def servos(arm):
    return servo_map.load(resource("config/servos.yaml"), arm.joint_names)


@pytest.fixture(scope="module")
def gate(arm, servos):
    return Gate(RigidBody(arm, servos.armature), servos)


def move(gate, q0, q1, duration_s, name="quintic"):
    return profiles.along(profiles.profile(name), q0, q1, duration_s, gate.model.joint_names)


def test_an_easy_motion_passes_with_its_margins(gate, servos):
    path = move(gate, servos.rest, servos.home, 2.0)
    report = gate.check(path)
    assert report.trajectory is path and report.factor == 1.0
    times = np.linspace(0.0, 2.0, 1001)
    torque = gate.model.inverse_dynamics(*path.sample(times))
    np.testing.assert_allclose(report.peak_torque, np.abs(torque).max(axis=0), atol=2e-3)
    np.testing.assert_allclose(report.hold_torque, gate.model.gravity(servos.home), atol=1e-12)
    expected = np.maximum(np.abs(torque).max(axis=0) / (0.8 * STALL), np.abs(report.hold_torque) / (0.6 * STALL))
    np.testing.assert_allclose(report.share, expected, atol=3e-3)
    np.testing.assert_allclose(report.margin, 1.0 - report.share)
    assert report.worst_joint == "shoulder" and report.worst_time_s == pytest.approx(2.0)
    assert report.times.shape == (len(report.torque),)


def test_full_reach_is_refused_naming_joint_time_torque_and_limit(gate, servos):
    with pytest.raises(InfeasibleError) as caught:
        gate.check(move(gate, servos.home, np.zeros(5), 2.1))
    error = caught.value
    assert str(error) == ("shoulder needs 0.98 N·m to hold its pose at 2.10 s, allowed 0.65 (0.60 of 1.08 stall)")
    assert (error.subject, error.time_s) == ("shoulder", pytest.approx(2.1))
    assert error.value == pytest.approx(REACH, abs=1e-12)
    assert error.limit == pytest.approx(0.6 * STALL)


def test_the_payload_counts(gate):
    """A pose whose shoulder torque lies between the hold limit less a berry's and the hold limit."""
    wanted = 0.6 * STALL - 0.5 * BERRY
    pose = np.array([0.0, np.arccos(wanted / REACH), 0.0, 0.0, 0.0])  # stretched, but raised
    start = pose + [0.0, 0.2, 0.0, 0.0, 0.0]
    loaded = dataclasses.replace(gate, model=gate.model.with_payload(0.025))
    report = gate.check(move(gate, start, pose, 3.0))
    assert report.hold_torque[1] == pytest.approx(wanted)
    with pytest.raises(InfeasibleError, match="shoulder") as caught:
        loaded.check(move(gate, start, pose, 3.0))
    assert caught.value.value == pytest.approx(wanted * (1 + BERRY / REACH))


def test_a_way_through_a_pose_too_heavy_is_refused_where_it_gets_too_heavy(gate):
    """From raised to raised over the horizontal: both ends can be held, the middle not, however slowly."""
    up, down = np.array([0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, -0.34, -1.9, 0.5, 0.0])
    start = np.array([0.0, -0.34, 0.0, 0.0, 0.0])
    path = from_points([0.0, 20.0, 40.0], [up, start, down], [np.zeros(5)] * 3, joint_names=gate.model.joint_names)
    with pytest.raises(InfeasibleError, match=r"shoulder needs 0\.98 N·m at .* \(0\.80 of 1\.08 stall\)") as caught:
        gate.check(path)
    first = caught.value.time_s
    times = np.linspace(0.0, 40.0, 4001)
    torque = np.abs(gate.model.inverse_dynamics(*path.sample(times)))[:, 1]
    assert first == pytest.approx(times[(torque > 0.8 * STALL).argmax()], abs=0.02)
    assert caught.value.value == pytest.approx(torque.max(), abs=1e-4)
    with pytest.raises(InfeasibleError) as again:
        gate.check(path, stretch=True)
    assert str(again.value) == str(caught.value)


def test_a_motion_too_fast_for_the_motor(gate, servos):
    """Waving the scissor takes no torque to speak of; its speed alone is too much."""
    closed, opened = np.array(servos.rest), np.array(servos.rest)
    opened[4] = 1.2
    duration = 1.2 / 7.48 * 1.2  # mean speed 6.2 rad/s, below 7.48; the quintic's peak 11.7
    with pytest.raises(InfeasibleError, match=r"scissor is too fast: .* \(7\.48 rad/s without load\)") as caught:
        gate.check(move(gate, closed, opened, duration))
    assert caught.value.limit == pytest.approx(STALL)
    report = gate.check(move(gate, closed, opened, duration), stretch=True)
    _, _, v, _ = report.trajectory.grid(1e-3)
    assert 0.9 * 7.48 < np.abs(v[:, 4]).max() < 7.48


@pytest.mark.parametrize("name", ["quintic", "trapezoidal"])
def test_stretching_is_by_the_smallest_factor(gate, servos, name):
    path = move(gate, servos.rest, servos.home, 0.15, name)
    with pytest.raises(InfeasibleError):
        gate.check(path)
    report = gate.check(path, stretch=True)
    assert 1.0 < report.factor < MAX_STRETCH
    assert report.trajectory.duration == pytest.approx(0.15 * report.factor)
    gate.check(path.stretched(report.factor))
    with pytest.raises((InfeasibleError, LimitError)):
        gate.check(path.stretched(0.995 * report.factor))


def test_stretching_leaves_alone_what_passes_and_refuses_what_moves(gate, servos):
    path = move(gate, servos.rest, servos.home, 2.0)
    assert gate.check(path, stretch=True).trajectory is path
    moving = from_points([0, 1], [servos.rest, servos.rest], [[0.1, 0, 0, 0, 0], [0] * 5], joint_names=gate.model.joint_names)
    with pytest.raises(InputError, match=r"base starts at 0\.1 rad/s"):
        gate.check(moving, stretch=True)


def test_an_acceleration_between_the_samples_is_seen(gate, servos):
    """A trapezoidal profile accelerates in its first millisecond only; the samples are 10 ms apart."""
    law = profiles.profile("trapezoidal", 0.001)
    path = profiles.along(law, servos.rest, servos.home, 1.0, gate.model.joint_names)
    with pytest.raises(InfeasibleError):
        gate.check(path)
    gate.check(profiles.along(profiles.profile("quintic"), servos.rest, servos.home, 1.0, path.joint_names))


def test_setpoints_stay_inside_the_pulses(gate, servos):
    """A shoulder whose pulses end at 1.45 rad holds q = 1.4 without load but not with it."""
    shoulder = servos.servos[1]
    end = shoulder.to_pulse_us(1.4 + 0.005)
    short = dataclasses.replace(
        shoulder, horn_angles=(shoulder.horn_angles[0], 1.405 + shoulder.zero), pulses_us=(500.0, float(end)), rest=0.5
    )
    tight = Gate(gate.model, dataclasses.replace(servos, servos=(servos.servos[0], short, *servos.servos[2:])))
    start = np.array(servos.home)
    start[1] = 1.2
    with pytest.raises(LimitError, match=r"shoulder needs its set-point at 1\.4\d\d rad at .*1\.405") as caught:
        tight.check(move(gate, start, servos.home, 3.0))
    assert caught.value.subject == "shoulder" and caught.value.limit == pytest.approx(1.405)


def test_points_of_a_stream(gate, servos):
    zero = np.zeros(5)
    np.testing.assert_allclose(gate.check_point(servos.home, zero, zero), gate.model.gravity(servos.home))
    raised = np.array([0.0, np.arccos(0.7 * STALL / REACH), 0.0, 0.0, 0.0])  # 0.70 of stall: a way, not an end
    with pytest.raises(InfeasibleError, match=r"shoulder needs 0\.76 N·m to hold"):
        gate.check_point(raised, zero, zero)
    with pytest.raises(InfeasibleError, match="base is too fast"):
        gate.check_point(servos.rest, [7.6, 0, 0, 0, 0], zero)
    with pytest.raises(InfeasibleError, match=re.escape("shoulder needs")):
        gate.check_point(servos.rest, zero, [0, 300.0, 0, 0, 0])


def test_joints_must_be_the_same(gate, servos, arm):
    names = tuple(reversed(arm.joint_names))
    with pytest.raises(JointNamesError, match="the trajectory's joints are scissor"):
        gate.check(profiles.along(profiles.profile("quintic"), servos.rest, servos.home, 2.0, names))
    other = dataclasses.replace(servos, servos=tuple(reversed(servos.servos)))
    with pytest.raises(JointNamesError, match="the servo map's scissor"):
        Gate(gate.model, other)
    with pytest.raises(InputError, match="period_s"):
        Gate(gate.model, servos, period_s=0.0)
