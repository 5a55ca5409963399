"""Standard inertial parameters of bodies, and the coordinates in which only bodies that can exist are described.

    pi = (m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)

of a body: the link that a joint moves, and all that fixed joints weld to it.  ``I`` is about the origin of that link's frame
(which is the joint's), not about the centre of mass, and in its axes: so torques are linear in pi (C. G. Atkeson, C. H. An and
J. M. Hollerbach, Estimation of inertial parameters of manipulator loads and links, International Journal of Robotics Research
5(3), 1986).  SI units.

    J = [[S, h], [hᵀ, m]]      S = 1/2 tr(I) 1 - I  (second moments of mass about the origin),  h = m c

A body can exist (positive mass, positive moments that obey the triangle inequality, a centre of mass among its mass) exactly if
J is positive definite (S. Traversaro, S. Brossette, A. Escande and F. Nori, Identification of fully physical consistent inertial
parameters using optimization on manifolds, IROS 2016; P. M. Wensing, S. Kim and J.-J. E. Slotine, Linear matrix inequalities for
physically consistent inertial parameter identification, IEEE Robotics and Automation Letters 3(1), 2018).  With what is
believed of the body beforehand, J0 = L Lᵀ,

    J = (L U) (L U)ᵀ,   U upper triangular,   U_ii = exp(theta_i) for i = 0 … 3,   the six above the diagonal theta_4 … theta_9

so that any theta (10,) is a body, and theta = 0 the believed one (log-Cholesky parameters: C. Rucker and P. M. Wensing, Smooth
parameterization of rigid-body inertia, IEEE Robotics and Automation Letters 7(2), 2022; here relative to L, which is upper
triangular too).  The entropic divergence of J from J0 is then a sum of ten squares:

    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4 = Σ (U_ii² - 2 log U_ii - 1) + Σ U_ij²

All functions of pi and theta are analytic: ``slopes`` differentiates them by a complex step, exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from picker_dynamics.dynamics.lagrangian.bodies import Body, welded
from picker_dynamics.robot.description import ArmDescription

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
COUNT = len(NAMES)

_MOMENTS = ..., (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)
"""Where Ixx, Ixy, Iyy, Ixz, Iyz, Izz stand in the tensor."""

_U = ..., (0, 1, 2, 3, 0, 0, 0, 1, 1, 2), (0, 1, 2, 3, 1, 2, 3, 2, 3, 3)
"""Where theta_0 … theta_9 stand in U."""

THINNEST, SMALLEST_M = 0.1, 1e-3
"""A believed body's extent along any axis is at least this share of its largest, and this [m] root mean square about the centre
of mass: no body is a line or a point."""

STEP = 1e-30


def slopes(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Differentiate an analytic function (..., u) -> (..., r) at x (u,), by a complex step: (r, u)."""
    by_x: np.ndarray = function(x + 1j * STEP * np.eye(len(x))).imag.T / STEP
    return by_x


def standard(body: Body) -> np.ndarray:
    """Standard parameters pi (10,) of a body."""
    return np.concatenate([[body.mass], body.mass * body.com, body.about(np.zeros(3))[_MOMENTS]])


def tensor(pi: np.ndarray) -> np.ndarray:
    """Inertia (..., 3, 3) [kg·m²] out of the last six of pi (..., 10)."""
    made = np.empty((*pi.shape[:-1], 3, 3), pi.dtype)
    made[_MOMENTS] = made.swapaxes(-1, -2)[_MOMENTS] = pi[..., 4:]
    return made


def figures(pi: np.ndarray) -> np.ndarray:
    """Mass [kg], centre of mass [m] and inertia about it [kg·m²], (..., 10), in the order of pi (..., 10)."""
    mass = pi[..., :1]
    centre = pi[..., 1:4] / np.where(mass == 0.0, 1.0, mass)
    outer = centre[..., None] * centre[..., None, :]
    about = tensor(pi) - mass[..., None] * (np.trace(outer, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - outer)
    return np.concatenate([mass, centre, about[_MOMENTS]], axis=-1)


def body(pi: np.ndarray) -> Body:
    """The body that has pi (10,)."""
    one = figures(pi)
    return Body(float(one[0]), one[1:4], tensor(one))


def of_description(description: ArmDescription) -> np.ndarray:
    """Standard parameters pi of all bodies as the URDF has them, (n, 10), in the order of the joints."""
    return np.array([standard(welded(description, joint.child)) for joint in description.movable]).reshape(-1, COUNT)


def pseudo_inertia(pi: np.ndarray) -> np.ndarray:
    """Pseudo-inertia matrix J (..., 4, 4) of pi (..., 10)."""
    inertia = tensor(pi)
    made = np.empty((*pi.shape[:-1], 4, 4))
    made[..., :3, :3] = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    made[..., :3, 3] = made[..., 3, :3] = pi[..., 1:4]
    made[..., 3, 3] = pi[..., 0]
    return made


def standard_of(J: np.ndarray) -> np.ndarray:
    """Standard parameters pi (..., 10) of J (..., 4, 4)."""
    S = J[..., :3, :3]
    inertia = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    return np.concatenate([J[..., 3, 3:], J[..., :3, 3], inertia[_MOMENTS]], axis=-1)


def factor(pi: np.ndarray) -> np.ndarray:
    """Factor L (4, 4) of J0 = L Lᵀ, upper triangular; what the URDF has as a line, a point or nothing gets a little extent."""
    J = pseudo_inertia(pi)
    mass = J[3, 3] if J[3, 3] > 0.0 else 1e-3
    h = np.append(J[:3, 3] / mass, 1.0)
    spread, axes = np.linalg.eigh(J[:3, :3] - mass * np.outer(h[:3], h[:3]))
    spread = np.maximum(spread, max(mass * SMALLEST_M**2, THINNEST**2 * spread[-1]))
    made = mass * np.outer(h, h)
    made[:3, :3] += axes @ np.diag(spread) @ axes.T
    return np.linalg.cholesky(made[::-1, ::-1])[::-1, ::-1]


def from_theta(L: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Standard parameters pi (..., 10) of theta (..., 10), relative to L (..., 4, 4)."""
    U = np.zeros((*theta.shape[:-1], 4, 4), theta.dtype)
    U[_U] = np.concatenate([np.exp(theta[..., :4]), theta[..., 4:]], axis=-1)
    LU = L @ U
    return standard_of(LU @ LU.swapaxes(-1, -2))


def divergence_roots(theta: np.ndarray) -> np.ndarray:
    """Roots r (..., 10) with r·r = D, smooth in theta (..., 10).

    The first four are sign(x) sqrt(exp(2 x) - 2 x - 1), which near 0 is sqrt(2) (x + x²/3).
    """
    x = theta[..., :4]
    small = np.abs(x.real) < 1e-4
    safe = np.where(small, 1.0, x)
    root = np.sign(safe.real) * np.sqrt(np.expm1(2.0 * safe) - 2.0 * safe)
    return np.concatenate([np.where(small, np.sqrt(2.0) * (x + x * x / 3.0), root), theta[..., 4:]], axis=-1)
