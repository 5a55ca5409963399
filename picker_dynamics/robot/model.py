"""Interface of rigid-body models of an arm (``DynamicsModel``), the checks of their arguments, and the package's array type.

Notation (reference notes, conventions): joint positions ``q``, velocities ``v``, accelerations ``a``,
generalised forces ``tau``; mass matrix ``M(q)``, Christoffel matrix ``C(q, v)``, gravity ``g(q)``:

    tau = M(q) a + C(q, v) v + g(q)                 inverse_dynamics
    a   = M(q)^-1 (tau - C(q, v) v - g(q))          forward_dynamics
    tau_d = tau + F(v)                              required_torque

All arrays are ``(..., n)``: a batch is just more leading axes.  SI units and radians.  Arguments may be anything that NumPy
reads as an array (``ArrayLike``); what is returned is an ``Array`` of floats.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.files.fields import as_float, number

Array = NDArray[np.float64]
"""An array of floats; its shape and unit stand in the docstring of whoever takes or returns it."""

GRAVITY = 9.81
"""Default gravitational acceleration [m/s²], pulling along -z of the base frame."""

COULOMB_SPEED = 0.01
"""Speed [rad/s] over which Coulomb friction is smoothed: F_c tanh(v / COULOMB_SPEED)."""


NO_ROWS = str, bytes, bytearray, Set, Mapping
"""What may be iterated over, and is no row of numbers."""


def read_only(values: ArrayLike) -> Array:
    """A read-only float array of its own."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


def as_vector(name: str, value: ArrayLike, n: int) -> Array:
    """``value`` as a finite float array of its own, of shape (n,).

    Raises:
        InputError: as ``as_states``, or for a batch.
    """
    array = np.array(as_states(name, value, n))
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}, expected ({n},)", name, array.shape, n)
    return array


def vector_of(members: str, figure: str, entry: int | None = None) -> cached_property[Array]:
    """A property: ``figure`` of each of the object's ``members``, or an entry of it, as one vector (n,), read-only."""

    def vector(owner: object) -> Array:
        figures = [getattr(member, figure) for member in getattr(owner, members)]
        return read_only(figures if entry is None else [one[entry] for one in figures])

    return cached_property(vector)


def as_array(name: str, value: ArrayLike) -> Array:
    """``value`` as an array of floats, of which some may not be finite.

    Raises:
        InputError: an entry that is no number (``files.fields.as_float``), or rows of different lengths.
    """
    if type(value) is np.ndarray and value.dtype.kind in "fiu":
        return np.asarray(value, dtype=float)

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, Iterable) or isinstance(value, NO_ROWS) or getattr(value, "shape", None) == ():
            found = as_float(value)
            return checked_number(name, value, subject=subject) if found is None else found
        entries = list(value)
        if {*map(type, entries)} == {float}:
            return entries
        return [read(f"{name}[{k}]", one) for k, one in enumerate(entries)]

    subject = name
    rows = read(name, value)
    try:
        return np.array(rows, dtype=float)
    except ValueError as error:
        raise InputError(f"{name} has rows of different lengths", name) from error


def as_states(name: str, value: ArrayLike, n: int) -> Array:
    """Return ``value`` as a finite float array of shape (..., n).

    Raises:
        InputError: for a wrong last axis, or an entry that is NaN or infinite.
    """
    array = as_array(name, value)
    if array.shape == (n,) and math.isfinite(sum(array.tolist())):
        return array  # at a quarter of the cost of what follows
    if array.ndim == 0 or array.shape[-1] != n:
        raise InputError(f"{name} has shape {array.shape}, expected (..., {n})", name, array.shape, n)
    finite = np.isfinite(array)
    if not finite.all():
        bad = tuple(int(i) for i in np.argwhere(~finite)[0])
        checked_number(f"{name}[{', '.join(map(str, bad))}]", array[bad], subject=name)
    return array


