"""Compensation: each mode against the design's formula, nothing jumps, and the arm rests where it should."""

from types import SimpleNamespace

import arm_fixtures
import numpy as np
import pytest
from numpy.testing import assert_allclose

from picker_dynamics.board.setpoint_guard import SetpointGuard
from picker_dynamics.control.compensation import PACE, TIP_CREEP, Compensator
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.sim.plant import Plant
from picker_dynamics.trajectory import profiles

REST = np.zeros(5)


SERVOS, MODEL = arm_fixtures.servos(), arm_fixtures.rigid_body()
SERVO, HOME = SERVOS.model, SERVOS.home
FREE = SimpleNamespace(
    model=SERVO,
    setpoint_lower=np.full(5, -9.0),
    setpoint_upper=np.full(5, 9.0),
    setpoint_speed=np.full(5, 1e9),
    setpoint_turn=lambda _since_s: np.full(5, 1e9),
)
"""Set-points may be anywhere, and jump."""


def made(*mode, **options) -> Compensator:
    return Compensator(MODEL, FREE, *mode, **options)


def standing(compensator: Compensator, dt: float):
    """Set-point and torque at home, ``dt`` later."""
    return compensator.update(HOME, REST, REST, dt)


def faded(compensator):
    """The compensator with its start-up fade behind it."""
    compensator.update(np.zeros(5), REST, REST, 10.0)
    assert compensator.settled
    return compensator


def setpoint(q, motor, damping=(0.0,) * 5):
    """q + u / (K share) + (delta + b/2) tanh(u / 0.01 N·m), joint by joint; 0.06 ohm take 2.5 % of 6 V at each motor's stall."""
    share = 1.0 - sum(0.025 * abs(one) / ((1.08 + 0.0216) / 0.6) for one in motor)
    u = [one + drag for one, drag in zip(motor, damping)]
    return [q[j] + u[j] / (10.0 * share) + (SERVO.deadband[j] + np.radians(0.25)) * np.tanh(u[j] / 0.01) for j in range(5)]


def motor(tau, side):
    """The motor's torque against 40 % of itself and 0.0216 N·m of friction, joint by joint, by fixed-point iteration."""
    found = []
    for j in range(5):
        one = tau[j]
        for _ in range(200):
            one = tau[j] + side[j] * (0.0216 + 0.4 * abs(one))
        found.append(one)
    return np.array(found)


def test_each_mode_is_its_formula():
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, a = rng.uniform(-0.3, 0.3, (3, 5)) * np.array([[1.0], [5.0], [20.0]])
        tau = MODEL.mass_matrix(q) @ a + MODEL.coriolis_matrix(q, v) @ v + MODEL.gravity(q) + MODEL.friction(v)
        side = 0.5 * (np.clip(q / 0.002 - 1.0, -1.0, 1.0) + np.clip(q / 0.002 + 1.0, -1.0, 1.0))
        for mode, expected in (
            ("none", q),
            ("gravity", setpoint(q, MODEL.gravity(q))),
            ("full", setpoint(q, motor(tau, side), 1.08 / 0.6 / 7.48 * v)),
        ):
            q_cmd, tau_d = faded(made(mode)).update(q, v, a, 0.01)  # the way from 0 to q decides the friction's side
            assert_allclose(q_cmd, expected, atol=1e-12)
            assert_allclose(tau_d, tau, atol=1e-12)


@pytest.mark.parametrize("payload", [0.0, 0.025])
def test_with_full_the_arm_rests_where_it_should(payload):
    """Equilibria of the servo model, solved apart from the compensation: sag against what is left of it."""
    loaded = MODEL.with_payload(payload)
    rng = np.random.default_rng(1)
    sag = {"none": [], "gravity": [], "full": []}
    for _ in range(20):
        q = rng.uniform([-1.0, 0.6, -2.0, -1.0, 0.1], [1.0, 1.6, -0.5, 1.0, 1.0])
        for mode, errors in sag.items():
            q_cmd, _ = faded(Compensator(loaded, FREE, mode)).update(q, REST, REST, 0.01)
            rests = ArmStateModel(loaded, SERVO, q).settle(q_cmd, start=q)
            errors.append(np.linalg.norm(MODEL.forward_kinematics(rests) - MODEL.forward_kinematics(q)))
    assert np.median(sag["none"]) > 0.012
    for mode in ("gravity", "full"):
        assert np.median(sag[mode]) < 1e-5
        assert max(sag[mode]) < SERVO.deadband[0] * 0.425


