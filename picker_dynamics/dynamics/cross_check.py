"""Cross-check of two models of one arm over random states: the arm moves only if they agree.

The models share no code between the URDF's text and their numbers, so that an error in one of them, or in how
it reads the text, shows up here as a disagreement instead of cancelling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import CrossCheckError, InputError
from picker_dynamics.robot.model import Array, DynamicsModel, as_states, times

LIMIT = 1e-9
"""Worst relative residual at which two models still agree: rounding is near 1e-15."""

ACCELERATION_TIME = 0.1
"""Accelerations are drawn up to (velocity limit) / (this time [s])."""

UNLIMITED_POSITION, UNLIMITED_VELOCITY = math.pi, 1.0
"""Ranges drawn from where the description gives no limit [rad, rad/s]."""

NEGLIGIBLE = 1e-6
"""A term below this share of what it is part of (see ``_floors``) is measured against that share, not against itself."""

NOTICEABLE_M = 1e-3
"""Positions and Jacobians are measured against at least this [m, m/rad], energies against the arm's weight lifted by it."""

UNITS = {"M": "kg·m²", "C v": "N·m", "g": "N·m", "tau": "N·m", "forward dynamics": "rad/s²", "tool": "m", "J": "m/rad"}
"""The terms compared; ``tau`` includes friction."""


@dataclass(frozen=True)
class WorstState:
    """State at which a term differs most: the state, the entry (joints, or x y z), and the two values there."""

    q: Array
    v: Array
    a: Array
    entry: tuple[str, ...]
    value_a: float
    value_b: float
    payload_kg: float


@dataclass(frozen=True)
class CrossCheckReport:
    """Worst residual per term, over all samples.

    The residual of a term is max |A - B| / scale, where scale is the largest |B| of the term over all samples
    and entries, but not less than a floor (see ``_floors``), so that a term that vanishes (an arm without gravity,
    a tool on the axis) is not divided by nothing.

    Attributes:
        residuals: term -> worst relative residual [-].
        worst_states: term -> where it occurred.
    """

    residuals: MappingProxyType[str, float]
    worst_states: MappingProxyType[str, WorstState]

    @property
    def worst_term(self) -> str:
        """The term with the largest residual."""
        return max(self.residuals, key=lambda term: np.nan_to_num(self.residuals[term], nan=np.inf))

    @property
    def worst(self) -> float:
        """The largest residual; NaN if any value was not a number."""
        return self.residuals[self.worst_term]

    def require(self, limit: float = LIMIT) -> None:
        """Raise unless the models agree.

        Raises:
            CrossCheckError: naming the worst term, its joint or entry, both values and the limit.
        """
        if self.worst <= limit:
            return
        at = self.worst_states[self.worst_term]
        raise CrossCheckError(
            f"the two models disagree in {self.worst_term} of {', '.join(at.entry)}: "
            f"{at.value_a:.9g} against {at.value_b:.9g} {UNITS[self.worst_term]}, "
            f"relative residual {self.worst:.2e}, limit {limit:.0e} "
            f"(q = {np.round(at.q, 4).tolist()}, payload {at.payload_kg:g} kg)",
            at.entry[-1],
            self.worst,
            limit,
        )


def verdict(residual: float, limit: float) -> str:
    """Verdict on a residual, as a table has it."""
    return "ok" if residual <= limit else f"above {limit:.0e}"


