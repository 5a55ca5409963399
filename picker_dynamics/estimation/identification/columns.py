"""Regressor of the measured torque, linear in the inertial and drive parameters to be found:

    tau = Y(q, v, a) pi + b v + f_c tanh(v / v_s) + I_r a + o

pi the bodies' standard parameters, b viscous and f_c Coulomb friction (with the smoothing of ``model.friction``), I_r the rotors'
inertia at the joint, o a constant error of what measures the torque.  The last two only if asked for.
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
    "offset": {"rad": "N·m", "m": "N"},
}
"""Parameters of a joint's drive, in the order of the columns, with their units by that of the joint."""

FRICTION = ("viscous", "coulomb")


@dataclass(frozen=True, eq=False)
class Columns:
    """Parameters of an arm, and the regressor that belongs to them.

    The vector of all p parameters has the bodies' 10 n first, then n of each kind of ``drives``.

    Args:
        description: the arm as believed.
        drives: those of ``DRIVE_UNITS`` that are to be found.
    """

    description: ArmDescription
    drives: tuple[str, ...] = FRICTION

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

    def regressor(self, q, v, a) -> np.ndarray:
        """Regressor, (..., n, p), at states (..., n)."""
        q, v, a = batch_of_states(self.n, q=q, v=v, a=a)
        each = {"viscous": v, "coulomb": np.tanh(v / COULOMB_SPEED), "rotor": a, "offset": np.ones_like(v)}
        diagonals = [each[kind][..., None] * np.eye(self.n) for kind in self.drives]
        return np.concatenate([self.model.regressor(q, v, a), *diagonals], axis=-1)

    def known(self, v) -> np.ndarray:
        """Friction of the URDF, (..., n), where none is looked for, 0 otherwise: a part of the effort that is no column's."""
        return np.zeros_like(v) if "coulomb" in self.drives else self.model.friction(v)

    def believed(self) -> np.ndarray:
        """Parameters as the URDF has them, (p,); rotors and offsets, of which it says nothing, 0."""
        known = {"viscous": self.description.damping, "coulomb": self.description.friction}
        drives = [known.get(kind, np.zeros(self.n)) for kind in self.drives]
        return np.concatenate([inertia.of_description(self.description).ravel(), *drives])

    @property
    def friction(self) -> np.ndarray:
        """Whether each parameter is friction, (p,)."""
        return np.repeat([False] * inertia.COUNT + [kind in FRICTION for kind in self.drives], self.n)

    def within(self, richer: Columns) -> list[int]:
        """Indices of these parameters among those of ``richer``, which has more drives' parameters."""
        return [richer.names.index(name) for name in self.names]

    def drive(self, kind: str, values: np.ndarray) -> np.ndarray:
        """Drive parameters of one kind, (n,), out of all (p,); 0 where that kind is not looked for."""
        by_kind = dict(zip(self.drives, values[self.bodies :].reshape(-1, self.n)))
        return by_kind.get(kind, np.zeros(self.n))
