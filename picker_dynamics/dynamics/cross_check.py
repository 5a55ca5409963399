"""Cross-check of two models of one arm over random states: the arm moves only if they agree.

The models share no code between the URDF's text and their numbers, so that an error in one of them, or in how
it reads the text, shows up here as a disagreement instead of cancelling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import CrossCheckError, InputError
from picker_dynamics.robot.model import Array, DynamicsModel, times

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
class CrossCheckReport:
    """Worst residual per term, over all samples.

    The residual of a term is max |A - B| / scale, where scale is the largest |B| of the term over all samples
    and entries, but not less than a floor (see ``_floors``), so that a term that vanishes (an arm without gravity,
    a tool on the axis) is not divided by nothing.

    Attributes:
        residuals: term -> worst relative residual [-].
        where: term -> joint or direction of its worst entry, and the two values and the state there.
    """

    residuals: dict[str, float]
    where: dict[str, tuple[str, str]]

    @property
    def worst_term(self) -> str:
        """The term with the largest residual."""
        return max(self.residuals, key=lambda term: np.nan_to_num(self.residuals[term], nan=np.inf))

    @property
    def worst(self) -> float:
        """The largest residual; NaN if any value was not a number."""
        return self.residuals[self.worst_term]

    def require(self) -> None:
        """Raise a CrossCheckError that names the worst term, its joint or entry, and both values, unless the models agree."""
        if not self.worst <= LIMIT:
            term = self.worst_term
            joint, values = self.where[term]
            residual = f"relative residual {self.worst:.2e}, limit {LIMIT:.0e}"
            raise CrossCheckError(f"the two models disagree in {term} of {joint}: {values}; {residual}", joint, self.worst, LIMIT)


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
    limits = (lower, -UNLIMITED_POSITION), (upper, UNLIMITED_POSITION), (velocity, UNLIMITED_VELOCITY)
    lowest, highest, fastest = (np.where(np.isfinite(given), given, unlimited) for given, unlimited in limits)
    n = fastest.size
    generator = np.random.default_rng(seed)
    q = generator.uniform(lowest, highest, (samples, n))
    v, a = generator.uniform(-fastest, fastest, (2, samples, n))
    return q, v, a / ACCELERATION_TIME


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
    report = CrossCheckReport({}, {})
    for mass, pair in pairs.items():
        _add_residuals(report, *pair, *states, mass)
    return report


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


def _add_residuals(
    report: CrossCheckReport, model_a: DynamicsModel, model_b: DynamicsModel, q: Array, v: Array, a: Array, payload: float
) -> None:
    """Add to ``report`` the terms that agree less than those in it."""
    tau = model_b.inverse_dynamics(q, v, a)
    terms_a, terms_b = _terms(model_a, q, v, a, tau), _terms(model_b, q, v, a, tau)
    floors = _floors(terms_b["M"], v, tau)
    for term, b in terms_b.items():
        difference = np.abs(terms_a[term] - b)
        residual = float(difference.max() / max(np.abs(b).max(), floors.get(term, 0.0), np.finfo(float).tiny))
        if term not in report.residuals or not residual <= report.residuals[term]:
            at = tuple(int(i) for i in np.unravel_index(np.argmax(difference), difference.shape))
            joint = "xyz"[at[1]] if term == "tool" else model_b.joint_names[at[-1]]
            values = f"{terms_a[term][at]:.9g} against {b[at]:.9g} {UNITS[term]}"
            state = f"(q = {np.round(q[at[0]], 4).tolist()}, payload {payload:g} kg)"
            report.residuals[term], report.where[term] = residual, (joint, f"{values} {state}")
