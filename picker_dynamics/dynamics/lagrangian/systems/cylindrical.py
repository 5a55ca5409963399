"""Cylindrical manipulator, of the note from pendulum to three-link arm: a main body that turns, and a shaft that slides in it.

The functions below are the equations of docs/derivations.md ("Cylindrical manipulator"), for scalars or arrays: ``k``
holds the parameters, ``q``, ``v``, ``a`` and ``j`` are sequences of two values.

Coordinates  q = (theta, r3): from +x counter-clockwise; from the axis to body 3's centre of mass.  Gravity along -y.

    K = 1/2 (m2 a² + m3 r3² + J2 + J3) thetad² + 1/2 m3 r3d²
    P = g (m2 a + m3 r3) sin(theta)
"""

from __future__ import annotations

from typing import NamedTuple

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos

COORDINATES = "theta", "r3"


class Parameters(NamedTuple):
    """Constants of the cylindrical manipulator, in its note's letters.

    The note gives no numbers; the defaults are chosen, those of urdf/cylindrical.urdf.

    Attributes:
        g: gravity [m/s²], along -y.
        a: axis to body 2's centre of mass [m].
        m2, m3: masses [kg].
        J2, J3: inertias about the centres of mass [kg·m²].
    """

    g: float = GRAVITY
    a: float = 0.15
    m2: float = 2.0
    m3: float = 1.0
    J2: float = 0.0165
    J3: float = 0.0135


def axis_inertia(k: Parameters, r3: Scalar) -> Scalar:
    """Inertia about the axis: m2 a² + m3 r3² + J2 + J3."""
    return k.m2 * k.a * k.a + k.m3 * r3 * r3 + k.J2 + k.J3


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M(q): rows of entries [kg·m², kg]."""
    return ((axis_inertia(k, q[1]), 0.0), (0.0, k.m3))


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Torque T [N·m] of the ground on body 2 and F [N] of body 2 on body 3.

    T = (m2 a² + m3 r3² + J2 + J3) thetadd + 2 m3 r3 r3d thetad + g (m2 a + m3 r3) cos(theta)
    F = m3 r3dd - m3 r3 thetad² + m3 g sin(theta)
    """
    s, c = sin_cos(q[0])
    r3, thetad, r3d, thetadd, r3dd = q[1], v[0], v[1], a[0], a[1]
    T = axis_inertia(k, r3) * thetadd + 2.0 * k.m3 * r3 * r3d * thetad + k.g * (k.m2 * k.a + k.m3 * r3) * c
    F = k.m3 * r3dd - k.m3 * r3 * thetad * thetad + k.m3 * k.g * s
    return T, F


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P(q) [J]."""
    s, _ = sin_cos(q[0])
    return k.g * (k.m2 * k.a + k.m3 * q[1]) * s


def tip(k: Parameters, q: Values) -> Values:
    """Position of body 3's centre of mass (x3, y3, 0) [m]."""
    s, c = sin_cos(q[0])
    return q[1] * c, q[1] * s, 0.0
