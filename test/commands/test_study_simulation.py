"""Tool paths and the two ways to simulate, against slower and independent ways."""

import numpy as np
from numpy.testing import assert_allclose
from pytest import mark
from scipy.integrate import solve_ivp

from picker_dynamics.commands.study import rrp
from picker_dynamics.commands.study.simulate import continuous, sampled
from picker_dynamics.control.laws import ControlLaw, Reference
from picker_dynamics.trajectory import profiles

ARM, WAY = rrp.arm(0.8), rrp.path()
BEGIN = (0.2, 2.2, 0.5)


@mark.parametrize("profile", profiles.NAMES)
def test_the_joint_motion_keeps_the_tool_on_the_line(profile):
    way = rrp.path(profile)
    t = np.linspace(0.0, way.duration_s, 4001)[1:-1]
    q, v, a = way.sample(t)
    assert_allclose(ARM.forward_kinematics(q), way.tool(t), atol=1e-11)
    s, sd, sdd = way.law.sample(t / way.duration_s)
    J, line = ARM.jacobian(q), way.end - way.begin
    assert_allclose(np.einsum("kij,kj->ki", J, v), sd / way.duration_s * line, atol=1e-9)
    # J a + dJ/dt v is the tool's acceleration; dJ/dt by differences along the motion.
    h = 1e-5
    J_rate = (ARM.jacobian(q + h * v) - ARM.jacobian(q - h * v)) / (2 * h)
    acceleration = np.einsum("kij,kj->ki", J, a) + np.einsum("kij,kj->ki", J_rate, v)
    assert_allclose(acceleration, sdd / way.duration_s**2 * line, atol=1e-8)


@mark.parametrize("name, profile", [("pid", "trapezoidal"), ("adaptive", "quintic")])
def test_continuous_agrees_with_another_integrator_that_knows_no_corners(name, profile):
    law, way, end_s = rrp.law(name), rrp.path(profile), 0.6

    def rate(t, y):
        q, v, state = y[:3], y[3:6], y[6:]
        tau, state_rate = law(q, v, Reference(*way.sample(t)), state)
        return np.concatenate([v, ARM.forward_dynamics(q, v, tau), state_rate])

    state = law.initial_state(np.array(BEGIN), np.zeros(3), Reference(*way.sample(0.0)))
    start = np.concatenate([BEGIN, np.zeros(3), state])
    expected = solve_ivp(rate, (0.0, end_s), start, method="DOP853", rtol=1e-10, atol=1e-11, max_step=0.02).y[:6, -1]
    run = continuous(law, ARM, way, BEGIN, end_s)
    assert_allclose(np.concatenate([run.q[-1], run.v[-1]]), expected, rtol=1e-6, atol=1e-7)


def test_sampling_finer_comes_nearer_to_continuous_time():
    """The zero-order hold errs by O(period)."""
    law = rrp.law("computed_torque")
    exact = continuous(law, ARM, WAY, BEGIN, 1.0).q[-1]
    coarse, fine = (np.abs(sampled(law, ARM, WAY, BEGIN, 1.0, period_s=h).q[-1] - exact).max() for h in (4e-3, 1e-3))
    assert 1e-8 < fine < coarse / 3.5 < 1e-3


def test_the_held_effort_moves_the_arm_as_it_should():
    """A free fall: no effort, energy stays."""

    class Limp(ControlLaw):
        def __call__(self, q, v, reference, state):
            return np.zeros_like(q), state

    run = sampled(Limp(ARM), ARM, WAY, BEGIN, 0.4)
    energy = 0.5 * np.einsum("si,sij,sj->s", run.v, ARM.mass_matrix(run.q), run.v) + ARM.potential_energy(run.q)
    assert np.ptp(run.q[:, 1]) > 0.1
    assert_allclose(energy, np.full_like(energy, energy[0]), rtol=1e-11)
