"""The simulated arm on typical servos: friction that holds without creeping, whatever the step, and takes energy only."""

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from plant_truths import energy

from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.sim.plant import Plant
from picker_dynamics.trajectory import profiles

ARM, SERVOS, BODY = picker(), servos(), rigid_body()
SERVO, LOADED = SERVOS.model, slice(1, 4)
REACHING = np.array([0.3, 0.8, -0.8, -0.2, 0.6])
OFF = (None,) * ARM.n


def pulses_for(q):
    return tuple(SERVOS.to_pulse_us(q).tolist())


def brought(plant: Plant, begin, end, seconds: float = 1.5, hold_s: float = 1.5) -> None:
    """Move the set-points smoothly from one to the other, and wait."""
    path = profiles.along(profiles.profile("quintic"), np.array(begin), np.array(end), seconds, ARM.joint_names)
    for time_s in np.arange(0.0, seconds, 0.02):
        plant.advance(pulses_for(path.sample(time_s)[0]), 0.02)
    plant.advance(pulses_for(end), hold_s)


@pytest.mark.parametrize("dt", [1e-3, 2e-4])
def test_at_rest_nothing_creeps_whatever_the_step(dt):
    plant = Plant(ARM, SERVOS, q=REACHING, dt=dt)
    plant.advance(pulses_for(REACHING), 2.0)
    q = plant.q
    for _ in range(20):
        plant.wake()  # integrated all the same
        plant.advance(pulses_for(REACHING), 0.04)
    np.testing.assert_allclose(plant.q, q, atol=1e-11)


@pytest.mark.parametrize("way", [0.3, -0.3])
def test_which_way_a_joint_came_decides_where_it_rests(way):
    """Lifted it rests where its motor gives (g + c) / (1 - x), lowered where it gives (g - c) / (1 + x): Pinocchio's g."""
    plant = Plant(ARM, SERVOS, q=REACHING, quantise=False)
    away = np.array([way, way, 0.0, 0.0, 0.0])
    plant.advance(pulses_for(REACHING - away), 2.0)
    brought(plant, REACHING - away, REACHING)
    load = BODY.gravity(plant.q)
    side = np.sign(way)
    expected = plant.setpoint - SERVO.sag(SERVO.motor_for(load, np.full(5, side)))
    assert load[1] > 0.2
    assert plant.q[1] == pytest.approx(expected[1], abs=3e-3)
    band = SERVO.friction(SERVO.motor_for(load, np.full(5, side)))
    motor = SERVO.spring_torque(plant.setpoint, plant.q, plant.supply)
    assert (np.abs(motor - load) <= band + 1e-3).all()
    assert SERVO.side_of(motor, load)[1] == pytest.approx(side, abs=0.05)


def test_friction_takes_energy_and_gives_none():
    """T + V changes by what motors and friction do; what friction did is negative."""
    plant = Plant(ARM, SERVOS, q=REACHING, quantise=False)
    pulses = pulses_for(REACHING + [0.6, 0.4, -0.5, 0.4, 0.3])
    start, by_motors, by_friction = sum(energy(plant)), 0.0, 0.0
    for _ in range(800):
        q, before = plant.q, SERVO.motor_torque(plant.setpoint, plant.q, plant.v, plant.supply)
        plant.step(pulses)
        moved = plant.q - q
        motor = SERVO.motor_torque(plant.setpoint, plant.q, plant.v, plant.supply)
        by_motors += float(0.5 * (np.nan_to_num(before) + motor) @ moved) if np.isfinite(before).all() else float(motor @ moved)
        by_friction += float((plant.torque - motor) @ moved)
    assert by_friction < -0.05
    assert sum(energy(plant)) - start == pytest.approx(by_motors + by_friction, abs=0.02 * abs(by_friction) + 2e-3)


def test_the_modelled_state_and_the_simulated_arm_are_one(source=0.85):
    """Two integrators, two engines, one law: a motion up, one back, one too short, each to rest."""
    plant = Plant(ARM, SERVOS, q=REACHING, quantise=False)
    state = ArmStateModel(BODY, SERVO, REACHING)
    plant.feed(source)
    state.source = source
    here, moving, resting = REACHING, [], []
    for target in (REACHING + [0.3, 0.3, -0.2, 0.2, 0.2], REACHING, REACHING + [0.0, 0.005, 0.0, 0.0, 0.0]):
        path = profiles.along(profiles.profile("quintic"), here, target, 1.0, ARM.joint_names)
        for time_s in np.arange(0.0, 2.0, 0.02):
            q_cmd = path.sample(min(time_s, 1.0))[0]
            plant.advance(pulses_for(q_cmd), 0.02)
            moving.append(np.abs(state.step(q_cmd, 0.02)[0] - plant.q).max())
        resting.append(np.abs(state.q - plant.q).max())
        here = target
    assert max(moving) < 4e-3 and max(resting) < 2e-3, (max(moving), resting)


def test_the_supply_sags_by_ohms_law():
    """6 V less 0.06 ohm times 2.5 A for each motor's share of its stall torque; at rest, lower, and off again."""
    plant = Plant(ARM, SERVOS, q=REACHING, quantise=False)
    for source in (1.0, 0.9):
        plant.feed(source)
        plant.advance(pulses_for(REACHING), 2.0)
        motor = SERVO.motor_torque(plant.setpoint, plant.q, plant.v, plant.supply)
        expected = source - 0.06 * 2.5 / 6.0 * np.abs(motor).sum() / ((1.08 + 0.0216) / 0.6)
        assert plant.supply == pytest.approx(expected, abs=1e-9) and plant.supply < source - 2e-3
    plant.advance(OFF, 0.1)
    assert plant.supply == pytest.approx(0.9)


@pytest.mark.parametrize("source", [1.0, 0.7])
def test_speed_without_load_goes_with_the_supply(source):
    """The base, told to turn far: D v of the motor and its friction are what the sagging supply gives."""
    plant = Plant(ARM, SERVOS, q=SERVOS.rest, quantise=False)
    plant.feed(source)
    far = np.array(SERVOS.rest) + [1.5, 0.0, 0.0, 0.0, 0.0]
    plant.advance(pulses_for(SERVOS.rest), 0.5)
    plant.advance(pulses_for(far), 0.12)
    assert 0.9 * source < plant.v[0] / SERVOS.no_load_speed[0] < 1.01 * source
