"""Thread of the control loop on a robot: calls a cycle at absolute times."""

from __future__ import annotations

import threading
from collections.abc import Callable

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock

LATE_PERIODS = 1.0
"""A cycle that begins later than this is missed: the next one is due from now on."""


class LoopThread:
    """Calls ``cycle`` every ``period_s`` [s] until ``close``, or until it raises.

    Attributes:
        cycles: how many were made.
        failure: what ``cycle`` raised; None: nothing.
    """

    def __init__(self, cycle: Callable[[], object], period_s: float, clock: Clock = SYSTEM_CLOCK):
        self._cycle, self._period_s, self._clock = cycle, period_s, clock
        self._ending = threading.Event()
        self.cycles = 0
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="control loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due_s = self._clock.now()
        try:
            while not self._ending.is_set():
                self._cycle()
                self.cycles += 1
                due_s += self._period_s
                wait_s = due_s - self._clock.now()
                if wait_s > 0.0:
                    self._clock.sleep(wait_s)
                elif -wait_s > LATE_PERIODS * self._period_s:
                    due_s = self._clock.now()
        except Exception as error:  # whoever owns the thread asks for it
            self.failure = error

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """End after the cycle that is under way."""
        self._ending.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
