"""Bodies: their ten standard parameters, the pseudo-inertia by which any ten numbers are a body that can exist, a payload's.

    pi = (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)

A body is what one joint moves, up to the next joints: the joint's child link with all that fixed joints weld to it.  ``I`` is
about the origin of that link's frame (which is the joint's), not about the centre of mass, and in its axes: so torques are
linear in pi (C. G. Atkeson, C. H. An and J. M. Hollerbach, Estimation of inertial parameters of manipulator loads and links,
International Journal of Robotics Research 5(3), 1986).  SI units.

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

A payload that a recording may ask for is welded to what bears the tool.  Efforts cannot tell it from the link that carries it.
What tells them apart is that a link is about as the URDF says (``consistent.PRIOR``), while a payload may be nearly anything: a
tenth of the arm's mass, about the tool, give or take (``consistent.LOAD_PRIOR``).
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.dynamics.lagrangian.bodies import Body, welded
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses, rigid_groups

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
COUNT = len(NAMES)

_ROW, _COLUMN = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)
"""Where Ixx, Ixy, Iyy, Ixz, Iyz, Izz stand in the tensor."""


def standard(body: Body) -> np.ndarray:
    """Standard parameters pi (10,) of a body."""
    about_origin = body.about(np.zeros(3))
    return np.concatenate([[body.mass], body.mass * body.com, about_origin[_ROW, _COLUMN]])


def tensor(pi: np.ndarray) -> np.ndarray:
    """Inertia about the frame's origin, (..., 3, 3) [kg·m²]."""
    made = np.empty((*pi.shape[:-1], 3, 3))
    made[..., _ROW, _COLUMN] = made[..., _COLUMN, _ROW] = pi[..., 4:]
    return made


def body(pi: np.ndarray) -> Body:
    """The body that has pi (10,); its inertia is about its centre of mass: I - m (c·c 1 - c cᵀ)."""
    mass, centre = float(pi[0]), pi[1:4] / pi[0] if pi[0] else np.zeros(3)
    return Body(mass, centre, tensor(pi) - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre)))


def of_description(description: ArmDescription) -> np.ndarray:
    """Standard parameters pi of all bodies as the URDF has them, (n, 10), in the order of the joints."""
    return np.array([standard(welded(description, joint.child)) for joint in description.movable]).reshape(-1, COUNT)


def figures(pi: np.ndarray) -> np.ndarray:
    """Mass [kg], centre of mass [m] and inertia about it [kg·m²], (10,), in the order of pi."""
    one = body(pi)
    return np.concatenate([[one.mass], one.com, one.inertia[_ROW, _COLUMN]])


def figures_slope(pi: np.ndarray) -> np.ndarray:
    """Slope of the figures, d(figures)/d(pi), (10, 10), of a body with mass; with I_c = I - (h·h 1 - h hᵀ) / m and h = m c."""
    mass, h = pi[0], pi[1:4]
    made = np.eye(COUNT)
    made[1:4, 0], made[1:4, 1:4] = -h / mass**2, np.eye(3) / mass
    square = h @ h * np.eye(3) - np.outer(h, h)
    made[4:, 0] = (square / mass**2)[_ROW, _COLUMN]
    for k, unit in enumerate(np.eye(3)):
        made[4:, 1 + k] = -((2.0 * h[k] * np.eye(3) - np.outer(unit, h) - np.outer(h, unit)) / mass)[_ROW, _COLUMN]
    return made


THINNEST = 0.1
"""A believed body's extent along any axis is at least this share of its largest: no body is a line or a point."""

SMALLEST_M = 1e-3
"""… and at least this [m], root mean square about the centre of mass."""

_ABOVE = tuple(zip(*[(i, j) for i in range(4) for j in range(i + 1, 4)]))
_ROWS, _COLUMNS = [*range(4), *_ABOVE[0]], [*range(4), *_ABOVE[1]]
"""Where theta_0 … theta_9 stand in U."""


def pseudo_inertia(pi: np.ndarray) -> np.ndarray:
    """Pseudo-inertia matrix J (..., 4, 4) of standard parameters pi (..., 10)."""
    inertia = tensor(pi)
    made = np.empty((*pi.shape[:-1], 4, 4))
    made[..., :3, :3] = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    made[..., :3, 3] = made[..., 3, :3] = pi[..., 1:4]
    made[..., 3, 3] = pi[..., 0]
    return made


