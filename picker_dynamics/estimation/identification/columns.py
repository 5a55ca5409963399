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
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.model import COULOMB_SPEED, batch_of_states, tip_speeds

from . import inertia

DRIVE_UNITS = {
    "viscous": {"rad": "N·m·s/rad", "m": "N·s/m"},
    "coulomb": {"rad": "N·m", "m": "N"},
    "rotor": {"rad": "kg·m²", "m": "kg"},
}
"""Parameters of a joint's drive, in the order of the columns, with their units by that of the joint."""


RISE_S = 0.5
"""The velocity limit is reached in this time at least [s]."""

USUAL_STATES = 300


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

    def usual_states(self, tip_speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random q, v, a (k, n) within limits and, by moving slower, ``tip_speed`` [m/s]: what matters is judged there."""
        q, limits = sample_poses(self.description, USUAL_STATES), self.description.velocity
        v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *q.shape)) * np.where(np.isfinite(limits), limits, 1.0)
        slower = np.minimum(1.0, tip_speed / np.maximum(tip_speeds(self.model, q, v), 1e-9))[:, None]
        return q, slower * v, slower * a / RISE_S

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
