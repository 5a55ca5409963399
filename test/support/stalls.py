"""Stalls of this machine, measured: what a test of running nodes saw meanwhile says little about the nodes."""

from __future__ import annotations

import contextlib
import glob
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SLEEP_S, CENSUS_S = 0.02, 0.5
STALL_S = 0.05
"""A thread that was ready to run, and had to wait so long at a stretch, shows a machine that had other things to do: an arm's
set-points are sent 60 ms ahead."""

WINDOW_S, IN_ALL, AT_ONCE = 0.2, 2.0, 2.0
"""Within so long the threads of one process waiting for so many times ``STALL_S`` together is a stall as well, and so is a
processor's being with the host so long: a command goes through several threads, and after 0.2 s without any an arm stops.  It
goes through several processes, too: so many threads of all of them waiting at any moment of that time, on average, is one."""

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


START_S = 3.0
"""So long a process is starting: it reads what it imports, as fast as it may."""


def started(pid: int) -> bool:
    """Whether a process is through with its start.

    Raises:
        OSError: it is gone.
    """
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - TICK_S * int(words[19]) > START_S


def taken_s(path: Path = Path("/proc/stat")) -> dict[str, float]:
    """For how long a virtual machine's host has kept each processor from it [s]: what ran there neither ran nor waited."""
    text = path.read_text() if path.exists() else ""
    rows = (line.split() for line in text.splitlines() if line.startswith("cpu"))
    return {name: TICK_S * int(values[7]) for name, *values in rows if name != "cpu" and len(values) > 7}


def processes_below(pid: int) -> Iterator[int]:
    """All processes that a process has started, directly or not."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # gone meanwhile
            for child in map(int, task.read_text().split()):
                yield child
                yield from processes_below(child)


class Stalls:
    """Witness of stalls while a ``with`` block lasts: of this process, and of the processes that it has started.

    Args:
        on_process: called with the id of each that it started and whether it is through with its start; again when it is.
    """

    def __init__(self, on_process: Callable[[int, bool], None] = lambda _pid, _started: None):
        self._on_process, self._known = on_process, {os.getpid(): True}
        self.count, self.worst_s, self.worst = 0, 0.0, ""
        self._files: dict[str, int] = {}
        self._waited: dict[str, int] = {}
        self._in_all: dict[str, float] = {}
        self._with_host: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __str__(self) -> str:
        return f"the machine stalled {self.count} times: {self.worst} for {self.worst_s:.2f} s"

    def _note(self, what: str, late_s: float, least_s: float | None = None) -> None:
        if late_s > (STALL_S if least_s is None else least_s):
            self.count += 1
            if late_s > self.worst_s:
                self.worst_s, self.worst = late_s, what

    def _watch(self) -> None:
        census_s = slept_s = window_s = time.monotonic()
        taken = taken_s()
        while not self._over.wait(SLEEP_S):
            now_s = time.monotonic()
            self._note("a thread that slept was not woken", now_s - slept_s - SLEEP_S)
            before, taken = taken, taken_s()
            for name, now in taken.items():
                away_s = now - before.get(name, now)
                self._note(f"{name} was with the host", away_s)
                self._with_host[name] = self._with_host.get(name, 0.0) + away_s
            if now_s > census_s:
                census_s = now_s + CENSUS_S
                self._count_threads()
            for thread in tuple(self._files):
                self._look(thread)
            if now_s > window_s:
                since_s, window_s = now_s - window_s + WINDOW_S, now_s + WINDOW_S
                for process, waited_s in self._in_all.items():
                    self._note(f"the threads of {process} waited for processors", waited_s, IN_ALL * STALL_S)
                for name, away_s in self._with_host.items():
                    self._note(f"{name} was with the host, now and then,", away_s, IN_ALL * STALL_S)
                self._note("the threads of all processes waited for processors", sum(self._in_all.values()), AT_ONCE * since_s)
                self._in_all.clear()
                self._with_host.clear()
            slept_s = time.monotonic()
        for file in self._files.values():
            os.close(file)

    def _count_threads(self) -> None:
        """All of them: states and commands are carried by threads of the middleware."""
        for pid in (os.getpid(), *processes_below(os.getpid())):
            with contextlib.suppress(OSError):  # gone meanwhile
                if not self._known.get(pid) and (through := started(pid)) is not self._known.get(pid):
                    self._known[pid] = through
                    self._on_process(pid, through)
            for thread in glob.glob(f"/proc/{pid}/task/*"):
                if thread not in self._files:
                    with contextlib.suppress(OSError):  # gone meanwhile
                        self._files[thread] = os.open(f"{thread}/schedstat", os.O_RDONLY)

    def _look(self, thread: str) -> None:
        """The kernel's own count of how long a thread, ready to run, has waited [ns]; it grows when the wait is over."""
        try:
            waited = int(os.pread(self._files[thread], 100, 0).split()[1])
        except (OSError, IndexError):  # gone meanwhile; or a kernel that does not count
            os.close(self._files.pop(thread))
            return
        late_s, process = (waited - self._waited.get(thread, waited)) * 1e-9, thread.split("/")[2]
        self._note(f"{thread[6:]} waited for a processor", late_s)
        self._in_all[process] = self._in_all.get(process, 0.0) + late_s
        self._waited[thread] = waited

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(self, *_exception) -> None:
        self._over.set()
        self._thread.join()
