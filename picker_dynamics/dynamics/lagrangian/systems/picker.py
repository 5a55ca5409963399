"""Strawberry picker, of the strawberry-arm note: a turret, three links that pitch in one vertical plane, a scissor.

The functions below are the equations of docs/derivations.md ("Strawberry picker"), once, for scalars or
arrays: ``q``, ``v`` and ``a`` are sequences of five joint values, and any of them may be a float, a NumPy
array (a batch) or complex.  ``k`` holds the constants.

Joints      q = (theta0 .. theta4): base, shoulder, elbow, wrist, scissor.  v, a: their time derivatives.
Elevations  a1 = theta1, a2 = theta1 + theta2, a3 = theta1 + theta2 + theta3, from the horizontal, upwards;
            their rates w1, w2, w3; w0 and w4 are the rates of theta0 and theta4; accelerations al0 .. al4.
            s1 = sin a1, c1 = cos a1, and so on.

In the coordinates (theta0, a1, a2, a3, theta4) the kinetic and potential energies are

    T = 1/2 D w0² + 1/2 (J1 w1² + J2 w2² + J3 w3²) + E12 w1 w2 + E13 w1 w3 + E23 w2 w3
        + 1/2 I4 w4² + K c3 w0 w4
    V = g (P1 s1 + P2 s2 + P3 s3) + V0

    D    = I0z + sum_i (Iix si² + Iiz ci²) + sum_ik Bik ci ck        inertia about the vertical
    Ji   = Iiy + Bii,   Eik = Bik cos(ai - ak)                       inertias in the vertical plane

and their Euler-Lagrange equations need only two more families of terms:

    Hi   = 1/2 dD/dai = (Iix - Iiz) si ci - si sum_k Bik ck          centrifugal, from the yaw
    Fik  = Bik sin(ai - ak) = -Fki                                   centrifugal, between links

A joint turns every link beyond it, so its torque is the sum of the torques on their elevations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos


class Parameters(NamedTuple):
    """Constants of the picker, in its note's letters.

    The defaults are the note's; those of I0z, I1x, I1z, I2x, I2z, I3x, I3z and I4 are chosen, the note has none.

    Attributes:
        g: gravity [m/s²], along -z.
        L1, L2, L3: shoulder to elbow, elbow to wrist, wrist to tool [m].
        m1, m2, m3, m4, m_p: masses of upper arm, forearm, hand, scissor and payload [kg].
        I0z: inertia of the turret about the yaw axis [kg·m²].
        I1x … I3z: inertias of the links about their centres of mass [kg·m²]: about the link, about the pitch axis, across both.
        I4: inertia of the scissor about its joint's axis [kg·m²].
    """

    g: float = GRAVITY
    L1: float = 0.20
    L2: float = 0.145
    L3: float = 0.08
    m1: float = 0.15
    m2: float = 0.12
    m3: float = 0.08
    m4: float = 0.05
    m_p: float = 0.0
    I0z: float = 1e-3
    I1x: float = 2e-5
    I1y: float = 5e-4
    I1z: float = 5e-4
    I2x: float = 1.5e-5
    I2y: float = 3e-4
    I2z: float = 3e-4
    I3x: float = 1e-5
    I3y: float = 2e-4
    I3z: float = 2e-4
    I4: float = 1e-5


class Constants(NamedTuple):
    """Constants of the picker's equations: what they need to know of the arm.

    Attributes:
        g: gravity [m/s²].
        P1, P2, P3: first moments [kg·m] of the mass that the direction of link i carries along.
        B11, B22, B33, B12, B13, B23: its second moments [kg·m²].
        I0z: inertia of the turret about the vertical [kg·m²].
        I1x … I3z: inertias of link i along itself (x), about its pitch axis (y), and across both (z) [kg·m²].
        I4: inertia of the scissor about its axis [kg·m²].
        K: the same where yaw and scissor are coupled, 0 in the reference notes' decoupled form [kg·m²].
        V0: potential energy at zero elevations [J].
        x0, y0, z0: where the shoulder axis crosses the yaw axis [m].
        L1, L2, L3: lengths, the last one up to the tool [m].
    """

    g: float
    P1: float
    P2: float
    P3: float
    B11: float
    B22: float
    B33: float
    B12: float
    B13: float
    B23: float
    I0z: float
    I1x: float
    I1y: float
    I1z: float
    I2x: float
    I2y: float
    I2z: float
    I3x: float
    I3y: float
    I3z: float
    I4: float
    K: float
    V0: float
    x0: float
    y0: float
    z0: float
    L1: float
    L2: float
    L3: float


def massless(g: float, lengths: Sequence[float], origin: Sequence[float] = (0.0, 0.0, 0.0)) -> Constants:
    """Constants of an arm without mass; ``origin`` (3,) is where the shoulder axis crosses the yaw axis [m]."""
    return Constants(g, *[0.0] * 22, *origin, *lengths)


def with_body(k: Constants, link: int, mass: float, r: float, inertia: Sequence[float] = (0.0, 0.0, 0.0)) -> Constants:
    """Constants with another body on link 1, 2 or 3, at ``r`` [m] along it, of ``inertia`` (Ix, Iy, Iz) about its centre [kg·m²].

    The body is at L1 u1 + … + r u_link, so that with a_i = L_i before its link, r at it and 0 beyond

        P_i += mass a_i,    B_ik += mass a_i a_k
    """
    a = [0.0, *(k.L1, k.L2, k.L3)[: link - 1], r, 0.0, 0.0]
    moments = {f"P{i}": mass * a[i] for i in (1, 2, 3)}
    moments |= {f"B{i}{j}": mass * a[i] * a[j] for i in (1, 2, 3) for j in range(i, 4)}
    moments |= {f"I{link}{axis}": moment for axis, moment in zip("xyz", inertia)}
    moments |= {"V0": k.g * mass * k.z0}
    return k._replace(**{name: getattr(k, name) + value for name, value in moments.items()})


def directions(q: Values) -> Rows:
    """Directions u = ((s1, c1), (s2, c2), (s3, c3)): sine and cosine of a1, a2, a3, where links 1, 2 and 3 point."""
    a1 = q[1]
    a2 = a1 + q[2]
    a3 = a2 + q[3]
    return sin_cos(a1), sin_cos(a2), sin_cos(a3)


def elevation_rates(v: Values) -> Values:
    """Elevation rates (w1, w2, w3) from joint rates; the same sums turn joint accelerations into al1, al2, al3."""
    w1 = v[1]
    w2 = w1 + v[2]
    return w1, w2, w2 + v[3]


def joint_torques(t0: Scalar, t1: Scalar, t2: Scalar, t3: Scalar, t4: Scalar) -> Values:
    """Torques on (theta0, a1, a2, a3, theta4) -> torques of the joints: each sums what lies beyond it."""
    return t0, t1 + t2 + t3, t2 + t3, t3, t4


def yaw_inertia(k: Constants, u: Rows) -> Values:
    """Yaw inertia D, and H1, H2, H3 = half its derivatives by a1, a2, a3."""
    (s1, c1), (s2, c2), (s3, c3) = u
    R1 = k.B11 * c1 + k.B12 * c2 + k.B13 * c3
    R2 = k.B12 * c1 + k.B22 * c2 + k.B23 * c3
    R3 = k.B13 * c1 + k.B23 * c2 + k.B33 * c3
    D = (
        k.I0z
        + k.I1x * s1 * s1
        + c1 * (k.I1z * c1 + R1)
        + k.I2x * s2 * s2
        + c2 * (k.I2z * c2 + R2)
        + k.I3x * s3 * s3
        + c3 * (k.I3z * c3 + R3)
    )
    H1 = s1 * ((k.I1x - k.I1z) * c1 - R1)
    H2 = s2 * ((k.I2x - k.I2z) * c2 - R2)
    H3 = s3 * ((k.I3x - k.I3z) * c3 - R3)
    return D, H1, H2, H3


def plane_inertia(k: Constants, u: Rows) -> Values:
    """Inertia terms of the vertical plane, E12, E13, E23 and F12, F13, F23: Bik times cosine and sine of ai - ak."""
    (s1, c1), (s2, c2), (s3, c3) = u
    E12, F12 = k.B12 * (c1 * c2 + s1 * s2), k.B12 * (s1 * c2 - c1 * s2)
    E13, F13 = k.B13 * (c1 * c3 + s1 * s3), k.B13 * (s1 * c3 - c1 * s3)
    E23, F23 = k.B23 * (c2 * c3 + s2 * s3), k.B23 * (s2 * c3 - c2 * s3)
    return E12, E13, E23, F12, F13, F23


def inverse_dynamics(k: Constants, q: Values, v: Values, a: Values) -> Values:
    """Inverse dynamics tau = M a + C v + g(q), written out: five torques [N·m].

    t0 = D al0 + 2 w0 (H1 w1 + H2 w2 + H3 w3) + K (c3 al4 - s3 w3 w4)
    t1 = J1 al1 + E12 al2 + E13 al3 + F12 w2² + F13 w3² - H1 w0² + g P1 c1        (t2 alike)
    t3 = E13 al1 + E23 al2 + J3 al3 - F13 w1² - F23 w2² - H3 w0² + K s3 w0 w4 + g P3 c3
    t4 = I4 al4 + K (c3 al0 - s3 w3 w0)
    """
    (s1, c1), (s2, c2), (s3, c3) = u = directions(q)
    D, H1, H2, H3 = yaw_inertia(k, u)
    E12, E13, E23, F12, F13, F23 = plane_inertia(k, u)
    w1, w2, w3 = elevation_rates(v)
    al1, al2, al3 = elevation_rates(a)
    w0, w4, al0, al4 = v[0], v[4], a[0], a[4]

    t0 = D * al0 + 2.0 * w0 * (H1 * w1 + H2 * w2 + H3 * w3) + k.K * (c3 * al4 - s3 * w3 * w4)
    t1 = (k.I1y + k.B11) * al1 + E12 * al2 + E13 * al3 + F12 * w2 * w2 + F13 * w3 * w3 - H1 * w0 * w0 + k.g * k.P1 * c1
    t2 = E12 * al1 + (k.I2y + k.B22) * al2 + E23 * al3 - F12 * w1 * w1 + F23 * w3 * w3 - H2 * w0 * w0 + k.g * k.P2 * c2
    t3 = (
        E13 * al1
        + E23 * al2
        + (k.I3y + k.B33) * al3
        - F13 * w1 * w1
        - F23 * w2 * w2
        - H3 * w0 * w0
        + k.K * s3 * w0 * w4
        + k.g * k.P3 * c3
    )
    t4 = k.I4 * al4 + k.K * (c3 * al0 - s3 * w3 * w0)
    return joint_torques(t0, t1, t2, t3, t4)


def mass_matrix(k: Constants, q: Values) -> Rows:
    """Mass matrix M(q): rows of entries [kg·m²]."""
    _, _, (s3, c3) = u = directions(q)
    D, _, _, _ = yaw_inertia(k, u)
    E12, E13, E23, _, _, _ = plane_inertia(k, u)
    J1, J2, J3 = k.I1y + k.B11, k.I2y + k.B22, k.I3y + k.B33
    M33 = J3
    M23 = J3 + E23
    M22 = J2 + J3 + 2.0 * E23
    M13 = J3 + E13 + E23
    M12 = J2 + J3 + E12 + E13 + 2.0 * E23
    M11 = J1 + J2 + J3 + 2.0 * (E12 + E13 + E23)
    M04 = k.K * c3
    return (
        (D, 0.0, 0.0, 0.0, M04),
        (0.0, M11, M12, M13, 0.0),
        (0.0, M12, M22, M23, 0.0),
        (0.0, M13, M23, M33, 0.0),
        (M04, 0.0, 0.0, 0.0, k.I4),
    )


def potential_energy(k: Constants, q: Values) -> Scalar:
    """Potential energy V(q) [J]."""
    (s1, _), (s2, _), (s3, _) = directions(q)
    return k.g * (k.P1 * s1 + k.P2 * s2 + k.P3 * s3) + k.V0


def tip(k: Constants, q: Values) -> Values:
    """Position of the tool (x, y, z) [m]: reach = sum Li ci, along the yaw; height = sum Li si."""
    s0, c0 = sin_cos(q[0])
    (s1, c1), (s2, c2), (s3, c3) = directions(q)
    reach = k.L1 * c1 + k.L2 * c2 + k.L3 * c3
    height = k.L1 * s1 + k.L2 * s2 + k.L3 * s3
    return k.x0 + reach * c0, k.y0 + reach * s0, k.z0 + height


def tip_jacobian(k: Constants, q: Values) -> Rows:
    """Jacobian of the tip, d(tip)/dq: three rows of five [m/rad]."""
    s0, c0 = sin_cos(q[0])
    (s1, c1), (s2, c2), (s3, c3) = directions(q)
    reach = k.L1 * c1 + k.L2 * c2 + k.L3 * c3
    _, r1, r2, r3, _ = joint_torques(0.0, -k.L1 * s1, -k.L2 * s2, -k.L3 * s3, 0.0)
    _, z1, z2, z3, _ = joint_torques(0.0, k.L1 * c1, k.L2 * c2, k.L3 * c3, 0.0)
    return ((-reach * s0, r1 * c0, r2 * c0, r3 * c0, 0.0), (reach * c0, r1 * s0, r2 * s0, r3 * s0, 0.0), (0.0, z1, z2, z3, 0.0))
