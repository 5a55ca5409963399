"""The modelled state against SciPy's integration of the same equations, and stable where they are stiff."""

import arm_fixtures
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError
from picker_dynamics.robot.resting import settled

ARM = arm_fixtures.picker()


@pytest.fixture(params=[False, True], ids=["stiff", "soft"])
def servos(request):
    return arm_fixtures.servos(request.param, ideal=True)


@pytest.fixture
def model(servos):
    return RigidBody(ARM, servos.armature)


def integrated(model, servo, goal, q0, times):
    """q, v at ``times`` by an explicit method with steps of 1 ms at most (the equations, written out)."""

    def slope(_, y):
        q, v = y[:5], y[5:]
        error = goal - q
        pull = np.clip(
            servo.stiffness * np.sign(error) * np.maximum(np.abs(error) - servo.deadband, 0.0),
            -servo.stall_torque,
            servo.stall_torque,
        )
        tau = pull - servo.damping * v - model.viscous * v - model.coulomb * np.tanh(v / 0.01)
        bias = model.coriolis_matrix(q, v) @ v + model.gravity(q)
        return np.concatenate([v, np.linalg.solve(model.mass_matrix(q), tau - bias)])

    solution = solve_ivp(
        slope, (0.0, times[-1]), np.concatenate([q0, np.zeros(5)]), t_eval=times, rtol=1e-7, atol=1e-9, max_step=1e-3
    )
    return solution.y[:5].T, solution.y[5:].T


def stepped(model, servo, goal, q0, times, max_step_s):
    state = ArmStateModel(model, servo, q0, max_step_s)
    states = [state.step(goal, dt) for dt in np.diff(times, prepend=0.0)]
    return np.array([q for q, _ in states]), np.array([v for _, v in states])


def test_a_step_of_the_setpoint_follows_the_equations_to_second_order(model, servos):
    q0, times = np.array(servos.rest), np.arange(1, 61) * 5e-3
    goal = q0 + [0.02, -0.05, 0.05, 0.02, 0.1]
    q, v = integrated(model, servos.model, goal, q0, times)
    errors = [np.abs(stepped(model, servos.model, goal, q0, times, h)[0] - q).max() for h in (2.5e-3, 1.25e-3)]
    assert errors[0] < 1e-3 and errors[1] < 0.4 * errors[0]
    assert np.abs(v).max() > 1.0


@pytest.mark.parametrize("armature", [1e-3, 1e-4])
def test_it_stays_calm_at_5_ms_with_a_light_scissor(servos, armature):
    """Explicit damping would chatter here: D h / M = 0.72 and 7.2.  The shoulder rings, rightly."""
    model = RigidBody(ARM, np.full(5, armature))
    state = ArmStateModel(model, servos.model, servos.rest, max_step_s=5e-3)
    goal = np.array(servos.home)
    speeds = np.abs([state.step(goal, 5e-3)[1] for _ in range(600)])
    assert speeds[200:, 4].max() < 0.01
    assert speeds[200:300].max() < 0.1
    assert speeds[500:].max() < 0.2 * speeds[200:300].max()
    assert_allclose(state.q[1:4], ArmStateModel(model, servos.model, goal).settle(goal)[1:4], atol=1e-3)


def test_settling_is_where_stepping_ends(model, servos):
    rng = np.random.default_rng(0)
    for _ in range(3):
        goal = rng.uniform([-1.0, 0.6, -2.0, -0.5, 0.1], [1.0, 1.6, -0.5, 1.0, 1.0])
        state = ArmStateModel(model, servos.model, goal)
        rests = state.settle(goal)
        stepping = ArmStateModel(model, servos.model, rests + 0.01 * rng.normal(size=5))
        for _ in range(300):
            q, _ = stepping.step(goal, 1e-2)
        assert_allclose(q[1:4], rests[1:4], atol=2e-5)
        assert_array_equal(state.v, 0.0)


def test_a_joint_balanced_in_its_gap_comes_to_rest_however_slowly_it_begins_to_fall():
    servo = arm_fixtures.servos().model
    fallen, left = settled(servo.without_friction, lambda q: -1e-4 * q, np.zeros(5), np.full(5, 1e-6))
    assert_array_equal(left, 0.0)
    assert_allclose(servo.spring_torque(np.zeros(5), fallen), -1e-4 * fallen, atol=1e-9)
    assert (fallen >= servo.gap).all() and (fallen < servo.gap + 1e-4).all()


def test_a_load_above_stall_falls_until_the_spring_bears_it_or_is_refused(model, servos):
    heavy = model.with_payload(0.4)
    goal = np.array([0.0, 0.3, 0.0, 0.0, 0.5])
    fell = ArmStateModel(heavy, servos.model, goal).settle(goal)
    assert abs(heavy.gravity(goal)[1]) > servos.stall_torque[1]
    assert fell[1] < -0.5
    assert_allclose(heavy.gravity(fell), servos.model.spring_torque(goal, fell), atol=1e-9)

    class Unbearable(RigidBody):
        def gravity(self, q):
            return np.array([0.0, 2.0, 0.0, 0.0, 0.0])

    with pytest.raises(
        InfeasibleError, match=r"shoulder finds no rest at set-point 17\.2 deg: 0\.92 N·m are not borne, stall is 1\.08"
    ):
        ArmStateModel(Unbearable(ARM), servos.model, goal).settle(goal)
    with pytest.raises(InfeasibleError, match=r"shoulder finds no rest at set-point 300\.0 mm: 0\.92 N are not borne"):
        ArmStateModel(Unbearable(ARM), servos.model, goal, units=("rad", "m", "rad", "rad", "rad")).settle(goal)


class Counted:
    """A model that counts how often it is asked for an acceleration."""

    def __init__(self, model):
        self._model, self.asked = model, 0

    def __getattr__(self, name):
        return getattr(self._model, name)

    def mass_matrix(self, q):
        self.asked += 1
        return self._model.mass_matrix(q)


def test_at_rest_nothing_is_integrated_until_something_changes(model, servos):
    counted = Counted(model)
    state = ArmStateModel(counted, servos.model, servos.rest, 0.005)
    goal = np.array(servos.rest) + [0.02, -0.05, 0.05, 0.02, 0.1]
    for _ in range(800):  # in the deadband an arm creeps for long
        state.step(goal, 0.02)
    asked, (q, v) = counted.asked, state.step(goal, 0.02)
    assert counted.asked == asked and not v.any()
    assert_allclose(q, state.settle(goal, start=q), atol=1e-5)
    state.step(goal, 0.02)
    assert counted.asked > asked, "whoever puts it somewhere has it looked at again"
    asked = counted.asked
    assert np.abs(state.step(goal + 0.01, 0.02)[1]).max() > 1e-3 and counted.asked > asked
    for _ in range(800):
        state.step(goal, 0.02)
    before = state.q
    state.model = model.with_payload(0.1, (0.0, 0.0, 0.0))
    state.step(goal, 0.1)
    assert np.abs(state.q - before).max() > 1e-4
