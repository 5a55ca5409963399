"""The simulated arm of torque-controlled joints: MuJoCo on the URDF's own text, moved by efforts.

    M(q) a + c(q, v) = clip(tau, ±effort) - b v - dry friction - stops

``b``, the dry friction and the effort limits are the URDF's.  Deviations come from ``plant_error``: masses, inertias, and
added friction; the other factors of ``PlantError`` belong to servos.  As in ``plant``, the arm collides with nothing and
has mechanical stops ``STOP_MARGIN`` beyond the URDF's limits, near enough that an arm which fell on one may leave from there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.description import ArmDescription

from .mujoco_arm import MujocoArm, mujoco
from .plant_error import draw

STEP_S = 1e-3
"""Integration step [s]; Runge-Kutta of order 4."""

STOP_MARGIN = {"revolute": 0.02, "prismatic": 0.002}
"""How far beyond the URDF's limits the mechanical stops are [rad, m]."""

STOP_SOLREF = (5e-3, 1.0)
"""MuJoCo's time constant [s] and damping ratio of a stop: stiff, without a bounce."""


class TorquePlant(MujocoArm):
    """The arm that efforts move; its state is the truth that errors are measured from.

    Args:
        description: the arm.
        q: (n,) pose at the start [rad or m], default all 0.
        plant_error: bound of the relative errors of the simulated arm's numbers, 0 <= e < 1.
        seed: of those errors.
        dt: integration step [s].

    Raises:
        DescriptionError: MuJoCo cannot simulate this URDF.
        InputError: a value out of range.
    """

    def __init__(
        self,
        description: ArmDescription,
        *,
        q: ArrayLike | None = None,
        plant_error: float = 0.0,
        seed: int = 0,
        dt: float = STEP_S,
    ):
        friction_scale = np.where(np.isfinite(description.effort), description.effort, 0.0)
        super().__init__(description, draw(description, friction_scale, plant_error, seed), dt, mujoco.mjtIntegrator.mjINT_RK4)
        m = self._m
        m.dof_frictionloss[self._dof] = self.description.friction + self.error.coulomb
        for index, joint in zip(self._joint, self.description.movable):
            if joint.type != "continuous":
                margin = STOP_MARGIN[joint.type]
                m.jnt_solref[index] = STOP_SOLREF
                m.jnt_range[index] = joint.lower - margin, joint.upper + margin
        mujoco.mj_setConst(m, self._scratch)
        self.reset(np.zeros(self.n) if q is None else q)

    def reset(self, q: ArrayLike) -> None:
        """Put the arm at rest at ``q`` (n,) [rad or m], at time 0; a load stays."""
        self._place(q)
        self._applied = np.zeros(self.n)
        mujoco.mj_forward(self._m, self._d)

    def step(self, tau: ArrayLike) -> None:
        """Advance by one ``dt`` with constant efforts ``tau`` (n,) [N·m or N], clipped to the URDF's limits."""
        self._applied = np.clip(tau, -self.description.effort, self.description.effort)
        self._d.qfrc_applied[self._dof] = self._applied
        mujoco.mj_step(self._m, self._d)

    @property
    def torque(self) -> np.ndarray:
        """Efforts of the last step, (n,) [N·m or N]."""
        return self._applied
