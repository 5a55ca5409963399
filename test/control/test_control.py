"""Each control law against its theory, on the RRP arm, the picker and a mass, whose dynamics have tests of their own."""

import math

import numpy as np
from golden import load_cases
from numpy.testing import assert_allclose
from pytest import mark, raises
from scipy.integrate import solve_ivp

from picker_dynamics.control.laws import (
    NO_STATE,
    Adaptive,
    ComputedTorque,
    FeedForward,
    PdGravity,
    Pid,
    Reference,
    Robust,
    model_error,
)
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import InputError


def rrp(load):
    return lagrangian.make("rrp", M=load)


TRUE, TOLD, BARE, LOADED = map(rrp, (0.9, 0.5, 0.0, 1.0))
PICKER = lagrangian.make("picker", **load_cases()["picker"][0]["params"])
KP, KD = np.array([(100.0, 64.0, 81.0), (20.0, 16.0, 18.0)])
JOINT_KP, JOINT_KD, JOINT_KI = np.array([(6000.0, 12000.0, 4000.0), (600.0, 1200.0, 400.0), (20000.0, 40000.0, 14000.0)])
RHO, EPSILON, K = np.array([(0.3, 1.0, 1.0), (0.003, 0.01, 0.01), (300.0, 700.0, 180.0)])
L, GAMMA = 10.0, 10.0

LAWS = {
    "feed_forward": FeedForward(TOLD),
    "computed_torque": ComputedTorque(TOLD, KP, KD),
    "pd_gravity": PdGravity(TOLD, JOINT_KP, JOINT_KD),
    "pid": Pid(TOLD, JOINT_KP, JOINT_KI, JOINT_KD),
    "robust": Robust(TOLD, KP, KD, RHO, EPSILON),
    "adaptive": Adaptive(BARE, LOADED, L, K, GAMMA, estimate=0.5),
}
BEGIN = np.array([0.2, 2.2, 0.5])
ZERO = np.zeros(3)
HOLD, GOAL = (Reference(BEGIN + by, ZERO, ZERO) for by in (ZERO, (0.02, -0.01, 0.015)))


def near_states(count: int, seed: int = 0):
    """q, v near references q, v, a, (count, 3) each."""
    rng = np.random.default_rng(seed)
    q_d = BEGIN + rng.uniform(-0.3, 0.3, (count, 3))
    v_d, a_d = rng.uniform(-1, 1, (2, count, 3))
    return q_d + rng.uniform(-0.1, 0.1, (count, 3)), v_d + rng.uniform(-0.5, 0.5, (count, 3)), Reference(q_d, v_d, a_d)


def follow(law, arm, duration_s=1.0, tolerance=1e-10, reference=lambda t: GOAL, q0=BEGIN):
    """(t, q, v, state) of ``arm`` from rest under ``law``; ``reference`` is a function of time."""
    n = arm.n

    def rate(t, y):
        tau, state_rate = law(y[:n], y[n : 2 * n], reference(t), y[2 * n :])
        return np.concatenate([y[n : 2 * n], arm.forward_dynamics(y[:n], y[n : 2 * n], tau), state_rate])

    start = np.concatenate([q0, np.zeros(n), law.initial_state(q0, np.zeros(n), reference(0.0))])
    solution = solve_ivp(
        rate, (0.0, duration_s), start, method="LSODA", rtol=tolerance, atol=tolerance, t_eval=np.linspace(0.0, duration_s, 401)
    )
    assert solution.success
    return solution.t, solution.y[:n].T, solution.y[n : 2 * n].T, solution.y[2 * n :].T


def swing(t):
    """A smooth motion, and its derivatives."""
    amplitude, w = np.array([0.2, 0.1, 0.1]), 2.0
    sine, cosine = math.sin(w * t), math.cos(w * t)
    return Reference(BEGIN + amplitude * (1 - cosine), amplitude * w * sine, amplitude * w * w * cosine)


# --- inverse dynamics + PD --------------------------------------------------------------------------------


@mark.parametrize("arm", [TOLD, PICKER], ids=["rrp", "picker"])
def test_computed_torque_makes_double_integrators(arm):
    """ddot(e) + Kd ed + Kp e = 0, whatever the state."""
    rng = np.random.default_rng(2)
    q, v, q_d, v_d, a_d = rng.uniform(0.5, 1.0, (5, 20, arm.n))
    Kp, Kd = rng.uniform(10, 100, (2, arm.n))
    tau, _ = ComputedTorque(arm, Kp, Kd)(q, v, Reference(q_d, v_d, a_d), NO_STATE)
    a = arm.forward_dynamics(q, v, tau)
    assert_allclose(a_d - a, -Kd * (v_d - v) - Kp * (q_d - q), rtol=1e-8, atol=1e-8)


# --- PD + gravity, PID ------------------------------------------------------------------------------------


def test_pd_gravity_loses_energy_to_its_dampers_alone():
    """V = T + e^T Kp e / 2 falls by the integral of v^T Kd v, and never rises."""
    q, v, reference = near_states(5)
    tau, _ = LAWS["pd_gravity"](q, v, reference)
    assert_allclose(tau, JOINT_KP * (reference.q - q) + JOINT_KD * (reference.v - v) + TOLD.gravity(q), rtol=1e-12)
    t, q, v, _ = follow(LAWS["pd_gravity"], TOLD)
    V = 0.5 * np.einsum("si,sij,sj->s", v, TOLD.mass_matrix(q), v) + 0.5 * (GOAL.q - q) ** 2 @ JOINT_KP
    dissipated = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * ((v[1:] ** 2 + v[:-1] ** 2) @ JOINT_KD))])
    assert np.diff(V).max() <= 1e-9 * V[0] and V[-1] < 1e-6 * V[0]
    assert_allclose(V + dissipated, np.full_like(V, V[0]), rtol=2e-2)


