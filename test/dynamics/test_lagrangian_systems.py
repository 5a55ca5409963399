"""The hand-written systems of the reference notes: golden sample, first principles, physics, and what they refuse."""

from __future__ import annotations

import math

import bodies_in_space
import numpy as np
import pytest
from dynamics_properties import (
    DIFFERENCE,
    check_batch,
    check_composition,
    check_coriolis_matrix,
    check_gravity,
    check_jacobian,
    check_mass_matrix,
    check_power_balance,
    check_torque_rate,
    close,
    derivative,
    states,
)
from golden import agrees, check_dynamics, load_cases

from benchmarks.compiled import compile_model
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import InputError

SYSTEMS = ("rrp", "spatial_2r", "planar_2r", "pendulum", "spring_mass", "cylindrical", "rocking_bar", "two_link", "three_link")
CASES = {system: cases for system, cases in load_cases().items() if system in SYSTEMS}
MODELS = {system: lagrangian.make(system, **cases[3]["params"]) for system, cases in CASES.items()}
CONSTANT_INERTIA = ("pendulum", "spring_mass")
WITH_TIP = [system for system in SYSTEMS if system != "spring_mass"]
WRITTEN_OUT_RATES = ("pendulum", "spring_mass", "cylindrical", "two_link")

every_system = pytest.mark.parametrize("system", SYSTEMS)
every_tip = pytest.mark.parametrize("system", WITH_TIP)


def test_every_system_of_the_notes_is_there():
    assert set(lagrangian.names()) == {"picker", *SYSTEMS}
    assert set(load_cases()) == {"picker", "chain", *SYSTEMS}


# --- golden sample ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system, case",
    [(system, case) for system in SYSTEMS for case in CASES[system]],
    ids=[f"{system}-{i}" for system in SYSTEMS for i in range(len(CASES[system]))],
)
def test_golden_sample(system, case):
    check_dynamics(lagrangian.make(system, **case["params"]), case)


@pytest.mark.parametrize("case", CASES["spatial_2r"], ids=range(4))
def test_golden_orientation_and_angular_jacobian(case):
    model = lagrangian.make("spatial_2r", **case["params"])
    agrees(model.orientation(case["q"]), case["R"])
    agrees(model.angular_jacobian(case["q"]), case["Jw"])


# --- first principles: bodies in space -------------------------------------------------------------------


def parameters_in_space(system):
    """Parameters of a body that can exist: spatial_2r's general case needs no principal moment above the others."""
    p = dict(CASES[system][3]["params"])
    if system == "spatial_2r":
        p |= {"I2x": 0.5, "I2y": 0.4, "I2z": 0.3}
    return p


@every_tip
def test_energies_are_those_of_the_moving_masses(system):
    p = parameters_in_space(system)
    model = lagrangian.make(system, **p)
    q, v, _, _ = states(model, 10, seed=20)
    expected = np.array([bodies_in_space.energies(system, p, *state) for state in zip(q, v)])
    close(model.kinetic_energy(q, v), expected[:, 0], DIFFERENCE)
    close(model.potential_energy(q), expected[:, 1], 1e-13)


@every_tip
def test_tip_and_its_turning_are_those_of_the_last_body(system):
    p, model = CASES[system][3]["params"], MODELS[system]
    q, v, _, _ = states(model, 10, seed=21)
    close(model.forward_kinematics(q), [bodies_in_space.tip(system, p, x) for x in q], 1e-14)
    for position, rate in zip(q, v):
        axes = bodies_in_space.axes_of_last_body(system, p, position)
        turning = derivative(lambda t, x=position, w=rate: bodies_in_space.axes_of_last_body(system, p, x + t * w))
        spin = turning @ axes.T
        close(model.angular_jacobian(position) @ rate, [spin[2, 1], spin[0, 2], spin[1, 0]], DIFFERENCE)
        if system == "spatial_2r":
            close(model.orientation(position), axes, 1e-14)


# --- physics ---------------------------------------------------------------------------------------------


