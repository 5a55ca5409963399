"""Regressor, base parameters and pseudo-inertias against models, literature and differences."""

import numpy as np
from arm_fixtures import shipped_arm
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, mark
from small_urdfs import random_arm

from benchmarks.dynamics import serial_arm
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.bodies import Body
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.identification import base, inertia
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.robot import description

PLATE = inertia.standard(Body(0.7, np.array([0.1, -0.05, 0.2]), np.diag([2e-3, 5e-3, 6e-3])))


def states(n: int, count: int = 20, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, n))


@mark.parametrize("seed", range(6))  # trees, sliding and continuous joints, welded links, in any order of names
def test_regressor_times_parameters_is_the_torque_of_rnea_and_of_the_equations_by_hand(seed):
    arm = description.parse(random_arm(seed))
    q, v, a = states(arm.n)
    model, pi = RigidBody(arm), inertia.of_description(arm).ravel()
    torque = model.regressor(q, v, a) @ pi
    rounding = 1e-12 * np.abs(torque).max()
    assert_allclose(torque, model.inverse_dynamics(q, v, a), rtol=0.0, atol=rounding)
    assert_allclose(torque, lagrangian.ChainModel(arm).inverse_dynamics(q, v, a), rtol=0.0, atol=rounding)
    assert_allclose(model.regressor(q[0], v[0], a[0]) @ pi, torque[0], rtol=0.0, atol=rounding)
    assert model.regressor(q[:, None], v[:, None], a[0]).shape == (len(q), 1, arm.n, 10 * arm.n)


def test_all_columns_together_are_the_required_torque():
    arm = description.parse(random_arm(3))
    columns, rotors = Columns(arm, rotors=True), np.linspace(0.1, 0.2, arm.n)
    q, v, a = states(arm.n)
    pi = columns.believed()
    pi[-arm.n :] = rotors
    expected = RigidBody(arm, rotors).required_torque(q, v, a)
    assert_allclose(columns.regressor(q, v, a) @ pi, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
    assert_array_equal(columns.drive("rotor", pi), rotors)
    assert len(columns.names) == len(set(columns.names)) == columns.count


@mark.parametrize(
    "urdf, count, rotors_hidden",
    [
        ("planar_2r", 6, 1),  # (Iyy, mx, mz) of both links, upright; the first rotor turns as its link does
        ("pendulum", 3, 1),
        (6, 36, 2),  # six revolute joints, the first upright: 1 + 5 × 7 (Gautier and Khalil, 1990, for the PUMA 560)
        (3, 15, 2),  # of the second joint, across the first, the rotor cannot be told from the link either
    ],
)
def test_number_of_base_parameters_is_the_known_one(urdf, count, rotors_hidden):
    arm = description.parse(serial_arm(urdf)) if isinstance(urdf, int) else shipped_arm(urdf).description
    assert len(base.find(Columns(arm)).independent) == count + 2 * arm.n
    assert len(base.find(Columns(arm, rotors=True)).independent) == count + 3 * arm.n - rotors_hidden


def test_base_parameters_give_all_torques_and_are_named_with_their_combination():
    columns = Columns(shipped_arm("rrp").description)
    found = base.find(columns)
    Y, pi = columns.regressor(*states(3)), np.random.default_rng(1).normal(size=columns.count)
    assert_allclose(Y[..., found.independent] @ (found.X @ pi), Y @ pi, rtol=0.0, atol=1e-9 * np.abs(Y @ pi).max())
    names = base.find(Columns(shipped_arm("planar_2r").description)).names
    assert "Iyy(link1) + 0.16 m(link2)" in names and "mx(link1) + 0.4 m(link2)" in names and "Iyy(link2)" in names


@mark.parametrize("seed", range(4))
def test_any_theta_is_a_body_that_can_exist_and_slopes_are_those_of_differences(seed):
    L, theta = inertia.factor(PLATE), np.random.default_rng(seed).normal(0.0, 1.0, 10)
    pi = inertia.from_theta(L, theta)
    body = inertia.body(pi)
    assert_allclose(inertia.standard(body), pi)
    least, middle, largest = np.linalg.eigvalsh(body.inertia)
    J, J0 = (inertia.pseudo_inertia(one) for one in (pi, PLATE))
    assert body.mass > 0.0 and least > 0.0 and least + middle > largest and np.linalg.eigvalsh(J).min() > 0.0
    ratio, roots = np.linalg.solve(J0, J), inertia.divergence_roots(theta)
    assert roots @ roots == approx(np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4.0, rel=1e-8)
    assert_allclose(inertia.from_theta(L, np.zeros(10)), PLATE, atol=1e-15)
    step = 1e-6 * np.eye(10)
    for function, x in (
        (lambda x: inertia.from_theta(L, x), 0.4 * theta),
        (inertia.figures, PLATE),
        *((inertia.divergence_roots, scale * theta) for scale in (0.4, 1e-5, 0.0)),
    ):
        differences = (function(x + step) - function(x - step)).T / 2e-6
        assert_allclose(inertia.slopes(function, x), differences, atol=1e-6)


def test_rods_get_a_little_extent():
    rod = inertia.standard(Body(2.0, np.array([0.5, 0.0, 0.0]), np.diag([0.0, 0.16, 0.16])))
    given, nothing = (inertia.from_theta(inertia.factor(pi), np.zeros(10)) for pi in (rod, np.zeros(10)))
    assert all(np.linalg.eigvalsh(inertia.pseudo_inertia(pi)).min() > 0.0 for pi in (given, nothing))
    assert_allclose(given[:4], rod[:4])
    assert_allclose(given[4:], rod[4:], atol=0.02 * rod[4:].max())
