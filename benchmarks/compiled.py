"""Compiled inverse dynamics: what the hand-written equations cost without Python, for batches and for single states.

It stands here because it does not pay inside one command: numba's start and the compiling take about 3 s, NumPy's batch of a
million states, the largest of ``picker study``, 0.4 s.

``compile_model(model)`` hands the plain functions of the model's system to numba, which compiles them as
they stand; no equation is written twice.  A batch is worked through in blocks, turned from rows of states
into one row per joint, so that each instruction of the processor computes several states.

Compiling takes one to two seconds per process and is not cached on disk: numba would look for changes in
this file only, not in the equations it calls, and an installed package may be read-only.

The package itself does not import numba.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable

import numpy as np

from picker_dynamics.dynamics.lagrangian import AnalyticModel, scalars
from picker_dynamics.errors import MissingDependencyError

try:
    import numba
    from numba.extending import overload, register_jitable
except ImportError as error:
    raise MissingDependencyError(
        "compiled dynamics need numba: pip install numba (model.inverse_dynamics gives the same numbers without it)"
    ) from error

BLOCK = 64
"""States per block; its 4 n rows of doubles (10 kB for the picker) stay in the first-level cache."""

LARGEST_ANGLE = 1e6
"""Beyond this [rad] ``sin_cos`` below loses digits, and a state goes to the model that was compiled."""

INLINED = {"forceinline": True, "error_model": "numpy"}


class CompiledModel:
    """Inverse dynamics of one model, compiled; made by :func:`compile_model`.

    Attributes:
        model: the model whose equations, constants and armature these are.
    """

    def __init__(self, model: AnalyticModel):
        self.model = model
        self._n = model.n
        self._constants = np.concatenate([np.ravel(value) for value in (*model.constants, model.armature)])

    @functools.cached_property
    def _one(self):
        return _single_kernel(self.model.torque_equation, _fields(self.model))

    @functools.cached_property
    def _batch(self):
        return _batch_kernel(self.model.torque_equation, _fields(self.model))

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        """tau = M a + C v + g, (..., n) [N·m], without friction: the numbers of ``model.inverse_dynamics``.

        Args:
            q, v, a: (..., n) [rad, rad/s, rad/s²]; quickest are contiguous float64 arrays of one shape.

        Raises:
            InputError: a wrong shape, or an entry that is NaN or infinite.
        """
        try:
            tau = np.empty(self._n)
            if self._one(self._constants, q, v, a, tau):
                return tau
        except TypeError:  # not three contiguous (n,) arrays of float64
            tau = self._many(q, v, a)
            if tau is not None:
                return tau
        return self.model.inverse_dynamics(q, v, a)

    def _many(self, q, v, a) -> np.ndarray | None:
        try:
            states = [np.asarray(x, dtype=float) for x in (q, v, a)]
            shape = np.broadcast_shapes(*(x.shape for x in states))
        except (TypeError, ValueError):
            return None
        if any(x.shape[-1:] != (self._n,) for x in states):
            return None
        tau = np.empty(shape)
        rows = [np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(-1, self._n) for x in states]
        return tau if self._batch(self._constants, *rows, tau.reshape(-1, self._n)) else None


def compile_model(model: AnalyticModel) -> CompiledModel:
    """Compile the inverse dynamics of a hand-written model, at its first call.

    Models of one system share the compiled code: another payload or another arm compiles nothing.  Chains share it
    by their number of joints.
    """
    return CompiledModel(model)


def _fields(model: AnalyticModel) -> np.dtype:
    """Names and shapes in the flat array of constants and armature, which compiled code views as a record."""
    constants = ((name, float, np.shape(value)) for name, value in model.constants._asdict().items())
    return np.dtype([*constants, ("armature", float, (model.n,))])


def _signature(dimensions: int):
    """Types of (constants, q, v, a, tau): contiguous doubles, all but tau possibly read-only."""
    constants = numba.types.Array(numba.float64, 1, "C", readonly=True)
    state = numba.types.Array(numba.float64, dimensions, "C", readonly=True)
    return constants, state, state, state, numba.types.Array(numba.float64, dimensions, "C")


@functools.cache
def _make_callable(module_name: str) -> None:
    """Let compiled code call the plain functions of a system's module."""
    for _, function in inspect.getmembers(sys.modules[module_name], inspect.isfunction):
        if function.__module__ == module_name:
            register_jitable(**INLINED)(function)


