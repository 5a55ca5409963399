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

from ..analytic import ReferenceSystem, Rows, Scalar, Values, sin_cos

CONVERGED = 1e-12
"""Relative change of the period at which doubling the nodes stops; doubling squares its error, which is then 1e-15."""

MOST_NODES = 2**20
"""Nodes at which the quadrature gives up: a release so close to a right angle that the bar hardly comes back."""


INCH, POUND = 0.0254, 0.45359237
"""[m], [kg]: the note's units."""


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


class Release(NamedTuple):
    """Swing of the bar after a release from rest.

    Attributes:
        period_s: exact period, (...) [s].
        frequency_hz: exact frequency, (...) [Hz].
        small_angle_frequency_hz: of the linearised equation, sqrt(m g r / J) / (2 pi) [Hz].
    """

    period_s: Array
    frequency_hz: Array
    small_angle_frequency_hz: float


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


def period(k: Parameters, theta0: Array) -> Array:
    """Time of one full swing [s] from rest at ``theta0`` (...) [rad], |theta0| < pi/2.

    Energy gives thetad; theta = theta0 sin(phi) takes away the root's zero at the turning points; what is left is

        period = 4 integral from 0 to pi/2 of sqrt((J + m r² theta²) / (m g r f)) dphi

        f = cos(mu) sin(h)/h + cos(h) sin(mu)/mu - sin(mu)/mu sin(h)/h,    mu, h = 1/2 theta0 (1 ± sin(phi))

    in which nothing nearly equal is subtracted.  The integrand is smooth and periodic in phi, so the trapezoidal rule
    converges exponentially (L. Trefethen, J. Weideman, SIAM Review 56, 2014): nodes are doubled until nothing changes.

    Raises:
        InputError: not converged, for a release too close to a right angle.
    """
    previous, nodes = np.full(theta0.shape, np.inf), 16
    while nodes <= MOST_NODES:
        s = np.sin(np.linspace(0.0, 0.5 * math.pi, nodes + 1))
        amplitude = theta0[..., None]
        mu, h = 0.5 * amplitude * (1.0 + s), 0.5 * amplitude * (1.0 - s)
        sinc_mu, sinc_h = np.sinc(mu / math.pi), np.sinc(h / math.pi)
        f = np.cos(mu) * sinc_h + np.cos(h) * sinc_mu - sinc_mu * sinc_h
        y = np.sqrt((k.J + k.m * (k.r * amplitude * s) ** 2) / (k.m * k.g * k.r * f))
        result: Array = 2.0 * math.pi / nodes * (y.sum(axis=-1) - 0.5 * (y[..., 0] + y[..., -1]))
        if np.all(np.abs(result - previous) <= CONVERGED * result):
            return result
        previous, nodes = result, 2 * nodes
    raise InputError(
        f"rocking_bar: no period for theta0 = {float(np.max(np.abs(theta0)))} rad: too close to pi/2, where it is infinite",
        "theta0",
        float(np.max(np.abs(theta0))),
        0.5 * math.pi,
    )


class RockingBar(ReferenceSystem):
    """The bar balanced on a cylinder."""

    system = "rocking_bar"
    coordinates = ("theta",)

    def release(self, theta0: ArrayLike) -> Release:
        """Period and frequency after a release from rest, exact and for small angles.

        Args:
            theta0: a number or an array (...) [rad], |theta0| < pi/2: beyond, the bar does not come back.

        Raises:
            InputError: |theta0| >= pi/2, not a number; or a bar that does not swing (g, r, m or J not positive).
        """
        k = self.constants
        for name, value in k._asdict().items():
            if not value > 0.0:
                raise InputError(f"rocking_bar: {name} is {value}, must be > 0 for the bar to swing", name, value, 0.0)
        try:
            theta0 = np.asarray(theta0, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(f"theta0 is {theta0!r}, not a number", "theta0", theta0) from error
        if not np.all(np.abs(theta0) < 0.5 * math.pi):
            worst = float(theta0.flat[np.argmax(np.abs(theta0))])
            raise InputError(f"rocking_bar: theta0 is {worst} rad, must be within (-pi/2, pi/2)", "theta0", worst, 0.5 * math.pi)
        exact = period(k, theta0)
        return Release(exact, 1.0 / exact, math.sqrt(k.m * k.g * k.r / k.J) / (2.0 * math.pi))
