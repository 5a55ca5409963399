"""The notes' systems: first principles, the same arms as chains and in other letters, their own results, and what they refuse."""

from __future__ import annotations

import math

import bodies_in_space
import numpy as np
from dynamics_models import MODELS, NOTES, WITHOUT_TIP
from dynamics_properties import DIFFERENCE, angular_velocity, close, kinetic_energy, states
from golden import agrees, load_cases
from pytest import approx, mark, raises
from scipy.integrate import solve_ivp

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.systems.rrp import BRANCHES
from picker_dynamics.errors import InputError, SingularityError, UnreachableError

CASES = load_cases()
every_tip = mark.parametrize("system", [system for system in NOTES if system not in WITHOUT_TIP])


def test_every_system_of_the_notes_is_there_with_the_notes_numbers():
    assert set(lagrangian.names()) == {"picker", *NOTES} and set(CASES) == {"picker", "chain", *NOTES}
    for system in ("picker", "rrp", "rocking_bar"):
        assert lagrangian.SYSTEMS[system].defaults == approx(CASES[system][0]["params"], rel=1e-12)


@every_tip
def test_energies_and_tip_are_those_of_the_moving_masses(system):
    p = dict(CASES[system][3]["params"])
    if system == "spatial_2r":  # a body that can exist has no principal moment above the others
        p |= {"I2x": 0.5, "I2y": 0.4, "I2z": 0.3}
    model = lagrangian.make(system, **p)
    q, v, _, _ = states(model, 10, seed=20)
    expected = np.array([bodies_in_space.energies(system, p, *state) for state in zip(q, v)])
    close(kinetic_energy(model, q, v), expected[:, 0], DIFFERENCE)
    close(model.potential_energy(q), expected[:, 1], 1e-13)
    close(model.forward_kinematics(q), [bodies_in_space.tip(system, p, x) for x in q], 1e-14)
    if system == "spatial_2r":

        def axes(t):
            return bodies_in_space.axes_of_last_body(system, p, q[0] + t * v[0])

        close(model.angular_jacobian(q[0]) @ v[0], angular_velocity(axes), DIFFERENCE)
        close(model.orientation(q[0]), axes(0.0), 1e-14)


# --- results of single notes -------------------------------------------------------------------------------


@mark.parametrize("case", range(4))
def test_golden_gibbs_and_third_order(case):
    case = CASES["pendulum"][case]
    pendulum = lagrangian.make("pendulum", **case["params"])
    q, v, a, j = (case[key] for key in ("q", "qd", "qdd", "qddd"))
    gibbs, third_order = pendulum.gibbs(q, v, a, case["gibbs"]["T_in"]), pendulum.third_order_lagrange(q, v, a, j)
    for name in ("G", "dG_dqdd", "dG_dqd"):
        agrees(getattr(gibbs, name), case["gibbs"][name])
    for name in ("S", "Q_star"):
        agrees(getattr(third_order, name), case["third_order_lagrange"][name])
    zero = pendulum.gibbs(q, v, pendulum.forward_dynamics(q, v, [0.3]), 0.3).dG_dqdd
    assert abs(zero) < 1e-14, "Appell's equation is the equation of motion"


def test_the_rocking_bar_swings_as_its_equation_of_motion_says():
    for case in CASES["rocking_bar"]:
        release, known = lagrangian.make("rocking_bar", **case["params"]).release(case["release"]["theta0"]), case["release"]
        agrees(release.period_s, known["period_exact"])
        agrees(release.frequency_hz, known["f_exact_hz"])
        agrees(release.small_angle_frequency_hz, known["f_small_angle_hz"])
    bar = lagrangian.make("rocking_bar")
    assert bar.release(np.radians([10.0, 0.001])).frequency_hz == approx([0.762, 0.767], abs=5e-4)

    def upright(t, y):
        return y[0]

    upright.terminal = True
    for theta0 in (0.01, -1.2, 1.5):
        rate = lambda t, y: [y[1], bar.forward_dynamics(y[:1], y[1:], [0.0])[0]]  # noqa: E731
        motion = solve_ivp(rate, (0.0, 100.0), [theta0, 0.0], method="DOP853", rtol=1e-12, atol=1e-14, events=upright)
        assert bar.release(theta0).period_s == approx(4.0 * float(motion.t_events[0][0]), rel=1e-10)


