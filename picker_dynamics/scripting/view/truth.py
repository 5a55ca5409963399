"""Truth of a simulated arm in another process: where it really is, asked for while a page shows it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.model import Array
from picker_dynamics.session.session import Session
from picker_dynamics.sim.control_socket import BoardControl

TRUTH_S, RETRY_S = 0.05, 2.0
"""How often the simulated arm is asked where it is, and looked for again [s]."""


class Truth(threading.Thread):
    """Asks the simulation behind a session where the arm is, while somebody ``wanted`` that.

    Attributes:
        there: whether there is a simulation.
    """

    def __init__(self, session: Session):
        super().__init__(name="truth", daemon=True)
        port = session.call("get", part="hardware", names=["port"])[0]
        self.path = Path(port).with_name("control") if port else None
        self.there = self.path is not None and self.path.is_socket()
        self.wanted = self.over = False
        self._newest: tuple[Array, float] | None = None

    def newest(self, now_s: float) -> tuple[Array, float] | None:
        """Newest pose of the simulated arm, and how old that is [s]."""
        found = self._newest
        return None if found is None or now_s - found[1] > RETRY_S else (found[0], max(now_s - found[1], 0.0))

    def run(self) -> None:
        while self.path is not None and not self.over:
            try:
                with BoardControl(self.path, timeout_s=1.0) as board:
                    while not self.over:
                        if self.wanted:
                            truth = board.truth()
                            self.there, self._newest = True, (truth.q, truth.monotonic_s)
                        time.sleep(TRUTH_S)
            except (PickerError, OSError, ValueError, KeyError):
                self.there = False
                time.sleep(RETRY_S)
