"""The hand-written systems of the reference notes: first principles, one arm in three notes' letters, and what they refuse."""

from __future__ import annotations

import math

import bodies_in_space
import numpy as np
import pytest
from dynamics_models import MODELS, NOTES, WITHOUT_TIP
from dynamics_properties import DIFFERENCE, angular_velocity, calls, close, derivative, states
from golden import agrees, load_cases, model_of

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import InputError

CASES = load_cases()

every_system = pytest.mark.parametrize("system", NOTES)
every_tip = pytest.mark.parametrize("system", [system for system in NOTES if system not in WITHOUT_TIP])


def test_every_system_of_the_notes_is_there():
    assert set(lagrangian.names()) == {"picker", *NOTES}
    assert set(load_cases()) == {"picker", "chain", *NOTES}


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
def test_the_tip_is_that_of_the_last_body(system):
    p, model = CASES[system][3]["params"], MODELS[system]
    q, v, _, _ = states(model, 10, seed=21)
    close(model.forward_kinematics(q), [bodies_in_space.tip(system, p, x) for x in q], 1e-14)
    if system == "spatial_2r":
        for position, rate in zip(q, v):

            def axes(t, x=position, w=rate):
                return bodies_in_space.axes_of_last_body(system, p, x + t * w)

            close(model.angular_jacobian(position) @ rate, angular_velocity(axes), DIFFERENCE)
            close(model.orientation(position), axes(0.0), 1e-14)


@pytest.mark.parametrize("system", ("pendulum", "spring_mass", "cylindrical", "two_link"))
def test_third_order_equations_equal_the_complex_step(system):
    written_out = MODELS[system]
    generic = model_of(system)
    assert written_out.equations.torque_rate is not None
    generic.equations = generic.equations._replace(torque_rate=None)
    motion = states(written_out, 50, seed=7)
    close(written_out.torque_rate(*motion), generic.torque_rate(*motion), 1e-14)


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

    motion = calls(q, v, a, j)
    del motion["forward_dynamics"]  # the last bar has no mass
    for name, arguments in motion.items():
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


# --- numbers that nobody gives ---------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["picker", "rrp", "rocking_bar"])
def test_what_is_left_out_is_as_in_the_note(system):
    """Case 0 of the reference values has the note's own numbers."""
    p = load_cases()[system][0]["params"]
    assert lagrangian.SYSTEMS[system].defaults == pytest.approx(p, rel=1e-12)
    assert lagrangian.make(system).constants == lagrangian.make(system, **lagrangian.SYSTEMS[system].defaults).constants


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
    for wrong, message in ((-0.5, f"{last} is -0.5, must be >= 0"), (math.nan, f"{last} is nan"), ("x", "not a number")):
        with pytest.raises(InputError, match=message) as caught:
            lagrangian.make(system, **p | {last: wrong})
        assert caught.value.subject == last


@pytest.mark.parametrize("name", ("forward_kinematics", "jacobian"))
def test_a_system_without_tip_says_so(name):
    with pytest.raises(InputError, match="spring_mass has no tip: no forward kinematics, no Jacobian"):
        getattr(MODELS["spring_mass"], name)([0.1])