def sample_states(
    lower: ArrayLike, upper: ArrayLike, velocity: ArrayLike, samples: int = 1000, seed: int = 0
) -> tuple[Array, Array, Array]:
    """Random (q, v, a), each (samples, n), uniform within the limits.

    Args:
        lower, upper: (n,) position limits [rad or m]; infinite ones become -pi, pi.
        velocity: (n,) largest speed [rad/s or m/s]; an infinite one becomes 1.
        samples: how many, >= 1.
        seed: of the generator: the same seed draws the same states.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}, must be >= 1", "samples", samples, 1)
    lowest = _or_else(lower, -UNLIMITED_POSITION)
    highest = _or_else(upper, UNLIMITED_POSITION)
    fastest = _or_else(velocity, UNLIMITED_VELOCITY)
    n = fastest.size
    lowest, highest = as_states("lower", lowest, n), as_states("upper", highest, n)
    generator = np.random.default_rng(seed)
    q = generator.uniform(lowest, highest, (samples, n))
    v, a = generator.uniform(-fastest, fastest, (2, samples, n))
    return q, v, a / ACCELERATION_TIME


def _or_else(limit: ArrayLike, unlimited: float) -> Array:
    limit = np.asarray(limit, dtype=float)
    return np.where(np.isfinite(limit), limit, unlimited)


def compare(
    model_a: DynamicsModel,
    model_b: DynamicsModel,
    lower: ArrayLike,
    upper: ArrayLike,
    velocity: ArrayLike,
    *,
    samples: int = 1000,
    seed: int = 0,
    payload: float = 0.0,
) -> CrossCheckReport:
    """Compare M, C v, g, tau, forward dynamics, tool position and Jacobian of two models of one arm.

    Args:
        model_a, model_b: the models; residuals are relative to ``model_b``.
        lower, upper, velocity: (n,) limits, see :func:`sample_states`.
        samples: states to draw.
        seed: of the draw.
        payload: mass [kg]; if positive, the states are compared again with it at both models' tools.

    Raises:
        CrossCheckError: the models are not of the same joints.
    """
    if model_a.joint_names != model_b.joint_names:
        raise CrossCheckError(
            f"the models have different joints: {', '.join(model_a.joint_names)} and {', '.join(model_b.joint_names)}"
        )
    states = sample_states(lower, upper, velocity, samples, seed)
    pairs = {0.0: (model_a, model_b)}
    if payload:
        pairs[payload] = (model_a.with_payload(payload), model_b.with_payload(payload))
    residuals: dict[str, float] = {}
    worst_states: dict[str, WorstState] = {}
    for mass, pair in pairs.items():
        for term, (residual, worst) in _residuals(*pair, *states, mass).items():
            if term not in residuals or not residual <= residuals[term]:
                residuals[term], worst_states[term] = residual, worst
    return CrossCheckReport(MappingProxyType(residuals), MappingProxyType(worst_states))


def _terms(model: DynamicsModel, q: Array, v: Array, a: Array, tau: Array) -> dict[str, Array]:
    return {
        "M": model.mass_matrix(q),
        "C v": times(model.coriolis_matrix(q, v), v),
        "g": model.gravity(q),
        "tau": model.required_torque(q, v, a),
        "forward dynamics": model.forward_dynamics(q, v, tau),
        "tool": model.forward_kinematics(q),
        "J": model.jacobian(q),
    }


def _floors(M: Array, v: Array, tau: Array) -> dict[str, float]:
    """The least scale of the terms that can vanish.

    Torques: 1e-6 of the largest torque (C v: or of the largest inertia times the largest speed squared).
    Accelerations: 1e-6 of what the torques would cause with nothing to hold.  Tool: 1 mm.
    """
    torque = NEGLIGIBLE * np.abs(tau).max()
    return {
        "C v": max(torque, NEGLIGIBLE * np.abs(M).max() * np.abs(v).max() ** 2),
        "g": torque,
        "tau": torque,
        "forward dynamics": NEGLIGIBLE * np.abs(np.linalg.solve(M, tau[..., None])).max(),
        "tool": NOTICEABLE_M,
        "J": NOTICEABLE_M,
    }


def _residuals(
    model_a: DynamicsModel, model_b: DynamicsModel, q: Array, v: Array, a: Array, payload: float
) -> dict[str, tuple[float, WorstState]]:
    tau = model_b.inverse_dynamics(q, v, a)
    terms_a, terms_b = _terms(model_a, q, v, a, tau), _terms(model_b, q, v, a, tau)
    joints, directions = model_b.joint_names, ("x", "y", "z")
    axes: dict[str, tuple[tuple[str, ...], ...]] = dict.fromkeys(UNITS, (joints,))
    axes |= {"M": (joints, joints), "tool": (directions,), "J": (directions, joints)}
    floors = _floors(terms_b["M"], v, tau)
    results = {}
    for term, b in terms_b.items():
        difference = np.abs(terms_a[term] - b)
        residual = float(difference.max() / max(np.abs(b).max(), floors.get(term, 0.0), np.finfo(float).tiny))
        at = state, *entry = tuple(int(i) for i in np.unravel_index(np.argmax(difference), difference.shape))
        labels = tuple(axis[i] for axis, i in zip(axes[term], entry))
        results[term] = (
            residual,
            WorstState(q[state], v[state], a[state], labels, float(terms_a[term][at]), float(b[at]), payload),
        )
    return results
