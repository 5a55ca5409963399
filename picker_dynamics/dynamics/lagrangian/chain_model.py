"""Model of N joints, a chain or a tree: the equations of ``chain_equations`` and ``chain_torque`` behind ``DynamicsModel``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array, as_states, batch_of_states, payload_values, read_only, times

from . import chain_equations, chain_torque
from .bodies import Body
from .chain_equations import ChainParameters
from .complex_step import AnalyticModel, Equation

BLOCK = 1_000_000
"""Derivatives of Jacobians that are held at once, so that a large batch does not fill the memory: 8 MB an array."""

LEAST_SHARE = 1e-6
"""A joint that moves less than this in a motion of unit size takes no part in it."""


class ChainModel(AnalyticModel):
    """A fixed-base tree of revolute and prismatic joints; made by ``lagrangian.chain`` and ``lagrangian.from_urdf``.

    Args:
        parameters: the tree.
        joint_names, armature, viscous, coulomb: see :class:`DynamicsModel`.

    Attributes:
        gravity_vector: (3,) acceleration of gravity [m/s²], base frame.
        payload_mass: mass carried at the tool [kg].
    """

    system = "chain"

    def __init__(self, parameters: ChainParameters, joint_names: Sequence[str], **actuation: ArrayLike | None):
        super().__init__(joint_names, **actuation)
        self._bare = parameters
        self.gravity_vector = parameters.gravity
        self.parameters, self.constants = parameters, chain_torque.constants(parameters)
        self.payload_mass = 0.0

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> ChainModel:
        """Model of the same arm carrying any load; see :meth:`DynamicsModel.with_payload`.

        Raises:
            InputError: values that :func:`payload_values` refuses, or a tool that no joint moves.
        """
        mass, com, inertia = payload_values(mass, com, inertia)
        k = self._bare
        i = k.tool_parent
        if i < 0:
            raise InputError("the tool is fixed to the base: no joint would carry the payload", "payload", mass)
        load = Body(mass, com, inertia).moved(k.tool_rotation, k.tool_position)
        loaded = Body(float(k.masses[i]), k.coms[i], k.inertias[i]) + load
        masses, coms, inertias = k.masses.copy(), k.coms.copy(), k.inertias.copy()
        masses[i], coms[i], inertias[i] = loaded.mass, loaded.com, loaded.inertia
        carrying = copy.copy(self)
        carrying.parameters = replace(k, masses=masses, coms=coms, inertias=inertias)
        carrying.constants = chain_torque.constants(carrying.parameters)
        carrying.payload_mass, carrying.payload_com = mass, read_only(com)
        return carrying

    # --- matrices -------------------------------------------------------------------------------

    def _frames(self, q: ArrayLike) -> chain_equations.Frames:
        return chain_equations.frames(self.parameters, as_states("q", q, self.n))

    def mass_matrix(self, q: ArrayLike) -> Array:
        return chain_equations.mass_matrix(self.parameters, self._frames(q)) + self.armature_matrix

    def christoffel(self, q: ArrayLike) -> Array:
        """Christoffel symbols b_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i), (..., n, n, n), by exact derivatives."""
        k = self.parameters
        return self._in_blocks(lambda rows: chain_equations.christoffel(k, chain_equations.frames(k, rows)), q=q)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C_ij = sum_k b_ijk v_k, (..., n, n)."""
        return self._in_blocks(lambda rows, rates: times(self.christoffel(rows), rates[:, None]), q=q, v=v)

    def _in_blocks(self, function: Callable[..., Array], **states: ArrayLike) -> Array:
        """``function`` of states (rows, n), a block of rows at a time."""
        arrays = np.broadcast_arrays(*batch_of_states(self.n, **states))
        *batch, n = arrays[0].shape
        rows, size = [x.reshape(-1, n) for x in arrays], max(1, BLOCK // (3 * n**3))
        starts = range(0, max(1, len(rows[0])), size)
        results = np.concatenate([function(*(x[first : first + size] for x in rows)) for first in starts])
        return results.reshape(*batch, *results.shape[1:])

    def velocity_product_matrices(self, q: ArrayLike) -> tuple[Array, Array, tuple[tuple[int, int], ...]]:
        """The note's two matrices of the velocity products, C v = Cc [v_j²] + B [v_j v_k].

        Returns:
            B: (..., n, n (n-1) / 2), column c is 2 b_ijk for the joints (j, k) = pairs[c]: Coriolis terms.
            Cc: (..., n, n), Cc_ij = b_ijj: centrifugal terms.
            pairs: (j, k), j < k, counted from 1 as the note does: (1, 2), (1, 3) … (n-1, n).
        """
        b = self.christoffel(q)
        j, k = np.triu_indices(self.n, 1)
        each = np.arange(self.n)
        return 2.0 * b[..., j, k], b[..., each, each], tuple(zip((j + 1).tolist(), (k + 1).tolist()))

    def gravity(self, q: ArrayLike) -> Array:
        return chain_equations.gravity(self.parameters, self._frames(q))

    # --- torques --------------------------------------------------------------------------------

    @property
    def torque_equation(self) -> Equation:
        return chain_torque.inverse_dynamics

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Joint accelerations a = M^-1 (tau - C v - g), (..., n) [rad/s²].

        Raises:
            InputError: M cannot be inverted: some joints, alone or together, move no mass; names them.
        """
        q, v, tau = batch_of_states(self.n, q=q, v=v, tau=tau)
        bias = self._torque(q, v, np.zeros(self.n))
        try:
            return np.linalg.solve(self.mass_matrix(q), (tau - bias)[..., None])[..., 0]
        except np.linalg.LinAlgError as error:
            least, motions = np.linalg.eigh(self.mass_matrix(q).reshape(-1, self.n, self.n))
            worst = int(np.argmin(least[:, 0]))
            free = [name for name, share in zip(self.joint_names, motions[worst, :, 0]) if abs(share) > LEAST_SHARE]
            raise InputError(
                f"M cannot be inverted: {', '.join(free)} move{'s' if len(free) == 1 else ''} no mass, the "
                "acceleration would be infinite",
                free[0],
                float(least[worst, 0]),
                0.0,
            ) from error

    # --- energies and the tool ------------------------------------------------------------------

    def potential_energy(self, q: ArrayLike) -> Array:
        return chain_equations.potential_energy(self.parameters, self._frames(q))

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Position of the tool, (..., 3) [m], base frame; of ``lagrangian.chain`` the origin of the last frame."""
        return self._tool(self._frames(q))[1]

    def orientation(self, q: ArrayLike) -> Array:
        """Orientation of the tool, (..., 3, 3): its axes, in base axes."""
        return self._tool(self._frames(q))[0]

    def _tool(self, f: chain_equations.Frames) -> tuple[Array, Array]:
        k = self.parameters
        R, p = f.pose(k.tool_parent)
        return R @ k.tool_rotation, p + R @ k.tool_position

    def jacobian(self, q: ArrayLike) -> Array:
        k, f = self.parameters, self._frames(q)
        Jv, _ = chain_equations.jacobians(k, f, [k.tool_parent], self._tool(f)[1][..., None, :])
        return Jv[..., 0, :, :]
