"""Door for drivers: who drives an arm says so again and again, has the lease as long as that goes on, and names its goals by it.

A driver is a program in which a person steers by hand.  It is heard every few hundredths of a second; one that is silent for
``SILENCE_S`` has lost the arm, which decelerates (``Execution.tick``).  A goal is a driver's where its name is the driver's, or
that, a slash, and anything: another's goals are refused meanwhile.
"""

from __future__ import annotations

import math

from picker_dynamics.errors import PickerError, refuse_if

from .events import EventKind
from .execution import Execution
from .lease import Holder, Kind
from .streaming import SILENCE_S, Complaints

MARK = "/"
"""Between a driver's name and what it calls its goal."""

FORGOTTEN_S = 1.0
"""Who drove, and has been silent for so long, is a stranger [s]."""


class Drivers:
    """Drivers, who want to drive the arm of an ``Execution``; times are seconds on its clock."""

    def __init__(self, execution: Execution):
        self._execution = execution
        self._newest, self._heard_s = "", -math.inf  # who drove last, and when it was heard
        self._complaints = Complaints()

    def hear(self, driver: str, now_s: float, *, leaves: bool = False) -> PickerError | None:
        """A driver says that it is there, or that it does not need the arm any more; returns why it does not get it, as is also
        told by its name."""
        execution, holder = self._execution, Holder(Kind.DRIVER, driver)
        lease, joints = execution.lease, range(execution.description.n)
        had = lease.has(holder, now_s)
        if leaves:
            self._newest = "" if driver == self._newest else self._newest
            if had:
                lease.leave(holder)
                execution.tell(EventKind.REMARK, f"{holder} has left", identifier=driver)
            return None
        try:
            refuse_if(not driver or MARK in driver, f"a driver's name is needed, without {MARK!r}", "driver", driver)
            lease.require(holder, joints, now_s)
        except PickerError as error:
            if self._complaints.are_news(driver, now_s):
                execution.tell(EventKind.REFUSED, f"refused: {error}", identifier=driver, error=error)
            return error
        lease.grant(holder, joints, now_s + SILENCE_S)
        self._newest, self._heard_s = driver, now_s
        if not had:
            self._complaints.forget(driver)
            execution.tell(EventKind.ACCEPTED, f"{holder} has the arm", identifier=driver)
        return None

    def of_goal(self, identifier: str, now_s: float) -> str:
        """The driver whose goal this is; empty: it is anybody's.  A goal says that its driver is there, too.

        So one that lost the arm for a moment, as the machine stood still, is not refused as a stranger.
        """
        driver, mark, _ = identifier.partition(MARK)
        if mark and driver == self._newest and now_s - self._heard_s < FORGOTTEN_S:
            self.hear(driver, now_s)
        return driver if self._execution.lease.has(Holder(Kind.DRIVER, driver), now_s) else ""
