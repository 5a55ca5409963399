"""Signals that ask a command to end: all of them end it as Ctrl-C does, so that joints are stopped and files closed."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager


@contextmanager
def interruptible():
    """SIGTERM and SIGHUP raise KeyboardInterrupt; outside the main thread, where no signals arrive, nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
