"""The simulated arm against truths that do not come from it: Pinocchio, statics by hand, energy, the servo model."""

import subprocess
import sys

import numpy as np
import pytest
from arm_fixtures import picker, servos
from plant_truths import energy

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.resources import resource
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim import plant_error
from picker_dynamics.sim.plant import STOP_MARGIN, Plant

ARM, SERVOS = picker(), servos(ideal=True)
SHOULDER = ARM.joint_names.index("shoulder")
OFF = (None,) * ARM.n
REACHING = np.array([0.3, 0.8, -0.8, -0.2, 0.6])


@pytest.fixture(scope="module")
def plant():
    return Plant(ARM, SERVOS)


@pytest.fixture
def arm(plant):
    """The exact arm, at rest and unpowered in a reaching pose."""
    plant.attach(0.0)
    plant.reset(REACHING)
    return plant


def pulses_for(q):
    return SERVOS.to_pulse_us(q).tolist()


TO_REACH = tuple(pulses_for(REACHING))
BODY = RigidBody(ARM)


def largest_difference(plant, reference, states=100):
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(states):
        q, v = rng.uniform(-2.5, 2.5, plant.n), rng.uniform(-6.0, 6.0, plant.n)
        worst = max(
            worst,
            np.abs(plant.mass_matrix(q) - reference.mass_matrix(q)).max(),
            np.abs(plant.bias(q, v) - reference.inverse_dynamics(q, v, np.zeros(plant.n))).max(),
            np.abs(plant.tip_at(q) - reference.forward_kinematics(q)).max(),
        )
    return worst


@pytest.mark.parametrize("load, com", [(0.0, (0, 0, 0)), (0.025, (0, 0, 0)), (0.3, (0.01, -0.02, 0.03))])
def test_mujoco_and_pinocchio_agree(arm, load, com):
    arm.attach(load, com)
    assert largest_difference(arm, RigidBody(ARM, SERVOS.armature).with_payload(load, com)) < 1e-9


def test_an_arm_of_another_shape_agrees_too():
    arm, servos = servo_arm.load(str(resource("urdf/cylindrical.urdf")))
    other, reference = Plant(arm, servos), RigidBody(arm, servos.armature)
    assert largest_difference(other, reference) < 1e-9
    other.attach(0.2, (0.1, 0.2, 0.3))
    assert largest_difference(other, reference.with_payload(0.2, (0.1, 0.2, 0.3))) < 1e-9


def test_it_rests_where_the_servo_model_says(arm):
    """Statics: q = q_cmd - g(q) / K - delta sign(g(q)), with Pinocchio's g; the base, unloaded, within the deadband."""
    arm.advance(TO_REACH, 6.0)
    load = BODY.gravity(arm.q)
    resting = arm.setpoint - SERVOS.model.sag(SERVOS.model.motor_for(load))
    loaded = np.abs(load) > 0.01
    assert loaded.sum() == 3
    np.testing.assert_allclose(arm.q[loaded], resting[loaded], atol=1e-6)
    assert (np.abs(arm.q - arm.setpoint)[~loaded] <= SERVOS.model.deadband[~loaded] + 1e-9).all()
    np.testing.assert_allclose(arm.torque[loaded], load[loaded], atol=1e-5)


def test_energy_changes_by_the_work_of_the_servos(arm):
    """T + V of a powered motion against the integral of servo torque times speed, damping included."""
    pulses = pulses_for(REACHING + [0.6, 0.4, -0.5, 0.4, 0.3])
    start, work, dissipated = sum(energy(arm)), 0.0, 0.0
    for _ in range(800):
        q, v = arm.q, arm.v
        arm.step(pulses)
        torque = SERVOS.model.motor_torque(arm.setpoint, q, v)
        work += float(0.5 * (torque + arm.torque) @ (arm.q - q))
        dissipated += float(SERVOS.model.damping @ v**2) * arm.dt
    assert sum(energy(arm)) - start == pytest.approx(work, abs=1e-3 * dissipated)
    assert dissipated > 0.1 and work > 0.1  # J: there was something to balance


