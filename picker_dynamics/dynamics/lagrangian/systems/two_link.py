"""Two-link manipulator, or double pendulum, of the note from pendulum to three-link arm.

The functions below are the equations of docs/derivations.md ("Two-link manipulator"), for scalars or arrays: ``k``
holds the parameters, ``q``, ``v``, ``a`` and ``j`` are sequences of two joint values.

Joints      q = (theta2, theta3): from +x counter-clockwise, and relative to bar 2.  Gravity along -y.

    JB = m3 a3² + J3                                            G2 = (m2 a2 + m3 d2) g cos(theta2)
    JA = JB + m2 a2² + m3 d2² + J2 + 2 m3 d2 a3 cos(theta3)     G3 = m3 a3 g cos(theta2 + theta3)
    C  = JB + m3 d2 a3 cos(theta3)
    D  = m3 d2 a3 sin(theta3)

    K = 1/2 JA thetad2² + C thetad2 thetad3 + 1/2 JB thetad3²
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from picker_dynamics.robot.model import GRAVITY, Array

from ..closed_form import ReferenceSystem
from ..scalars import Rows, Scalar, Values, sin_cos
from . import bars


class Parameters(NamedTuple):
    """Constants of the two-link manipulator, in its note's letters.

    The note gives no numbers; the defaults are chosen, those of urdf/two_link.urdf.

    Attributes:
        g: gravity [m/s²], along -y.
        d2, d3: lengths [m]; the tip is at d3.
        a2, a3: joint to centre of mass, along the bar [m].
        m2, m3: masses [kg].
        J2, J3: inertias about the centres of mass [kg·m²].
    """

    g: float = GRAVITY
    d2: float = 0.5
    d3: float = 0.4
    a2: float = 0.22
    a3: float = 0.16
    m2: float = 2.0
    m3: float = 1.2
    J2: float = 0.045
    J3: float = 0.018


def inertias(k: Parameters, q: Values) -> Values:
    """Inertia terms JA, JB, C and D of the note."""
    s3, c3 = sin_cos(q[1])
    JB = k.m3 * k.a3 * k.a3 + k.J3
    JA = JB + k.m2 * k.a2 * k.a2 + k.m3 * k.d2 * k.d2 + k.J2 + 2.0 * k.m3 * k.d2 * k.a3 * c3
    C = JB + k.m3 * k.d2 * k.a3 * c3
    D = k.m3 * k.d2 * k.a3 * s3
    return JA, JB, C, D


def weights(k: Parameters, q: Values) -> Values:
    """Weight terms G2 and G3 of the note."""
    _, c2 = sin_cos(q[0])
    _, c23 = sin_cos(q[0] + q[1])
    return (k.m2 * k.a2 + k.m3 * k.d2) * k.g * c2, k.m3 * k.a3 * k.g * c23


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M(q): rows of entries [kg·m²]."""
    JA, JB, C, _ = inertias(k, q)
    return ((JA, C), (C, JB))


def coriolis_matrix(k: Parameters, q: Values, v: Values) -> Rows:
    """The matrix of Christoffel symbols (the note's C is an inertia): rows of entries."""
    _, _, _, D = inertias(k, q)
    return ((-D * v[1], -D * (v[0] + v[1])), (D * v[0], 0.0))