def standard_of(J: np.ndarray) -> np.ndarray:
    """Standard parameters pi (..., 10) of J: linear, so it takes derivatives of J to those of pi."""
    S = J[..., :3, :3]
    inertia = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    moments = np.stack([inertia[..., i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))], axis=-1)
    return np.concatenate([J[..., 3, 3:], J[..., :3, 3], moments], axis=-1)


def extended(pi: np.ndarray) -> np.ndarray:
    """Pseudo-inertia J0 (4, 4), positive definite, as a URDF has it; of a line, a point or nothing it gets a little extent."""
    J = pseudo_inertia(pi)
    mass = J[3, 3] if J[3, 3] > 0.0 else 1e-3
    centre = J[:3, 3] / mass
    spread, axes = np.linalg.eigh(J[:3, :3] - mass * np.outer(centre, centre))
    least = mass * max(SMALLEST_M**2, THINNEST**2 * spread[-1] / mass)
    spread = np.maximum(spread, least)
    h = np.append(centre, 1.0)
    made = mass * np.outer(h, h)
    made[:3, :3] += axes @ np.diag(spread) @ axes.T
    return made


def upper_factor(J: np.ndarray) -> np.ndarray:
    """Factor L (4, 4), upper triangular with a positive diagonal, with J = L Lᵀ."""
    return np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]


class LogCholesky:
    """Log-Cholesky coordinates of one body: theta <-> pi.

    Args:
        pi: (10,) what is believed of it.
    """

    def __init__(self, pi: np.ndarray):
        self.L = upper_factor(extended(pi))

    def _U(self, theta: np.ndarray) -> np.ndarray:
        U = np.diag(np.exp(theta[:4]))
        U[_ABOVE] = theta[4:]
        return U

    def standard(self, theta: np.ndarray) -> np.ndarray:
        """Standard parameters pi (10,) of theta (10,)."""
        LU = self.L @ self._U(theta)
        return standard_of(LU @ LU.T)

    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """d(pi)/d(theta), (10, 10): dJ = L dU (L U)ᵀ + its transpose."""
        U = self._U(theta)
        LU = self.L @ U
        slopes = np.ones(COUNT)
        slopes[:4] = np.diag(U)
        dJ = np.einsum("k,ak,bk->kab", slopes, self.L[:, _ROWS], LU[:, _COLUMNS])
        return standard_of(dJ + dJ.swapaxes(-1, -2)).T


def divergence_roots(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Roots r (10,) with r·r = D, smooth in theta (10,), and its slopes dr_i/dtheta_i (10,).

    The first four are sign(x) sqrt(exp(2 x) - 2 x - 1), which near 0 is sqrt(2) (x + x²/3).
    """
    x = theta[:4]
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    root = np.sign(safe) * np.sqrt(np.expm1(2.0 * safe) - 2.0 * safe)
    r = np.where(small, np.sqrt(2.0) * (x + x * x / 3.0), root)
    slope = np.where(small, np.sqrt(2.0) * (1.0 + 2.0 * x / 3.0), np.expm1(2.0 * safe) / root)
    return np.concatenate([r, theta[4:]]), np.concatenate([slope, np.ones(COUNT - 4)])


MASS_SHARE = 0.1
"""Of the mass of all that moves."""

SIZE_SHARE = 0.1
"""Of the arm's length, root mean square about the tool in each direction."""


def carrier(description: ArmDescription) -> int | None:
    """Index of the body that bears the tool; None: no joint moves it."""
    groups = rigid_groups(description)
    for i, joint in enumerate(description.movable):
        if description.tool in groups[joint.child]:
            return i
    return None


def believed_load(description: ArmDescription, body: int) -> np.ndarray:
    """Standard parameters pi (10,) of the payload in the frame of ``body``, which bears the tool."""
    poses = link_poses(description, np.zeros(description.n))
    own, tool = (poses[name] for name in (description.movable[body].child, description.tool))
    length = sum(float(np.linalg.norm(joint.xyz)) for joint in description.path_to(description.tool))
    mass = MASS_SHARE * max(float(of_description(description)[:, 0].sum()), 1e-2)
    spread = max(SIZE_SHARE * length, 1e-3) ** 2
    return standard(Body(mass, own.rotation.T @ (tool.position - own.position), 2.0 * mass * spread * np.eye(3)))