EVENTS = {
    "start": {},
    "payload again, before the first is through": {
        1.0: lambda c: c.set_payload(0.2, com=(0.02, 0, 0)),
        1.2: lambda c: c.set_payload(0.0),
        1.3: lambda c: c.set_payload(0.1),
    },
    "mode and payload": {1.0: lambda c: (c.set_mode("gravity"), c.set_payload(0.2)), 1.1: lambda c: c.set_mode("full")},
}


@pytest.mark.parametrize("events", EVENTS.values(), ids=EVENTS.keys())
def test_nothing_jumps(events):
    """What is continuous steps a quarter as far in a quarter of the time; a jump stays as large as it is."""
    path = profiles.along(profiles.profile("quintic"), SERVOS.rest, HOME, 3.0, MODEL.joint_names)
    steps = []
    for dt in (4e-3, 1e-3):
        compensator, pending, q_cmd = made(), sorted(events.items()), []
        for t in np.arange(0.0, 2.2, dt):
            while pending and pending[0][0] <= t + 1e-9:
                pending.pop(0)[1](compensator)
            q_cmd.append(compensator.update(*path.sample(t), dt)[0])
        steps.append(np.abs(np.diff(q_cmd, axis=0)).max())
    assert steps[1] < 0.3 * steps[0]


def test_gravity_alone_in_mid_motion_passes_the_guard_and_leaves_the_tip_its_speed():
    """At the picker's fastest, the simulated arm behind it; back to full a second later.  With none the tip does 0.40 m/s."""
    begin = np.array([0.0, 0.7, -0.9, -0.5, 1.2])
    way = profiles.joint_move(begin, begin + [1.2, 0.15, 0.1, 0.0, 0.0], 3.0, 20.0, joint_names=SERVOS.joint_names)
    way = profiles.limit_tip_speed(way, MODEL, 0.24)
    compensator, guard, period_s = faded(made()), SetpointGuard(SERVOS), 0.01
    first, _ = compensator.update(begin, REST, REST, period_s)
    plant = Plant(arm_fixtures.picker(), SERVOS, q=begin, dt=1e-3, quantise=False)
    guard.restart(first)
    for _ in range(100):
        plant.advance(SERVOS.to_pulse_us(first), period_s)
    tips = [plant.tip]
    for k in range(1, round(way.duration / period_s)):
        if k in (100, 200):
            compensator.set_mode("gravity" if k == 100 else "full")
        q_cmd, _ = compensator.update(*way.sample(k * period_s), period_s)
        assert guard.refusal(k * period_s, q_cmd, k * period_s) is None, guard.said
        guard.sent(k * period_s, q_cmd)
        plant.advance(SERVOS.to_pulse_us(q_cmd), period_s)
        tips.append(plant.tip)
    assert np.linalg.norm(np.diff(tips, axis=0), axis=1).max() / period_s < 0.25 + 0.08


BELIEFS = {
    "0.6 kg": [[0.6], [0.0]],
    "what relieves the arm": [[0.3, (-0.9, 0.0, 0.0)], [0.0]],
    "one upon the other": [[mass] for mass in (0.4, 0.0, 0.4, 0.1, 0.5, 0.0)],
}


