"""Payload from efforts: the mass in the tool from torques that joints measure where the arm stands.

    tau - G(q) = (G_1(q) - G(q)) m + b + e,      G_1: gravity with 1 kg in the tool

G is the model's gravity without payload.  b is what the model misses at a joint of this pose: a share of its torque, and dry
friction; it cancels against efforts at the same pose without payload.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import InfeasibleError, refuse_if
from picker_dynamics.robot.description import ArmDescription

from ..calibration.statics import random_poses
from .mass import Weighed, estimate, require_mass, require_payload_place

MODEL_SHARE = 0.02
"""Of a joint's torque: what an identified model leaves unexplained at a pose."""

BLIND_KG = 0.1
"""Standard deviation of the mass above which the efforts say nothing."""

SATURATED = 0.98
"""Share of an effort limit above which an effort says only that it is at its limit."""

BETTER_POSES = 500
"""Random poses among which a better one is looked for."""


def weigh_by_effort(
    model,
    loaded: tuple[np.ndarray, np.ndarray],
    empty: tuple[np.ndarray, np.ndarray] | None,
    effort_sd,
    effort_limit,
    com=(0.0, 0.0, 0.0),
    *,
    model_share: float = MODEL_SHARE,
    better: str = "",
) -> Weighed:
    """The mass in the tool.

    Args:
        model: the arm without payload; must offer ``with_payload``.
        loaded, empty: positions (n,) [rad or m] and efforts (n,) [N·m or N] with the payload, and at that pose without it; None:
            not measured.
        effort_sd: (n,) noise of a measured effort [N·m or N], > 0.
        effort_limit: (n,) at which a drive saturates [N·m or N].
        model_share: what the model misses, as a share of its torque.
        better: a pose that tells more, for the message where these say nothing.

    Raises:
        InputError: efforts that cannot be, or that say nothing.
        InfeasibleError: a drive that saturates.
    """
    com = require_payload_place(com)
    q, effort = (np.array(rows, dtype=float) for rows in zip(*(one for one in (empty, loaded) if one is not None)))
    effort_sd = np.broadcast_to(np.asarray(effort_sd, dtype=float), model.n)
    refuse_if(
        not (effort_sd > 0.0).all(),
        f"noise of the efforts is {effort_sd.min():g}, must be above 0",
        "effort_sd",
        float(effort_sd.min()),
        0.0,
    )
    _require_unsaturated(model, effort, np.broadcast_to(effort_limit, model.n))
    bare = model.gravity(q)
    slope = model.with_payload(1.0, tuple(com)).gravity(q) - bare
    slope[:-1] = 0.0
    offset = np.hypot(model_share * np.abs(bare).mean(axis=0), model.coulomb)
    covariance = np.kron(np.ones((len(q), len(q))), np.diag(offset**2)) + np.diag(np.tile(effort_sd**2, len(q)))
    found, misfit, _ = estimate((effort - bare).ravel(), slope.ravel(), covariance)
    sd = found.sd / max(1.0, misfit)
    refuse_if(
        sd > BLIND_KG,
        f"at {_pose_text(model, q[-1])} the efforts tell the payload to ± {sd:.2g} kg, which says nothing: no joint has a "
        f"lever to it; {better or 'bring the tool beside a joint, not above it'}",
        "pose",
        sd,
        BLIND_KG,
    )
    require_mass(found)
    return Weighed(found, misfit, len(q))


def _require_unsaturated(model, effort, limit) -> None:
    share = np.abs(effort) / limit
    row, column = np.unravel_index(int(share.argmax()), share.shape)
    if share[row, column] >= SATURATED:
        name, when = model.joint_names[column], "with" if row == len(effort) - 1 else "without"
        raise InfeasibleError(
            f"{name} is at its limit {when} the payload: effort {effort[row, column]:.2f} of {limit[column]:.2f}; what it bears "
            "beyond that is not seen",
            subject=name,
            value=float(effort[row, column]),
            limit=float(limit[column]),
            time_s=0.0,
        )


def _pose_text(model, q) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in zip(model.joint_names, q))


def better_pose(model, description: ArmDescription, hold_limit, com) -> str:
    """A pose with a longer lever, in words, that the drives can hold with half a kilogram; ``hold_limit``: (n,) [N·m or N]."""
    q = random_poses(description, BETTER_POSES)
    empty = model.gravity(q)
    lever = model.with_payload(1.0, tuple(com)).gravity(q) - empty
    held = (np.abs(empty + 0.5 * lever) < hold_limit).all(axis=-1)
    best = q[int(np.where(held, np.abs(lever / description.effort).max(axis=-1), 0.0).argmax())]
    return f"better: {_pose_text(model, best)}"