@every_system
def test_mass_matrix_is_symmetric_and_positive_definite(system):
    q, v, _, _ = states(MODELS[system], 200, seed=1)
    check_mass_matrix(MODELS[system], q, v)


@pytest.mark.parametrize("system", [system for system in SYSTEMS if system not in CONSTANT_INERTIA])
def test_coriolis_matrix_is_christoffels(system):
    q, v, _, _ = states(MODELS[system], 20, seed=2)
    check_coriolis_matrix(MODELS[system], q, v)


@pytest.mark.parametrize("system", CONSTANT_INERTIA)
def test_constant_inertia_leaves_no_velocity_products(system):
    q, v, _, _ = states(MODELS[system], 20, seed=2)
    assert np.all(MODELS[system].mass_matrix(q) == MODELS[system].mass_matrix(q[0]))
    assert not MODELS[system].coriolis_matrix(q, v).any()


@every_system
def test_gravity_is_the_gradient_of_the_potential_energy(system):
    check_gravity(MODELS[system], states(MODELS[system], 20, seed=3)[0])


@every_tip
def test_jacobian_is_the_gradient_of_the_tip(system):
    check_jacobian(MODELS[system], states(MODELS[system], 20, seed=4)[0])


@every_system
def test_written_out_torque_is_the_sum_of_the_matrices(system):
    check_composition(MODELS[system], *states(MODELS[system], 100, seed=5)[:3])


@every_system
def test_torque_rate_is_the_rate_of_the_torque(system):
    check_torque_rate(MODELS[system], *states(MODELS[system], 20, seed=6))


@pytest.mark.parametrize("system", WRITTEN_OUT_RATES)
def test_third_order_equations_equal_the_complex_step(system):
    written_out = MODELS[system]
    generic = lagrangian.make(system, **CASES[system][3]["params"])
    assert written_out.equations.torque_rate is not None
    generic.equations = generic.equations._replace(torque_rate=None)
    motion = states(written_out, 50, seed=7)
    close(written_out.torque_rate(*motion), generic.torque_rate(*motion), 1e-14)


@every_system
def test_batch_equals_loop(system):
    check_batch(MODELS[system], *states(MODELS[system], 5, seed=8), tip=system in WITH_TIP)


@every_system
def test_energy_gained_is_work_done(system):
    model = MODELS[system]
    q, v, amplitude, _ = states(model, 1, seed=9, reach=1.0)[:, 0]
    check_power_balance(model, q, v, lambda t: amplitude * math.cos(5.0 * t), duration=0.4)


@pytest.mark.parametrize("system", ("rrp", "rocking_bar"))
def test_compiled_equations_give_the_same_torque(system):
    q, v, a, _ = states(MODELS[system], 10, seed=10)
    compiled = compile_model(MODELS[system])
    for state in zip(q, v, a):
        np.testing.assert_allclose(
            compiled.inverse_dynamics(*state), MODELS[system].inverse_dynamics(*state), rtol=1e-12, atol=1e-12
        )


# --- one arm in the letters of three notes ------------------------------------------------------------------


def test_two_link_is_planar_2r_is_three_link_without_its_last_bar():
    p = CASES["two_link"][3]["params"]
    two = MODELS["two_link"]
    planar = lagrangian.make(
        "planar_2r", g=p["g"], l1=p["d2"], l2=p["d3"], lg1=p["a2"], lg2=p["a3"], m1=p["m2"], m2=p["m3"], I1=p["J2"], I2=p["J3"]
    )
    three = lagrangian.make("three_link", **p, d4=0.0, a4=0.5, m4=0.0, J4=0.0)
    q, v, a, j = states(two, 20, seed=11)

    def longer(x):
        return np.column_stack([x, np.ones(20)])

    for name, arguments in {
        "mass_matrix": (q,),
        "coriolis_matrix": (q, v),
        "gravity": (q,),
        "inverse_dynamics": (q, v, a),
        "torque_rate": (q, v, a, j),
        "kinetic_energy": (q, v),
        "potential_energy": (q,),
        "forward_kinematics": (q,),
        "jacobian": (q,),
    }.items():
        expected = getattr(two, name)(*arguments)
        close(getattr(planar, name)(*arguments), expected, 1e-14)
        longer_result = getattr(three, name)(*map(longer, arguments))
        shortened = tuple(slice(size) for size in expected.shape)
        close(longer_result[shortened], expected, 1e-13)


