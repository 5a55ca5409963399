"""Three-link manipulator, of the note from pendulum to three-link arm.

The functions below are the equations of docs/derivations.md ("Three-link manipulator"), for scalars or arrays: ``k``
holds the parameters, ``q``, ``v`` and ``a`` are sequences of three joint values.

Joints      q = (theta2, theta3, theta4): from +x counter-clockwise, then each relative to the bar before.
            Gravity along -y.

    JC = m4 a4² + J4
    JB = JC + m3 a3² + m4 d3² + J3 + 2 m4 d3 a4 cos(theta4)
    JA = JB + m2 a2² + (m3 + m4) d2² + J2 + 2 (m3 d2 a3 + m4 d2 d3) cos(theta3) + 2 m4 d2 a4 cos(theta3 + theta4)
    A  = JB + (m3 d2 a3 + m4 d2 d3) cos(theta3) + m4 d2 a4 cos(theta3 + theta4)
    B  = JC + m4 d3 a4 cos(theta4) + m4 d2 a4 cos(theta3 + theta4)
    C  = JC + m4 d3 a4 cos(theta4)

    D  = (m3 d2 a3 + m4 d2 d3) sin(theta3)         G2 = (m2 a2 + m3 d2 + m4 d2) g cos(theta2)
    E  = m4 d2 a4 sin(theta3 + theta4)             G3 = (m3 a3 + m4 d3) g cos(theta2 + theta3)
    F  = m4 d3 a4 sin(theta4)                      G4 = m4 a4 g cos(theta2 + theta3 + theta4)
"""

from __future__ import annotations

from typing import NamedTuple

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos
from . import bars

COORDINATES = "theta2", "theta3", "theta4"


class Parameters(NamedTuple):
    """Constants of the three-link manipulator, in its note's letters.

    The note gives no numbers; the defaults are chosen, those of urdf/three_link.urdf.

    Attributes:
        g: gravity [m/s²], along -y.
        d2, d3, d4: lengths [m]; the tip is at d4.
        a2, a3, a4: joint to centre of mass, along the bar [m].
        m2, m3, m4: masses [kg].
        J2, J3, J4: inertias about the centres of mass [kg·m²].
    """

    g: float = GRAVITY
    d2: float = 0.35
    d3: float = 0.3
    d4: float = 0.2
    a2: float = 0.16
    a3: float = 0.14
    a4: float = 0.1
    m2: float = 1.2
    m3: float = 0.9
    m4: float = 0.5
    J2: float = 0.0125
    J3: float = 0.007
    J4: float = 0.0018


def inertias(k: Parameters, q: Values) -> Values:
    """Inertia terms JA, JB, JC, A, B, C of the note."""
    _, c3 = sin_cos(q[1])
    _, c4 = sin_cos(q[2])
    _, c34 = sin_cos(q[1] + q[2])
    bar3, bar4, across = (k.m3 * k.a3 + k.m4 * k.d3) * k.d2 * c3, k.m4 * k.d3 * k.a4 * c4, k.m4 * k.d2 * k.a4 * c34
    JC = k.m4 * k.a4 * k.a4 + k.J4
    JB = JC + k.m3 * k.a3 * k.a3 + k.m4 * k.d3 * k.d3 + k.J3 + 2.0 * bar4
    JA = JB + k.m2 * k.a2 * k.a2 + (k.m3 + k.m4) * k.d2 * k.d2 + k.J2 + 2.0 * bar3 + 2.0 * across
    A = JB + bar3 + across
    B = JC + bar4 + across
    C = JC + bar4
    return JA, JB, JC, A, B, C


def centrifugal(k: Parameters, q: Values) -> Values:
    """Centrifugal terms D, E, F of the note."""
    s3, _ = sin_cos(q[1])
    s4, _ = sin_cos(q[2])
    s34, _ = sin_cos(q[1] + q[2])
    return (k.m3 * k.a3 + k.m4 * k.d3) * k.d2 * s3, k.m4 * k.d2 * k.a4 * s34, k.m4 * k.d3 * k.a4 * s4


def weights(k: Parameters, q: Values) -> Values:
    """Weight terms G2, G3, G4 of the note."""
    _, c2 = sin_cos(q[0])
    _, c23 = sin_cos(q[0] + q[1])
    _, c234 = sin_cos(q[0] + q[1] + q[2])
    G2 = (k.m2 * k.a2 + k.m3 * k.d2 + k.m4 * k.d2) * k.g * c2
    return G2, (k.m3 * k.a3 + k.m4 * k.d3) * k.g * c23, k.m4 * k.a4 * k.g * c234


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M(q): rows of entries [kg·m²]."""
    JA, JB, JC, A, B, C = inertias(k, q)
    return ((JA, A, B), (A, JB, C), (B, C, JC))


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Joint torques T2, T3 and T4 [N·m].

    T2 = JA thetadd2 + A thetadd3 + B thetadd4 - 2 (D + E) thetad2 thetad3 - 2 (E + F) thetad2 thetad4
         - 2 (E + F) thetad3 thetad4 - (D + E) thetad3² - (E + F) thetad4² + G2 + G3 + G4
    T3 = A thetadd2 + JB thetadd3 + C thetadd4 - 2 F thetad2 thetad4 - 2 F thetad3 thetad4
         + (D + E) thetad2² - F thetad4² + G3 + G4
    T4 = B thetadd2 + C thetadd3 + JC thetadd4 + 2 F thetad2 thetad3 + (E + F) thetad2² + F thetad3² + G4
    """
    JA, JB, JC, A, B, C = inertias(k, q)
    D, E, F = centrifugal(k, q)
    G2, G3, G4 = weights(k, q)
    v2, v3, v4, al2, al3, al4 = v[0], v[1], v[2], a[0], a[1], a[2]
    T2 = (
        JA * al2
        + A * al3
        + B * al4
        - 2.0 * (D + E) * v2 * v3
        - 2.0 * (E + F) * v2 * v4
        - 2.0 * (E + F) * v3 * v4
        - (D + E) * v3 * v3
        - (E + F) * v4 * v4
        + G2
        + G3
        + G4
    )
    T3 = A * al2 + JB * al3 + C * al4 - 2.0 * F * v2 * v4 - 2.0 * F * v3 * v4 + (D + E) * v2 * v2 - F * v4 * v4 + G3 + G4
    T4 = B * al2 + C * al3 + JC * al4 + 2.0 * F * v2 * v3 + (E + F) * v2 * v2 + F * v3 * v3 + G4
    return T2, T3, T4


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P(q) [J]."""
    s2, _ = sin_cos(q[0])
    s23, _ = sin_cos(q[0] + q[1])
    s234, _ = sin_cos(q[0] + q[1] + q[2])
    return k.g * ((k.m2 * k.a2 + k.m3 * k.d2 + k.m4 * k.d2) * s2 + (k.m3 * k.a3 + k.m4 * k.d3) * s23 + k.m4 * k.a4 * s234)


def tip(k: Parameters, q: Values) -> Values:
    """Position of the end of bar 4 (x, y, 0) [m]."""
    return bars.tip(q, k.d2, k.d3, k.d4)
