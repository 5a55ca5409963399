"""Spatial 2R arm, of the note on a robot arm with spatial movement: one joint about the horizontal x axis, one across it.

The functions below are the equations of docs/derivations.md ("Spatial 2R arm"), for scalars or arrays: ``k`` holds
the parameters, ``q``, ``v`` and ``a`` are sequences of two joint values.

Joints      q = (q1, q2): about +x, about the turned +y.  At q = 0 both links point up, along +z.
Tip         Rx(q1) ([0, 0, L1] + Ry(q2) [0, 0, L2]);  centres of mass at half of each link.

    T = 1/2 d11 v1² + 1/2 d22 v2²
    V = g (m1 L1/2 + m2 h2) cos(q1),    h2 = L1 + L2/2 cos(q2)

h2 is the distance of link 2's centre of mass from the x axis.
"""

from __future__ import annotations

from typing import NamedTuple

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos

COORDINATES = "q1", "q2"


class Parameters(NamedTuple):
    """Constants of the spatial 2R arm, in its note's letters.

    The note gives no numbers; the defaults are chosen, those of urdf/spatial_2r.urdf.

    Attributes:
        g: gravity [m/s²], along -z.
        L1, L2: lengths [m].
        m1, m2: masses [kg], at half of each link.
        I1x: inertia of link 1 about the x axis, about its centre of mass [kg·m²].
        I2x, I2y, I2z: principal inertias of link 2 about its centre of mass, z along the link [kg·m²].
    """

    g: float = GRAVITY
    L1: float = 0.3
    L2: float = 0.25
    m1: float = 1.2
    m2: float = 0.8
    I1x: float = 0.00925
    I2x: float = 0.004273
    I2y: float = 0.004273
    I2z: float = 0.0002133


def inertias(k: Parameters, q: Values) -> Values:
    """Inertia terms d11, d22 of the note, and d112 = d(d11)/dq2."""
    s2, c2 = sin_cos(q[1])
    h2 = k.L1 + 0.5 * k.L2 * c2
    d11 = k.I1x + 0.25 * k.m1 * k.L1 * k.L1 + k.m2 * h2 * h2 + k.I2x * c2 * c2 + k.I2z * s2 * s2
    d22 = 0.25 * k.m2 * k.L2 * k.L2 + k.I2y
    d112 = -k.m2 * k.L2 * h2 * s2 + 2.0 * (k.I2z - k.I2x) * s2 * c2
    return d11, d22, d112


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix D(q): rows of entries [kg·m²]."""
    d11, d22, _ = inertias(k, q)
    return ((d11, 0.0), (0.0, d22))


def gravity(k: Parameters, q: Values) -> Values:
    """Gravity torques G(q) = dV/dq: two of them [N·m]."""
    s1, c1 = sin_cos(q[0])
    s2, c2 = sin_cos(q[1])
    G1 = -k.g * (0.5 * k.m1 * k.L1 + k.m2 * (k.L1 + 0.5 * k.L2 * c2)) * s1
    G2 = -0.5 * k.g * k.m2 * k.L2 * c1 * s2
    return G1, G2


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Inverse dynamics tau = D a + C v + G, written out: two torques [N·m]."""
    d11, d22, d112 = inertias(k, q)
    G1, G2 = gravity(k, q)
    tau1 = d11 * a[0] + d112 * v[0] * v[1] + G1
    tau2 = d22 * a[1] - 0.5 * d112 * v[0] * v[0] + G2
    return tau1, tau2


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P(q) [J]."""
    _, c1 = sin_cos(q[0])
    _, c2 = sin_cos(q[1])
    return k.g * c1 * (0.5 * k.m1 * k.L1 + k.m2 * (k.L1 + 0.5 * k.L2 * c2))


def tip(k: Parameters, q: Values) -> Values:
    """Position of the end effector (x, y, z) [m]: the last column of the note's T03."""
    s1, c1 = sin_cos(q[0])
    s2, c2 = sin_cos(q[1])
    return k.L2 * s2, -s1 * (k.L1 + k.L2 * c2), c1 * (k.L1 + k.L2 * c2)


def tip_rotation(k: Parameters, q: Values) -> Rows:
    """Rotation of the end effector R = Rx(q1) Ry(q2): three rows of three."""
    s1, c1 = sin_cos(q[0])
    s2, c2 = sin_cos(q[1])
    return ((c2, 0.0, s2), (s1 * s2, c1, -s1 * c2), (-c1 * s2, s1, c1 * c2))


def tip_angular_jacobian(k: Parameters, q: Values) -> Rows:
    """Angular Jacobian of the end effector, J_omega: about +x, and about the turned +y."""
    s1, c1 = sin_cos(q[0])
    return ((1.0, 0.0), (0.0, c1), (0.0, s1))