def checked_number(
    name: str,
    value: Any,
    unit: str = "",
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    subject: str | None = None,
) -> float:
    """``value`` as a finite float that is at least ``least``, more than ``above`` and at most ``most``.

    Raises:
        InputError: naming it, or ``subject``, with value and limit.
    """
    bounds = (above, False, most) if above > least else (least, True, most)
    return number(value, name, bounds, subject or name, InputError, unit)


def batch_of_states(n: int, **values: ArrayLike) -> list[Array]:
    """``as_states`` for each of ``values``, whose leading axes must broadcast against each other.

    Raises:
        InputError: as ``as_states``, or naming the shapes that do not fit.
    """
    arrays = [as_states(name, value, n) for name, value in values.items()]
    if any([array.ndim > 1 for array in arrays]):
        try:
            np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(values, arrays))
            raise InputError(f"shapes do not broadcast: {shapes}", next(iter(values))) from error
    return arrays


def per_joint(name: str, value: ArrayLike, joint_names: Sequence[str], *, positive: bool = False) -> Array:
    """``value``, one for each joint or a number for all of them, as (n,), read-only, >= 0 (with ``positive``: > 0).

    Raises:
        InputError: naming parameter, joint, value and limit.
    """
    n = len(joint_names)
    array = as_states(name, np.full(n, value) if np.ndim(value) == 0 else value, n)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}, expected a number or ({n},)", name, array.shape)
    for joint, entry in zip(joint_names, array):
        if entry < 0.0 or (positive and entry == 0.0):
            raise InputError(
                f"{name} of joint {joint} is {entry}, must be {'>' if positive else '>='} 0", joint, float(entry), 0.0
            )
    return read_only(array)


PAYLOAD_MAX_KG, PAYLOAD_MAX_M = 100.0, 2.0
"""Heaviest load at the tool [kg], and how far from the tool's frame its centre may be [m]."""


def payload_values(mass: float, com: ArrayLike) -> tuple[float, Array]:
    """Return a payload's mass [kg] and centre of mass (3,) [m], checked.

    Raises:
        InputError: a negative mass, one beyond ``PAYLOAD_MAX_KG``, a centre beyond ``PAYLOAD_MAX_M``, values that are not
            finite, wrong shapes.
    """
    mass, com = checked_number("payload mass", mass, "kg", least=0.0, subject="payload"), as_vector("payload com", com, 3)
    for what, value, most, unit in (("mass", mass, PAYLOAD_MAX_KG, "kg"), ("com", np.abs(com).max(), PAYLOAD_MAX_M, "m")):
        refuse_if(value > most, f"payload {what} is {value:g} {unit}, at most {most:g}", "payload", float(value), most)
    return mass, com