@pytest.mark.parametrize("beliefs", BELIEFS.values(), ids=BELIEFS.keys())
def test_what_is_believed_moves_the_true_tip_no_faster_than_it_creeps(beliefs):
    """The simulated arm, whose gears hold nothing back, carries nothing; what it is told moves it, slowly, and not at once."""
    ideal = arm_fixtures.servos(ideal=True)
    plant = Plant(arm_fixtures.picker(), ideal, q=HOME, dt=1e-3, quantise=False)
    compensator, period_s = Compensator(MODEL, ideal), 0.01
    tips = []

    def run(duration_s: float) -> None:
        for _ in range(round(duration_s / period_s)):
            plant.advance(ideal.to_pulse_us(standing(compensator, period_s)[0]), period_s)
            tips.append(plant.tip)

    run(3.0)
    tips.clear()
    for payload in beliefs:
        compensator.set_payload(*payload)
        run(0.3 if len(beliefs) > 2 else 3.0)
    run(3.0)
    speeds = np.linalg.norm(np.array(tips[5:]) - tips[:-5], axis=1) / (5 * period_s)
    assert speeds.max() < 1.5 * TIP_CREEP, "joints that pass their gap catch up"
    assert np.linalg.norm(tips - tips[0], axis=1).max() > 2e-3, "something moved"
    assert np.linalg.norm(tips[-1] - tips[0]) < 1e-3