def test_the_step_is_fine_enough():
    def path(dt):
        plant = Plant(ARM, SERVOS, dt=dt, q=REACHING)
        tips = []
        for k in range(25):
            s = k / 24.0
            plant.advance(pulses_for(REACHING + s * s * (3.0 - 2.0 * s) * np.array([0.3, 0.2, -0.3, 0.2, 0.2])), 0.02)
            tips.append(plant.tip)
        return np.array(tips)

    assert np.linalg.norm(path(5e-4) - path(5e-5), axis=1).max() < 2e-4


def test_pulses_are_quantised(arm):
    quantum = SERVOS.quantum_us
    counts = np.round(np.array(TO_REACH) / quantum)
    arm.step((counts * quantum + 0.49 * quantum).tolist())
    np.testing.assert_allclose(arm.setpoint, SERVOS.to_angle(counts * quantum), atol=1e-12)
    arm.step((counts * quantum + 0.51 * quantum).tolist())
    np.testing.assert_allclose(arm.setpoint, SERVOS.to_angle((counts + 1) * quantum), atol=1e-12)


def test_damping_is_the_speed_limit(arm):
    """A long swing of the base under full torque reaches the no-load speed and no more (the swinging links add 0.2 %)."""
    arm.reset([-1.5, 1.9, -2.3, -1.1, 0.0])
    speeds = []
    for _ in range(600):
        arm.step(pulses_for([1.5, 1.9, -2.3, -1.1, 0.0]))
        speeds.append(arm.v[0])
    assert max(speeds) == pytest.approx(SERVOS.no_load_speed[0], rel=0.005)


def test_relaxed_it_falls_almost_freely_and_stops_at_the_stop(arm):
    begin, shares = sum(energy(arm)), []
    for _ in range(400):
        arm.step(OFF)
        kinetic, potential = energy(arm)
        shares.append(kinetic / (begin - potential))
    assert 0.7 < shares[-1] < 1.0, "share of the fall that is motion"
    arm.advance(OFF, 5.0)
    assert arm.q[SHOULDER] == pytest.approx(ARM.lower[SHOULDER] - STOP_MARGIN["revolute"], abs=2e-3)
    assert (arm.torque == 0.0).all()


def test_an_arm_at_rest_is_left_there_until_something_changes():
    plant = Plant(ARM, SERVOS, plant_error=0.15, seed=3)
    home, rest = (tuple(SERVOS.to_pulse_us(pose)) for pose in (SERVOS.home, SERVOS.rest))
    plant.advance(rest, 0.1)
    assert not plant.at_rest
    for _ in range(100):
        plant.advance(rest, 0.1)
    assert plant.at_rest
    q, time = plant.q, plant.time
    plant.advance(rest, 1.0)
    assert plant.time == pytest.approx(time + 1.0) and (plant.q == q).all()
    plant.wake()  # integrated after all: it stays where it is
    plant.advance(rest, 1.0)
    np.testing.assert_allclose(plant.q, q, atol=2e-6)
    for change in (lambda: plant.attach(0.05), lambda: plant.advance(home, 0.02)):
        for _ in range(60):
            plant.advance(rest, 0.1)
        assert plant.at_rest
        q = plant.q
        change()
        assert not plant.at_rest
        plant.advance(rest, 0.2)
        assert np.abs(plant.q - q).max() > 1e-4


def test_the_support_holds_each_joint_until_it_is_first_powered(arm):
    arm.reset(REACHING, support=True)
    arm.advance(OFF, 1.0)
    np.testing.assert_allclose(arm.q, REACHING, atol=1e-6)
    pulses = [*TO_REACH[:2], None, None, None]
    arm.advance(pulses, 1.0)
    assert 0.02 < REACHING[SHOULDER] - arm.q[SHOULDER] < 0.2  # sags on its own spring
    np.testing.assert_allclose(arm.q[2:], REACHING[2:], atol=5e-3)
    arm.advance(OFF, 1.0)
    assert arm.q[SHOULDER] < -0.2  # nothing holds it any more


