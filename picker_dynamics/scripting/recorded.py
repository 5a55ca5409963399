"""What a script's arm did, as arrays."""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import RecordingError
from picker_dynamics.robot.model import Array
from picker_dynamics.session.session import Row

from .equipment import Equipment


class Recorded:
    """States of an arm, as they came; filled while the arm moves or waits within ``with arm.record() as ...``.

    Attributes:
        rows: the states.
    """

    def __init__(self, arm: Equipment):
        self._arm, self.rows = arm, list[Row]()

    @property
    def arrays(self) -> dict[str, Array]:
        """``t`` (s,) from the first state on [s]; ``q``, ``q_ref`` (s, n) [rad or m]; ``torque`` (s, n) [N·m or N], NaN where
        it is not known; ``tip``, ``tip_ref`` (s, 3) [m], base frame, computed from them.

        Raises:
            RecordingError: nothing was recorded.
        """
        known = {row[0]: row for row in self.rows if row[1] is not None and row[4] is not None}
        if not known:
            raise RecordingError("nothing was recorded: the arm neither moved nor waited meanwhile")
        unknown = np.full(self._arm.description.n, np.nan)
        t, q, q_ref = (np.array([row[column] for row in known.values()]) for column in (0, 1, 4))
        torque = [next((one for one in (row[3], row[5]) if one is not None), unknown) for row in known.values()]
        tip = self._arm.model().forward_kinematics
        return {"t": t - t[0], "q": q, "q_ref": q_ref, "torque": np.array(torque), "tip": tip(q), "tip_ref": tip(q_ref)}
