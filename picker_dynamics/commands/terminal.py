"""Terminal helpers of the commands: signals that end them, the console for people, a question, a table."""

from __future__ import annotations

import signal
import threading
from collections.abc import Collection
from contextlib import contextmanager
from typing import Any

INTERRUPTED = 130
"""Exit code of a command that a person interrupted."""

YES = "yes", "y"
"""What agrees to a motion, typed: Enter alone does not."""


@contextmanager
def interruptible():
    """Signals end a command as Ctrl-C does, so that joints are stopped and files closed.

    SIGTERM and SIGHUP raise KeyboardInterrupt; outside the main thread, where no signals arrive, nothing changes.
    """
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


def console(options, *, highlight: bool = False):
    """The rich console on which people are told: standard error where ``--json`` has standard output for itself."""
    from rich.console import Console

    return Console(stderr=getattr(options, "json", False), highlight=highlight)


def agreed(question: str, ask=None) -> bool:
    """Whether a person answers ``yes`` or ``y``; nobody there is no."""
    try:
        return (ask or input)(question).strip().lower() in YES
    except EOFError:
        return False


def table(title: str, *headings: str, left: Collection[str] = (), overflow: Any = "ellipsis", **style):
    """An empty rich table: columns ``left`` are text, the others numbers, on the right."""
    from rich.table import Table

    made = Table(title=title, **style)
    for heading in headings:
        made.add_column(heading, justify="left" if heading in left else "right", overflow=overflow)
    return made
