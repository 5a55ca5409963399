"""Regressor of the measured torque, linear in the inertial and drive parameters to be found:

    tau = Y(q, v, a) pi + b v + f_c tanh(v / v_s) + I_r a

pi the bodies' standard parameters, b viscous and f_c Coulomb friction (with the smoothing of ``model.friction``), I_r the rotors'
inertia at the joint, where they are looked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import COULOMB_SPEED, batch_of_states

from . import inertia

DRIVE_UNITS = {
    "viscous": {"rad": "N·m·s/rad", "m": "N·s/m"},
    "coulomb": {"rad": "N·m", "m": "N"},
    "rotor": {"rad": "kg·m²", "m": "kg"},
}
"""Parameters of a joint's drive, in the order of the columns, with their units by that of the joint."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Parameters of an arm, and the regressor that belongs to them.

    The vector of all p parameters has the bodies' 10 n first, then n of each kind of ``drives``, rotors last.

    Args:
        description: the arm as believed.
        rotors: whether rotors are to be found too.
    """

    description: ArmDescription
    rotors: bool = False

    @property
    def drives(self) -> tuple[str, ...]:
        """Kinds of drive parameters."""
        return tuple(DRIVE_UNITS)[: 3 if self.rotors else 2]

    @cached_property
    def model(self) -> RigidBody:
        """The arm's rigid body, without rotors."""
        return RigidBody(self.description)

    @property
    def n(self) -> int:
        """Number n of joints."""
        return self.description.n

    @property
    def bodies(self) -> int:
        """Number of the bodies' parameters."""
        return inertia.COUNT * self.n

    @property
    def count(self) -> int:
        """Number p of all parameters."""
        return self.bodies + len(self.drives) * self.n

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, for example ``Izz(upper_arm)`` and ``coulomb(shoulder)``."""
        return (
            *(f"{name}({joint.child})" for joint in self.description.movable for name in inertia.NAMES),
            *(f"{kind}({joint})" for kind in self.drives for joint in self.description.joint_names),
        )

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Regressor, (..., n, p), at states (..., n)."""
        q, v, a = batch_of_states(self.n, q=q, v=v, a=a)
        diagonals = [x[..., None] * np.eye(self.n) for x in (v, np.tanh(v / COULOMB_SPEED), a)[: len(self.drives)]]
        return np.concatenate([self.model.regressor(q, v, a), *diagonals], axis=-1)

    def believed(self) -> np.ndarray:
        """Parameters as the URDF has them, (p,); rotors, of which it says nothing, 0."""
        drives = self.description.damping, self.description.friction, np.zeros(self.n)
        return np.concatenate([inertia.of_description(self.description).ravel(), *drives[: len(self.drives)]])

    @property
    def friction(self) -> np.ndarray:
        """Whether each parameter is friction, (p,)."""
        return np.repeat([False] * inertia.COUNT + [kind != "rotor" for kind in self.drives], self.n)

    def drive(self, kind: str, values: np.ndarray) -> np.ndarray:
        """Drive parameters of one kind, (n,), out of all (p,)."""
        own: np.ndarray = values[self.bodies :].reshape(-1, self.n)[self.drives.index(kind)]
        return own
