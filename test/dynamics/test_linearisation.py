"""Linear state space: the notes' two-link arm, differences, Pinocchio, and a pendulum that everyone knows."""

from __future__ import annotations

import math

import dynamics_models
import numpy as np
import pytest
from arm_fixtures import picker
from dynamics_models import ARMATURE, planar_bars
from dynamics_properties import close, gradient, states
from golden import agrees, load_cases

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError

TWO_LINK = load_cases()["two_link"]
MODELS = dynamics_models.MODELS | {
    "picker, rotors, payload": lagrangian.from_description(picker(), ARMATURE).with_payload(0.05),
    "picker as a chain": lagrangian.from_urdf(picker(), armature=ARMATURE).with_payload(0.05),
    "picker, Pinocchio": RigidBody(picker(), ARMATURE).with_payload(0.05),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def two_link_as_a_chain(p):
    bars = planar_bars((p["d2"], p["a2"], p["m2"], p["J2"]), (p["d3"], p["a3"], p["m3"], p["J3"]))
    return lagrangian.chain(bars, (0, -p["g"], 0))


@pytest.mark.parametrize("case", TWO_LINK, ids=range(len(TWO_LINK)))
@pytest.mark.parametrize("build", [lambda p: lagrangian.make("two_link", **p), two_link_as_a_chain], ids=["closed form", "chain"])
def test_golden_sample(build, case):
    A, B = lagrangian.linearise(build(case["params"]), case["q"], case["qd"], case["lin"]["T"])
    agrees(A, case["lin"]["A"], "A")
    agrees(B, case["lin"]["B"], "B")


def test_the_notes_matrix_with_its_sign_put_right():
    """The two-link arm's P23 and P33; with the signs as printed, A is wrong by a large part of itself."""
    errors = []
    for case in TWO_LINK:
        arm = lagrangian.make("two_link", **case["params"])
        q, v, T = (np.array(x) for x in (case["q"], case["qd"], case["lin"]["T"]))
        (JA, C), (_, JB) = arm.mass_matrix(q)
        D = case["params"]["m3"] * case["params"]["d2"] * case["params"]["a3"] * math.sin(q[1])
        G_H = T - arm.coriolis_matrix(q, v) @ v - arm.gravity(q)
        A, _ = lagrangian.linearise(arm, q, v, T)
        by_theta3 = gradient(lambda q, arm=arm, v=v, T=T: T - arm.coriolis_matrix(q, v) @ v - arm.gravity(q), q)[:, 1]
        P = A[2:, 1] - np.linalg.solve(arm.mass_matrix(q), by_theta3)
        det = JA * JB - C**2
        right = np.array([[2 * JB * (JB - C), JA * JB - 2 * JB * C + C**2], [JA * JB - 2 * JB * C + C**2, -2 * C * (JA - C)]])
        printed = np.array(
            [[-2 * JB * (JB + C), JA * JB + 2 * JB * C + C**2], [JA * JB + 2 * JB * C + C**2, -2 * (2 * JA * JB + JA * C - C**2)]]
        )
        close(D / det**2 * right @ G_H, P, 1e-8)
        errors.append(np.linalg.norm(D / det**2 * printed @ G_H - P) / np.linalg.norm(A))
    assert min(errors) > 0.03 and max(errors) > 0.5, errors


@every_model
def test_torque_derivatives(model):
    for q, v, a, _ in np.swapaxes(states(model, 5, seed=1), 0, 1):
        by_q, by_v = model.torque_derivatives(q, v, a)
        for actual, expected in (
            (by_q, gradient(lambda q, v=v, a=a: model.inverse_dynamics(q, v, a), q)),
            (by_v, gradient(lambda v, q=q, a=a: model.inverse_dynamics(q, v, a), v)),
        ):
            assert np.max(np.abs(actual - expected)) <= 1e-8 * np.max(np.abs(model.inverse_dynamics(q, v, a)))


@every_model
def test_deviations_grow_as_the_motion_does(model):
    """A and B against differences of the forward dynamics."""
    n = model.n
    for q, v, tau, _ in np.swapaxes(states(model, 5, seed=2, reach=1.0), 0, 1):
        A, B = lagrangian.linearise(model, q, v, tau)
        assert A.shape == (2 * n, 2 * n) and B.shape == (2 * n, n)
        np.testing.assert_array_equal(A[:n], np.eye(n, 2 * n, n))
        assert not B[:n].any()
        expected = [
            gradient(lambda q, v=v, tau=tau: model.forward_dynamics(q, v, tau), q),
            gradient(lambda v, q=q, tau=tau: model.forward_dynamics(q, v, tau), v),
            gradient(lambda tau, q=q, v=v: model.forward_dynamics(q, v, tau), tau),
        ]
        scale = np.max(np.abs(np.concatenate(expected[:2], axis=-1))) or 1.0
        assert np.max(np.abs(A[n:] - np.concatenate(expected[:2], axis=-1))) <= 1e-7 * scale
        close(B[n:], expected[2], 1e-7)


def test_three_models_of_the_picker_agree():
    analytic_model, chain, pinocchio = (
        MODELS[name] for name in ("picker, rotors, payload", "picker as a chain", "picker, Pinocchio")
    )
    q, v, tau, _ = states(analytic_model, 50, seed=3)
    expected = lagrangian.linearise(pinocchio, q, v, tau)
    for model in (analytic_model, chain):
        for actual, matrix in zip(lagrangian.linearise(model, q, v, tau), expected):
            close(actual, matrix, 1e-11)


def test_a_hanging_pendulum_swings_and_a_standing_one_falls():
    p = {"g": 9.81, "a": 0.3, "m": 2.0, "J_G": 0.05}
    arm = lagrangian.make("pendulum", **p)
    omega = math.sqrt(p["m"] * p["g"] * p["a"] / (p["J_G"] + p["m"] * p["a"] ** 2))
    hanging, _ = lagrangian.linearise(arm, [-math.pi / 2], [0.0], [0.0])
    standing, B = lagrangian.linearise(arm, [math.pi / 2], [0.0], [0.0])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(hanging)), [-1j * omega, 1j * omega], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(standing)), [-omega, omega], rtol=1e-13)
    np.testing.assert_allclose(B, [[0.0], [1 / (p["J_G"] + p["m"] * p["a"] ** 2)]], rtol=1e-14)


@every_model
def test_batch_equals_loop(model):
    q, v, tau, _ = states(model, 6, seed=4)
    A, B = lagrangian.linearise(model, q.reshape(2, 3, -1), v.reshape(2, 3, -1), tau[0])
    assert A.shape == (2, 3, 2 * model.n, 2 * model.n) and B.shape == (2, 3, 2 * model.n, model.n)
    for i, (one_q, one_v) in enumerate(zip(q, v)):
        one_A, one_B = lagrangian.linearise(model, one_q, one_v, tau[0])
        close(A.reshape(6, *one_A.shape)[i], one_A, 1e-11)
        close(B.reshape(6, *one_B.shape)[i], one_B, 1e-11)


@pytest.mark.parametrize(
    "q, v, tau, message",
    [
        ([0, 0], [0, 0, 0], [0, 0], r"v has shape \(3,\), expected \(..., 2\)"),
        ([0, math.nan], [0, 0], [0, 0], r"q\[1\] is nan"),
        ([0, 0], [0, 0], [math.inf, 0], r"tau\[0\] is inf"),
        (np.zeros((2, 2)), np.zeros((3, 2)), [0, 0], "do not broadcast"),
    ],
)
def test_refused(q, v, tau, message):
    with pytest.raises(InputError, match=message):
        lagrangian.linearise(MODELS["two_link"], q, v, tau)