def test_errors_are_reproducible_and_bounded():
    one, again, other = (Plant(ARM, SERVOS, plant_error=0.15, seed=seed).error for seed in (1, 1, 2))
    factors, same, others = (
        np.array([*e.mass.values(), *e.inertia.values(), *e.armature, *e.stiffness, *e.deadband, *e.damping])
        for e in (one, again, other)
    )
    assert (factors == same).all() and (factors != others).all() and factors.size == 2 * 5 + 4 * 5
    assert np.abs(factors - 1.0).max() <= 0.15 and np.std(factors) > 0.05
    assert 0.0 <= one.coulomb.min() and 0.0 < one.coulomb.max() <= 0.03 * 1.08
    exact = plant_error.draw(ARM, SERVOS.stall_torque)
    assert set(exact.mass.values()) == {1.0} and (exact.stiffness == 1.0).all() and not exact.coulomb.any()


def test_errors_reach_the_physics():
    """Statics of the perturbed arm from its own errors: masses, K and deadband by hand."""
    plant = Plant(ARM, SERVOS, plant_error=0.15, seed=3, q=REACHING)
    error = plant.error
    weights = {name: 9.81 * link.mass * error.mass[name] for name, link in ARM.links.items() if link.mass}
    q = REACHING
    a1, a2, a3 = np.cumsum(q[1:4])
    c1, c2, c3 = np.cos([a1, a2, a3])
    shoulder = (
        weights["upper_arm"] * 0.1 * c1
        + weights["forearm"] * (0.2 * c1 + 0.0725 * c2)
        + weights["hand"] * (0.2 * c1 + 0.145 * c2 + 0.04 * c3)
        + weights["scissor"] * (0.2 * c1 + 0.145 * c2 + 0.08 * c3)
    )
    assert plant.bias(q, np.zeros(5))[SHOULDER] == pytest.approx(shoulder, rel=1e-9)
    plant.advance(pulses_for(q), 6.0)
    load = plant.bias(plant.q, np.zeros(5))[SHOULDER]
    K, delta = 10.0 * error.stiffness[SHOULDER], SERVOS.model.deadband[1] * error.deadband[SHOULDER]
    friction = error.coulomb[SHOULDER]
    stretch = plant.setpoint[SHOULDER] - plant.q[SHOULDER]
    assert abs(stretch - (load / K + delta)) <= friction / K + 1e-6
    dense = plant.mass_matrix(q)
    assert np.linalg.eigvalsh(dense).min() > 0.0


@pytest.mark.parametrize(
    "kwargs, words",
    [
        ({"plant_error": 1.0}, "plant error"),
        ({"plant_error": -0.1}, "plant error"),
        ({"dt": 0.0}, "step"),
        ({"payload": -0.1}, "payload mass"),
        ({"payload": float("nan")}, "payload mass"),
        ({"q": [0.0] * 4}, "q"),
    ],
)
def test_values_out_of_range_are_refused(kwargs, words):
    with pytest.raises(InputError, match=words):
        Plant(ARM, SERVOS, **kwargs)


def test_a_urdf_that_mujoco_cannot_simulate_is_refused_by_name():
    text = ARM.urdf.replace('iyy="5.000e-4" iyz="0" izz="5.090e-4"', 'iyy="5.000e-4" iyz="0" izz="5.090e-2"')
    assert text != ARM.urdf
    with pytest.raises(DescriptionError, match="upper_arm"):
        Plant(descriptions.parse(text), SERVOS)


def test_without_mujoco_the_package_imports_and_the_plant_says_how_to_get_it():
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "import picker_dynamics.sim, picker_dynamics.robot.servo, picker_dynamics.errors as errors\n"
        "try:\n    import picker_dynamics.sim.plant\n"
        "except errors.MissingDependencyError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "picker_dynamics[sim]" in done.stdout
