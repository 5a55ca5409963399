"""N joints, a chain or a tree: the generalisation of the note on Lagrange equations (docs/derivations.md, "N joints").

The torques are those of ``chain_torque``, and the other terms follow from them (``analytic``).
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription, load
from picker_dynamics.robot.kinematic_tree import joint_frames, point_jacobians, tool_pose
from picker_dynamics.robot.model import GRAVITY, Array, as_vector, payload_values, read_only

from . import chain_torque
from .analytic import AnalyticModel, Equation
from .bodies import Body, welded

DOWN = (0.0, 0.0, -GRAVITY)
"""Acceleration of gravity [m/s²] for a base that stands upright."""


class ChainModel(AnalyticModel):
    """A fixed-base tree of revolute and prismatic joints, each of which moves what fixed joints weld to its link.

    Args:
        description: the arm; a link without ``<inertial>`` is massless, the root never moves, mimic joints are joints.
        gravity: (3,) acceleration of gravity in the root link's frame [m/s²].
        armature: (n,) rotor inertia at each joint [kg·m²], default none.

    Raises:
        DescriptionError: no joint moves.

    Attributes:
        gravity_vector: (3,) acceleration of gravity [m/s²], base frame.
        payload_mass: mass carried at the tool [kg].
        bodies: what each joint moves, payload included.
    """

    system = "chain"

    def __init__(self, description: ArmDescription, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None):
        if not description.n:
            raise DescriptionError(f"{description.source}: no joint of {description.name} moves")
        super().__init__(description.joint_names, armature=armature, viscous=description.damping, coulomb=description.friction)
        self.description, self.gravity_vector = description, read_only(as_vector("gravity", gravity, 3))
        self._bare = self.bodies = [welded(description, joint.child) for joint in description.movable]
        self.constants = chain_torque.constants(description, self.bodies, self.gravity_vector)

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> ChainModel:
        """Model of the same arm carrying a load; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: values that :func:`payload_values` refuses, or a tool that no joint moves.
        """
        mass, com = payload_values(mass, com)
        carrier, tool = self.description.transforms.links[self.description.tool]
        if carrier < 0:
            raise InputError("the tool is fixed to the base: no joint would carry the payload", "payload", mass)
        carrying = copy.copy(self)
        carrying.bodies = list(self._bare)
        carrying.bodies[carrier] += Body(mass, com, np.zeros((3, 3))).moved(tool[:3, :3], tool[:3, 3])
        carrying.constants = chain_torque.constants(self.description, carrying.bodies, self.gravity_vector)
        carrying.payload_mass, carrying.payload_com = mass, read_only(com)
        return carrying

    @property
    def torque_equation(self) -> Equation:
        return chain_torque.inverse_dynamics

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
        coms = np.array([[*body.com, 1.0] for body in self.bodies])[..., None]
        centres = (joint_frames(self.description, q)[..., :-1, :3, :] @ coms)[..., 0]
        energy: Array = -(centres @ self.gravity_vector) @ self.constants.mass
        return energy

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Position of the tool, (..., 3) [m], base frame."""
        return tool_pose(self.description, q).position

    def jacobian(self, q: ArrayLike) -> Array:
        frames, (carrier, tool) = joint_frames(self.description, q), self.description.transforms.links[self.description.tool]
        tip = (frames[..., carrier, :, :] @ tool)[..., None, :3, 3]
        return point_jacobians(self.description, frames, (carrier,), tip)[0][..., 0, :, :]


def from_urdf(path: str | Path, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None) -> ChainModel:
    """The chain or tree of joints of any fixed-base URDF file; arguments and errors as of ``ChainModel``."""
    return ChainModel(load(path), gravity, armature=armature)
