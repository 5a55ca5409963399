"""RRP arm, of the serial-robot note: two revolute joints and a slide, with a load at its end.

The functions below are the equations of docs/derivations.md ("RRP arm"), for scalars or arrays: ``k`` holds the
parameters, ``q``, ``v`` and ``a`` are sequences of three joint values.

Joints      q = (theta1, theta2, d3): yaw about +z, rotation about the turned +y, slide.
Load        Rz(theta1) Ry(theta2) [-l2, 0, D] with D = d3 + l4, that is, at (rho, z) of the arm's vertical plane:

    rho  = D sin(theta2) - l2 cos(theta2)           z  = l2 sin(theta2) + D cos(theta2)
    rho3 = D3 sin(theta2) - l2 cos(theta2)          z3 = l2 sin(theta2) + D3 cos(theta2)

with D3 = D - l/2 for the middle of link 3.  As theta2 turns, d(rho) = z d(theta2) and d(z) = -rho d(theta2).

    T = 1/2 H11 w1² + 1/2 H22 w2² + H23 w2 w3 + 1/2 H33 w3²
    V = g (M z + m3 z3 + 1/2 m2 l2 sin(theta2))

H11 depends on theta2 and d3, H22 on d3; three half derivatives give all velocity products:

    P = 1/2 dH11/dtheta2,    Q = 1/2 dH11/dd3,    S = 1/2 dH22/dd3
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import SingularityError, UnreachableError
from picker_dynamics.robot.model import GRAVITY, Array, as_states

from ..analytic import Rows, Scalar, Values, sin_cos

SINGULAR = 1e-12
"""The load is on the axis of theta1, or link 3 on that of theta2, when rho² or D² is below this times its distance²."""


COORDINATES = "theta1", "theta2", "d3"


class Parameters(NamedTuple):
    """Constants of the RRP arm, in its note's letters.

    The defaults are the note's.

    Attributes:
        g: gravity [m/s²], along -z.
        l2: length of link 2 [m], a slender uniform rod from 0 to [-l2, 0, 0].
        l: length of link 3 [m], a slender uniform rod along the slide.
        l4: from the slide's coordinate to the load, at the end of link 3 [m].
        m2, m3: masses of the links [kg].
        M: mass of the load [kg], a point.
    """

    g: float = GRAVITY
    l2: float = 1.6
    l: float = 1.2  # noqa: E741 (the note's letter)
    l4: float = 0.3
    m2: float = 10.8
    m3: float = 8.4
    M: float = 0.5


def plane(k: Parameters, q: Values) -> Values:
    """Load (rho, z) and middle of link 3 (rho3, z3) in the vertical plane, after sin(theta2), cos(theta2), D, D3."""
    s2, c2 = sin_cos(q[1])
    D = q[2] + k.l4
    D3 = D - 0.5 * k.l
    return s2, c2, D, D3, D * s2 - k.l2 * c2, k.l2 * s2 + D * c2, D3 * s2 - k.l2 * c2, k.l2 * s2 + D3 * c2


def inertias(k: Parameters, q: Values) -> Values:
    """Inertia terms H11, H22, H23, H33 of the note."""
    s2, c2, D, D3, rho, _, rho3, _ = plane(k, q)
    H11 = k.M * rho * rho + k.m3 * rho3 * rho3 + k.m2 * k.l2 * k.l2 * c2 * c2 / 3.0 + k.m3 * k.l * k.l * s2 * s2 / 12.0
    H22 = (
        k.m3 * D3 * D3 + k.M * D * D + k.M * k.l2 * k.l2 + k.m2 * k.l2 * k.l2 / 3.0 + k.m3 * k.l * k.l / 12.0 + k.m3 * k.l2 * k.l2
    )
    return H11, H22, k.l2 * (k.M + k.m3), k.M + k.m3


def half_derivatives(k: Parameters, q: Values) -> Values:
    """Inertia derivatives P, Q, S: half of dH11/dtheta2, dH11/dd3 and dH22/dd3."""
    s2, c2, D, D3, rho, z, rho3, z3 = plane(k, q)
    P = k.M * rho * z + k.m3 * rho3 * z3 + (k.m3 * k.l * k.l / 12.0 - k.m2 * k.l2 * k.l2 / 3.0) * s2 * c2
    Q = (k.M * rho + k.m3 * rho3) * s2
    S = k.M * D + k.m3 * D3
    return P, Q, S


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix H(q): rows of entries."""
    H11, H22, H23, H33 = inertias(k, q)
    return ((H11, 0.0, 0.0), (0.0, H22, H23), (0.0, H23, H33))


