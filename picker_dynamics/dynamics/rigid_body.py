"""Rigid-body dynamics by Pinocchio behind the interface of ``DynamicsModel``; the only module that imports it.

Pinocchio reads the URDF *text* with its own parser, so that this model and the hand-written one share
no code between the file and the numbers.  What is settled here, once:

* Joint order.  Pinocchio visits siblings in alphabetical order; arrays here follow the description.
* Continuous joints.  Pinocchio stores (cos q, sin q); here they are angles like any other.
* Armature.  The same ``model.armature`` enters Pinocchio's RNEA, CRBA, ABA and RNEA derivatives.
* Links without ``<inertial>`` are massless.  The root link never moves: its mass counts nowhere, not even
  in the potential energy.
* ``crba`` and the derivatives of RNEA fill both triangles of M, as Pinocchio's Python bindings mirror it.
* ``computeCoriolisMatrix`` gives the Christoffel matrix (the tests compare it with the derivatives of M).

A batch is a loop over its states.  Each thread has Pinocchio's scratch memory of its own.

Reference: R. Featherstone, Rigid Body Dynamics Algorithms, 2008 (RNEA ch. 5, CRBA ch. 6, ABA ch. 7).
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError, JointNamesError, MissingDependencyError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import GRAVITY, Array, DynamicsModel, batch_of_states, payload_values, read_only

try:
    import pinocchio as pin
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        'Pinocchio is not installed: pip install "picker_dynamics[sim]", or on ROS 2 apt install ros-jazzy-pinocchio'
    ) from error


class Loaded:
    """Pinocchio's model of an arm with what it carries, and the workspaces that belong to it."""

    def __init__(self, model: pin.Model):
        self.model = model
        self._of_thread = threading.local()

    @property
    def data(self) -> pin.Data:
        """Pinocchio's workspace: one for each thread, since goals are checked beside the ticks with the same model."""
        try:
            return self._of_thread.data
        except AttributeError:
            self._of_thread.data = self.model.createData()
            return self._of_thread.data


