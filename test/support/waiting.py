"""Waiting for an event instead of a time: a condition is asked until it holds, a command ends, however busy the machine is."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 60.0
"""For what happens within milliseconds or seconds on an idle machine."""


def begun(act: Callable[[], object]) -> threading.Thread:
    """A thread that does this, and keeps nobody from ending."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


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


def run(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command, to its end; what it said, as text."""
    return subprocess.run(words, capture_output=True, text=True, **{"check": False, "timeout": PATIENCE_S} | options)


def python(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same of this interpreter."""
    return run(sys.executable, *words, **options)


def processes_below(pid: int) -> Iterator[int]:
    """All processes that a process has started, directly or not."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # gone meanwhile
            for child in map(int, task.read_text().split()):
                yield child
                yield from processes_below(child)
