"""Payload mass by generalised least squares, from what its weight does to readings.

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
        m with its sd, were the model right; the misfit; and (r,) residuals as the other readings see them, in standard
        deviations: (V⁻¹ e)_k / sqrt((V⁻¹)_kk).
    """
    weights = np.linalg.inv(covariance)
    information = max(float(slope @ weights @ slope), 1e-300)
    mass = float(slope @ weights @ excess) / information
    residual = excess - mass * slope
    weighted = weights @ residual
    misfit = float(np.sqrt(max(0.0, residual @ weighted) / max(1, len(excess) - 1)))
    return Measured(mass, information**-0.5), misfit, weighted / np.sqrt(np.diag(weights))


def weighed(found: Measured, misfit: float, readings: int) -> Weighed:
    """Mass that was found, its uncertainty as much larger as the readings disagree.

    Raises:
        InputError: a mass that is negative, or that no gripper holds.
    """
    found = Measured(found.value, found.sd * max(1.0, misfit))
    low, high = (found.value + sign * NEGATIVE * found.sd for sign in (-1.0, 1.0))
    said = f"the readings say {1e3 * found.value:.1f} ± {1e3 * found.sd:.1f} g"
    refuse_if(high < 0.0, f"{said}, less than nothing: readings with and without payload exchanged?", "payload", found.value, 0.0)
    heavy = f"{said}, more than the {HEAVIEST_KG:g} kg that the tool could hold: unit or instrument mixed up?"
    refuse_if(low > HEAVIEST_KG, heavy, "payload", found.value, HEAVIEST_KG)
    return Weighed(found, misfit, readings)


def require_payload_place(com) -> None:
    """Refuse a centre of mass (3,) [m] in the tool frame that cannot be one (InputError)."""
    point = np.asarray(com, dtype=float)
    wrong = f"the payload's centre of mass is {com}, must be three numbers of at most {FURTHEST_M} m: are these millimetres?"
    refuse_if(point.shape != (3,) or not np.abs(point).max() <= FURTHEST_M, wrong, "payload.com", com, FURTHEST_M)
