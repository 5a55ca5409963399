"""N joints, a chain or a tree: the generalisation of the note on Lagrange equations (docs/derivations.md, "N joints").

    Jv_l         columns dc_l/dq_j = z_j x (c_l - p_j) of joints that turn, z_j of joints that slide, 0 of joints not on the way
    Jw_l         columns z_j of joints that turn: the angular velocity of body l is Jw_l v

    M = sum_l  m_l Jv_l^T Jv_l + Jw_l^T (R_l I_l R_l^T) Jw_l

with c_l the centre of mass of body l, p_j and z_j the origin and the axis of joint j, in base axes.  The torques are those of
``chain_torque``, and the other terms follow from them (``analytic``).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError
from picker_dynamics.robot.description import ArmDescription, load
from picker_dynamics.robot.model import GRAVITY, Array, as_states, payload_values, read_only

from . import chain_torque
from .analytic import AnalyticModel, Equation
from .bodies import Body
from .chain_parameters import ChainParameters, Joint, parameters_from, parameters_of

DOWN = (0.0, 0.0, -GRAVITY)
"""Acceleration of gravity [m/s²] for a base that stands upright."""


class ChainModel(AnalyticModel):
    """A fixed-base tree of revolute and prismatic joints; made by ``chain``, ``chain_of`` and ``from_urdf``.

    Args:
        parameters: the tree.
        joint_names, armature, viscous, coulomb: see :class:`DynamicsModel`.

    Attributes:
        gravity_vector: (3,) acceleration of gravity [m/s²], base frame.
        payload_mass: mass carried at the tool [kg].
    """

    system = "chain"

    def __init__(self, parameters: ChainParameters, joint_names: Sequence[str], **actuation: ArrayLike | None):
        super().__init__(joint_names, **actuation)
        self._bare = self.parameters = parameters
        self.gravity_vector, self.constants = parameters.gravity, chain_torque.constants(parameters)

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> ChainModel:
        """Model of the same arm carrying any load; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: values that :func:`payload_values` refuses, or a tool that no joint moves.
        """
        mass, com, inertia = payload_values(mass, com, inertia)
        k = self._bare
        if k.tool < 0:
            raise InputError("the tool is fixed to the base: no joint would carry the payload", "payload", mass)
        bodies = list(k.bodies)
        bodies[k.tool] += Body(mass, com, inertia).moved(k.tool_rotation, k.tool_position)
        carrying = copy.copy(self)
        carrying.parameters = replace(k, bodies=tuple(bodies))
        carrying.constants = chain_torque.constants(carrying.parameters)
        carrying.payload_mass, carrying.payload_com = mass, read_only(com)
        return carrying

    @property
    def torque_equation(self) -> Equation:
        return chain_torque.inverse_dynamics

    def _frames(self, q: ArrayLike) -> tuple[Array, Array]:
        """Rotations (..., n + 1, 3, 3) and origins (..., n + 1, 3) of the joints' frames, base axes; last that of the base.

        revolute     R_i = R_parent rotation_i turn(axis_i, q_i)    p_i = p_parent + R_parent offset_i
        prismatic    R_i = R_parent rotation_i                      p_i = p_parent + R_parent (offset_i + rotation_i axis_i q_i)
        """
        q, k = as_states("q", q, self.n), self.parameters
        slides = np.array(k.prismatic)
        angle = np.where(slides, 0.0, q)[..., None, None]
        skew = np.cross(k.axes[:, None, :], np.eye(3)).swapaxes(-1, -2)
        turns = k.rotations @ (np.eye(3) + np.sin(angle) * skew + (1.0 - np.cos(angle)) * (skew @ skew))
        shifts = k.offsets + np.where(slides, q, 0.0)[..., None] * (k.rotations @ k.axes[..., None])[..., 0]
        R, p = np.empty((*q.shape[:-1], self.n + 1, 3, 3)), np.zeros((*q.shape[:-1], self.n + 1, 3))
        R[..., -1, :, :] = np.eye(3)
        for i, parent in enumerate(k.parents):
            R[..., i, :, :] = R[..., parent, :, :] @ turns[..., i, :, :]
            p[..., i, :] = p[..., parent, :] + (R[..., parent, :, :] @ shifts[..., i, :, None])[..., 0]
        return R, p

    def _jacobians(self, R: Array, p: Array, bodies: NDArray[np.int_], points: Array) -> tuple[Array, Array]:
        """Jv and Jw, each (..., m, 3, n), of m ``points`` (..., m, 3) [m, base frame] that move with frames ``bodies`` (m,)."""
        k = self.parameters
        z = (R[..., :-1, :, :] @ k.axes[..., None])[..., None, :, :, 0]
        turn, slide = ((k.carries[bodies] & kind)[..., None] for kind in (~np.array(k.prismatic), np.array(k.prismatic)))
        Jv = np.where(turn, np.cross(z, points[..., :, None, :] - p[..., None, :-1, :]), 0.0) + np.where(slide, z, 0.0)
        return np.swapaxes(Jv, -1, -2), np.swapaxes(np.where(turn, z, 0.0), -1, -2)

    def _centres(self, R: Array, p: Array) -> Array:
        centres: Array = p[..., :-1, :] + (R[..., :-1, :, :] @ self.parameters.coms[..., None])[..., 0]
        return centres

    def mass_matrix(self, q: ArrayLike) -> Array:
        (R, p), k = self._frames(q), self.parameters
        Jv, Jw = self._jacobians(R, p, np.arange(self.n), self._centres(R, p))
        inertia = R[..., :-1, :, :] @ k.inertias @ np.swapaxes(R[..., :-1, :, :], -1, -2)
        of_bodies = k.masses[:, None, None] * (np.swapaxes(Jv, -1, -2) @ Jv) + np.swapaxes(Jw, -1, -2) @ inertia @ Jw
        M = of_bodies.sum(axis=-3)
        symmetric: Array = 0.5 * (M + np.swapaxes(M, -1, -2)) + self.armature_matrix  # rounding leaves it a little unsymmetric
        return symmetric

    def velocity_product_matrices(self, q: ArrayLike) -> tuple[Array, Array, tuple[tuple[int, int], ...]]:
        """The note's two matrices of the velocity products, C v = Cc [v_j²] + B [v_j v_k].

        Returns:
            B: (..., n, n (n-1) / 2), column c is 2 b_ijk for the joints (j, k) = pairs[c]: Coriolis terms.
            Cc: (..., n, n), Cc_ij = b_ijj: centrifugal terms.
            pairs: (j, k), j < k, counted from 1 as the note does: (1, 2), (1, 3) … (n-1, n).
        """
        b, each = self.christoffel(q), np.arange(self.n)
        j, k = np.triu_indices(self.n, 1)
        return 2.0 * b[..., j, k], b[..., each, each], tuple(zip((j + 1).tolist(), (k + 1).tolist()))

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy V = - sum_l m_l g0 · c_l, (...): zero with all mass at height 0 of the base frame."""
        energy: Array = -(self._centres(*self._frames(q)) @ self.gravity_vector) @ self.parameters.masses
        return energy

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Position of the tool, (..., 3) [m], base frame; of ``lagrangian.chain`` the origin of the last frame."""
        return self._tool(*self._frames(q))[1]

    def orientation(self, q: ArrayLike) -> Array:
        """Orientation of the tool, (..., 3, 3): its axes, in base axes."""
        return self._tool(*self._frames(q))[0]

    def _tool(self, R: Array, p: Array) -> tuple[Array, Array]:
        k = self.parameters
        own = R[..., k.tool, :, :]
        return own @ k.tool_rotation, p[..., k.tool, :] + own @ k.tool_position

    def jacobian(self, q: ArrayLike) -> Array:
        R, p = self._frames(q)
        return self._jacobians(R, p, np.array([self.parameters.tool]), self._tool(R, p)[1][..., None, :])[0][..., 0, :, :]


def chain(joints: Sequence[Joint], gravity: ArrayLike, *, armature: ArrayLike | None = None) -> ChainModel:
    """A serial chain of revolute and prismatic joints.

        frame_i = frame_{i-1} · Trans(xyz) · Rz(rpy[2]) Ry(rpy[1]) Rx(rpy[0]) · motion(axis, q_i)

    Args:
        joints: in order from the base, each a dictionary with all of

            type      "R" (turns by q_i about the axis) or "P" (slides by q_i along it)
            axis      "x", "y", "z" or a vector, own frame; its length does not matter
            xyz, rpy  pose at q_i = 0 in the frame before [m, rad]
            mass, com [kg], [m] in frame_i, after the motion
            inertia   Ixx Iyy Izz Ixy Ixz Iyz: tensor elements about the com in frame_i [kg·m²]

            and, if wanted, ``name`` (default joint1, joint2, …).
        gravity: (3,) acceleration of gravity in the base frame [m/s²], such as (0, 0, -9.81).
        armature: (n,) rotor inertia at each joint [kg·m²], default none.

    Returns:
        The model; its tool is the last frame.

    Raises:
        InputError: no joint, an unknown or missing key, another type or axis, values that are not finite or of
            the wrong count, a negative mass or moment of inertia; names the joint and what is allowed.
    """
    if not joints:
        raise InputError(f"joints is {joints!r}, expected a list of at least one joint dictionary", "joints")
    defaults = [f"joint{i + 1}" for i in range(len(joints))]
    names = [str(joint.get("name", name)) if isinstance(joint, dict) else name for name, joint in zip(defaults, joints)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"joint {name} is there twice", name)
    return ChainModel(parameters_from(joints, names, gravity), names, armature=armature)


def chain_of(description: ArmDescription, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None) -> ChainModel:
    """Chain model of an arm, without :func:`from_urdf`'s warning about mimic joints (the linter has a finding about each)."""
    actuation = {"armature": armature, "viscous": description.damping, "coulomb": description.friction}
    return ChainModel(parameters_of(description, gravity), description.joint_names, **actuation)


def from_urdf(source: str | Path | ArmDescription, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None) -> ChainModel:
    """The chain or tree of joints of any fixed-base URDF.

    Revolute and continuous joints are angles, prismatic ones lengths; fixed joints weld their links into one
    body; a link without ``<inertial>`` is massless; the root link never moves.

    Args:
        source: a URDF file, or what :mod:`picker_dynamics.robot.description` read of one.
        gravity: (3,) acceleration of gravity in the root link's frame [m/s²].
        armature: (n,) rotor inertia at each joint [kg·m²], default none.

    Returns:
        The model, joints in the description's order, with the friction of <dynamics>; its tool is
        ``description.tool``.

    Raises:
        DescriptionError: a file that cannot be read, floating or planar joints, loops, or no joint that moves.

    Warns:
        UserWarning: a joint mimics another: both are joints of their own here, nothing couples them.
    """
    description = source if isinstance(source, ArmDescription) else load(source)
    for joint in description.movable:
        if joint.mimic is not None:
            leader = joint.mimic or "a joint without name"
            text = f"{description.source}: joint {joint.name} mimics {leader}; here it is a joint of its own"
            warnings.warn(text, UserWarning, stacklevel=2)
    return chain_of(description, gravity, armature=armature)
