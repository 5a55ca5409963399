"""Tool paths, lean models and the two ways to simulate, against slower and independent ways."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, mark, raises
from scipy.integrate import solve_ivp

from picker_dynamics.commands.study import rrp, simulate
from picker_dynamics.commands.study.simulate import continuous, sampled
from picker_dynamics.control.laws import ComputedTorque, ControlLaw, Reference
from picker_dynamics.errors import PickerError
from picker_dynamics.trajectory import profiles

ARM, WAY = rrp.arm(0.8), rrp.path()
BEGIN = (0.2, 2.2, 0.5)


# --- tool path --------------------------------------------------------------------------------------------


@mark.parametrize("profile", profiles.NAMES)
def test_the_joint_motion_keeps_the_tool_on_the_line(profile):
    way = rrp.path(profile)
    t = np.linspace(0.0, way.duration_s, 4001)[1:-1]
    q, v, a = way.trajectory.sample(t)
    assert_allclose(ARM.full.forward_kinematics(q), way.tool(t), atol=1e-11)
    s, sd, sdd = way.law.sample(t / way.duration_s)
    J, line = ARM.full.jacobian(q), way.end - way.begin
    assert_allclose(np.einsum("kij,kj->ki", J, v), sd / way.duration_s * line, atol=1e-9)
    # J a + dJ/dt v is the tool's acceleration; dJ/dt by differences along the motion.
    h = 1e-5
    J_rate = (ARM.full.jacobian(q + h * v) - ARM.full.jacobian(q - h * v)) / (2 * h)
    acceleration = np.einsum("kij,kj->ki", J, a) + np.einsum("kij,kj->ki", J_rate, v)
    assert_allclose(acceleration, sdd / way.duration_s**2 * line, atol=1e-8)


# --- lean model -------------------------------------------------------------------------------------------


def test_lean_is_the_model_itself():
    rng = np.random.default_rng(5)
    for q, v, a in rng.uniform(0.5, 1.5, (20, 3, 3)):
        calls = {"inverse_dynamics": (q, v, a), "mass_matrix": (q,), "coriolis_matrix": (q, v), "gravity": (q,)}
        for name, arguments in calls.items():
            assert_array_equal(getattr(ARM, name)(*arguments), getattr(ARM.full, name)(*arguments))
        acceleration = ARM.acceleration(q.tolist(), v.tolist(), a.tolist())
        assert_allclose(acceleration, ARM.full.forward_dynamics(q, v, a), rtol=1e-12)
    batch = rng.uniform(0.5, 1.5, (3, 7, 3))
    assert_array_equal(ARM.inverse_dynamics(*batch), ARM.full.inverse_dynamics(*batch))


# --- simulation -------------------------------------------------------------------------------------------


def independent(law: ControlLaw, way, q0, duration_s: float) -> np.ndarray:
    """Final q, v: another integrator, the checked model, no restarts, no shortcuts."""

    def rate(t, y):
        q, v, state = y[:3], y[3:6], y[6:]
        reference = Reference(*way.trajectory.sample(t))
        tau, state_rate = law(q, v, reference, state)
        return np.concatenate([v, ARM.full.forward_dynamics(q, v, tau), state_rate])

    first = Reference(*way.trajectory.sample(0.0))
    start = np.concatenate([q0, np.zeros(3), law.initial_state(np.array(q0), np.zeros(3), first)])
    return solve_ivp(rate, (0.0, duration_s), start, method="DOP853", rtol=1e-10, atol=1e-11, max_step=0.02).y[:6, -1]


@mark.parametrize(
    "name, profile", [("feed_forward", "quintic"), ("pid", "trapezoidal"), ("robust", "cubic"), ("adaptive", "quintic")]
)
def test_continuous_agrees_with_another_integrator(name, profile):
    law, way = rrp.law(name), rrp.path(profile)
    run = continuous(law, ARM, way.trajectory, BEGIN, 1.0, corners=way.corners)
    expected = independent(law, way, BEGIN, 1.0)
    assert_allclose(np.concatenate([run.q[-1], run.v[-1]]), expected, rtol=1e-6, atol=1e-7)


def test_runs_hold_what_they_say():
    for simulator in (continuous, sampled):
        run = simulator(rrp.law("adaptive"), ARM, WAY.trajectory, BEGIN, 2.3)
        assert run.t.shape == (2301,) and run.state.shape == (2301, 1)
        assert run.q.shape == run.v.shape == run.tau.shape == (2301, 3)
        assert run.t[0] == 0.0 and run.t[-1] == 2.3 and np.array_equal(run.q[0], BEGIN) and not run.v[0].any()
        assert all(np.isfinite(x).all() for x in (run.q, run.v, run.tau, run.state))
        tau, _ = rrp.law("adaptive")(run.q[700], run.v[700], Reference(*WAY.trajectory.sample(0.7)), run.state[700])
        assert_allclose(run.tau[700], tau, rtol=1e-9)


def test_sampling_finer_comes_nearer_to_continuous_time():
    """The zero-order hold errs by O(period)."""
    law = rrp.law("computed_torque")
    exact = continuous(law, ARM, WAY.trajectory, BEGIN, 1.0).q[-1]
    runs = (sampled(law, ARM, WAY.trajectory, BEGIN, 1.0, period_s=h) for h in (4e-3, 1e-3))
    coarse, fine = (np.abs(run.q[-1] - exact).max() for run in runs)
    assert 1e-8 < fine < coarse / 3.5 < 1e-3


def test_the_held_effort_moves_the_arm_as_it_should():
    """A free fall: no effort, energy stays."""

    class Limp(ControlLaw):
        def __call__(self, q, v, reference, state):
            return np.zeros_like(q), state

    run = sampled(Limp(ARM), ARM, WAY.trajectory, BEGIN, 0.4)
    energy = 0.5 * np.einsum("si,sij,sj->s", run.v, ARM.full.mass_matrix(run.q), run.v) + ARM.full.potential_energy(run.q)
    assert np.ptp(run.q[:, 1]) > 0.1
    assert_allclose(energy, np.full_like(energy, energy[0]), rtol=1e-11)


@mark.parametrize("profile, jumps", [("quintic", [2.0]), ("trapezoidal", [0.5, 1.5, 2.0])])
def test_the_integrator_starts_anew_where_the_reference_jumps(profile, jumps, monkeypatch):
    starts, way = [], rrp.path(profile)

    def noting(rate, span, *arguments, **options):
        starts.append(span)
        return solve_ivp(rate, span, *arguments, **options)

    monkeypatch.setattr("scipy.integrate.solve_ivp", noting)
    continuous(rrp.law("computed_torque"), ARM, way.trajectory, BEGIN, 2.5, corners=way.corners)
    assert [end for _, end in starts] == approx([*jumps, 2.5])


def test_a_law_that_jumps_does_not_hang_the_integrator(monkeypatch):

    class Relay(ComputedTorque):
        def __call__(self, q, v, reference, state):
            return self.model.gravity(q) + 50.0 * np.sign(reference.q - q + 0.1 * (reference.v - v)), state

    monkeypatch.setattr(simulate, "MOST_EVALUATIONS", 500)
    with raises(PickerError, match="does not get beyond 0.*stiff, or jumps"):
        continuous(Relay(rrp.arm(0.5), 1.0, 1.0), ARM, WAY.trajectory, BEGIN, 3.0)
