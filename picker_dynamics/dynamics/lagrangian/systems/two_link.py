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

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos
from . import bars

COORDINATES = "theta2", "theta3"


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


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P(q) [J]."""
    s2, _ = sin_cos(q[0])
    s23, _ = sin_cos(q[0] + q[1])
    return (k.m2 * k.a2 + k.m3 * k.d2) * k.g * s2 + k.m3 * k.a3 * k.g * s23


def tip(k: Parameters, q: Values) -> Values:
    """Position of the end of bar 3 (x, y, 0) [m]."""
    return bars.tip(q, k.d2, k.d3)
