"""Turns of tests that run side by side in several processes: all together as a rule, one alone where it has to."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

GATE, ROOM = Path(__file__), Path(__file__).with_name("stalls.py")
"""Files of this copy that are locked: nothing has to be made, and locks end with who has them."""


LONGEST_S, LOOK_S = 100.0, 0.02
"""How long one waits for a turn, at most: whoever has it then may go on for ever, and one goes on beside it."""


@contextlib.contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, how | fcntl.LOCK_NB)
                break
            time.sleep(LOOK_S)
        yield
    finally:
        os.close(file)


@contextlib.contextmanager
def beside_others() -> Iterator[None]:
    """Begin when nobody is alone or waits for that."""
    with contextlib.ExitStack() as within:
        with _locked(GATE, fcntl.LOCK_SH):
            within.enter_context(_locked(ROOM, fcntl.LOCK_SH))
        yield


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Begin when the tests under way in other processes are over; no other begins meanwhile."""
    with _locked(GATE, fcntl.LOCK_EX), _locked(ROOM, fcntl.LOCK_EX):
        yield