class RigidBody(DynamicsModel):
    """The arm of a URDF, computed by Pinocchio.

    Args:
        description: the arm; its ``urdf`` text is what Pinocchio reads.
        armature: (n,) rotor inertia at each joint [kg·m²], default none.

    Raises:
        DescriptionError: Pinocchio cannot read the text, or finds other joints in it.

    Attributes:
        payload_mass: mass carried at the tool [kg].
        loaded: what Pinocchio calculates with.
    """

    def __init__(self, description: ArmDescription, armature: ArrayLike | None = None):
        super().__init__(description.joint_names, armature=armature, viscous=description.damping, coulomb=description.friction)
        self._bare = _build(description, self.armature)
        self._tool = self._bare.getFrameId(description.tool, pin.FrameType.BODY)  # a joint may have the same name
        self._index = [self._bare.joints[self._bare.getJointId(name)].idx_v for name in self.joint_names]
        self._zero = pin.neutral(self._bare)
        self._same_order = self._bare.nq == self.n and self._index == list(range(self.n))
        self.loaded = Loaded(self._bare)

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> RigidBody:
        """Model of the same arm carrying a load; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: values that :func:`payload_values` refuses, or a tool that no joint moves.
        """
        mass, com = payload_values(mass, com)
        frame = self._bare.frames[self._tool]
        if frame.parentJoint == 0:
            raise InputError(f"frame {frame.name} is fixed to the base: no joint would carry the payload", frame.name)
        model = self._bare.copy()
        model.appendBodyToJoint(frame.parentJoint, pin.Inertia(mass, com, np.zeros((3, 3))), frame.placement)
        carrying = copy.copy(self)
        carrying.payload_mass, carrying.payload_com = mass, read_only(com)
        carrying.loaded = Loaded(model)
        return carrying

    def _evaluate(
        self, function: Callable[..., Any], shape: tuple[int, ...], axes: tuple[int, ...], **states: ArrayLike
    ) -> Array:
        """``function(model, data, q, …)`` for every state; ``axes`` of its result run over the joints."""
        arrays, model, data = batch_of_states(self.n, **states), self.loaded.model, self.loaded.data
        if all([x.ndim == 1 for x in arrays]):
            out = np.asarray(function(model, data, *self._theirs(arrays))).reshape(shape)  # 1×1 comes as (1,)
        else:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
            rows, out = [np.broadcast_to(x, (*batch, self.n)) for x in arrays], np.empty((*batch, *shape))
            for at in np.ndindex(batch):
                out[at] = np.reshape(function(model, data, *self._theirs([x[at] for x in rows])), shape)
        for axis in () if self._same_order else axes:
            out = np.take(out, self._index, axis)
        return out

    def _theirs(self, state: Sequence[Array]) -> Sequence[Array]:
        """q, v, … in Pinocchio's order, continuous joints as it stores them."""
        if self._same_order:
            return state
        moved = np.empty((len(state), self.n))
        moved[:, self._index] = state
        return [pin.integrate(self.loaded.model, self._zero, moved[0]), *moved[1:]]

    # --- the interface --------------------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike) -> Array:
        return self._evaluate(pin.crba, (self.n, self.n), (-2, -1), q=q)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        return self._evaluate(pin.computeCoriolisMatrix, (self.n, self.n), (-2, -1), q=q, v=v)

    def gravity(self, q: ArrayLike) -> Array:
        return self._evaluate(pin.computeGeneralizedGravity, (self.n,), (-1,), q=q)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Joint torques tau = M a + C v + g by the recursive Newton-Euler algorithm, (..., n) [N·m], without friction."""
        return self._evaluate(pin.rnea, (self.n,), (-1,), q=q, v=v, a=a)

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Joint accelerations a = M^-1 (tau - C v - g) by the articulated-body algorithm, (..., n) [rad/s²]."""
        return self._evaluate(pin.aba, (self.n,), (-1,), q=q, v=v, tau=tau)

    def torque_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, j: ArrayLike) -> Array:
        """Rate of the joint torques d(tau)/dt = (dtau/dq) v + (dtau/dv) a + M j, (..., n) [N·m/s], by the derivatives of RNEA."""
        return self._evaluate(_torque_rate, (self.n,), (-1,), q=q, v=v, a=a, j=j)

    def torque_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """Torque derivatives dtau/dq and dtau/dv at constant ``a``, each (..., n, n), by the derivatives of RNEA."""
        by = self._evaluate(_derivatives, (3, self.n, self.n), (-2, -1), q=q, v=v, a=a)
        return by[..., 0, :, :], by[..., 1, :, :]

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Regressor Y with Y pi = M a + C v + g, (..., n, 10 n): linear in the bodies' parameters pi, rotors and friction apart.

        ``pi`` holds for each joint, in our order, the ten of what it moves, up to the next joints: m, m c (3), then Ixx, Ixy,
        Iyy, Ixz, Iyz, Izz about the origin of the joint's child link, in its axes (``identification.parameters``).
        """
        by_body = self._evaluate(_regressor, (self.n, self.n, 10), (-3, -2), q=q, v=v, a=a)
        return by_body.reshape(*by_body.shape[:-2], 10 * self.n)

    def potential_energy(self, q: ArrayLike) -> Array:
        return self._evaluate(pin.computePotentialEnergy, (), (), q=q)

    def forward_kinematics(self, q: ArrayLike) -> Array:
        return self._evaluate(self._tool_position, (3,), (), q=q)

    def jacobian(self, q: ArrayLike) -> Array:
        return self._evaluate(self._tool_jacobian, (3, self.n), (-1,), q=q)

    def _tool_position(self, model: pin.Model, data: pin.Data, q: Array) -> Array:
        pin.framesForwardKinematics(model, data, q)
        return np.array(data.oMf[self._tool].translation)

    def _tool_jacobian(self, model: pin.Model, data: pin.Data, q: Array) -> Any:
        return pin.computeFrameJacobian(model, data, q, self._tool, pin.LOCAL_WORLD_ALIGNED)[:3]


def _build(description: ArmDescription, armature: Array) -> pin.Model:
    """Pinocchio's model of the URDF text with armature and our gravity, its joints checked against ours."""
    try:
        model = pin.buildModelFromXML(description.urdf)
    except (ValueError, RuntimeError) as error:
        raise DescriptionError(f"{description.source}: Pinocchio cannot read this URDF: {error}") from error
    found = set(model.names) - {"universe"}
    if found != set(description.joint_names):
        raise JointNamesError(
            f"{description.source}: Pinocchio finds joints {', '.join(sorted(found))}; "
            f"the description has {', '.join(sorted(description.joint_names))}"
        )
    model.gravity = pin.Motion(np.array([0.0, 0.0, -GRAVITY]), np.zeros(3))
    by_velocity = np.zeros(model.nv)
    for name, inertia in zip(description.joint_names, armature):
        by_velocity[model.joints[model.getJointId(name)].idx_v] = inertia
    model.armature = by_velocity
    return model


def _regressor(model: pin.Model, data: pin.Data, q: Array, v: Array, a: Array) -> Array:
    return np.array(pin.computeJointTorqueRegressor(model, data, q, v, a))  # a copy: Pinocchio's own is overwritten


def _derivatives(model: pin.Model, data: pin.Data, q: Array, v: Array, a: Array) -> Array:
    """dtau/dq, dtau/dv and dtau/da = M, (3, n, n)."""
    return np.reshape(pin.computeRNEADerivatives(model, data, q, v, a), (3, model.nv, model.nv))


def _torque_rate(model: pin.Model, data: pin.Data, q: Array, v: Array, a: Array, j: Array) -> Array:
    by_q, by_v, by_a = _derivatives(model, data, q, v, a)
    rate: Array = by_q @ v + by_v @ a + by_a @ j
    return rate
