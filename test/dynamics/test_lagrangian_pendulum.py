"""The pendulum's other roads: Gibbs and Appell, and the third-order Lagrange equation."""

from __future__ import annotations

import numpy as np
import pytest
from bodies_in_space import particles
from dynamics_properties import DIFFERENCE, close, derivative, states
from golden import agrees, load_cases

from picker_dynamics.dynamics import lagrangian

CASES = load_cases()["pendulum"]
PARAMETERS = CASES[3]["params"]
PENDULUM = lagrangian.make("pendulum", **PARAMETERS)


def second_derivative(function, step=2e-3):
    """d²(function(t))/dt² at t = 0, five points."""
    return derivative(lambda t: derivative(lambda s: function(t + s), step), step)


@pytest.mark.parametrize("case", CASES, ids=range(4))
def test_golden_gibbs_and_third_order(case):
    pendulum = lagrangian.make("pendulum", **case["params"])
    q, v, a, j = (case[key] for key in ("q", "qd", "qdd", "qddd"))
    gibbs = pendulum.gibbs(q, v, a, case["gibbs"]["T_in"])
    agrees(gibbs.G, case["gibbs"]["G"])
    agrees(gibbs.dG_dqdd, case["gibbs"]["dG_dqdd"])
    agrees(gibbs.dG_dqd, case["gibbs"]["dG_dqd"])
    third_order = pendulum.third_order_lagrange(q, v, a, j)
    agrees(third_order.S, case["third_order_lagrange"]["S"])
    agrees(third_order.Q_star, case["third_order_lagrange"]["Q_star"])


def test_gibbs_derivatives_are_its_derivatives():
    q, v, a, torque = states(PENDULUM, 20, seed=1)
    gibbs = PENDULUM.gibbs(q, v, a, torque)
    close(gibbs.dG_dqdd, derivative(lambda t: PENDULUM.gibbs(q, v, a + t, torque).G), DIFFERENCE)
    close(gibbs.dG_dqd, derivative(lambda t: PENDULUM.gibbs(q, v + t, a, torque).G), DIFFERENCE)


def test_appells_equation_is_the_equation_of_motion():
    q, v, torque, _ = states(PENDULUM, 20, seed=2)
    a = PENDULUM.forward_dynamics(q, v, torque)
    assert np.max(np.abs(PENDULUM.gibbs(q, v, a, torque).dG_dqdd)) <= 1e-14 * np.max(np.abs(torque))


def test_third_order_lagrange_counts_every_particle_and_every_force():
    """S = 1/2 sum m rdd², and Q* = sum Fd · dr/dtheta with all forces on a particle, Fd = m rddd."""
    for q, v, a, j in zip(*states(PENDULUM, 10, seed=3, reach=1.0)):

        def path(t, q=q, v=v, a=a, j=j):
            return particles("pendulum", PARAMETERS, q + t * v + t**2 / 2 * a + t**3 / 6 * j)[1]

        masses = particles("pendulum", PARAMETERS, q)[0]
        acceleration = second_derivative(path)
        jerk = derivative(lambda t: second_derivative(lambda s: path(t + s)), 2e-2)
        gradient = derivative(lambda t: particles("pendulum", PARAMETERS, q + t)[1])  # noqa: B023
        third_order = PENDULUM.third_order_lagrange(q, v, a, j)
        assert third_order.S == pytest.approx(0.5 * masses @ np.sum(acceleration**2, axis=1), rel=1e-6)
        assert third_order.Q_star == pytest.approx(masses @ np.sum(jerk * gradient, axis=1), rel=1e-4, abs=1e-5)
