"""What must hold for the dynamics of any arm, measured by independent means: differences and integration."""

import numpy as np
from scipy.integrate import solve_ivp

STEP = 2e-3
"""Step of the five-point differences: their error is of order STEP⁴, their rounding eps / STEP."""

DIFFERENCE = 1e-8
"""Agreement to expect of a derivative by differences, relative to its largest entry."""


def derivative(function, step: float = STEP) -> np.ndarray:
    """d(function(t))/dt at t = 0, five points."""
    return (function(-2 * step) - 8 * function(-step) + 8 * function(step) - function(2 * step)) / (12 * step)


def gradient(function, q) -> np.ndarray:
    """d(function(q))/dq, the joints along the last axis of the result."""
    return np.stack([derivative(lambda t, e=e: function(q + t * e)) for e in np.eye(q.shape[-1])], axis=-1)


def angular_velocity(rotation) -> np.ndarray:
    """Of axes ``rotation(t)`` (3, 3) at t = 0, base axes: dR/dt R^T is its cross product."""
    spin = derivative(rotation) @ rotation(0.0).T
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0]])


def states(model, count: int, seed: int, reach: float = 3.0) -> np.ndarray:
    """``count`` random q, v, a and j: (4, count, n)."""
    return np.random.default_rng(seed).uniform(-reach, reach, (4, count, model.n))


def close(actual, expected, tolerance: float) -> None:
    """Largest difference at most ``tolerance`` times the largest expected entry."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.max(np.abs(actual - expected)) <= tolerance * np.max(np.abs(expected))


def kinetic_energy(model, q, v) -> np.ndarray:
    """T = 1/2 vᵀ M v."""
    return 0.5 * np.einsum("...i,...ij,...j->...", v, model.mass_matrix(q), v)


def check_mass_matrix(model, q) -> None:
    """Symmetric, positive definite."""
    M = model.mass_matrix(q)
    assert np.array_equal(M, np.swapaxes(M, -1, -2))
    assert np.linalg.eigvalsh(M).min() > 0.0


def check_coriolis_matrix(model, q, v) -> None:
    """The Christoffel matrix of M by differences; dM/dt - 2C is skew-symmetric."""
    C = model.coriolis_matrix(q, v)
    dM = gradient(model.mass_matrix, q)
    christoffel = 0.5 * (dM + np.swapaxes(dM, -1, -2) - np.moveaxis(dM, -1, -3))
    close(C, np.einsum("sijk,sk->sij", christoffel, v), DIFFERENCE)
    rate = derivative(lambda t: model.mass_matrix(q + t * v))
    skew = rate - 2.0 * C
    assert np.max(np.abs(skew + np.swapaxes(skew, -1, -2))) <= DIFFERENCE * np.max(np.abs(rate))


def check_gravity(model, q) -> None:
    """g = dV/dq."""
    close(model.gravity(q), gradient(model.potential_energy, q), DIFFERENCE)


def check_jacobian(model, q) -> None:
    """J = d(tool)/dq."""
    close(model.jacobian(q), gradient(model.forward_kinematics, q), DIFFERENCE)


def check_composition(model, q, v, a) -> None:
    """tau = M a + C v + g, and forward dynamics is its inverse."""
    tau = model.inverse_dynamics(q, v, a)
    M, C, g = model.mass_matrix(q), model.coriolis_matrix(q, v), model.gravity(q)
    close(tau, np.einsum("sij,sj->si", M, a) + np.einsum("sij,sj->si", C, v) + g, 1e-13)
    close(model.forward_dynamics(q, v, tau), a, 1e-10)


def check_torque_rate(model, q, v, a, j) -> None:
    """d(tau)/dt along q(t) with these derivatives."""

    def tau(t):
        position = q + t * v + t**2 / 2 * a + t**3 / 6 * j
        return model.inverse_dynamics(position, v + t * a + t**2 / 2 * j, a + t * j)

    close(model.torque_rate(q, v, a, j), derivative(tau, 1e-3), DIFFERENCE)


def calls(q, v, a, j=None, *, tip: bool = True) -> dict[str, tuple]:
    """What every model offers -> its arguments; ``tip``: whether it has one."""
    found = {
        "mass_matrix": (q,),
        "coriolis_matrix": (q, v),
        "gravity": (q,),
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, a),
        "torque_rate": (q, v, a, 10 * a if j is None else j),
        "potential_energy": (q,),
    }
    return found | ({"forward_kinematics": (q,), "jacobian": (q,)} if tip else {})


def check_batch(model, q, v, a, j, *, tip: bool = True) -> None:
    """A batch of any shape gives what its states give one by one."""
    for name, arguments in calls(q, v, a, j, tip=tip).items():
        function = getattr(model, name)
        nested, single = function(*(x[:, None] for x in arguments)), np.array([function(*state) for state in zip(*arguments)])
        np.testing.assert_allclose(nested[:, 0], single, rtol=1e-12, atol=1e-13 * np.max(np.abs(single)), err_msg=name)


def check_same(model, expected, tolerance: float, q, v, a, j=None, *, tip: bool = True) -> None:
    """Two models of one arm agree in everything; C relative to M, as it may vanish."""
    for name, arguments in calls(q, v, a, j, tip=tip).items():
        actual, wanted = (getattr(m, name)(*arguments) for m in (model, expected))
        scale = expected.mass_matrix(q) if name == "coriolis_matrix" else wanted
        assert actual.shape == wanted.shape, name
        assert np.max(np.abs(actual - wanted)) <= tolerance * np.max(np.abs(scale)), name


def check_power_balance(model, q, v, torque, duration: float) -> None:
    """Along an integrated motion the energy gained is the work done: dE/dt = v·tau.

    Args:
        q, v: (n,) initial state.
        torque: tau(t), (n,).
        duration: [s].
    """
    n = model.n

    def rate(t, y):
        tau = torque(t)
        position, velocity = y[:n], y[n : 2 * n]
        return np.concatenate([velocity, model.forward_dynamics(position, velocity, tau), [velocity @ tau]])

    start = np.concatenate([q, v, [0.0]])
    motion = solve_ivp(rate, (0.0, duration), start, method="DOP853", rtol=1e-11, atol=1e-12)
    assert motion.success
    positions, velocities, work = np.split(motion.y.T, (n, 2 * n), axis=1)
    kinetic = kinetic_energy(model, positions, velocities)
    energy = kinetic + model.potential_energy(positions)
    assert np.max(np.abs(energy - energy[0] - work[:, 0])) <= 1e-9 * np.max(kinetic)
