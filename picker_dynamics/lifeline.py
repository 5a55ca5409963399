"""Lifeline of a process to the one that started it: however the parent ends, by SIGKILL too, its children end as well.

A child watches the process that ``PICKER_PARENT`` names, which only who starts it puts into its environment: a node that a
person starts by hand has none, and outlives its shell under nohup.  Linux tells the end of a process by a descriptor (pidfd),
also where a debugger stands between the two; PR_SET_PDEATHSIG would tell the end of the thread that started the child.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable

PARENT = "PICKER_PARENT"

ENDS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

LIMIT_S = 30.0
"""How long a child has to end by itself, longer than an arm takes to park; it is killed then [s]."""


def children() -> dict[str, str]:
    """Variables for the environment of a process that is to end with this one."""
    return {PARENT: str(os.getpid())}


def hear_signals(hear: Callable[[int], object]) -> None:
    """Have ``hear`` called with the number of each signal of ``ENDS``, instead of what Python does."""
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP:  # ignored: started under nohup
            signal.signal(number, lambda received, _frame: hear(received))


def command_prefix() -> str:
    """Prefix to the command of a program that is not ours, so that it ends with this process; empty outside Linux."""
    return "setpriv --pdeathsig TERM" if sys.platform == "linux" and shutil.which("setpriv") else ""


def end_with_parent(number: int = signal.SIGTERM, limit_s: float = LIMIT_S) -> threading.Event:
    """Have this process get a signal when its parent ends or has ended; without one in the environment nothing happens.

    Args:
        number: of the signal, which the main thread gets.
        limit_s: where the process still runs so long after, it is killed [s].

    Returns:
        An event, set when the parent has ended.
    """
    ended = threading.Event()
    parent = os.environ.pop(PARENT, "")  # what this process starts has another parent
    if parent.isdecimal():
        threading.Thread(target=_watch, args=(int(parent), ended, number, limit_s), name="lifeline", daemon=True).start()
    return ended


def _watch(parent: int, ended: threading.Event, number: int, limit_s: float) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        select.select([os.pidfd_open(parent)], [], [])
    ended.set()
    signal.pthread_kill(threading.main_thread().ident or 0, number)
    time.sleep(limit_s)
    os.kill(os.getpid(), signal.SIGKILL)
