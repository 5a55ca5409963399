"""Hand guiding: the reference follows a joint that a hand pushes beyond what friction and errors of the model leave.

    e   = q - q_ref - e0                              e0: offset of the arm at rest, where nobody pushes
    q_t = q_ref + sign(e) max(|e| - band, 0)          target; within the band the joint stays

The reference is compensated, so the arm bears itself; a hand works against the friction of the gears and ``band`` of the servo's
spring.  Drift is locked: where no joint goes faster than ``CREEP`` for ``LOCK_S``, e0 becomes the offset that is there.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array

BAND = {"rad": 0.03, "m": 0.003}
"""Way beyond which a joint counts as pushed, by its unit: STS3215 at P = 16 resist it with 0.3 N·m."""

CREEP, LOCK_S = 0.03, 0.3
"""A hand moves a joint faster than this [rad/s or m/s]; where none is so fast for so long, it has let go [s]."""


class HandGuide:
    """Targets of an arm that a hand moves.

    Args:
        units: (n,) of the joints' positions.
        provenance: of these positions.

    Raises:
        InputError: the positions are not measured.
    """

    def __init__(self, units: tuple[str, ...], provenance: str | None):
        if provenance != "measured":
            how = provenance or "not known"
            raise InputError(f"joint positions are {how}: only an arm that measures them is guided by hand", "arm", how)
        self._band = np.array([BAND[unit] for unit in units])
        self._last: tuple[Array, float] | None = None
        self._still_s = 0.0

    def target(self, q: Array, reference: Array, time_s: float) -> Array:
        """Pose (n,) to go to [rad or m], of joints that were at ``q`` (n,) at ``time_s``, with the ``reference`` (n,)."""
        off = q - reference
        if self._last is None:
            self._rest, self._last = off, (q, time_s)
        if (dt := time_s - self._last[1]) > 0.0:
            slow = (np.abs(q - self._last[0]) <= CREEP * dt).all()
            self._still_s, self._last = self._still_s + dt if slow else 0.0, (q, time_s)
            if self._still_s > LOCK_S:
                self._rest = off
        pushed = off - self._rest
        target: Array = reference + np.sign(pushed) * np.maximum(np.abs(pushed) - self._band, 0.0)
        return target
