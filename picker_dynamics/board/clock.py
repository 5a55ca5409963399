"""Clock of a host: what time it is, and how to wait; whatever acts in time is given one, and simulated time can be one."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Clock that runs on by itself, or in ``sleep`` alone."""

    def now(self) -> float:
        """Time [s] since any one moment; never runs backwards."""

    def sleep(self, seconds: float) -> None:
        """Wait; simulated time passes in here."""


class SystemClock:
    """The machine's steady clock."""

    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


SYSTEM_CLOCK = SystemClock()
