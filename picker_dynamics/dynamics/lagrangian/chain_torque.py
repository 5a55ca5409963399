"""Inverse dynamics of N joints in one sweep out and one sweep back, for scalars or arrays.

Euler and Lagrange's equations of a tree of rigid bodies say that the actuators do the virtual work of the
forces that move its bodies (docs/derivations.md, "N joints"):

    tau_j = sum_l  Jv_lj · F_l + Jw_lj · N_l        F_l = m_l (c_l'' - g0),   N_l = I_l w_l' + w_l x I_l w_l

which is M a + C v + g term by term.  With Jv_lj = z_j x (c_l - p_j) (revolute) or z_j (prismatic) the sum over
the bodies l that joint j carries is z_j times the moment about p_j, or the force, of all of them: the sweep
outwards finds the accelerations, the sweep back adds up forces and moments.

``q``, ``v`` and ``a`` are sequences of n joint values: floats, NumPy arrays (a batch) or complex.
Vectors are triples and matrices nine entries, row by row, in base axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array

from .analytic import Scalar, Values, sin_cos
from .bodies import Body

UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
"""The rotation of the base."""


class Constants(NamedTuple):
    """A chain as the sweeps need it; everything of joint i in row i.

    Attributes:
        parent: index of the carrying joint, -1 for the base.
        prismatic: 1 for a joint that slides, 0 for one that turns.
        offset, axis: [m] and unit vector, in the parent's frame.
        still, cosine, sine: the joint's rotation is still + cosine cos(q) + sine sin(q), nine entries each.
        mass, com, inertia: [kg], [m] and (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) about the com [kg·m²], own frame.
        gravity: acceleration [m/s²], base frame.
    """

    parent: tuple[float, ...]
    prismatic: tuple[float, ...]
    offset: tuple[tuple[float, ...], ...]
    axis: tuple[tuple[float, ...], ...]
    still: tuple[tuple[float, ...], ...]
    cosine: tuple[tuple[float, ...], ...]
    sine: tuple[tuple[float, ...], ...]
    mass: tuple[float, ...]
    com: tuple[tuple[float, ...], ...]
    inertia: tuple[tuple[float, ...], ...]
    gravity: tuple[float, ...]


def constants(description: ArmDescription, bodies: Sequence[Body], gravity: Array) -> Constants:
    """Constants of an arm whose joints move these bodies, under the acceleration ``gravity`` (3,) [m/s²]."""
    parents, (constant, sine, versine, _), _, _ = description.transforms
    return Constants(
        parent=tuple(map(float, parents)),
        prismatic=tuple(map(float, description.slides)),
        offset=_rows(constant[:, :3, 3]),
        axis=_rows((constant[:, :3, :3] @ description.axes[..., None])[..., 0]),
        still=_rows((constant + versine)[:, :3, :3].reshape(-1, 9)),
        cosine=_rows(-versine[:, :3, :3].reshape(-1, 9)),
        sine=_rows(sine[:, :3, :3].reshape(-1, 9)),
        mass=tuple(body.mass for body in bodies),
        com=_rows(np.array([body.com for body in bodies])),
        inertia=_rows(np.array([body.inertia[np.triu_indices(3)] for body in bodies])),
        gravity=tuple(gravity.tolist()),
    )


def _rows(array: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, array.tolist()))


def add(x: Values, y: Values) -> Values:
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


def scaled(x: Values, factor: Scalar) -> Values:
    return x[0] * factor, x[1] * factor, x[2] * factor


def dot(x: Values, y: Values) -> Scalar:
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


def cross(x: Values, y: Values) -> Values:
    return x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]


def turned(R: Values, x: Values) -> Values:
    """Vector turned by a rotation: R x."""
    return dot(R[0:3], x), dot(R[3:6], x), dot(R[6:9], x)


def turned_back(R: Values, x: Values) -> Values:
    """Vector turned back by a rotation: R^T x."""
    return dot(R[0::3], x), dot(R[1::3], x), dot(R[2::3], x)


def product(R: Values, Q: Values) -> Values:
    """Product of two rotations: R Q."""
    return [dot(R[i : i + 3], Q[j::3]) for i in (0, 3, 6) for j in (0, 1, 2)]


def turning(still: Values, cosine: Values, sine: Values, angle: Scalar) -> Values:
    """The rotation of a revolute joint against its parent: still + cosine cos(angle) + sine sin(angle)."""
    s, c = sin_cos(angle)
    return [a + b * c + d * s for a, b, d in zip(still, cosine, sine)]


def carried(w: Values, al: Values, r: Values) -> Values:
    """Acceleration that turning adds at r from a point: al x r + w x (w x r)."""
    return add(cross(al, r), cross(w, cross(w, r)))


def body_moment(R: Values, inertia: Values, w: Values, al: Values) -> Values:
    """Moment on a body N = I al + w x I w, with I = R inertia R^T."""
    xx, xy, xz, yy, yz, zz = inertia[0], inertia[1], inertia[2], inertia[3], inertia[4], inertia[5]
    symmetric = (xx, xy, xz, xy, yy, yz, xz, yz, zz)
    I_al = turned(R, turned(symmetric, turned_back(R, al)))
    I_w = turned(R, turned(symmetric, turned_back(R, w)))
    return add(I_al, cross(w, I_w))


def inverse_dynamics(k: Constants, q: Values, v: Values, a: Values) -> Values:
    """Joint torques tau = M a + C v + g, a list of n torques [N·m] (forces [N] of prismatic joints).

    Outwards, with s from the parent's origin to p_i and r from p_i to c_i (w, al: angular velocity and
    acceleration, acc: acceleration of p_i less g0; w, al, acc of the parent on the right):

        revolute    w_i = w + z v     al_i = al + z a + w x z v     acc_i = acc + al x s + w x (w x s)
        prismatic   w_i = w           al_i = al                     acc_i = … + z a + 2 w x z v
        F_i = m (acc_i + al_i x r + w_i x (w_i x r))                N_i = I al_i + w_i x I w_i

    Back, with f and n the force and the moment about p_i of all that joint i carries:

        f_i = F_i + sum of the children's f        n_i = N_i + r x F_i + sum of the children's n + s x f
        tau_i = z · n_i (revolute) or z · f_i (prismatic)
    """
    joints = len(k.mass)
    nothing = (0.0, 0.0, 0.0)
    motions: list[tuple[Values, ...]] = [(UPRIGHT, nothing, nothing, scaled(k.gravity, -1.0))]
    places = []
    loads: list[tuple[Values, Values]] = [(nothing, nothing)]
    for i in range(joints):
        R, w, al, acc = motions[int(k.parent[i]) + 1]
        z = turned(R, k.axis[i])
        s = turned(R, k.offset[i])
        if k.prismatic[i]:
            s = add(s, scaled(z, q[i]))
            slide = scaled(z, v[i])
            acc = add(add(acc, carried(w, al, s)), add(scaled(z, a[i]), scaled(cross(w, slide), 2.0)))
            R = product(R, k.still[i])
        else:
            acc = add(acc, carried(w, al, s))
            spin = scaled(z, v[i])
            al = add(al, add(scaled(z, a[i]), cross(w, spin)))
            w = add(w, spin)
            R = product(R, turning(k.still[i], k.cosine[i], k.sine[i], q[i]))
        r = turned(R, k.com[i])
        F = scaled(add(acc, carried(w, al, r)), k.mass[i])
        N = add(body_moment(R, k.inertia[i], w, al), cross(r, F))
        motions.append((R, w, al, acc))
        places.append((z, s))
        loads.append((F, N))
    tau = []
    for back in range(joints):
        i = joints - 1 - back
        z, s = places[i]
        f, n = loads[i + 1]
        tau.append(dot(z, f) if k.prismatic[i] else dot(z, n))
        parent = int(k.parent[i]) + 1
        f_parent, n_parent = loads[parent]
        loads[parent] = (add(f_parent, f), add(n_parent, add(n, cross(s, f))))
    return tau[::-1]
