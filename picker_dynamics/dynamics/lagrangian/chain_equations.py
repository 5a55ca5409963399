"""Equations of motion of N joints: the generalisation of the note on Lagrange equations to any tree of joints.

Every function here is one equation of docs/derivations.md ("N joints"), on arrays (..., n): a batch is just
more leading axes.  Joint j moves body l where it lies on the way from the base to l; only then are the columns
j of that body's Jacobians not zero.  All vectors are in base axes.

    w_j, u_j     axis z_j of a revolute (prismatic) joint, 0 for the other kind
    c_l          centre of mass of body l,  p_j: origin of frame j
    Jv_l         columns dc_l/dq_j = w_j x (c_l - p_j) + u_j
    Jw_l         columns w_j: the angular velocity of body l is Jw_l v

    M     = sum_l  m_l Jv_l^T Jv_l + Jw_l^T (R_l I_l R_l^T) Jw_l
    b_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i),      C_ij = sum_k b_ijk v_k
    g     = - sum_l  m_l Jv_l^T g0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from picker_dynamics.robot.model import Array


@dataclass(frozen=True)
class ChainParameters:
    """A tree of n joints, parents before children; body i is what joint i carries.

        frame_i = frame_parent · Trans(offset_i) · rotation_i · motion(axis_i, q_i)

    Attributes:
        parents: index of the joint that carries joint i; -1 for the base.
        prismatic: whether joint i slides.
        offsets, rotations, axes: (n, 3) [m], (n, 3, 3) and (n, 3) unit vectors; axes in their own frame.
        masses, coms, inertias: (n,) [kg], (n, 3) [m] and (n, 3, 3) about the com [kg·m²], in frame i.
        gravity: (3,) acceleration [m/s²], base frame.
        tool_parent: index of the joint whose frame carries the tool; -1 if nothing moves it.
        tool_position, tool_rotation: pose of the tool in that frame.
    """

    parents: tuple[int, ...]
    prismatic: tuple[bool, ...]
    offsets: Array
    rotations: Array
    axes: Array
    masses: Array
    coms: Array
    inertias: Array
    gravity: Array
    tool_parent: int
    tool_position: Array
    tool_rotation: Array

    @property
    def n(self) -> int:
        return len(self.parents)

    @cached_property
    def carries(self) -> NDArray[np.bool_]:
        """Matrix (n + 1, n), bool: whether joint j (column) lies on the way from the base to body l (row); last row: the base."""
        ways = np.zeros((self.n + 1, self.n), dtype=bool)
        for i, parent in enumerate(self.parents):
            ways[i] = ways[parent]
            ways[i, i] = True
        return ways


@dataclass(frozen=True)
class Frames:
    """Poses of the joints' frames: ``R`` (..., n, 3, 3), ``p`` (..., n, 3) [m] and axes ``z`` (..., n, 3), base frame."""

    R: Array
    p: Array
    z: Array

    def pose(self, body: int) -> tuple[Array, Array]:
        """Rotation (..., 3, 3) and origin (..., 3) of one frame; -1 is the base."""
        if body < 0:
            batch = self.p.shape[:-2]
            return np.broadcast_to(np.eye(3), (*batch, 3, 3)), np.broadcast_to(0.0, (*batch, 3))
        return self.R[..., body, :, :], self.p[..., body, :]


def turns(axes: Array, angles: Array) -> Array:
    """Rodrigues' formula, 1 + sin(angle) [k]x + (1 - cos(angle)) [k]x², (..., n, 3, 3), for unit vectors k (n, 3)."""
    cross = np.cross(axes[:, None, :], np.eye(3)).swapaxes(-1, -2)
    s, c = np.sin(angles)[..., None, None], np.cos(angles)[..., None, None]
    rotations: Array = np.eye(3) + s * cross + (1.0 - c) * (cross @ cross)
    return rotations


def frames(k: ChainParameters, q: Array) -> Frames:
    """Poses of the joints' frames, one after the other: turned about the axis by q_i, or moved along it.

    R_i = R_parent rotation_i turn(axis_i, q_i)          p_i = p_parent + R_parent offset_i          revolute
    R_i = R_parent rotation_i                            p_i = p_parent + R_parent offset_i + z_i q_i   prismatic
    """
    slides = np.array(k.prismatic)
    motions = k.rotations @ turns(k.axes, np.where(slides, 0.0, q))
    shifts = k.offsets + np.einsum("nij,nj,...n->...ni", k.rotations, k.axes, np.where(slides, q, 0.0))
    f = Frames(np.empty(motions.shape), np.empty(shifts.shape), np.empty(shifts.shape))
    for i, parent in enumerate(k.parents):
        R, p = f.pose(parent)
        f.R[..., i, :, :] = R @ motions[..., i, :, :]
        f.p[..., i, :] = p + (R @ shifts[..., i, :, None])[..., 0]
    f.z[...] = (f.R @ k.axes[..., None])[..., 0]
    return f


def jacobians(k: ChainParameters, f: Frames, bodies: Sequence[int] | NDArray[np.int_], points: Array) -> tuple[Array, Array]:
    """Jacobians Jv and Jw, each (..., m, 3, n), of m ``points`` (..., m, 3) [m, base frame] moving with frames ``bodies`` (m,).

    Jv_j = w_j x (point - p_j) + u_j,   Jw_j = w_j      for the joints j on the way to that frame
    """
    carries, slides = k.carries[np.asarray(bodies)], np.array(k.prismatic)
    w = np.where((carries & ~slides)[..., None], f.z[..., None, :, :], 0.0)
    u = np.where((carries & slides)[..., None], f.z[..., None, :, :], 0.0)
    Jv = cross(w, points[..., :, None, :] - f.p[..., None, :, :]) + u
    return np.swapaxes(Jv, -1, -2), np.swapaxes(w, -1, -2)


