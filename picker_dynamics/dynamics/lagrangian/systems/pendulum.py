"""Pendulum, of the note from pendulum to three-link arm: one body on a pin, by Lagrange, by Gibbs and Appell, and in third order.

The functions below are the equations of docs/derivations.md ("Pendulum"), for scalars or arrays: ``k`` holds the
parameters, ``q``, ``v``, ``a`` and ``j`` are sequences of one value, theta from +x counter-clockwise and its
derivatives.  Gravity along -y, centre of mass at ``a`` from the pin.

    K = 1/2 (J_G + m a²) v²          P = m g a sin(theta)
"""

from __future__ import annotations

from typing import NamedTuple

from picker_dynamics.robot.model import GRAVITY

from ..analytic import Rows, Scalar, Values, sin_cos
from . import bars

COORDINATES = ("theta",)


class Parameters(NamedTuple):
    """Constants of the pendulum, in its note's letters.

    The note gives no numbers; the defaults are chosen, those of urdf/pendulum.urdf.

    Attributes:
        g: gravity [m/s²], along -y.
        a: pin to centre of mass [m].
        m: mass [kg].
        J_G: inertia about the centre of mass [kg·m²].
    """

    g: float = GRAVITY
    a: float = 0.2
    m: float = 0.5
    J_G: float = 0.0067


def pivot_inertia(k: Parameters) -> Scalar:
    """Inertia about the pin: J_G + m a²."""
    return k.J_G + k.m * k.a * k.a


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M: the inertia about the pin [kg·m²]."""
    return ((pivot_inertia(k),),)


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """Torque T = (J_G + m a²) thetadd + m g a cos(theta) [N·m]."""
    _, c = sin_cos(q[0])
    return (pivot_inertia(k) * a[0] + k.m * k.g * k.a * c,)


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P [J]."""
    s, _ = sin_cos(q[0])
    return k.m * k.g * k.a * s


def tip(k: Parameters, q: Values) -> Values:
    """Position of the centre of mass (x_G, y_G, 0) [m]."""
    return bars.tip(q, k.a)


def gibbs(k: Parameters, q: Values, v: Values, a: Values, torque: Values) -> Values:
    """Gibbs function G [N²/kg], dG/dthetadd [N·m] and dG/dthetad [N·m/s] for an applied ``torque`` (1,) [N·m].

    Where the torque fits the motion, dG/dthetadd is zero.

    G = 1/2 m (xdd² + ydd²) + 1/2 J_G thetadd² + m g ydd - T thetadd, with xdd² + ydd² = a² (thetadd² + thetad⁴)
    and ydd = a (thetadd cos(theta) - thetad² sin(theta)).
    """
    s, c = sin_cos(q[0])
    squared = k.a * k.a * (a[0] * a[0] + v[0] ** 4)
    ydd = k.a * (a[0] * c - v[0] * v[0] * s)
    G = 0.5 * k.m * squared + 0.5 * k.J_G * a[0] * a[0] + k.m * k.g * ydd - torque[0] * a[0]
    dG_dqdd = pivot_inertia(k) * a[0] + k.m * k.g * k.a * c - torque[0]
    dG_dqd = 2.0 * k.m * k.a * v[0] * (k.a * v[0] * v[0] - k.g * s)
    return G, dG_dqdd, dG_dqd


def third_order_lagrange(k: Parameters, q: Values, v: Values, a: Values, j: Values) -> Values:
    """Both sides of the third-order Lagrange equation: S of all particles [N²/kg], and Q* [N·m/s].

    Q* is what the rates of ALL forces add up to, constraint forces included: see docs/derivations.md.

    S = 1/2 (J_G + m a²)(thetadd² + thetad⁴) and Q* = (J_G + m a²)(thetaddd - thetad³).
    """
    S = 0.5 * pivot_inertia(k) * (a[0] * a[0] + v[0] ** 4)
    return S, pivot_inertia(k) * (j[0] - v[0] ** 3)