@functools.cache
def _single_kernel(inverse_dynamics: Callable, fields: np.dtype):
    """(constants, q, v, a, tau) fills tau; False where the model itself has to look at the state."""
    _make_callable(inverse_dynamics.__module__)
    n = fields["armature"].shape[0]

    @numba.njit(_signature(1), error_model="numpy")
    def kernel(constants, q, v, a, tau):
        if q.size != n or v.size != n or a.size != n:
            return False
        k = constants.view(fields)[0]
        torques = inverse_dynamics(k, q, v, a)
        usable = True
        for i in range(n):
            tau[i] = torques[i] + k.armature[i] * a[i]
            usable &= abs(q[i]) <= LARGEST_ANGLE and math.isfinite(tau[i])
        return usable

    return kernel


@functools.cache
def _batch_kernel(inverse_dynamics: Callable, fields: np.dtype):
    """(constants, q, v, a, tau) fills tau (states, n); False where the model itself has to look at them."""
    _make_callable(inverse_dynamics.__module__)
    n = fields["armature"].shape[0]

    @numba.njit(_signature(2), error_model="numpy")
    def kernel(constants, q, v, a, tau):
        k = constants.view(fields)[0]
        usable = True
        block = np.zeros((4 * n, BLOCK))  # rows: q, v, a, tau of each joint
        for first in range(0, len(q), BLOCK):
            count = min(BLOCK, len(q) - first)
            for s in range(count):
                for i in range(n):
                    block[i, s] = q[first + s, i]
                    block[n + i, s] = v[first + s, i]
                    block[2 * n + i, s] = a[first + s, i]
            for s in range(BLOCK):
                torques = inverse_dynamics(k, block[:n, s], block[n : 2 * n, s], block[2 * n : 3 * n, s])
                for i in range(n):
                    block[3 * n + i, s] = torques[i]
            for s in range(count):
                for i in range(n):
                    tau[first + s, i] = block[3 * n + i, s] + k.armature[i] * block[2 * n + i, s]
                    usable &= abs(block[i, s]) <= LARGEST_ANGLE and math.isfinite(tau[first + s, i])
        return usable

    return kernel


@overload(scalars.sin_cos, jit_options=INLINED)
def _sin_cos(angle):
    """Sine and cosine without branches or calls, so that loops around them vectorise; good to 2 ulp.

    angle = quarter_turns pi/2 + r with |r| <= pi/4; pi/2 in three parts, of which the first two have 33 bits,
    so that their products are exact (W. Cody, W. Waite, Software Manual for the Elementary Functions, 1980);
    then the minimax polynomials of fdlibm (k_sin.c, k_cos.c; Sun Microsystems, 1993).
    """

    def sin_cos(angle):
        quarter_turns = np.rint(angle * 0.63661977236758134308)
        r = angle - quarter_turns * 1.57079632673412561417e00
        r = r - quarter_turns * 6.07710050630396597660e-11
        r = r - quarter_turns * 2.02226624879595063154e-21
        z = r * r
        sine = r + r * z * (
            -1.66666666666666324348e-01
            + z
            * (
                8.33333333332248946124e-03
                + z
                * (
                    -1.98412698298579493134e-04
                    + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))
                )
            )
        )
        cosine = (
            1.0
            - 0.5 * z
            + z
            * z
            * (
                4.16666666666666019037e-02
                + z
                * (
                    -1.38888888888741095749e-03
                    + z
                    * (
                        2.48015872894767294178e-05
                        + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))
                    )
                )
            )
        )
        quadrant = np.int64(quarter_turns)
        swap = quadrant & 1 != 0
        s, c = (cosine if swap else sine), (sine if swap else cosine)
        return (-s if quadrant & 2 != 0 else s), (-c if (quadrant + 1) & 2 != 0 else c)

    return sin_cos