def test_two_link_linear_state_space():
    for case in CASES["two_link"]:
        A, B = lagrangian.make("two_link", **case["params"]).linear_state_space(case["q"], case["qd"], case["lin"]["T"])
        agrees(A, case["lin"]["A"], "A")
        agrees(B, case["lin"]["B"], "B")
    model = MODELS["two_link"]
    q, v, tau, _ = states(model, 10, seed=12)
    A, B = model.linear_state_space(q, v, tau)
    for k, e in enumerate(np.eye(2)):
        close(A[:, 2:, k], derivative(lambda t, e=e: model.forward_dynamics(q + t * e, v, tau)), DIFFERENCE)
        close(A[:, 2:, 2 + k], derivative(lambda t, e=e: model.forward_dynamics(q, v + t * e, tau)), DIFFERENCE)
        close(B[:, 2:, k], derivative(lambda t, e=e: model.forward_dynamics(q, v, tau + t * e)), DIFFERENCE)
    generic = [lagrangian.linearise(model, *state) for state in zip(q, v, tau)]
    close(A, [generic_A for generic_A, _ in generic], 1e-13)
    close(B, [generic_B for _, generic_B in generic], 1e-13)
    assert np.array_equal(A[:, :2], np.broadcast_to(np.eye(4)[2:], (10, 2, 4))) and not B[:, :2].any()


# --- refused ---------------------------------------------------------------------------------------------


@every_system
def test_make_names_what_it_takes(system):
    p = CASES[system][0]["params"]
    allowed = ", ".join(MODELS[system].parameter_names)
    assert set(p) == set(MODELS[system].parameter_names)
    last = MODELS[system].parameter_names[-1]
    with pytest.raises(InputError, match=f"{system}: unknown parameter mass; it takes {allowed}") as caught:
        lagrangian.make(system, **p, mass=1.0)
    assert caught.value.subject == "mass"
    with pytest.raises(InputError, match=f"{system}: missing parameter {last}; it takes {allowed}") as caught:
        lagrangian.make(system, **{key: value for key, value in p.items() if key != last})
    assert caught.value.subject == last
    for wrong, message in ((-0.5, f"{last} is -0.5, must be >= 0"), (math.nan, f"{last} is nan"), ("x", "not a number")):
        with pytest.raises(InputError, match=message) as caught:
            lagrangian.make(system, **p | {last: wrong})
        assert caught.value.subject == last


@every_system
def test_states_refused(system):
    model = MODELS[system]
    n, good = model.n, np.zeros(model.n)
    for call, message in (
        (lambda: model.mass_matrix(np.zeros(n + 1)), rf"q has shape \({n + 1},\), expected \(..., {n}\)"),
        (lambda: model.gravity(0.0), r"q has shape \(\)"),
        (lambda: model.inverse_dynamics(good, np.full(n, math.nan), good), r"v\[0\] is nan"),
        (lambda: model.torque_rate(good, good, good, np.full(n, math.inf)), r"j\[0\] is inf"),
        (lambda: model.forward_dynamics(np.zeros((3, n)), np.zeros((2, n)), good), "do not broadcast"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_a_motion_without_inertia_has_no_acceleration():
    with pytest.raises(InputError, match="mass matrix is singular"):
        lagrangian.make("spring_mass", m=0.0, k=1.0).forward_dynamics([0.1], [0.0], [1.0])


@pytest.mark.parametrize("name", ("forward_kinematics", "jacobian", "angular_jacobian"))
def test_a_system_without_tip_says_so(name):
    with pytest.raises(InputError, match="spring_mass has no tip: no forward kinematics, no Jacobian"):
        getattr(MODELS["spring_mass"], name)([0.1])
