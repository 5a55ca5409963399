"""Linear state space: the notes' two-link arm, differences, Pinocchio, and a pendulum that everyone knows."""

from __future__ import annotations

import dynamics_models
import numpy as np
import pytest
from arm_fixtures import picker
from dynamics_models import ARMATURE, planar_bars
from dynamics_properties import close, gradient, states
from golden import agrees, load_cases

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody

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
