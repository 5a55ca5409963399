"""Cross-check of two models of one arm over random states: the arm moves only if they agree.

The models share no code between the URDF's text and their numbers, so that an error in one of them, or in how
it reads the text, shows up here as a disagreement instead of cancelling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import CrossCheckError, InputError
from picker_dynamics.robot.description import LIMITLESS, SLOW, ArmDescription
from picker_dynamics.robot.model import Array, DynamicsModel, times

LIMIT = 1e-9
"""Worst relative residual at which two models still agree: rounding is near 1e-15."""

ACCELERATION_TIME = 0.1
"""Accelerations are drawn up to (velocity limit) / (this time [s])."""

UNLIMITED_POSITION, UNLIMITED_VELOCITY = math.pi, 1.0
"""Ranges drawn from where the description gives no limit [rad, rad/s]."""

NEGLIGIBLE = 1e-6
"""A term below this share of what it is part of is measured against that share, not against itself."""

NOTICEABLE_M = 1e-3
"""Positions and Jacobians are measured against at least this [m, m/rad]."""

UNITS = {"M": "kg·m²", "C v": "N·m", "g": "N·m", "tau": "N·m", "forward dynamics": "rad/s²", "tool": "m", "J": "m/rad"}
"""The terms compared; ``tau`` includes friction."""


@dataclass(frozen=True)
class CrossCheckReport:
    """Worst residual per term, over all samples.

    Attributes:
        residuals: term -> worst relative residual [-].
        where: term -> joint or direction of its worst entry, and the two values and the state there.
    """

    residuals: dict[str, float]
    where: dict[str, tuple[str, str]]

    @property
    def worst(self) -> float:
        """The largest residual; NaN if any value was not a number."""
        return float(np.max(list(self.residuals.values())))

    def require(self) -> None:
        """Raise a CrossCheckError that names the first term that is off, its joint or entry, and both values."""
        for term, residual in self.residuals.items():
            if not residual <= LIMIT:
                joint, values = self.where[term]
                off = f"relative residual {residual:.2e}, limit {LIMIT:.0e}"
                raise CrossCheckError(f"the two models disagree in {term} of {joint}: {values}; {off}", joint, residual, LIMIT)


def sample_states(arm: ArmDescription, samples: int = 1000, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random (q, v, a), each (samples, n), uniform within the arm's limits, where it has any; a seed draws the same."""
    if samples < 1:
        raise InputError(f"samples is {samples}, must be >= 1", "samples", samples, 1)
    meant = (arm.velocity >= SLOW) & (arm.velocity <= LIMITLESS)  # at rest C v would not show, and beyond it nothing else
    velocity = np.where(meant, arm.velocity, np.inf)
    limits = (arm.lower, -UNLIMITED_POSITION), (arm.upper, UNLIMITED_POSITION), (velocity, UNLIMITED_VELOCITY)
    lowest, highest, fastest = (np.where(np.isfinite(given), given, unlimited) for given, unlimited in limits)
    generator = np.random.default_rng(seed)
    q = generator.uniform(lowest, highest, (samples, arm.n))
    v, a = generator.uniform(-fastest, fastest, (2, samples, arm.n))
    return q, v, a / ACCELERATION_TIME


def compare(
    ours: DynamicsModel, theirs: DynamicsModel, arm: ArmDescription, *, samples: int = 1000, seed: int = 0, payload: float = 0.0
) -> CrossCheckReport:
    """Compare M, C v, g, tau, forward dynamics, tool position and Jacobian of two models of one arm.

    The residual of a term is max |ours - theirs| / scale, where scale is its largest |value| over all samples and entries; of
    terms that can vanish (an arm without gravity, a tool on the axis) at least a share of the largest torque, or 1 mm.

    Args:
        arm: whose limits the states are within.
        samples: states to draw.
        seed: of the draw.
        payload: mass [kg]; if positive, the states are compared again with it at both models' tools.

    Raises:
        CrossCheckError: the models are not of the same joints.
    """
    if ours.joint_names != theirs.joint_names:
        raise CrossCheckError(
            f"the models have different joints: {', '.join(ours.joint_names)} and {', '.join(theirs.joint_names)}"
        )
    q, v, a = sample_states(arm, samples, seed)
    report = CrossCheckReport({}, {})
    for mass in (0.0, payload) if payload else (0.0,):
        pair = [model.with_payload(mass) if mass else model for model in (ours, theirs)]
        tau = pair[1].required_torque(q, v, a)
        found, expected = (_terms(model, q, v, a, tau) for model in pair)
        torque, M = NEGLIGIBLE * np.abs(tau).max(), expected["M"]
        floors = {
            "C v": max(torque, NEGLIGIBLE * np.abs(M).max() * np.abs(v).max() ** 2),
            "forward dynamics": NEGLIGIBLE * np.abs(np.linalg.solve(M, tau[..., None])).max(),
        } | {"M": 0.0, "g": torque, "tau": torque, "tool": NOTICEABLE_M, "J": NOTICEABLE_M}
        for term, value in expected.items():
            difference = np.abs(found[term] - value)
            residual = float(difference.max() / max(np.abs(value).max(), floors[term], np.finfo(float).tiny))
            if term not in report.residuals or not residual <= report.residuals[term]:
                at = tuple(int(i) for i in np.unravel_index(np.argmax(difference), difference.shape))
                joint = "xyz"[at[1]] if term == "tool" else theirs.joint_names[at[-1]]
                values = f"{found[term][at]:.9g} against {value[at]:.9g} {UNITS[term]}"
                state = f"(q = {np.round(q[at[0]], 4).tolist()}, payload {mass:g} kg)"
                report.residuals[term], report.where[term] = residual, (joint, f"{values} {state}")
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
