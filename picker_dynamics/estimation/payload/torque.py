"""Payload from efforts: the mass in the tool from torques that joints measure, at rest or moving.

    tau - tau_0(q, v, a) = Y(q, v, a) m + b_g + e,      Y = tau of 1 kg at the tool less tau_0

tau_0 is the model's torque without payload, friction included.  b_g is what the model misses at one joint of one station (a
pose, or a motion): a share of its torque, and dry friction at rest; it cancels against samples of the same station without
payload.  For each such group V = sd² 1 + o² 1 1ᵀ, so with the sums over its n samples

    V⁻¹ x = (x - o² / (sd² + n o²) Σx) / sd²
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import as_states

from ..calibration.measured import Measured
from ..calibration.statics import random_poses
from .mass import Weighed, require_mass, require_payload_place

MODEL_SHARE = 0.02
"""Of a joint's torque: what an identified model leaves unexplained at a pose."""

BLIND_KG = 0.1
"""Standard deviation of the mass above which the efforts say nothing."""

SATURATED = 0.98
"""Share of an effort limit above which an effort says only that it is at its limit."""


BETTER_POSES = 500
"""Random poses among which a better one is looked for."""


@dataclass(frozen=True, eq=False)
class EffortSamples:
    """Efforts and the states they belong to.

    Args:
        q, v, a: (s, n) [rad or m, per s, per s²]; v and a 0 at rest.
        effort: (s, n) [N·m or N].
        station: (s,) numbers of poses or motions.
        loaded: (s,) whether the payload was in the tool.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    effort: np.ndarray
    station: np.ndarray
    loaded: np.ndarray

    @classmethod
    def at_rest(cls, q, effort, station=0, loaded=True) -> EffortSamples:
        """Samples of an arm that stands; ``q`` and ``effort`` (s, n)."""
        q, effort = np.atleast_2d(q), np.atleast_2d(effort)
        still = np.zeros_like(q, dtype=float)
        return cls(q, still, still, effort, np.broadcast_to(station, len(q)), np.broadcast_to(loaded, len(q)))

    def joined(self, other: EffortSamples) -> EffortSamples:
        """Samples of these and others together."""
        return EffortSamples(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in ("q", "v", "a", "effort", "station", "loaded")
            )
        )


def payload_regressor(model, com, q, v, a) -> tuple[np.ndarray, np.ndarray]:
    """Regressor: tau_0 and Y, (s, n) each: the arm's torque without payload [N·m or N], and what a kilogram adds [.../kg]."""
    empty = model.required_torque(q, v, a)
    return empty, model.with_payload(1.0, tuple(com)).required_torque(q, v, a) - empty


def weigh_by_effort(
    model,
    samples: EffortSamples,
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
        effort_sd: (n,) noise of a measured effort [N·m or N], > 0.
        effort_limit: (n,) at which a drive saturates [N·m or N].
        model_share: what the model misses, as a share of its torque.
        better: a pose that tells more, for the message where these say nothing.

    Raises:
        InputError: samples that cannot be, or that say nothing.
        InfeasibleError: a drive that saturates.
    """
    com, n = require_payload_place(com), model.n
    q, v, a, effort = (as_states(name, getattr(samples, name), n).reshape(-1, n) for name in ("q", "v", "a", "effort"))
    effort_sd = np.broadcast_to(np.asarray(effort_sd, dtype=float), (n,))
    refuse_if(not np.any(samples.loaded), "no sample with the payload in the tool", "samples", 0, 1)
    refuse_if(
        not (effort_sd > 0.0).all(),
        f"noise of the efforts is {effort_sd.min():g}, must be above 0",
        "effort_sd",
        float(effort_sd.min()),
        0.0,
    )
    _require_unsaturated(model, effort, np.broadcast_to(effort_limit, (n,)))
    empty, slope = payload_regressor(model, com, q, v, a)
    excess, slope = effort - empty, slope * np.asarray(samples.loaded, dtype=float)[:, None]
    information = projection = spread = used = 0.0
    for number in np.unique(samples.station):
        rows = np.asarray(samples.station) == number
        offset = np.hypot(model_share * np.abs(empty[rows]).mean(axis=0), model.coulomb)
        parts = [_products(x[rows], y[rows], effort_sd, offset) for x, y in ((slope, slope), (slope, excess), (excess, excess))]
        information, projection, spread = (total + part for total, part in zip((information, projection, spread), parts))
        used += n * int(rows.sum())
    sd = 1.0 / np.sqrt(information) if information > 0.0 else np.inf
    if sd > BLIND_KG:
        pose = _pose_text(model, q[np.argmax(samples.loaded)])
        raise InputError(
            f"at {pose} the efforts tell the payload to ± {sd:.2g} kg, which says nothing: no joint has a lever to "
            f"it; {better or 'bring the tool beside a joint, not above it'}",
            subject="pose",
            value=sd,
            limit=BLIND_KG,
        )
    mass = projection / information
    misfit = float(np.sqrt(max(0.0, spread - mass * projection) / max(1.0, used - 1.0)))
    found = Measured(float(mass), float(sd * max(1.0, misfit)))
    require_mass(found)
    return Weighed(found, misfit, len(q))


def _products(x, y, sd, offset) -> float:
    """Σ over joints of xᵀ V⁻¹ y within one group, (k, n) each."""
    shared = offset**2 / (sd**2 + len(x) * offset**2)
    return float((((x * y).sum(axis=0) - shared * x.sum(axis=0) * y.sum(axis=0)) / sd**2).sum())


def _require_unsaturated(model, effort, limit) -> None:
    share = np.abs(effort) / limit
    row, column = np.unravel_index(int(share.argmax()), share.shape)
    if share[row, column] >= SATURATED:
        name = model.joint_names[column]
        raise InfeasibleError(
            f"{name} is at its limit in sample {row + 1}: effort {effort[row, column]:.2f} of "
            f"{limit[column]:.2f}; what it bears beyond that is not seen",
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
