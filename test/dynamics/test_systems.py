"""The notes' systems: first principles, the same arms as chains and in other letters, their own results, and what they refuse."""

import math

import bodies_in_space
import numpy as np
from dynamics_models import MODELS, NOTES, WITHOUT_TIP
from dynamics_properties import DIFFERENCE, angular_velocity, close, kinetic_energy, states
from golden import agrees, load_cases
from pytest import approx, mark, raises
from scipy.integrate import solve_ivp

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.systems import pendulum, rocking_bar, rrp, spatial_2r
from picker_dynamics.errors import InputError, SingularityError, UnreachableError

CASES = load_cases()
every_tip = mark.parametrize("system", [system for system in NOTES if system not in WITHOUT_TIP])


def test_every_system_of_the_notes_is_there_with_the_notes_numbers():
    assert set(lagrangian.SYSTEMS) == {"picker", *NOTES} and set(CASES) == {"picker", "chain", *NOTES}
    for system in ("picker", "rrp", "rocking_bar"):
        assert lagrangian.SYSTEMS[system].Parameters()._asdict() == approx(CASES[system][0]["params"], rel=1e-12)


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

        close(np.array(spatial_2r.tip_angular_jacobian(model.constants, q[0])) @ v[0], angular_velocity(axes), DIFFERENCE)
        close(spatial_2r.tip_rotation(model.constants, q[0]), axes(0.0), 1e-14)


# --- results of single notes -------------------------------------------------------------------------------


@mark.parametrize("case", range(4))
def test_golden_gibbs_and_third_order(case):
    case = CASES["pendulum"][case]
    model = lagrangian.make("pendulum", **case["params"])
    q, v, a, j = (case[key] for key in ("q", "qd", "qdd", "qddd"))
    given, third_order = case["gibbs"], case["third_order_lagrange"]
    found = pendulum.gibbs(model.constants, q, v, a, [given["T_in"]])
    agrees(found, [given[name] for name in ("G", "dG_dqdd", "dG_dqd")])
    agrees(pendulum.third_order_lagrange(model.constants, q, v, a, j), [third_order[name] for name in ("S", "Q_star")])
    zero = pendulum.gibbs(model.constants, q, v, model.forward_dynamics(q, v, [0.3]), [0.3])[1]
    assert abs(zero) < 1e-14, "Appell's equation is the equation of motion"


def test_the_rocking_bar_swings_as_its_equation_of_motion_says():
    for case in CASES["rocking_bar"]:
        known = case["release"]
        found = rocking_bar.release(rocking_bar.Parameters(**case["params"]), known["theta0"])
        agrees(found, [known[name] for name in ("period_exact", "f_exact_hz", "f_small_angle_hz")])
    bar = lagrangian.make("rocking_bar")
    assert rocking_bar.release(bar.constants, np.radians([10.0, 0.001]))[1] == approx([0.762, 0.767], abs=5e-4)

    def upright(t, y):
        return y[0]

    upright.terminal = True
    for theta0 in (0.01, -1.2, 1.5):
        rate = lambda t, y: [y[1], bar.forward_dynamics(y[:1], y[1:], [0.0])[0]]  # noqa: E731
        motion = solve_ivp(rate, (0.0, 100.0), [theta0, 0.0], method="DOP853", rtol=1e-12, atol=1e-14, events=upright)
        assert rocking_bar.release(bar.constants, theta0)[0] == approx(4.0 * float(motion.t_events[0][0]), rel=1e-10)


@mark.parametrize("theta0", [[0.1, -2.0], math.nan])
def test_angles_from_which_the_bar_does_not_come_back_are_refused(theta0):
    with raises(InputError, match="theta0 is .* rad, must be within"):
        rocking_bar.release(rocking_bar.Parameters(), theta0)


RRP = lagrangian.make("rrp")
L2, L4 = RRP.constants.l2, RRP.constants.l4


def test_every_branch_of_the_rrp_arm_reaches_the_point():
    for case in CASES["rrp"]:
        for branch in case["ik"]:
            signs = {"sigma_rho": branch["sigma_rho"], "sigma_D": branch["sigma_D"]}
            agrees(rrp.inverse_kinematics(rrp.Parameters(**case["params"]), case["fk"], **signs), branch["q"])
    directions = np.random.default_rng(1).normal(size=(300, 3))
    points = directions / np.linalg.norm(directions, axis=1)[:, None] * np.random.default_rng(2).uniform(1.7, 4, (300, 1))
    for sigma_rho in (1, -1):
        for sigma_D in (1, -1):
            q = rrp.inverse_kinematics(RRP.constants, points, sigma_rho=sigma_rho, sigma_D=sigma_D)
            close(RRP.forward_kinematics(q), points, 1e-14)
            assert (np.sign(q[:, 2] + L4) == sigma_D).all()


@mark.parametrize(
    "point, error, message",
    [
        ([[2.0, 1.0, 1.0], [1.0, 0.5, -0.2]], UnreachableError, "is 1.13578 m from the base, closer than l2 = 1.6 m"),
        ([0.0, 0.0, 2.0], SingularityError, "the load is on the axis of theta1, which is free there"),
        ([L2 * math.cos(0.3), 0.0, L2 * math.sin(0.3)], SingularityError, "at the foot of the slide"),
    ],
)
def test_points_that_the_rrp_arm_cannot_reach(point, error, message):
    with raises(error, match=message):
        rrp.inverse_kinematics(RRP.constants, point)


# --- refused ---------------------------------------------------------------------------------------------


@mark.parametrize("system", NOTES)
def test_make_names_what_it_takes(system):
    p, names = CASES[system][0]["params"], lagrangian.SYSTEMS[system].Parameters._fields
    assert set(p) == set(names)
    with raises(InputError, match=f"{system}: unknown mass; it takes {', '.join(names)}"):
        lagrangian.make(system, **p, mass=1.0)
    with raises(InputError, match=f"{names[-1]} is -0.5, must be >= 0"):
        lagrangian.make(system, **p | {names[-1]: -0.5})


def test_a_system_without_tip_says_so():
    for name in ("forward_kinematics", "jacobian"):
        with raises(InputError, match="spring_mass has no tip: no forward kinematics, no Jacobian"):
            getattr(MODELS["spring_mass"], name)([0.1])
