"""Description and load of the machine that measures, and what each process takes of it."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

TICKS_S = os.sysconf("SC_CLK_TCK")
PACKAGES = {"numpy": "numpy", "pinocchio": "pin", "mujoco": "mujoco", "rclpy": "ros-jazzy-rclpy"}


def facts() -> dict:
    """Cores, versions, load."""
    return {
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: _version(package) for name, package in PACKAGES.items()},
        "load_average": load(),
    }


def load() -> list[float]:
    """Mean number of processes that ran or wanted to, over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def resident_mb(pid: int, what: str = "VmRSS") -> float:
    """Resident memory [MB = 1e6 bytes]; ``RssFile``: what of it is libraries' pages, which all processes share."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(f"{what}:"))
    return int(line.split()[1]) * 1024 / 1e6


class CpuMeter:
    """CPU time of some processes between its making and ``shares``, and what all others took.

    Args:
        pids: process of each name.
    """

    def __init__(self, pids: dict[str, int]):
        self._pids = pids
        self._start_s = time.monotonic()
        self._spent, (self._busy, self._stolen) = _spent(), _machine()

    def shares(self) -> dict[str, float]:
        """Per process, for all ``others`` and for ``stolen`` (by other guests of a virtual machine's host) [% of one core].

        ``others`` is the larger of two measures: process by process, which misses those that begin and end meanwhile, and
        what the cores did in all, which the kernel samples too rarely to see short bursts.
        """
        elapsed, (busy, stolen) = time.monotonic() - self._start_s, _machine()
        more = {pid: spent - self._spent[pid] for pid, spent in _spent().items() if pid in self._spent}
        shares = {name: more.pop(pid) for name, pid in self._pids.items()}
        shares |= {"others": max(sum(more.values()), busy - self._busy - sum(shares.values())), "stolen": stolen - self._stolen}
        return {name: 100.0 * value / elapsed for name, value in shares.items()}


def _spent() -> dict[int, float]:
    """User and system time of each process [s]."""
    spent = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()  # before it is the command, which may contain anything
        except OSError:  # it has just ended
            continue
        spent[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / TICKS_S
    return spent


def _machine() -> tuple[float, float]:
    """Time that all cores spent on something, and time in which they would have but for the host of the machine [s]."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9])
    return (user + nice + system + irq + softirq) / TICKS_S, steal / TICKS_S


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # from ROS's own packages, or not installed
        return None


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