@mark.parametrize(
    "theta0, message",
    [([0.1, -2.0], "theta0 is -2.0 rad, must be within"), (math.nan, "theta0 is nan rad"), ("ten", "not a number")],
)
def test_angles_from_which_the_bar_does_not_come_back_are_refused(theta0, message):
    with raises(InputError, match=message):
        lagrangian.make("rocking_bar").release(theta0)


RRP = lagrangian.make("rrp")
L2, L4 = RRP.constants.l2, RRP.constants.l4


def test_every_branch_of_the_rrp_arm_reaches_the_point():
    for case in CASES["rrp"]:
        arm = lagrangian.make("rrp", **case["params"])
        found = arm.inverse_kinematics_branches(case["fk"])
        for branch in case["ik"]:
            agrees(found[BRANCHES.index((branch["sigma_rho"], branch["sigma_D"]))], branch["q"])
    directions = np.random.default_rng(1).normal(size=(300, 3))
    points = directions / np.linalg.norm(directions, axis=1)[:, None] * np.random.default_rng(2).uniform(1.7, 4, (300, 1))
    q = RRP.inverse_kinematics_branches(points)
    close(RRP.forward_kinematics(q), np.broadcast_to(points[:, None], (300, 4, 3)), 1e-14)
    assert np.all(q[..., :2] > -math.pi) and np.all(q[..., :2] <= math.pi)
    assert np.array_equal(np.sign(q[..., 2] + L4), np.broadcast_to([sign for _, sign in BRANCHES], (300, 4)))
    close(RRP.inverse_jacobian(q[:, 0]) @ RRP.jacobian(q[:, 0]), np.broadcast_to(np.eye(3), (300, 3, 3)), 1e-12)


@mark.parametrize(
    "point, error, message",
    [
        ([1.0, 0.5, -0.2], UnreachableError, r"point \[1.0, 0.5, -0.2\] m is 1.13578 m from the base, closer than l2 = 1.6 m"),
        ([[2.0, 1.0, 1.0], [0.0, 0.0, 0.0]], UnreachableError, r"point \[0.0, 0.0, 0.0\] m is 0 m"),
        ([0.0, 0.0, 2.0], SingularityError, "the load is on the axis of theta1, which is free there"),
        ([L2 * math.cos(0.3), 0.0, L2 * math.sin(0.3)], SingularityError, "at the foot of the slide"),
    ],
)
def test_points_that_the_rrp_arm_cannot_reach(point, error, message):
    with raises(error, match=message):
        RRP.inverse_kinematics(point)


@mark.parametrize("q", [[0.3, 1.0, -L4], [0.3, math.atan2(L2, 1.2), 1.2 - L4]])
def test_singular_configurations_have_no_inverse_jacobian(q):
    assert abs(np.linalg.det(RRP.jacobian(q))) < 1e-12
    with raises(SingularityError, match="singular at"):
        RRP.inverse_jacobian(q)


# --- refused ---------------------------------------------------------------------------------------------


@mark.parametrize("system", NOTES)
def test_make_names_what_it_takes(system):
    p, names = CASES[system][0]["params"], MODELS[system].parameter_names
    assert set(p) == set(names)
    with raises(InputError, match=f"{system}: unknown mass; it takes {', '.join(names)}"):
        lagrangian.make(system, **p, mass=1.0)
    for wrong, message in (
        (-0.5, f"{names[-1]} is -0.5, must be >= 0"),
        (math.nan, f"{names[-1]} is nan"),
        ("x", "not a number"),
    ):
        with raises(InputError, match=message):
            lagrangian.make(system, **p | {names[-1]: wrong})


def test_a_system_without_tip_says_so():
    for name in ("forward_kinematics", "jacobian"):
        with raises(InputError, match="spring_mass has no tip: no forward kinematics, no Jacobian"):
            getattr(MODELS["spring_mass"], name)([0.1])
