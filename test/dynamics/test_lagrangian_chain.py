"""N joints: derivatives, velocity products, the notes' arms written as chains, and what is refused."""

from __future__ import annotations

import copy

import numpy as np
from dynamics_models import MODELS, joint, planar_bars
from dynamics_properties import check_same, close, gradient, states
from golden import load_cases, model_of
from pytest import mark, raises

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian import chain_equations
from picker_dynamics.dynamics.lagrangian.bodies import Body
from picker_dynamics.errors import InputError

CHAINS = load_cases()["chain"]
every_chain = mark.parametrize("name", ["chain", "chain, sliding", "tree, rotors", "tree, rotors, payload"])


@every_chain
def test_jacobians_change_as_their_closed_form_says(name):
    """dJv/dq of every body by differences; the angular ones in the body's own axes."""
    model = MODELS[name]
    k = model.parameters

    def jacobians(q):
        f = chain_equations.frames(k, q)
        Jv, Jw, _ = chain_equations.body_jacobians(k, f)
        return Jv, np.swapaxes(f.R, -1, -2) @ Jw

    for q in states(model, 5, seed=7)[0]:
        f = chain_equations.frames(k, q)
        dJv, dJw = chain_equations.jacobian_derivatives(*chain_equations.body_jacobians(k, f)[:2])
        close(dJv, gradient(lambda q: jacobians(q)[0], q), 1e-8)
        in_body_axes = np.einsum("lba,lbjk->lajk", f.R, dJw)
        assert np.max(np.abs(in_body_axes - gradient(lambda q: jacobians(q)[1], q))) <= 1e-8


@every_chain
def test_velocity_products_are_the_two_matrices(name):
    model = MODELS[name]
    q, v, _, _ = states(model, 10, seed=8)
    b = model.christoffel(q)
    np.testing.assert_array_equal(b, np.swapaxes(b, -1, -2))
    B, Cc, pairs = model.velocity_product_matrices(q)
    assert pairs == tuple((j, k) for j in range(1, model.n + 1) for k in range(j + 1, model.n + 1))
    products = np.stack([v[:, j - 1] * v[:, k - 1] for j, k in pairs], axis=-1)
    expected = np.einsum("sij,sj->si", model.coriolis_matrix(q, v), v)
    close(np.einsum("sic,sc->si", B, products) + np.einsum("sij,sj->si", Cc, v**2), expected, 1e-13)


# --- the arms of the notes, written as chains --------------------------------------------------------------


def as_chain(system, p):
    """Joints of a chain with the equations of motion of one of the notes' systems; gravity along -y or -z."""
    if system == "rrp":
        rod2, rod3 = p["m2"] * p["l2"] ** 2 / 12, p["m3"] * p["l"] ** 2 / 12
        slide = Body(p["m3"], np.array([0, 0, p["l4"] - p["l"] / 2]), np.diag((rod3, rod3, 0.0)))
        loaded = slide + Body(p["M"], np.array([0, 0, p["l4"]]), np.zeros((3, 3)))
        return [
            joint("R", "z", (0, 0, 0), 0.0, (0, 0, 0)),
            joint("R", "y", (0, 0, 0), p["m2"], (-p["l2"] / 2, 0, 0), (0, rod2, rod2)),
            joint("P", "z", (-p["l2"], 0, 0), loaded.mass, loaded.com, loaded.inertia.diagonal()),
        ], "z"
    if system == "spatial_2r":
        return [
            joint("R", "x", (0, 0, 0), p["m1"], (0, 0, p["L1"] / 2), (p["I1x"], 0, 0)),
            joint("R", "y", (0, 0, p["L1"]), p["m2"], (0, 0, p["L2"] / 2), (p["I2x"], p["I2y"], p["I2z"])),
        ], "z"
    if system == "cylindrical":
        return [
            joint("R", "z", (0, 0, 0), p["m2"], (p["a"], 0, 0), (0, 0, p["J2"])),
            joint("P", (3, 0, 0), (0, 0, 0), p["m3"], (0, 0, 0), (0, 0, p["J3"])),
        ], "y"
    bars = {
        "planar_2r": [(f"l{i}", f"lg{i}", f"m{i}", f"I{i}") for i in (1, 2)],
        "pendulum": [("a", "a", "m", "J_G")],
        "two_link": [(f"d{i}", f"a{i}", f"m{i}", f"J{i}") for i in (2, 3)],
        "three_link": [(f"d{i}", f"a{i}", f"m{i}", f"J{i}") for i in (2, 3, 4)],
    }
    return planar_bars(*(tuple(p[name] for name in bar) for bar in bars[system])), "y"


