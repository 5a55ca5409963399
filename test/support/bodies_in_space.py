"""The systems of the reference notes as bodies in space: positions only, from which energies follow by differences.

Each function takes parameters ``p`` and coordinates ``q`` (n,) and returns the bodies, as (mass, centre of mass, axes,
second moments of mass along these axes), and the tip.
"""

import numpy as np
from dynamics_properties import derivative

UP = {"rrp": 2, "spatial_2r": 2}
"""Index of the vertical axis; y where nothing is said."""


def turn(axis: int, angle: float) -> np.ndarray:
    """Rotation matrix about x (0), y (1) or z (2), right-handed."""
    c, s = np.cos(angle), np.sin(angle)
    i, k = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, k], R[k, i], R[k, k] = c, -s, s, c
    return R


def rrp(p, q):
    R, D = turn(2, q[0]) @ turn(1, q[1]), q[2] + p["l4"]
    load = R @ [-p["l2"], 0, D]
    return [
        (p["m2"], R @ [-p["l2"] / 2, 0, 0], R, (p["m2"] * p["l2"] ** 2 / 12, 0, 0)),
        (p["m3"], R @ [-p["l2"], 0, D - p["l"] / 2], R, (0, 0, p["m3"] * p["l"] ** 2 / 12)),
        (p["M"], load, R, (0, 0, 0)),
    ], load


def spatial_2r(p, q):
    R1 = turn(0, q[0])
    R2 = R1 @ turn(1, q[1])
    joint, along = R1 @ [0, 0, p["L1"]], R2 @ [0, 0, p["L2"]]
    Ix, Iy, Iz = p["I2x"], p["I2y"], p["I2z"]
    return [
        (p["m1"], joint / 2, R1, (0, p["I1x"], 0)),
        (p["m2"], joint + along / 2, R2, ((Iy + Iz - Ix) / 2, (Iz + Ix - Iy) / 2, (Ix + Iy - Iz) / 2)),
    ], joint + along


def planar(q, *bars):
    """Bars (length, centre of mass, mass, inertia), each turned relative to the one before."""
    bodies, joint = [], np.zeros(3)
    for angle, (length, com, mass, inertia) in zip(np.cumsum(q), bars):
        R = turn(2, angle)
        bodies.append((mass, joint + R @ [com, 0, 0], R, (inertia, 0, 0)))
        joint = joint + R @ [length, 0, 0]
    return bodies, joint


def planar_2r(p, q):
    return planar(q, *((p[f"l{i}"], p[f"lg{i}"], p[f"m{i}"], p[f"I{i}"]) for i in (1, 2)))


def pendulum(p, q):
    return planar(q, (p["a"], p["a"], p["m"], p["J_G"]))


def cylindrical(p, q):
    R = turn(2, q[0])
    tip = R @ [q[1], 0, 0]
    return [(p["m2"], R @ [p["a"], 0, 0], R, (p["J2"], 0, 0)), (p["m3"], tip, R, (p["J3"], 0, 0))], tip


def rocking_bar(p, q):
    R = turn(2, q[0])
    centre = R @ [p["r"] * q[0], p["r"], 0]
    return [(p["m"], centre, R, (p["J"], 0, 0))], centre


def two_link(p, q):
    return planar(q, *((p[f"d{i}"], p[f"a{i}"], p[f"m{i}"], p[f"J{i}"]) for i in (2, 3)))


def three_link(p, q):
    return planar(q, *((p[f"d{i}"], p[f"a{i}"], p[f"m{i}"], p[f"J{i}"]) for i in (2, 3, 4)))


SYSTEMS = {
    system.__name__: system for system in (rrp, spatial_2r, planar_2r, pendulum, cylindrical, rocking_bar, two_link, three_link)
}


def particles(system: str, p, q) -> tuple[np.ndarray, np.ndarray]:
    """Masses (k,) and positions (k, 3) of six points a body that move as it does."""
    masses, points = [], []
    for mass, centre, axes, moments in SYSTEMS[system](p, q)[0]:
        for direction, moment in zip(axes.T, moments):
            arm = direction * np.sqrt(3 * moment / mass)
            masses += [mass / 6] * 2
            points += [centre + arm, centre - arm]
    return np.array(masses), np.array(points)


def tip(system: str, p, q) -> np.ndarray:
    """Position of the tip (3,)."""
    return SYSTEMS[system](p, q)[1]


def axes_of_last_body(system: str, p, q) -> np.ndarray:
    """Rotation matrix (3, 3) of the last body."""
    return SYSTEMS[system](p, q)[0][-1][2]


def energies(system: str, p, q, v) -> tuple[float, float]:
    """Kinetic energy, from the particles' velocities by differences, and potential energy."""
    masses, points = particles(system, p, q)
    velocities = derivative(lambda t: particles(system, p, q + t * v)[1])
    kinetic = 0.5 * masses @ np.sum(velocities**2, axis=1)
    return kinetic, p["g"] * masses @ points[:, UP.get(system, 1)]
