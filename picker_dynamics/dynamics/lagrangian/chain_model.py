"""N joints, a chain or a tree: the generalisation of the note on Lagrange equations (docs/derivations.md, "N joints").

The torques are those of ``chain_torque``, and the other terms follow from them (``analytic``).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription, load, parse
from picker_dynamics.robot.kinematic_tree import joint_frames, point_jacobians, tool_pose
from picker_dynamics.robot.model import GRAVITY, Array, as_vector, payload_values, read_only

from . import chain_torque
from .analytic import AnalyticModel, Equation, require_keys
from .bodies import Body, welded

DOWN = (0.0, 0.0, -GRAVITY)
"""Acceleration of gravity [m/s²] for a base that stands upright."""

Joint: TypeAlias = Mapping[str, Any]
"""One joint of :func:`chain`."""

TYPES = {"R": "continuous", "P": "prismatic"}
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
KEYS, INERTIA_KEYS = ("type", "axis", "xyz", "rpy", "mass", "com", "inertia"), ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


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

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> ChainModel:
        """Model of the same arm carrying any load; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: values that :func:`payload_values` refuses, or a tool that no joint moves.
        """
        mass, com, inertia = payload_values(mass, com, inertia)
        carrier, tool = self.description.transforms.links[self.description.tool]
        if carrier < 0:
            raise InputError("the tool is fixed to the base: no joint would carry the payload", "payload", mass)
        carrying = copy.copy(self)
        carrying.bodies = list(self._bare)
        carrying.bodies[carrier] += Body(mass, com, inertia).moved(tool[:3, :3], tool[:3, 3])
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
        """Position of the tool, (..., 3) [m], base frame; of ``lagrangian.chain`` the origin of the last frame."""
        return tool_pose(self.description, q).position

    def jacobian(self, q: ArrayLike) -> Array:
        frames, (carrier, tool) = joint_frames(self.description, q), self.description.transforms.links[self.description.tool]
        tip = (frames[..., carrier, :, :] @ tool)[..., None, :3, 3]
        return point_jacobians(self.description, frames, (carrier,), tip)[0][..., 0, :, :]


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
        InputError, DescriptionError: no joint, an unknown or missing key, another type or axis, values that are not finite or
            of the wrong count, a negative mass; names the joint and what is allowed.
    """
    if not joints:
        raise InputError(f"joints is {joints!r}, expected a list of at least one joint dictionary", "joints")
    said = ['<link name="base"/>']
    for i, joint in enumerate(joints):
        name = str(joint.get("name", f"joint{i + 1}")) if isinstance(joint, Mapping) else f"joint{i + 1}"
        said.append(_elements(joint, name, f"link{i}" if i else "base", f"link{i + 1}"))
    return ChainModel(parse(f'<robot name="chain">{"".join(said)}</robot>', "chain"), gravity, armature=armature)


def _elements(joint: Joint, name: str, parent: str, child: str) -> str:
    """A joint of :func:`chain`, and its link, as a URDF has them."""
    given = {key: value for key, value in joint.items() if key != "name"} if isinstance(joint, Mapping) else joint
    require_keys(f"joint {name}", given, KEYS, name)
    require_keys(f"joint {name}: inertia", given["inertia"], INERTIA_KEYS, name)
    if given["type"] not in TYPES:
        raise InputError(f"joint {name}: type is {given['type']!r}, must be {', '.join(TYPES)}", name, given["type"])
    axis = AXES.get(given["axis"], given["axis"]) if isinstance(given["axis"], str) else given["axis"]

    def numbers(key: str, values: Any, count: int = 3) -> str:
        return " ".join(map(repr, as_vector(f"joint {name}: {key}", values, count).tolist()))

    moments = [f'{key.lower()}="{numbers(key, [given["inertia"][key]], 1)}"' for key in INERTIA_KEYS]
    return (
        f'<joint name="{name}" type="{TYPES[given["type"]]}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{numbers("xyz", given["xyz"])}" rpy="{numbers("rpy", given["rpy"])}"/>'
        f'<axis xyz="{numbers("axis", axis)}"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        f'<link name="{child}"><inertial><origin xyz="{numbers("com", given["com"])}"/>'
        f'<mass value="{numbers("mass", [given["mass"]], 1)}"/>'
        f"<inertia {' '.join(moments)}/></inertial></link>"
    )


def from_urdf(path: str | Path, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None) -> ChainModel:
    """The chain or tree of joints of any fixed-base URDF file; arguments and errors as of ``ChainModel``."""
    return ChainModel(load(path), gravity, armature=armature)