@mark.parametrize("case", (0, 3))
@mark.parametrize("system", ["rrp", "spatial_2r", "cylindrical", "planar_2r", "pendulum", "two_link", "three_link"])
def test_the_systems_of_the_notes_are_chains(system, case):
    """Two derivations of one arm: its own closed form, and Jacobians."""
    p = load_cases()[system][case]["params"]
    joints, up = as_chain(system, p)
    model, expected = lagrangian.chain(joints, [-p["g"] * (axis == up) for axis in "xyz"]), lagrangian.make(system, **p)
    q, v, a, j = states(model, 50, seed=10)
    check_same(model, expected, 1e-13, q, v, a, j, tip=False)


def test_payload_of_a_chain_is_at_the_last_frame():
    case = CHAINS[1]
    joints = copy.deepcopy(case["joints"])
    bare = model_of("chain", 1)
    joints[-1] |= {"mass": 0.7, "com": [0.1, 0.2, 0.3], "inertia": dict.fromkeys(joints[-1]["inertia"], 0.0)}
    load_alone = lagrangian.chain(joints, case["gravity"])
    q = np.array(case["q"])
    joints[-1]["mass"] = 0.0
    without_last = lagrangian.chain(joints, case["gravity"])
    added = bare.with_payload(0.7, (0.1, 0.2, 0.3)).mass_matrix(q) - bare.mass_matrix(q)
    close(added, load_alone.mass_matrix(q) - without_last.mass_matrix(q), 1e-13)


# --- refused -----------------------------------------------------------------------------------------------


def weightless(*names, axes=("z", "x")):
    """Two joints of which those named carry nothing."""
    return [
        joint("R", axis, (0, 0, 0), 0.0 if i in names else 1.0, (0.1, 0.2, 0.3), np.full(3, float(i not in names)))
        for i, axis in enumerate(axes)
    ]


@mark.parametrize(
    "joints, message", [(weightless(1), "joint2 moves no mass"), (weightless(0, axes=("z", "z")), "joint1, joint2 move no mass")]
)
def test_infinite_accelerations_are_refused(joints, message):
    model = lagrangian.chain(joints, (0, 0, -9.81))
    q, v, a, _ = states(model, 3, seed=16)
    assert np.isfinite(model.inverse_dynamics(q, v, a)).all()
    for state in ((q, v, a), (q[0], v[0], a[0])):
        with raises(InputError, match=message):
            model.forward_dynamics(*state)
    assert np.isfinite(lagrangian.chain(joints, (0, 0, -9.81), armature=(0.1, 0.1)).forward_dynamics(q, v, a)).all()


GOOD = joint("R", "z", (0, 0, 0), 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))


def but(**changes):
    return [{key: value for key, value in (GOOD | changes).items() if value is not None}]


@mark.parametrize(
    "joints, message",
    [
        ([], "joints is empty, expected a list of at least one joint dictionary"),
        (but(mass=None, com=None), "joint joint1: missing mass, com; it takes type, axis, xyz"),
        (but(weight=1.0), "joint joint1: unknown weight; it takes type, axis, xyz"),
        ([*but(name="a"), *but(name="a")], "joint a is there twice"),
        (but(type="revolute"), r"joint joint1: type is 'revolute', must be R \(revolute\) or P \(prismatic\)"),
        (but(axis="w"), "joint1: axis is 'w', must be x, y, z or a vector"),
        (but(axis=(0, 0, 0)), r"joint1: axis is \(0, 0, 0\)"),
        (but(mass=-1.0), "joint1: mass is -1.0, must be >= 0"),
        (but(inertia={"Ixx": 1.0}), "joint1: inertia: missing Iyy, Izz, Ixy, Ixz, Iyz; it takes Ixx"),
        (but(inertia=GOOD["inertia"] | {"Ixy": 1.0}), "joint1: inertia: a principal moment is -0.9 kg·m², must be >= 0"),
    ],
)
def test_joints_refused(joints, message):
    with raises(InputError, match=message):
        lagrangian.chain(joints, (0, 0, -9.81))