@pytest.mark.parametrize("change", [lambda one: one.set_mode("none"), lambda one: one.set_payload(0.1)], ids=["mode", "payload"])
def test_standing_still_an_offset_passes_over_in_its_time_and_is_never_faster_than_that_says(change):
    """Two seconds are more than ``TIP_CREEP`` asks for here.  The blend's slope is 1.5 / T at most, half way it is half there."""
    one, dt, steps = faded(made(fade_s=2.0, transition_s=2.0)), 1.0 / 64.0, 128
    for _ in range(steps):
        standing(one, 0.1)  # by then friction has forgotten the way there
    change(one)
    rows = [standing(one, 0.0)] + [standing(one, dt) for _ in range(steps - 1)]
    assert not one.settled
    rows.append(standing(one, dt))
    assert one.settled
    q_cmd, tau = map(np.array, zip(*rows))
    way = q_cmd[-1] - q_cmd[0]
    assert np.abs(way).max() > 0.01
    assert (np.abs(np.diff(q_cmd, axis=0)) <= 1.51 / 2.0 * dt * np.abs(way) + 1e-12).all()
    assert (np.abs(np.diff(q_cmd, axis=0)[[0, -1]]) <= 0.1 / 2.0 * dt * np.abs(way) + 1e-12).all(), "it begins and ends gently"
    assert_allclose(tau[steps // 2], (tau[0] + tau[-1]) / 2.0, atol=1e-12)


def test_set_points_that_are_clamped_are_named_as_long_as_they_are():
    upper = HOME + np.array([1.0, 0.001, 1.0, 1.0, 1.0])
    one = Compensator(MODEL, SimpleNamespace(**vars(FREE) | {"setpoint_upper": upper}), fade_s=0.0)
    q_cmd, _ = standing(one, 0.01)
    assert one.clamped == ("shoulder",) and q_cmd[1] == upper[1]
    one.set_mode("none")
    standing(one, 0.01)
    assert one.clamped == ()


def test_what_is_set_before_the_first_command_is_no_change():
    """The set-point on the outputs stays, and fades to what is believed by then: nothing passes beside that."""
    compensator = faded(made())
    standing(compensator, 0.01)
    compensator.set_payload(0.2)
    loaded = MODEL.with_payload(0.05)
    motor = SERVO.motor_for(loaded.gravity(HOME))
    compensator.start_held(HOME, motor)
    compensator.set_payload(0.05)
    q_cmd, tau = standing(compensator, 0.0)
    assert_allclose(tau, loaded.gravity(HOME), atol=1e-12)
    assert_allclose(q_cmd, HOME + SERVO.sag(motor), atol=1e-12)


def test_a_start_from_pulses_that_are_on_keeps_them():
    """The board reports a set-point, the modelled pose under it is the reference: nothing moves at first."""
    reported = np.array(HOME)
    pose = ArmStateModel(MODEL, SERVO, reported).settle(reported)
    for mode in ("none", "gravity", "full"):
        compensator = made(mode)
        compensator.start_held(pose, SERVO.spring_torque(reported, pose, SERVO.supply_at(reported, pose)))
        q_cmd, _ = compensator.update(pose, REST, REST, 0.0)
        assert_allclose(q_cmd, reported, atol=1e-12)
    wanted, _ = compensator.update(pose, REST, REST, compensator.fade_s)
    assert_allclose(wanted[1:3], reported[1:3], atol=1e-9)  # well loaded: tanh is the sign


def test_a_motion_within_the_fade_has_its_own_offset_at_once():
    """Only what the start left over fades: it shrinks all the time, and adds no speed where the motion is fastest."""
    found = []
    for fade_s in (0.5, 0.0):
        compensator = made("full", fade_s=fade_s)
        compensator.start_held(HOME, 0.7 * MODEL.gravity(HOME))
        path = profiles.joint_move(HOME, HOME + [0.2, 0.1, -0.1, 0.2, 0.0], 1.0, 1.0, joint_names=SERVOS.joint_names)
        rows = zip(*path.sample(np.arange(0.0, 0.6, 0.01)))
        found.append([compensator.update(*row, 0.01 * bool(k))[0] for k, row in enumerate(rows)])
    left = np.abs(np.subtract(*found))
    assert left[0].max() > 1e-3 and (np.diff(left, axis=0) <= 1e-12).all() and left[-1].max() < 1e-9


def test_where_a_loaded_joint_turns_back_its_set_point_moves_no_faster_than_it_may():
    """Friction of typical servos changes sides within 4 mrad: at 20 rad/s² that asks for 5 rad/s and more of the set-point."""
    period_s, speed = 0.01, SERVOS.setpoint_speed
    plain, held = (Compensator(MODEL, one, fade_s=0.0) for one in (FREE, SERVOS))
    told: dict = {plain: [], held: []}
    for t in np.arange(0.0, 0.8, period_s):
        x = min(t, 0.6) - 0.3
        q, v, a = np.array(HOME), np.zeros(5), np.zeros(5)
        q[1], v[1], a[1] = HOME[1] - 1.0 + 10.0 * x**2, 20.0 * x * (t < 0.6), 20.0 * (t < 0.6)
        for one, rows in told.items():
            rows.append(one.update(q, v, a, period_s)[0][1])
    steps = {one: np.abs(np.diff(rows))[18:42].max() for one, rows in told.items()}
    assert steps[plain] > speed[1] * period_s, "else it proves nothing"
    assert steps[held] <= PACE * speed[1] * period_s + 1e-12
    late = np.abs(np.subtract(*told.values()))[20:42]
    assert 0.0 < late.max() < 0.1 and (late > 1e-9).sum() <= 6, "a few periods later it is where it would be"


@pytest.mark.parametrize("period_s", [0.01, 0.02])
def test_where_joints_turn_back_again_and_again_their_set_points_pass_the_guard(period_s):
    """Friction changes sides with each turn: seen in a stream whose samples shook by 20 mrad."""
    shaken, guard, rate = Compensator(MODEL, SERVOS, fade_s=0.0), SetpointGuard(SERVOS), 2.0 * np.pi * 6.0
    guard.sent(0.0, shaken.update(HOME, REST, REST, period_s)[0])
    for k in range(1, 100):
        wave, size = rate * k * period_s, 0.01 * np.ones(5)
        q, v, a = HOME + size * (1.0 - np.cos(wave)), size * rate * np.sin(wave), size * rate**2 * np.cos(wave)
        q_cmd, _ = shaken.update(q, v, a, period_s)
        assert guard.refusal(k * period_s, q_cmd, k * period_s) is None, guard.said
        guard.sent(k * period_s, q_cmd)
