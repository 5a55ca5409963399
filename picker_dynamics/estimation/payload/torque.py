"""Payload from efforts: the mass in the tool from torques that joints measure where the arm stands.

    tau - G(q) = (G_1(q) - G(q)) m + b + e,      G_1: gravity with 1 kg in the tool

G is the model's gravity without payload.  b is what the model misses at a joint of this pose: a share of its torque, and dry
friction; it cancels against efforts at the same pose without payload.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import InfeasibleError, refuse_if

from .mass import Weighed, estimate, require_payload_place, weighed

MODEL_SHARE = 0.02
"""Of a joint's torque: what an identified model leaves unexplained at a pose."""

BLIND_KG = 0.1
"""Standard deviation of the mass above which the efforts say nothing."""

SATURATED = 0.98
"""Share of an effort limit above which an effort says only that it is at its limit."""


def weigh_by_effort(
    model,
    loaded: tuple[np.ndarray, np.ndarray],
    empty: tuple[np.ndarray, np.ndarray] | None,
    effort_sd,
    effort_limit,
    com=(0.0, 0.0, 0.0),
    *,
    model_share: float = MODEL_SHARE,
) -> Weighed:
    """Find the mass in the tool.

    Args:
        model: the arm without payload; must offer ``with_payload``.
        loaded, empty: positions (n,) [rad or m] and efforts (n,) [N·m or N] with the payload, and at that pose without it; None:
            not measured.
        effort_sd: (n,) noise of a measured effort [N·m or N], > 0.
        effort_limit: (n,) at which a drive saturates [N·m or N].
        model_share: what the model misses, as a share of its torque.

    Raises:
        InputError: efforts that say nothing, or a mass that cannot be.
        InfeasibleError: a drive that saturates.
    """
    require_payload_place(com)
    q, effort = (np.array(rows, dtype=float) for rows in zip(*(one for one in (empty, loaded) if one is not None)))
    limit, variance = (np.broadcast_to(values, model.n) for values in (effort_limit, np.square(effort_sd)))
    for row, column in np.argwhere(np.abs(effort) >= SATURATED * limit):
        name, value, most = model.joint_names[column], float(effort[row, column]), float(limit[column])
        why = f"{name} is at its limit: effort {value:.2f} of {most:.2f}; what it bears beyond that is not seen"
        raise InfeasibleError(why, subject=name, value=value, limit=most, time_s=0.0)
    bare = model.gravity(q)
    slope = model.with_payload(1.0, tuple(com)).gravity(q) - bare
    slope[:-1] = 0.0
    offset = np.hypot(model_share * np.abs(bare).mean(axis=0), model.coulomb)
    covariance = np.kron(np.ones((len(q), len(q))), np.diag(offset**2)) + np.diag(np.tile(variance, len(q)))
    found, misfit, _ = estimate((effort - bare).ravel(), slope.ravel(), covariance)
    nothing = (
        f"the efforts tell the payload to ± {found.sd:.2g} kg, which says nothing: bring the tool beside a joint, not above it"
    )
    refuse_if(found.sd > BLIND_KG, nothing, "pose", found.sd, BLIND_KG)
    return weighed(found, misfit, len(q))
