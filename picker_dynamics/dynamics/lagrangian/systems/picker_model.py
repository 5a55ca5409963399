"""Strawberry picker as a model: its parameters, their moments, its payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import GRAVITY, payload_values, read_only

from ..analytic import ClosedForm
from . import picker

JOINT_NAMES = ("base", "shoulder", "elbow", "wrist", "scissor")


@dataclass(frozen=True)
class PickerParameters:
    """Parameters weighed and measured on the arm; triples run over links 1, 2, 3: upper arm, forearm, hand.

    Args:
        g: gravity [m/s²], along -z.
        lengths: L1, L2, L3 [m]: shoulder to elbow, elbow to wrist, wrist to tool.
        masses: m1, m2, m3 [kg].
        coms: r1, r2, r3 [m]: joint to centre of mass, along the link.
        inertias: (Ix, Iy, Iz) of each link about its centre of mass [kg·m²]: about the link, about the pitch
            axis, transverse in the vertical plane.
        I0z: inertia of the turret about the yaw axis [kg·m²].
        m4: mass of the scissor [kg], on the axis of its joint.
        r4: wrist to scissor joint [m], along the hand.
        I4: inertia of the scissor about its joint's axis [kg·m²].
        I4x: inertia of the scissor about any axis across it [kg·m²].
        coupled: whether yaw and pitch move the scissor's inertia; False is the notes' 1/2 I4 thetadot4².
        payload_mass, payload_distance, payload_inertias: mass [kg], wrist to its centre of mass [m] along
            the hand, (Ix, Iy, Iz) about it in the hand's axes [kg·m²].
        origin: where the shoulder axis crosses the yaw axis [m], base frame.
        turret_moment: mass times height of the turret [kg·m]; part of the potential energy only.
    """

    g: float
    lengths: tuple[float, ...]
    masses: tuple[float, ...]
    coms: tuple[float, ...]
    inertias: tuple[tuple[float, float, float], ...]
    I0z: float
    m4: float
    r4: float
    I4: float
    I4x: float = 0.0
    coupled: bool = False
    payload_mass: float = 0.0
    payload_distance: float = 0.0
    payload_inertias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turret_moment: float = 0.0

    def constants(self) -> picker.Constants:
        """The moments that the equations are written in.

        The direction u_i of link i carries its own mass at r_i and everything beyond it at L_i:

            P_i  = m_i r_i  + (mass beyond) L_i
            B_ii = m_i r_i² + (mass beyond) L_i²,    B_ik = L_i P_k  for i < k
        """
        (L1, L2, _), (m1, m2, m3), (r1, r2, r3) = self.lengths, self.masses, self.coms
        m4, r4, mp, rp = self.m4, self.r4, self.payload_mass, self.payload_distance
        beyond2 = m3 + m4 + mp
        beyond1 = m2 + beyond2
        P1, P2, P3 = m1 * r1 + beyond1 * L1, m2 * r2 + beyond2 * L2, m3 * r3 + m4 * r4 + mp * rp
        (I1x, I1y, I1z), (I2x, I2y, I2z), hand = self.inertias
        scissor = (self.I4x, self.I4x, self.I4) if self.coupled else (0.0, 0.0, 0.0)
        I3x, I3y, I3z = (sum(parts) for parts in zip(hand, scissor, self.payload_inertias))
        first = (P1, P2, P3)
        second = (m1 * r1**2 + beyond1 * L1**2, m2 * r2**2 + beyond2 * L2**2, m3 * r3**2 + m4 * r4**2 + mp * rp**2)
        mixed = (L1 * P2, L1 * P3, L2 * P3)
        inertias = (self.I0z, I1x, I1y, I1z, I2x, I2y, I2z, I3x, I3y, I3z, self.I4, self.I4 if self.coupled else 0.0)
        V0 = self.g * (self.turret_moment + (m1 + beyond1) * self.origin[2])
        return picker.Constants._make((self.g, *first, *second, *mixed, *inertias, V0, *self.origin, *self.lengths))


class PickerModel(ClosedForm):
    """Closed-form dynamics of the picker.

    Args:
        parameters: the arm.
        joint_names, armature, viscous, coulomb: see :class:`DynamicsModel`.

    Attributes:
        payload_mass: mass carried at the tool [kg].
    """

    system = "picker"
    parameter_names = tuple("g L1 L2 L3 m1 m2 m3 m4 m_p I0z I1x I1y I1z I2x I2y I2z I3x I3y I3z I4".split())
    equations = picker
    defaults = {
        **{"g": GRAVITY, "L1": 0.20, "L2": 0.145, "L3": 0.08, "m1": 0.15, "m2": 0.12, "m3": 0.08, "m4": 0.05, "m_p": 0.0},
        **{"I1y": 5e-4, "I2y": 3e-4, "I3y": 2e-4},
        # chosen, the note has none:
        **{"I0z": 1e-3, "I1x": 2e-5, "I1z": 5e-4, "I2x": 1.5e-5, "I2z": 3e-4, "I3x": 1e-5, "I3z": 2e-4, "I4": 1e-5},
    }

    def __init__(self, parameters: PickerParameters, joint_names: Sequence[str] = JOINT_NAMES, **actuation: ArrayLike | None):
        super().__init__(joint_names, parameters.constants(), **actuation)
        self.parameters, self.payload_mass = parameters, parameters.payload_mass

    @classmethod
    def from_parameters(cls, **p: float) -> PickerModel:
        """The reference notes' picker: centres of mass at L/2, gripper and payload at the end of L3."""
        lengths = L1, L2, L3 = p["L1"], p["L2"], p["L3"]
        return cls(
            PickerParameters(
                g=p["g"],
                lengths=lengths,
                masses=(p["m1"], p["m2"], p["m3"]),
                coms=(L1 / 2, L2 / 2, L3 / 2),
                inertias=tuple((p[f"I{i}x"], p[f"I{i}y"], p[f"I{i}z"]) for i in (1, 2, 3)),
                I0z=p["I0z"],
                m4=p["m4"],
                r4=L3,
                I4=p["I4"],
                payload_mass=p["m_p"],
                payload_distance=L3,
            )
        )

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> PickerModel:
        """Model of this arm carrying a load on the hand's x axis, of diagonal inertia; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: a load off the hand's axis, which this closed form does not describe (``rigid_body``
                does), or values that :func:`payload_values` refuses.
        """
        mass, com, inertia = payload_values(mass, com, inertia)
        for axis, offset in zip("yz", com[1:]):
            if mass > 0.0 and offset != 0.0:
                raise InputError(
                    f"payload com {axis} is {offset} m: the closed form takes a payload on the hand's x axis only ({axis} = 0)",
                    "payload",
                    float(offset),
                    0.0,
                )
        moments = inertia.diagonal()
        if (inertia != np.diag(moments)).any():
            raise InputError("payload inertia is not diagonal: the closed form takes diagonal ones only", "payload", inertia, 0.0)
        loaded = replace(
            self.parameters,
            payload_mass=mass,
            payload_inertias=tuple(moments.tolist()),
            payload_distance=self.parameters.lengths[2] + float(com[0]),
        )
        carrying = PickerModel(loaded, self.joint_names, armature=self.armature, viscous=self.viscous, coulomb=self.coulomb)
        carrying.payload_com = read_only(com)
        return carrying
