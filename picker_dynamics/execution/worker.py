"""Worker: a thread that plans beside the control loop, as little in the way of its cycles as Python allows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

Submit = Callable[[Callable[[], Any]], "Future[Any]"]
"""Has work done, as ``Executor.submit`` does."""

SWITCH_S = 0.001
"""How long it may compute while a reference waits for Python [s]."""


def at_once(work: Callable[[], Any]) -> Future[Any]:
    """Future of work done here and now: a worker for who has no tick to lose."""
    done: Future[Any] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


class Worker:
    """Thread that does one thing after another, and lets go of Python when a reference is due."""

    def __init__(self) -> None:
        sys.setswitchinterval(min(SWITCH_S, sys.getswitchinterval()))
        self._threads = ThreadPoolExecutor(1, "worker")

    def __call__(self, work: Callable[..., Any], *arguments: object) -> Future[Any]:
        return self._threads.submit(work, *arguments)

    def close(self, wait: bool = False) -> None:
        """Close the threads: what has not begun never will; what has is waited for, where that is wanted."""
        self._threads.shutdown(wait=wait, cancel_futures=True)