def gravity(k: Parameters, q: Values) -> Values:
    """Gravity terms G(q) = dV/dq: two torques [N·m] and a force [N]."""
    _, c2, _, _, rho, _, rho3, _ = plane(k, q)
    G2 = -k.g * (k.M * rho + k.m3 * rho3 - 0.5 * k.m2 * k.l2 * c2)
    G3 = k.g * c2 * (k.M + k.m3)
    return 0.0, G2, G3


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Inverse dynamics tau = H a + C v + G, written out: two torques [N·m] and a force [N].

    tau1 = H11 a1 + 2 w1 (P w2 + Q w3)
    tau2 = H22 a2 + H23 a3 - P w1² + 2 S w2 w3 + G2
    tau3 = H23 a2 + H33 a3 - Q w1² - S w2² + G3
    """
    H11, H22, H23, H33 = inertias(k, q)
    P, Q, S = half_derivatives(k, q)
    _, G2, G3 = gravity(k, q)
    w1, w2, w3 = v[0], v[1], v[2]
    tau1 = H11 * a[0] + 2.0 * w1 * (P * w2 + Q * w3)
    tau2 = H22 * a[1] + H23 * a[2] - P * w1 * w1 + 2.0 * S * w2 * w3 + G2
    tau3 = H23 * a[1] + H33 * a[2] - Q * w1 * w1 - S * w2 * w2 + G3
    return tau1, tau2, tau3


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy V(q) [J]."""
    s2, _, _, _, _, z, _, z3 = plane(k, q)
    return k.g * (k.M * z + k.m3 * z3 + 0.5 * k.m2 * k.l2 * s2)


def tip(k: Parameters, q: Values) -> Values:
    """Position of the load (x, y, z) [m]."""
    s1, c1 = sin_cos(q[0])
    _, _, _, _, rho, z, _, _ = plane(k, q)
    return rho * c1, rho * s1, z


def tip_jacobian(k: Parameters, q: Values) -> Rows:
    """Jacobian of the load, d(load)/dq: three rows of three."""
    s1, c1 = sin_cos(q[0])
    s2, c2, _, _, rho, z, _, _ = plane(k, q)
    return ((-rho * s1, z * c1, s2 * c1), (rho * c1, z * s1, s2 * s1), (0.0, -rho, c2))


def inverse_kinematics(k: Parameters, point: ArrayLike, *, sigma_rho: int = 1, sigma_D: int = 1) -> Array:
    """Joint values that bring the load to ``point``; the two signs tell the four solutions apart.

        rho    = sigma_rho hypot(x, y)              D      = sigma_D sqrt(rho² + z² - l2²)
        theta1 = atan2(rho y, rho x)                theta2 = atan2(D rho + l2 z, D z - l2 rho)

    Args:
        point: (..., 3) [m], base frame.
        sigma_rho: +1 for a load in front of the arm (rho > 0), -1 for one reached over its back.
        sigma_D: +1 for the usable slide (D = d3 + l4 > 0), -1 for link 3 pulled through its guide.

    Returns:
        (..., 3) q = (theta1, theta2, d3) [rad, rad, m], angles in [-pi, pi].

    Raises:
        UnreachableError: a point closer to the base than l2 (value, limit: its distance and l2).
        SingularityError: the Jacobian has no inverse, det J = -rho D = 0: a point on the axis of theta1, or at distance l2.
    """
    x, y, z = np.moveaxis(as_states("point", point, 3), -1, 0)
    rho = sigma_rho * np.hypot(x, y)
    distance = np.hypot(rho, z)
    D_squared = (distance - k.l2) * (distance + k.l2)
    nearest = float(distance.min())
    if np.any(D_squared < -SINGULAR * k.l2**2):
        text = f"rrp: a point is {nearest:.6g} m from the base, closer than l2 = {k.l2:g} m: no joint values reach it"
        raise UnreachableError(text, "d3", nearest, k.l2)
    D = sigma_D * np.sqrt(np.maximum(D_squared, 0.0))
    for joint, name, value, meaning in (
        ("theta1", "rho", rho, "the load is on the axis of theta1, which is free there"),
        ("theta2", "D", D, "the load is at the foot of the slide, at distance l2"),
    ):
        if np.any(value**2 <= SINGULAR * distance**2):
            least = float(np.abs(value).min())
            raise SingularityError(f"rrp: singular: {name} is {least:.3g} m, {meaning}", joint, least, 0.0)
    theta1, theta2 = np.arctan2(sigma_rho * y, sigma_rho * x), np.arctan2(D * rho + k.l2 * z, D * z - k.l2 * rho)
    return np.stack([theta1, theta2, D - k.l4], axis=-1)
