"""Strawberry picker as a model: the constants of its closed form from its bodies, of the note or of a URDF, and its payload."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import GRAVITY, payload_values, read_only
from picker_dynamics.robot.picker_shape import read_shape

from .analytic import ClosedForm
from .bodies import welded
from .chain_model import ChainModel
from .systems import picker

JOINT_NAMES = ("base", "shoulder", "elbow", "wrist", "scissor")
AGREES = 1e-9
"""Difference of the closed form and the chain, as a share of the largest torque, up to which an arm is of the picker's shape."""


class PickerModel(ClosedForm):
    """Closed-form dynamics of the picker.

    Args:
        constants: the arm.
        joint_names, armature, viscous, coulomb: see :class:`DynamicsModel`.

    Attributes:
        payload_mass: mass carried at the tool [kg].
    """

    def __init__(self, constants: picker.Constants, joint_names: Sequence[str] = JOINT_NAMES, **actuation: ArrayLike | None):
        super().__init__(picker, constants, joint_names, **actuation)
        self._bare = constants

    @classmethod
    def of_note(cls, p: picker.Parameters) -> PickerModel:
        """The reference notes' picker: centres of mass at L/2, scissor and payload at the end of L3."""
        k = picker.massless(p.g, (p.L1, p.L2, p.L3))._replace(I0z=p.I0z, I4=p.I4)
        for i, length, mass, *inertia in (
            (1, p.L1, p.m1, p.I1x, p.I1y, p.I1z),
            (2, p.L2, p.m2, p.I2x, p.I2y, p.I2z),
            (3, p.L3, p.m3, p.I3x, p.I3y, p.I3z),
        ):
            k = picker.with_body(k, i, mass, 0.5 * length, inertia)
        model = cls(picker.with_body(k, 3, p.m4, p.L3))
        return model.with_payload(p.m_p)

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> PickerModel:
        """Model of this arm carrying a load on the hand's x axis; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: a load off the hand's axis, which this closed form does not describe (``rigid_body``
                does), or values that :func:`payload_values` refuses.
        """
        mass, com = payload_values(mass, com)
        if mass > 0.0 and com[1:].any():
            text = (
                f"payload com is {com[1:].tolist()} m across the hand: the closed form takes a payload on the hand's x axis only"
            )
            raise InputError(text, "payload", com, 0.0)
        carrying = copy.copy(self)
        carrying.constants = picker.with_body(self._bare, 3, mass, self._bare.L3 + float(com[0]))
        carrying.payload_mass, carrying.payload_com = mass, read_only(com)
        return carrying


def from_description(description: ArmDescription, armature: ArrayLike | None = None) -> PickerModel:
    """The picker's closed form with the numbers of a URDF; what fixed joints weld to a link is part of it.

    The closed form needs the centres of mass on the links' x axes, inertias along the links' axes, and a scissor that hangs on
    the hand's x axis, turns about the hand's z axis and is balanced there: with other arms its torques differ from the chain's.

    Args:
        description: an arm of the picker's shape; the names of its joints and links are free.
        armature: (5,) rotor inertia at each joint [kg·m²], default none.

    Returns:
        The model in the root link's frame, with the friction of <dynamics> and the scissor's full inertia.

    Raises:
        DescriptionError: the arm has another shape.
    """
    shape = read_shape(description)
    (turret, *links), scissor = ([description.movable[i] for i in which] for which in (shape.columns, (shape.scissor,)))
    poses = link_poses(description, np.zeros(description.n))
    base, cutter = welded(description, turret.child), welded(description, scissor[0].child)
    height = poses[turret.child].position[2] + base.com[2]
    k = picker.massless(GRAVITY, shape.lengths.tolist(), shape.shoulder.tolist())._replace(
        I0z=float(base.about(np.array([0.0, 0.0, base.com[2]]))[2, 2]), V0=GRAVITY * base.mass * float(height)
    )
    for i, joint in enumerate(links, 1):
        body = welded(description, joint.child)
        k = picker.with_body(k, i, body.mass, float(body.com[0]), body.inertia.diagonal().tolist())
    along, (Ix, _, Iz) = poses[scissor[0].child].position - poses[links[-1].child].position, cutter.inertia.diagonal().tolist()
    k = picker.with_body(k, 3, cutter.mass, float(along[0]), (Ix, Ix, Iz))._replace(I4=Iz, K=Iz)
    model = PickerModel(k, description.joint_names, armature=armature, viscous=description.damping, coulomb=description.friction)
    states = np.random.default_rng(0).uniform(-3.0, 3.0, (3, 8, description.n))
    chain = ChainModel(description, armature=armature).inverse_dynamics(*states)
    off = np.abs(model.inverse_dynamics(*states) - chain) / max(np.abs(chain).max(), np.finfo(float).tiny)
    if not off.max() <= AGREES:
        name = description.joint_names[int(off.max(axis=0).argmax())]
        raise DescriptionError(
            f"{description.name} is not of the picker's shape: at joint {name} its closed form is off by {off.max():.1g} of the "
            "torque; it needs masses on the links' x axes, inertias along the links' axes, a balanced scissor on the hand",
            name,
            float(off.max()),
            AGREES,
        )
    return model
