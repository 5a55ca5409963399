"""State log: a client that keeps positions and efforts of ``joint_states``, with their stamps, while a motion goes on."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from picker_dynamics.errors import InputError

from .client import ArmClient
from .runtime import seconds


class StateLog(ArmClient):
    """An ``ArmClient`` with a log.

    Attributes:
        rows: (stamp [s], positions (n,), efforts (n,)) while ``logging``.
    """

    def __init__(self, joint_names, namespace: str = ""):
        self.logging, self.rows = False, []
        super().__init__(joint_names, namespace)

    def on_state(self, message: JointState) -> None:
        super().on_state(message)
        if self.logging and message.effort:
            stamp_s = seconds(message.header.stamp)
            self.rows.append((stamp_s, self.vector(message, "position"), self.vector(message, "effort")))

    def logged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times since the first (k,) [s], positions and efforts (k, n).

        Raises:
            InputError: the states had no efforts.
        """
        if not self.rows:
            raise InputError("joint_states have no efforts: this arm does not measure torque", subject="effort")
        t, q, tau = (np.array(x) for x in zip(*self.rows))
        t, first = np.unique(t, return_index=True)
        return t - t[0], q[first], tau[first]
