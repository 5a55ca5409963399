"""Payload mass by generalised least squares, from what its weight does to readings; droop and torque share it.

    y_k = x_k s_k m + b_g + e_k          y: a reading less what it should be without payload;  x: 1 with payload, 0 without

s is what a kilogram does to the reading, b_g what the model misses at one place for one instrument: the same with payload as
without, drawn from N(0, offset_sd²).  Everything but m goes into the covariance V of y, so readings without payload at the
same place count for what they tell of b_g, and

    m = (sᵀ V⁻¹ y) / (sᵀ V⁻¹ s)           sd² = 1 / (sᵀ V⁻¹ s)                (generalised least squares)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import refuse_if

from ..calibration.measured import Measured

LIGHTEST_KG, HEAVIEST_KG = 1e-3, 1.0
"""Less is nothing to weigh, and more no gripper of these servos holds: slips of unit."""

FURTHEST_M = 0.3
"""Of the payload's centre of mass from the tool frame: more is a slip of unit."""

USUAL_KG, BLIND_SHARE = 0.1, 0.25
"""What a payload weighs at the most, unless somebody says otherwise, and the standard deviation of the mass, as a share of that,
above which the readings say nothing: a strawberry or none looks the same."""

MISREAD = 5.0
"""Standard deviations from what the other readings say beyond which one is a slip."""

NEGATIVE = 3.0
"""Standard deviations below nothing beyond which readings with and without payload were exchanged, or one was misread."""


@dataclass(frozen=True)
class Weighed:
    """Weighed payload.

    Attributes:
        mass: [kg].
        misfit: root mean square of the readings' residuals in standard deviations; about 1 where the model fits.
        readings: that were used.
    """

    mass: Measured
    misfit: float
    readings: int


def estimate(excess, slope, covariance) -> tuple[Measured, float, np.ndarray]:
    """Mass m of y = s m + e with the covariance V of e, the misfit, and each reading against all others.

    Args:
        excess: (r,) y.  slope: (r,) s; 0 without payload.  covariance: (r, r) V.

    Returns:
        m with its sd, larger by the misfit where that is above 1; the misfit; and (r,) residuals as the other readings see
        them, in standard deviations: (V⁻¹ e)_k / sqrt((V⁻¹)_kk).
    """
    weights = np.linalg.inv(covariance)
    information = float(slope @ weights @ slope)
    if not information > 0.0:
        return Measured(0.0, np.inf), 0.0, np.zeros(len(excess))
    mass = float(slope @ weights @ excess) / information
    residual = excess - mass * slope
    weighted = weights @ residual
    misfit = float(np.sqrt(max(0.0, residual @ weighted) / max(1, len(excess) - 1)))
    return Measured(mass, max(1.0, misfit) / np.sqrt(information)), misfit, weighted / np.sqrt(np.diag(weights))


def require_payload_place(com) -> np.ndarray:
    """Centre of mass (3,) [m] in the tool frame; InputError where it cannot be one."""
    point = np.asarray(com, dtype=float)
    refuse_if(
        point.shape != (3,) or not np.isfinite(point).all(),
        f"the payload's centre of mass is {com}, must be three numbers [m]",
        "payload.com",
        com,
    )
    refuse_if(
        np.abs(point).max() > FURTHEST_M,
        f"the payload's centre of mass is {np.abs(point).max():g} m from the tool, allowed {FURTHEST_M} m: "
        "are these millimetres?",
        "payload.com",
        float(np.abs(point).max()),
        FURTHEST_M,
    )
    return point


def require_mass(found: Measured) -> None:
    """A mass that something can have; InputError for a negative one or one that no gripper holds."""
    refuse_if(
        found.value < -NEGATIVE * found.sd,
        f"the readings say {1e3 * found.value:.1f} ± {1e3 * found.sd:.1f} g, and nothing weighs less than "
        "nothing: readings with and without payload exchanged, or one misread?",
        "payload",
        found.value,
        0.0,
    )
    refuse_if(
        found.value - NEGATIVE * found.sd > HEAVIEST_KG,
        f"the readings say {found.value:.2f} kg, more than the {HEAVIEST_KG:g} kg that the tool could hold: "
        "unit or instrument mixed up?",
        "payload",
        found.value,
        HEAVIEST_KG,
    )
