"""Source of the servos' supply, followed by what the board measures: filtered and bounded; what cannot be is refused and named.

    u_0 = V / V_nominal + sum_j d_j |tau_m,j| / tau_ms,j                    (``robot.servo``)

What the motors' own current takes is added again: the source changes slowly and does not depend on the motion, so that whoever
plans with it does not change its mind on the way.  Steps of the converter are kept out by a play operator, what is quicker than a
source by a filter of first order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.servo_map import ServoMap

FILTER_S = 1.0
"""Time constant [s]: shorter is of no use, a set-point follows a source at 5 % per second at most."""

PLAUSIBLE = (0.6, 1.4)
"""Shares of the nominal voltage that a source may have: below, no servo turns; beyond, it is another kind of servo."""

RIPPLE = 0.003
"""Half of the band within which readings count as one: two steps of a converter on 6 V."""

SAME = 1e-4
"""Nearer than this to where it is going, the source stays."""


def checked_source(share: float) -> float:
    """``share`` of the nominal voltage, if a source can have it.

    Raises:
        InputError: it cannot.
    """
    lower, upper = PLAUSIBLE
    wrong, limit = not lower <= share <= upper, upper if share > upper else lower
    text = f"the supply's source is {share:g} of its nominal voltage, must be {lower:g} to {upper:g}"
    refuse_if(wrong, text, "supply", share, limit)
    return share


class SupplyFollower:
    """Estimate of what the source of the servos' supply gives without load.

    Args:
        servos: the servo map: whether a board measures it, and what it should be.
        measured: the servos measure it themselves.

    Attributes:
        source: u_0, share of the nominal voltage; 1 where it is not known.
        problem: why the nominal voltage is assumed though the board measures one; '' where it is not.
    """

    def __init__(self, servos: ServoMap, measured: bool = False):
        self.source, self.problem = 1.0, ""
        self._nominal_v = servos.supply_v if measured or servos.measures_supply else None
        self._drain = servos.model.drain
        self._wanted, self._known = 1.0, False

    def measure(self, supply_mv: int, motor: ArrayLike, dt_s: float) -> float:
        """Update with the measured voltage [mV], 0: none, while the motors give ``motor`` (n,) [N·m]; returns ``source``."""
        if self._nominal_v is None:
            return self.source
        volt, (lower, upper) = 1e-3 * supply_mv, (self._nominal_v * bound for bound in PLAUSIBLE)
        share, self.problem = volt / self._nominal_v + float(np.abs(motor) @ self._drain), ""
        if not PLAUSIBLE[0] <= share <= PLAUSIBLE[1]:
            advice = "look at the divider, and at supply and supply_v in the servo map"
            self.problem = (
                f"the servos' supply reads {volt:.2f} V, must be {lower:.1f} ... {upper:.1f} V; "
                f"{self._nominal_v:g} V are assumed: {advice}"
            )
            share = 1.0
        self._wanted = min(max(self._wanted, share - RIPPLE), share + RIPPLE)
        if not self._known:
            self.source, self._known = self._wanted, True
        if abs(self._wanted - self.source) > SAME:
            self.source += (self._wanted - self.source) * -math.expm1(-dt_s / FILTER_S)
        return self.source