def gravity(k: Parameters, q: Values) -> Values:
    """Gravity torques dP/dq: two of them [N·m]."""
    G2, G3 = weights(k, q)
    return G2 + G3, G3


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Joint torques T2 and T3 [N·m].

    T2 = JA thetadd2 + C thetadd3 - 2 D thetad2 thetad3 - D thetad3² + G2 + G3
    T3 = C thetadd2 + JB thetadd3 + D thetad2² + G3
    """
    JA, JB, C, D = inertias(k, q)
    G2, G3 = weights(k, q)
    v2, v3, al2, al3 = v[0], v[1], a[0], a[1]
    T2 = JA * al2 + C * al3 - 2.0 * D * v2 * v3 - D * v3 * v3 + G2 + G3
    T3 = C * al2 + JB * al3 + D * v2 * v2 + G3
    return T2, T3


def torque_rate(k: Parameters, q: Values, v: Values, a: Values, j: Values) -> Values:
    """Torque rates dT2/dt and dT3/dt [N·m/s]; JAd, Cd, Dd, G2d and G3d are time derivatives (JB is constant).

    dT2/dt = JA thetaddd2 + JAd thetadd2 + C thetaddd3 + Cd thetadd3 - 2 Dd thetad2 thetad3
             - 2 D thetadd2 thetad3 - 2 D thetad2 thetadd3 - Dd thetad3² - 2 D thetad3 thetadd3 + G2d + G3d
    dT3/dt = C thetaddd2 + Cd thetadd2 + JB thetaddd3 + Dd thetad2² + 2 D thetad2 thetadd2 + G3d
    """
    JA, JB, C, D = inertias(k, q)
    v2, v3, al2, al3, j2, j3 = v[0], v[1], a[0], a[1], j[0], j[1]
    s2, _ = sin_cos(q[0])
    _, c3 = sin_cos(q[1])
    s23, _ = sin_cos(q[0] + q[1])
    JAd = -2.0 * D * v3
    Cd = -D * v3
    Dd = k.m3 * k.d2 * k.a3 * v3 * c3
    G2d = -(k.m2 * k.a2 + k.m3 * k.d2) * k.g * v2 * s2
    G3d = -k.m3 * k.a3 * k.g * (v2 + v3) * s23
    T2d = (
        JA * j2
        + JAd * al2
        + C * j3
        + Cd * al3
        - 2.0 * Dd * v2 * v3
        - 2.0 * D * al2 * v3
        - 2.0 * D * v2 * al3
        - Dd * v3 * v3
        - 2.0 * D * v3 * al3
        + G2d
        + G3d
    )
    T3d = C * j2 + Cd * al2 + JB * j3 + Dd * v2 * v2 + 2.0 * D * v2 * al2 + G3d
    return T2d, T3d


def linear_state_space(k: Parameters, q: Values, v: Values, torque: Values) -> Rows:
    """State-space matrices A and B of the deviations from (q, v) under ``torque``: rows of A (4) beside those of B (2).

        thetadd = 1/det [JB -C; -C JA] {G; H},   det = JA JB - C²,   {G; H} = {T2; T3} - velocity products - weights

    A's lower half is 1/det [JB -C; -C JA] d{G; H}/dy, and in the column of theta3 also {P23; P33}, from the
    derivative of the inverse:

        {P23; P33} = D/det² [2 JB (JB - C)             JA JB - 2 JB C + C²] {G; H}
                            [JA JB - 2 JB C + C²       -2 C (JA - C)      ]
    """
    JA, JB, C, D = inertias(k, q)
    G2, G3 = weights(k, q)
    v2, v3 = v[0], v[1]
    s2, _ = sin_cos(q[0])
    _, c3 = sin_cos(q[1])
    s23, _ = sin_cos(q[0] + q[1])
    G = torque[0] + D * v3 * v3 + 2.0 * D * v2 * v3 - G2 - G3
    H = torque[1] - D * v2 * v2 - G3
    det = JA * JB - C * C
    P12 = JA * JB - 2.0 * JB * C + C * C
    P23 = D / (det * det) * (2.0 * JB * (JB - C) * G + P12 * H)
    P33 = D / (det * det) * (P12 * G - 2.0 * C * (JA - C) * H)
    dH_dtheta2 = k.m3 * k.a3 * k.g * s23
    dH = (dH_dtheta2, dH_dtheta2 - k.m3 * k.d2 * k.a3 * c3 * v2 * v2, -2.0 * D * v2, 0.0)
    dG = (
        (k.m2 * k.a2 + k.m3 * k.d2) * k.g * s2 + dH_dtheta2,
        dH_dtheta2 + k.m3 * k.d2 * k.a3 * c3 * (v3 * v3 + 2.0 * v2 * v3),
        2.0 * D * v3,
        2.0 * D * (v2 + v3),
    )
    row2 = [(JB * g - C * h) / det for g, h in zip(dG, dH)]
    row3 = [(JA * h - C * g) / det for g, h in zip(dG, dH)]
    row2[1] = row2[1] + P23
    row3[1] = row3[1] + P33
    return (
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        (*row2, JB / det, -C / det),
        (*row3, -C / det, JA / det),
    )


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P(q) [J]."""
    s2, _ = sin_cos(q[0])
    s23, _ = sin_cos(q[0] + q[1])
    return (k.m2 * k.a2 + k.m3 * k.d2) * k.g * s2 + k.m3 * k.a3 * k.g * s23


def tip(k: Parameters, q: Values) -> Values:
    """Position of the end of bar 3 (x, y, 0) [m]."""
    return bars.tip(q, k.d2, k.d3)


def tip_jacobian(k: Parameters, q: Values) -> Rows:
    """Jacobian of the tip, d(tip)/dq: three rows of two [m/rad]."""
    return bars.tip_jacobian(q, k.d2, k.d3)


class TwoLink(ReferenceSystem):
    """The two-link anthropomorphic manipulator."""

    system = "two_link"
    coordinates = ("theta2", "theta3")

    def linear_state_space(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        """The note's linear model of y = (theta2, theta3, thetad2, thetad3), written out; ``linearise`` serves any arm.

        Args:
            q, v, tau: (..., 2) where to linearise; generally no equilibrium, so it holds for deviations only.

        Returns:
            A = d(yd)/dy (..., 4, 4) and B = d(yd)/dtau (..., 4, 2).
        """
        both = self._evaluate(linear_state_space, (4, 6), q=q, v=v, tau=tau)
        return both[..., :4], both[..., 4:]
