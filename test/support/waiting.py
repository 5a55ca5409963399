"""Waiting for an event instead of a time: a condition is asked until it holds, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 60.0
"""For what happens within milliseconds or seconds on an idle machine."""


def until(
    condition: Callable[[], Any],
    what: str | Callable[[], str] = "what was waited for",
    *,
    step: Callable[[], object] = lambda: time.sleep(0.005),
    patience_s: float = PATIENCE_S,
) -> Any:
    """Carry out ``step`` until ``condition()`` holds, and return what it was; an AssertionError says ``what`` did not happen."""
    deadline_s = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"{what() if callable(what) else what} did not happen"
        step()
    return found