def test_pid_starts_with_the_weight_and_learns_the_true_one():
    _, q, _, state = follow(LAWS["pid"], TRUE, 6.0)
    assert np.array_equal(state[0], TOLD.gravity(BEGIN))
    assert_allclose(q[-1], GOAL.q, atol=1e-6)
    assert_allclose(state[-1], TRUE.gravity(GOAL.q), rtol=1e-4, atol=1e-3)


@mark.parametrize("Ki, stable", [(39.0, True), (41.0, False)])
def test_pid_on_a_mass_has_the_poles_of_its_polynomial(Ki, stable):
    """m s³ + Kd s² + Kp s + Ki, stable while Ki m < Kp Kd (Routh)."""
    mass = lagrangian.make("spring_mass", m=2.0, k=0.0)
    law = Pid(mass, 20.0, Ki, 4.0)
    zero = Reference(np.zeros(1), np.zeros(1), np.zeros(1))

    def rate(y):
        tau, z_rate = law(y[:1], y[1:2], zero, y[2:])
        return np.concatenate([y[1:2], mass.forward_dynamics(y[:1], y[1:2], tau), z_rate])

    poles = np.linalg.eigvals(np.stack([rate(e) for e in np.eye(3)], axis=-1))
    assert_allclose(np.sort_complex(poles), np.sort_complex(np.roots([2.0, 4.0, 20.0, Ki])), rtol=1e-9)
    assert bool(poles.real.max() < 0.0) == stable


# --- robust -----------------------------------------------------------------------------------------------


def test_robust_stays_in_its_layer_and_decreases_v_outside():
    law = LAWS["robust"]
    t, q, v, state = follow(law, TRUE, 3.0, reference=swing, q0=BEGIN + (0.01, -0.01, 0.01))
    reference = Reference(*map(np.array, zip(*map(swing, t))))
    z = law.departure(q, v, reference, state)
    eta = model_error(TRUE, TOLD, q, v, law.acceleration(q, v, reference, state))
    assert np.abs(z[0]).max() < 1e-15
    worst = np.abs(eta).max(axis=0)
    assert (worst < RHO).all(), "the case is within the theory"
    layer = EPSILON * worst / np.sqrt(RHO**2 - worst**2)
    assert (np.abs(z) <= layer * (1 + 1e-6) + 1e-9).all()
    for sign in (-1, 1):  # anywhere outside the layer, and for the worst eta, V = z²/2 decreases
        beyond = sign * 1.001 * layer
        assert (beyond * (sign * worst - law.min_max(beyond)) < 0.0).all()


# --- adaptive ---------------------------------------------------------------------------------------------


def test_adaptive_lyapunov_function_decreases_as_it_should():
    """dV/dt = -s^T K s for V = s^T M s / 2 + (m - m^)² / (2 gamma), by differences along the motion."""
    law = LAWS["adaptive"]
    t, q, v, state = follow(law, TRUE, tolerance=1e-12, reference=swing, q0=BEGIN + (0.01, -0.005, 0.01))
    reference = Reference(*map(np.array, zip(*map(swing, t))))
    s = reference.v - v + L * (reference.q - q)
    V = 0.5 * np.einsum("ki,kij,kj->k", s, TRUE.mass_matrix(q), s) + (0.9 - state[:, 0]) ** 2 / (2 * GAMMA)
    loss = (s**2) @ K
    assert (state > 0.0).all(), "no projection in this case"
    h = t[1] - t[0]
    central = (V[:-4] - 8 * V[1:-3] + 8 * V[3:-1] - V[4:]) / (12 * h)
    assert_allclose(central, -loss[2:-2], rtol=1e-3, atol=1e-4 * loss.max())
    assert np.diff(V).max() <= 1e-12 and V[-1] < 1e-3 * V[0]


def test_adaptive_estimate_does_not_fall_far_below_nothing():
    """At the bound the rate downwards is 0; upwards it is what it was, and 0 is not touched from above."""
    law, (q, v, reference) = LAWS["adaptive"], near_states(50)
    _, free = law(q, v, reference, np.full((50, 1), 1e-12))
    effort_rate = [law(q, v, reference, np.full((50, 1), m))[1] for m in (-0.05, -0.025)]
    down = free < 0.0
    assert down.any() and not down.all()
    assert (effort_rate[0][down] == 0.0).all()
    assert_allclose(effort_rate[1][down], 0.5 * free[down], rtol=1e-9)
    assert_allclose(effort_rate[0][~down], free[~down], rtol=1e-12)


# --- bad input --------------------------------------------------------------------------------------------


@mark.parametrize(
    "law, arguments, about, message",
    [
        (ComputedTorque, (TOLD, -1.0, 20.0), "theta1", "Kp of joint theta1 is -1.0, must be > 0"),
        (Pid, (TOLD, 1.0, (0.0, 0.0, -2.0), 1.0), "d3", "Ki of joint d3 is -2.0, must be >= 0"),
        (Adaptive, (BARE, LOADED, 10.0, 100.0, 0.0), "gamma", "gamma is 0, must be > 0"),
        (Adaptive, (BARE, PICKER, 10.0, 100.0, 1.0), "loaded", "the loaded arm has 5 joints, the bare one 3"),
    ],
)
def test_gains_refused(law, arguments, about, message):
    with raises(InputError, match=message) as caught:
        law(*arguments)
    assert caught.value.subject == about