class DynamicsModel(ABC):
    """A fixed-base arm of ``n`` joints; subclasses give M, C, g and the potential energy.

    Attributes:
        joint_names: names of the joints, in the order of every array.
        armature: (n,) rotor inertias as seen at the joint [kg·m²]; part of M.
        viscous: (n,) viscous friction [N·m·s/rad].
        coulomb: (n,) Coulomb friction [N·m].
        frictionless: whether there is neither.
        payload_mass: mass carried at the tool [kg].
        payload_com: (3,) its centre [m], tool frame.
    """

    payload_mass = 0.0
    payload_com: Array = read_only(np.zeros(3))

    def __init__(
        self,
        joint_names: Sequence[str],
        *,
        armature: ArrayLike | None = None,
        viscous: ArrayLike | None = None,
        coulomb: ArrayLike | None = None,
    ):
        self.joint_names = tuple(joint_names)
        self.n = len(self.joint_names)
        self.armature, self.viscous, self.coulomb = (
            per_joint(name, 0.0 if value is None else value, self.joint_names)
            for name, value in (("armature", armature), ("viscous", viscous), ("coulomb", coulomb))
        )
        self.frictionless = not (self.viscous.any() or self.coulomb.any())

    @cached_property
    def armature_matrix(self) -> Array:
        """Matrix of the rotors' inertias, diag(armature), (n, n) [kg·m²], read-only."""
        return read_only(np.diag(self.armature))

    @abstractmethod
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix M(q), (..., n, n) [kg·m²], symmetric positive definite, armature included."""

    @abstractmethod
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Coriolis matrix C(q, v), (..., n, n), from Christoffel symbols, so that dM/dt - 2C is skew-symmetric."""

    @abstractmethod
    def gravity(self, q: ArrayLike) -> Array:
        """Gravity torques g(q) = dV/dq, (..., n) [N·m]."""

    @abstractmethod
    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy V(q), (...) [J]."""

    @abstractmethod
    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Position of the tool, (..., 3) [m], base frame."""

    @abstractmethod
    def jacobian(self, q: ArrayLike) -> Array:
        """Linear Jacobian of the tool, (..., 3, n) [m/rad], base frame."""

    @abstractmethod
    def torque_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, j: ArrayLike) -> Array:
        """Rate of the joint torques, d(tau)/dt, along a motion with jerk ``j`` [rad/s³], (..., n) [N·m/s], without friction."""

    @abstractmethod
    def torque_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """Torque derivatives dtau/dq and dtau/dv at constant ``a``, each (..., n, n), without friction; dtau/da is M."""

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> DynamicsModel:
        """Model of the same arm carrying a point mass; a load it already carries is replaced.

        Args:
            mass: [kg], >= 0.
            com: (3,) centre of mass [m], tool frame.

        Raises:
            InputError: values that :func:`payload_values` refuses, a tool that no joint moves, or, as here, a system whose
                equations have no load at the tool.
        """
        raise InputError(f"the equations of {type(self).__name__} have no load at the tool", "payload", mass)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Joint torques tau = M a + C v + g, (..., n) [N·m]: what the actuators supply, without friction."""
        q, v, a = batch_of_states(self.n, q=q, v=v, a=a)
        return times(self.mass_matrix(q), a) + times(self.coriolis_matrix(q, v), v) + self.gravity(q)

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Joint accelerations a = M^-1 (tau - C v - g), (..., n) [rad/s²].

        Raises:
            InputError: the mass matrix is singular: some motion moves no inertia.
        """
        q, v, tau = batch_of_states(self.n, q=q, v=v, tau=tau)
        bias = self.inverse_dynamics(q, v, np.zeros(self.n))
        try:
            return np.asarray(np.linalg.solve(self.mass_matrix(q), (tau - bias)[..., None])[..., 0], dtype=float)
        except np.linalg.LinAlgError as error:
            raise InputError("the mass matrix is singular: some motion of the joints moves no inertia", "q", q) from error

    def friction(self, v: ArrayLike) -> Array:
        """Joint friction F(v) = b v + f_c tanh(v / v_s), (..., n) [N·m]: opposes motion, so the actuators add it."""
        v = as_states("v", v, self.n)
        return self.viscous * v + self.coulomb * np.tanh(v / COULOMB_SPEED)

    def required_torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Required torques tau_d = M a + C v + g + F(v), (..., n) [N·m], of an arm that touches nothing."""
        tau = self.inverse_dynamics(q, v, a)
        return tau if self.frictionless else tau + self.friction(v)

    def torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Required torques tau_d, (..., n) [N·m]: ``required_torque`` by the name that scripts look for."""
        return self.required_torque(q, v, a)


def times(matrix: Array, vector: Array) -> Array:
    """Matrices (..., m, k) times vectors (..., k)."""
    product: Array = np.einsum("...ij,...j->...i", matrix, vector)
    return product


class HasJacobian(Protocol):
    """Model of an arm that knows the tool's Jacobian: a dynamics model, or kinematics alone."""

    def jacobian(self, q: ArrayLike) -> Array:
        """Linear Jacobian of the tip, (..., 3, n) [m/rad]."""


def tip_speeds(model: HasJacobian, q: Array, v: Array) -> Array:
    """Speed of the tool |J(q) v| in states (..., n), (...,) [m/s]."""
    speed: Array = np.linalg.norm(times(model.jacobian(q), v), axis=-1)
    return speed
