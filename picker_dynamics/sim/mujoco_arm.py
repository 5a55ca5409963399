"""Base of the simulated arms: MuJoCo's model of a URDF text with the drawn errors, its state, its dynamics.

``plant`` moves it by hobby servos, ``torque_plant`` by efforts.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError, MissingDependencyError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.lint import lint, raised_moments
from picker_dynamics.robot.model import as_states, payload_values

from .plant_error import PlantError

try:
    import mujoco as mujoco  # others of this room take it from here
except ImportError as error:
    raise MissingDependencyError('the simulated arm needs MuJoCo: pip install "picker_dynamics[sim]"', "mujoco") from error

_PAYLOAD = "payload_of_the_simulation"


class MujocoArm:
    """Simulated arm in MuJoCo; ``_m`` and ``_d`` are its model and data, ``_joint``, ``_q_index``, ``_dof`` its joints' places.

    Args:
        description: the arm.
        error: factors on its masses and inertias.
        dt: integration step [s], at most 0.005.
        integrator: one of MuJoCo's.

    Raises:
        DescriptionError: MuJoCo cannot simulate this URDF.
        InputError: a step out of range.
    """

    def __init__(self, description: ArmDescription, error: PlantError, dt: float, integrator: Any):
        self.description, self.joint_names, self.n = description, description.joint_names, description.n
        self.error = error
        if not 0.0 < dt <= 0.005:
            raise InputError(f"integration step is {dt} s, must be above 0 and at most 0.005 s", "dt", dt, 0.005)
        self._m, self._load = compile_arm(description)
        self._d, self._scratch = mujoco.MjData(self._m), mujoco.MjData(self._m)
        self._joint = np.array([self._m.joint(name).id for name in self.joint_names], dtype=int)
        self._q_index, self._dof = self._m.jnt_qposadr[self._joint], self._m.jnt_dofadr[self._joint]
        self.payload = 0.0
        self._tool = self._m.body(description.tool).id
        self._m.opt.timestep, self._m.opt.integrator = dt, integrator
        self._m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        for name, factor in error.mass.items():
            self._m.body_mass[self._m.body(name).id] *= factor
        for name, factor in error.inertia.items():
            self._m.body_inertia[self._m.body(name).id] *= factor

    # --- what is there ----------------------------------------------------------------------------

    @property
    def dt(self) -> float:
        return float(self._m.opt.timestep)

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return float(self._d.time)

    @property
    def q(self) -> np.ndarray:
        """Joint positions, (n,) [rad or m], a copy."""
        return np.asarray(self._d.qpos[self._q_index])

    @property
    def v(self) -> np.ndarray:
        """Joint velocities, (n,) [rad/s or m/s], a copy."""
        return np.asarray(self._d.qvel[self._dof])

    @property
    def tip(self) -> np.ndarray:
        """Position of the tool, (3,) [m], base frame."""
        mujoco.mj_kinematics(self._m, self._d)
        return np.array(self._d.xpos[self._tool])

    # --- what is put there ------------------------------------------------------------------------

    def attach(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Weld a point mass to the tool, in place of what is there; momentum is not conserved: it had the tool's speed.

        Args:
            mass: [kg], >= 0; 0 takes it off.
            com: (3,) its place [m], tool frame.

        Raises:
            InputError: negative or not finite.
        """
        self.payload, com = payload_values(mass, com)
        self._m.body_mass[self._load], self._m.body_ipos[self._load] = self.payload, com
        mujoco.mj_setConst(self._m, self._scratch)

    def _place(self, q: ArrayLike) -> np.ndarray:
        """Put the arm at ``q`` (n,) [rad or m], at time 0; ``q`` as an array."""
        q = as_states("q", q, self.n)
        mujoco.mj_resetData(self._m, self._d)
        self._d.qpos[self._q_index] = q
        return q

    # --- the third set of dynamics ------------------------------------------------------------------

    def _at(self, q: ArrayLike, v: ArrayLike) -> Any:
        d = self._scratch
        mujoco.mj_resetData(self._m, d)
        d.qpos[self._q_index] = as_states("q", q, self.n)
        d.qvel[self._dof] = as_states("v", v, self.n)
        mujoco.mj_forward(self._m, d)
        return d

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """Mass matrix M(q), (n, n), of the simulated arm with its errors, rotors and load."""
        full = np.zeros((self._m.nv, self._m.nv))
        mujoco.mj_fullM(self._m, self._at(q, np.zeros(self.n)), full)
        return full[np.ix_(self._dof, self._dof)]

    def bias(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """C v + g, (n,) [N·m or N], of the simulated arm with its errors and its load."""
        return np.asarray(self._at(q, v).qfrc_bias[self._dof])


def compile_arm(description: ArmDescription) -> tuple[mujoco.MjModel, int]:
    """MuJoCo's model of the URDF text, without its shapes, with an empty body welded to the tool, and that body's number.

    Shapes are dropped from the text because contacts are off, mesh files need not be there, and MuJoCo would
    invent the mass of a link without ``<inertial>`` from them.
    """
    robot = ElementTree.fromstring(description.urdf)
    for link in (*robot.findall("link"), *robot.findall("joint")):
        first = {element.tag: element for element in reversed(link)}  # of what is said twice, as other readers do
        for element in [one for one in link if one.tag in ("visual", "collision") or one is not first[one.tag]]:
            link.remove(element)
    try:
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding="unicode"))
        spec.compiler.fusestatic = False
        spec.compiler.discardvisual = True
        load = spec.body(description.tool).add_body(name=_PAYLOAD)
        load.explicitinertial, load.mass, load.inertia = True, 0.0, [0.0, 0.0, 0.0]
        load.ipos = [1e-3, 0.0, 0.0]  # off the frame, or MuJoCo would not read ipos again
        for name, described in description.links.items():
            if (moments := raised_moments(described)) is not None:
                body, (_, axes) = spec.body(name), np.linalg.eigh(described.inertia)
                axes[:, 2] *= np.linalg.det(axes)
                mujoco.mju_mat2Quat(body.iquat, axes.ravel())
                body.fullinertia, body.inertia = np.full(6, np.nan), moments
        model = spec.compile()
    except ValueError as error:
        found = [str(one) for one in lint(description) if one.fatal or "MuJoCo" in one.reason]
        why = next(iter(found), f"MuJoCo says: {' '.join(str(error).split())}")
        text = f"{description.source} cannot be simulated: {why} (all findings: picker check {description.source})"
        raise DescriptionError(text) from error
    if model.nv != description.n:
        raise DescriptionError(
            f"{description.source}: MuJoCo finds {model.nv} degrees of freedom, the description has {description.n}",
            value=model.nv,
            limit=description.n,
        )
    return model, model.body(_PAYLOAD).id