def cross(x: Array, y: Array) -> Array:
    """Cross product x × y over the last axis; np.cross itself, quicker."""
    out = np.empty(np.broadcast_shapes(x.shape, y.shape))
    (x0, x1, x2), (y0, y1, y2) = np.moveaxis(x, -1, 0), np.moveaxis(y, -1, 0)
    out[..., 0], out[..., 1], out[..., 2] = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
    return out


def centres(k: ChainParameters, f: Frames) -> Array:
    """Centres of mass c_l, (..., n, 3) [m]."""
    return f.p + (f.R @ k.coms[..., None])[..., 0]


def body_jacobians(k: ChainParameters, f: Frames) -> tuple[Array, Array, Array]:
    """Jacobians Jv and Jw of each body at its centre of mass, (..., n, 3, n), and inertia R I R^T, (..., n, 3, 3): base axes."""
    Jv, Jw = jacobians(k, f, np.arange(k.n), centres(k, f))
    return Jv, Jw, f.R @ k.inertias @ np.swapaxes(f.R, -1, -2)


def jacobian_derivatives(Jv: Array, Jw: Array) -> tuple[Array, Array]:
    """Derivatives of the bodies' Jacobians, (..., 3, n, n): column j by joint k.

    Of two joints on the way to a body, the one nearer to the base turns what the other one does:

        dJv_j/dq_k = w_near x Jv_far

    which is zero where the near one slides.  The angular columns are differentiated in the body's own axes, in
    which its inertia is constant, and then seen from the base:

        R d(R^T w_j)/dq_k = w_j x w_k   where k is the far one,   0 otherwise
    """
    j, k = np.indices((Jv.shape[-1],) * 2)
    near, far = np.minimum(j, k), np.maximum(j, k)
    columns_v, columns_w = np.swapaxes(Jv, -1, -2), np.swapaxes(Jw, -1, -2)
    dJv = cross(columns_w[..., near, :], columns_v[..., far, :])
    dJw = np.where((k > j)[..., None], cross(columns_w[..., j, :], columns_w[..., k, :]), 0.0)
    return np.moveaxis(dJv, -1, -3), np.moveaxis(dJw, -1, -3)


def mass_matrix(k: ChainParameters, f: Frames) -> Array:
    """Mass matrix M = sum_l m_l Jv_l^T Jv_l + Jw_l^T (R_l I_l R_l^T) Jw_l, (..., n, n)."""
    Jv, Jw, inertia = body_jacobians(k, f)
    m = k.masses[:, None, None]
    M: Array = np.sum(m * (np.swapaxes(Jv, -1, -2) @ Jv) + np.swapaxes(Jw, -1, -2) @ inertia @ Jw, axis=-3)
    return 0.5 * (M + np.swapaxes(M, -1, -2))  # rounding leaves it a little unsymmetric


def mass_matrix_derivatives(k: ChainParameters, f: Frames) -> Array:
    """Derivatives of the mass matrix, dM_ij/dq_k, (..., n, n, n), by the product rule.

    sum_l  m_l (dJv_ik · Jv_j + Jv_i · dJv_jk) + dJw_ik · I Jw_j + Jw_i · I dJw_jk,     I = R_l I_l R_l^T
    """
    Jv, Jw, inertia = body_jacobians(k, f)
    dJv, dJw = jacobian_derivatives(Jv, Jw)
    half = _sum_over_bodies(dJv, k.masses[:, None, None] * Jv) + _sum_over_bodies(dJw, inertia @ Jw)
    return half + np.swapaxes(half, -3, -2)


def _sum_over_bodies(dJ: Array, J: Array) -> Array:
    """sum_l sum_c dJ_lcik J_lcj as one product of matrices, the rows of all bodies below each other: (..., i, j, k)."""
    *batch, n, _, _ = J.shape
    product = np.swapaxes(dJ.reshape(*batch, 3 * n, n * n), -1, -2) @ J.reshape(*batch, 3 * n, n)
    return np.swapaxes(product.reshape(*batch, n, n, n), -1, -2)


def christoffel(k: ChainParameters, f: Frames) -> Array:
    """Christoffel symbols b_ijk = 1/2 (m_ijk + m_ikj - m_jki) with m_ijk = dM_ij/dq_k, (..., n, n, n)."""
    m = mass_matrix_derivatives(k, f)
    return 0.5 * (m + np.swapaxes(m, -1, -2) - np.moveaxis(m, -1, -3))


def gravity(k: ChainParameters, f: Frames) -> Array:
    """Gravity torques g = - sum_l Jv_l^T (m_l g0): what holds the weights, by Jacobian transpose, (..., n)."""
    Jv, _, _ = body_jacobians(k, f)
    g: Array = -np.einsum("...lcj,l,c->...j", Jv, k.masses, k.gravity)
    return g


def potential_energy(k: ChainParameters, f: Frames) -> Array:
    """Potential energy V = - sum_l m_l g0 · c_l, (...): zero with all mass at height 0 of the base frame."""
    return -(centres(k, f) @ k.gravity) @ k.masses
