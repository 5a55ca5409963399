"""Joint positions as LeRobot counts them: degrees, of sliding joints mm, of the gripper 0 (closed) to 100 (open).

LeRobot's SO-101 counts alike (``use_degrees``, its default): 0 is the middle of each joint's range, more steps are more degrees.
"""

from collections.abc import Mapping

import numpy as np

from picker_dynamics.errors import JointNamesError
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.units import told_in
from picker_dynamics.scripting.equipment import Equipment


class Positions:
    """Positions of one arm: x = factor (q - zero); ``features``: their names in LeRobot, in the arm's order, and their type."""

    def __init__(self, arm: Equipment):
        of = arm.description
        self.features: dict[str, type] = {f"{joint}.pos": float for joint in of.joint_names}
        self._factor, self._zero = np.array([told_in(unit)[0] for unit in of.position_units]), np.zeros(of.n)
        if (j := arm.gripper) is not None:
            self._factor[j], self._zero[j] = 100.0 / (of.upper[j] - of.lower[j]), of.lower[j]

    def told(self, q: Array) -> dict[str, float]:
        """Positions (n,) [rad or m] as LeRobot counts them."""
        return dict(zip(self.features, (self._factor * (q - self._zero)).tolist()))

    def read(self, told: Mapping[str, float]) -> Array:
        """Positions (n,) [rad or m] of what LeRobot says; raises a JointNamesError where a joint is missing."""
        if missing := self.features.keys() - told.keys():
            raise JointNamesError(f"no {', '.join(sorted(missing))} in {', '.join(told)}: is that of another arm?")
        q: Array = np.array([told[name] for name in self.features], dtype=float) / self._factor + self._zero
        return q
