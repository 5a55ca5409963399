"""Planar 2R arm, of the note on Lagrange equations: two revolute joints in a vertical plane.

The functions below are the equations of docs/derivations.md ("Planar 2R arm"), for scalars or arrays: ``k`` holds
the parameters, ``q``, ``v`` and ``a`` are sequences of two joint values.

Joints      q = (theta1, theta2): from +x counter-clockwise, and relative to link 1.  Gravity along -y.
            s1, c1, s12, c12: sine and cosine of theta1 and theta1 + theta2.

    K = 1/2 m11 v1² + m12 v1 v2 + 1/2 m22 v2²
    U = m1 g lg1 s1 + m2 g (l1 s1 + lg2 s12)

M depends on theta2 alone, so that of the note's Christoffel symbols three are left, all of one size:

    b112 = b122 = -h,    b211 = h,    h = m2 l1 lg2 sin(theta2)
"""

from __future__ import annotations

from typing import NamedTuple

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos
from . import bars

COORDINATES = "theta1", "theta2"


class Parameters(NamedTuple):
    """Constants of the planar 2R arm, in its note's letters.

    The note gives no numbers; the defaults are chosen, those of urdf/planar_2r.urdf.

    Attributes:
        g: gravity [m/s²], along -y.
        l1, l2: lengths [m]; the tip is at l2.
        lg1, lg2: joint to centre of mass, along the link [m].
        m1, m2: masses [kg].
        I1, I2: inertias about the centres of mass [kg·m²].
    """

    g: float = GRAVITY
    l1: float = 0.4
    l2: float = 0.3
    lg1: float = 0.2
    lg2: float = 0.15
    m1: float = 1.5
    m2: float = 1.0
    I1: float = 0.02
    I2: float = 0.0075


def inertias(k: Parameters, q: Values) -> Values:
    """Inertia terms m11, m12, m22 of the note, and h."""
    s2, c2 = sin_cos(q[1])
    m22 = k.m2 * k.lg2 * k.lg2 + k.I2
    m12 = m22 + k.m2 * k.l1 * k.lg2 * c2
    m11 = k.m1 * k.lg1 * k.lg1 + k.I1 + k.m2 * (k.l1 * k.l1 + k.lg2 * k.lg2 + 2.0 * k.l1 * k.lg2 * c2) + k.I2
    return m11, m12, m22, k.m2 * k.l1 * k.lg2 * s2


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M(q): rows of entries [kg·m²]."""
    m11, m12, m22, _ = inertias(k, q)
    return ((m11, m12), (m12, m22))


def gravity(k: Parameters, q: Values) -> Values:
    """Gravity torques G(q) = dU/dq: two of them [N·m]."""
    _, c1 = sin_cos(q[0])
    _, c12 = sin_cos(q[0] + q[1])
    G2 = k.m2 * k.g * k.lg2 * c12
    return k.m1 * k.g * k.lg1 * c1 + k.m2 * k.g * k.l1 * c1 + G2, G2


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Inverse dynamics tau = M a + V + G: two torques [N·m], the first of which the note leaves empty.

    tau1 = m11 a1 + m12 a2 + b122 v2² + 2 b112 v1 v2 + m1 g lg1 c1 + m2 g (l1 c1 + lg2 c12)
    tau2 = m12 a1 + m22 a2 + b211 v1² + m2 g lg2 c12
    """
    m11, m12, m22, h = inertias(k, q)
    G1, G2 = gravity(k, q)
    tau1 = m11 * a[0] + m12 * a[1] - h * v[1] * v[1] - 2.0 * h * v[0] * v[1] + G1
    tau2 = m12 * a[0] + m22 * a[1] + h * v[0] * v[0] + G2
    return tau1, tau2


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy U(q) [J]."""
    s1, _ = sin_cos(q[0])
    s12, _ = sin_cos(q[0] + q[1])
    return k.m1 * k.g * k.lg1 * s1 + k.m2 * k.g * (k.l1 * s1 + k.lg2 * s12)


def tip(k: Parameters, q: Values) -> Values:
    """Position of the end of link 2 (x, y, 0) [m]."""
    return bars.tip(q, k.l1, k.l2)
