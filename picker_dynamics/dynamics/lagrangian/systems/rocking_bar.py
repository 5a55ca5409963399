"""Rocking bar, of the note from pendulum to three-link arm: a thin bar that rolls without slip on a fixed cylinder.

The functions below are the equations of docs/derivations.md ("Rocking bar"), for scalars or arrays: ``k`` holds the
parameters, ``q``, ``v`` and ``a`` are sequences of one value, theta counter-clockwise and its derivatives.  y is up,
the origin on the cylinder's axis.

    contact = (-r sin(theta), r cos(theta))         G = contact + r theta (cos(theta), sin(theta))

    K = 1/2 (J + m r² theta²) thetad²               P = m g r (cos(theta) + theta sin(theta))
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array

from ..analytic import Rows, Scalar, Values, sin_cos

INCH, POUND = 0.0254, 0.45359237
"""[m], [kg]: the note's units."""


COORDINATES = ("theta",)


class Parameters(NamedTuple):
    """Constants of the rocking bar, in its note's letters.

    The defaults are the note's: inches and pounds, g = 386 in/s².

    Attributes:
        g: gravity [m/s²], along -y.
        r: radius of the cylinder [m].
        m: mass of the bar [kg].
        J: inertia of the bar about its centre of mass G [kg·m²].
    """

    g: float = 386 * INCH
    r: float = 1.906 * INCH
    m: float = 0.45 * POUND
    J: float = 0.45 * POUND * (19.5 * INCH) ** 2 / 12


def contact_inertia(k: Parameters, theta: Scalar) -> Scalar:
    """Inertia about the line of contact: J + m r² theta² [kg·m²]."""
    return k.J + k.m * k.r * k.r * theta * theta


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M = J + m r² theta² [kg·m²]."""
    return ((contact_inertia(k, q[0]),),)


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """The external couple (J + m r² theta²) thetadd + m r (g cos(theta) + r thetad²) theta [N·m]."""
    _, c = sin_cos(q[0])
    theta, thetad = q[0], v[0]
    return (contact_inertia(k, theta) * a[0] + k.m * k.r * (k.g * c + k.r * thetad * thetad) * theta,)


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P [J]."""
    s, c = sin_cos(q[0])
    return k.m * k.g * k.r * (c + q[0] * s)


def tip(k: Parameters, q: Values) -> Values:
    """Position of the bar's centre of mass (x_G, y_G, 0) [m]."""
    s, c = sin_cos(q[0])
    return k.r * (q[0] * c - s), k.r * (c + q[0] * s), 0.0


def release(k: Parameters, theta0: ArrayLike) -> tuple[Array, Array, float]:
    """Swing of the bar after a release from rest at ``theta0`` (...) [rad], |theta0| < pi/2.

    Energy gives thetad; theta = theta0 sin(phi) takes away the root's zero at the turning points; what is left is

        period = 4 integral from 0 to pi/2 of sqrt((J + m r² theta²) / (m g r f)) dphi

        f = cos(mu) sin(h)/h + cos(h) sin(mu)/mu - sin(mu)/mu sin(h)/h,    mu, h = 1/2 theta0 (1 ± sin(phi))

    in which nothing nearly equal is subtracted.

    Returns:
        Exact period (...) [s] and frequency (...) [Hz], and the frequency for small angles, sqrt(m g r / J) / (2 pi) [Hz].

    Raises:
        InputError: |theta0| >= pi/2, from where the bar does not come back; or a bar that does not swing (g, r, m or J not > 0).
    """
    from scipy.integrate import quad_vec  # takes long to load, and nothing else here needs it

    for name, value in k._asdict().items():
        if not value > 0.0:
            raise InputError(f"rocking_bar: {name} is {value}, must be > 0 for the bar to swing", name, value, 0.0)
    amplitude = np.asarray(theta0, dtype=float)
    if not np.all(np.abs(amplitude) < 0.5 * math.pi):
        raise InputError(f"rocking_bar: theta0 is {amplitude} rad, must be within (-pi/2, pi/2)", "theta0", theta0, 0.5 * math.pi)

    def slowness(phi: float) -> Array:
        s = math.sin(phi)
        mu, h = 0.5 * amplitude * (1.0 + s), 0.5 * amplitude * (1.0 - s)
        sinc_mu, sinc_h = np.sinc(mu / math.pi), np.sinc(h / math.pi)
        f = np.cos(mu) * sinc_h + np.cos(h) * sinc_mu - sinc_mu * sinc_h
        y: Array = np.sqrt((k.J + k.m * (k.r * amplitude * s) ** 2) / (k.m * k.g * k.r * f))
        return y

    period = 4.0 * quad_vec(slowness, 0.0, 0.5 * math.pi, epsrel=1e-13)[0]
    return period, 1.0 / period, math.sqrt(k.m * k.g * k.r / k.J) / (2.0 * math.pi)
