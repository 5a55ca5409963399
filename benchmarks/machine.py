"""The machine that measures: what it is, what each process takes of it, and what else was running."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

TICKS_S = os.sysconf("SC_CLK_TCK")
PACKAGES = {"numpy": "numpy", "pinocchio": "pin", "numba": "numba", "mujoco": "mujoco", "rclpy": "ros-jazzy-rclpy"}


def facts() -> dict:
    """Cores, versions, load."""
    return {"cores": os.cpu_count(), "usable_cores": len(os.sched_getaffinity(0)), "processor": _processor(), "kernel": platform.release(),
            "python": platform.python_version(), **{name: _version(package) for name, package in PACKAGES.items()},
            "load_average": load()}


def load() -> list[float]:
    """Mean number of processes that ran or wanted to, over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def resident_mb(pid: int) -> float:
    """VmRSS [MB = 1e6 bytes]."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


class CpuMeter:
    """CPU time of some processes between its making and ``shares``, and what the others took.

    Args:
        pids: process of each name.
    """

    def __init__(self, pids: dict[str, int]):
        self._pids = pids
        self._start_s = time.monotonic()
        self._spent = {name: _spent(pid) for name, pid in pids.items()}
        self._busy, self._stolen = _machine()

    def shares(self) -> dict[str, float]:
        """Per process, for ``others`` and for ``stolen`` (by other guests of a virtual machine's host) [% of one core]."""
        elapsed = time.monotonic() - self._start_s
        busy, stolen = _machine()
        spent = {name: _spent(pid) - self._spent[name] for name, pid in self._pids.items()}
        shares = spent | {"others": busy - self._busy - sum(spent.values()), "stolen": stolen - self._stolen}
        return {name: 100.0 * value / elapsed for name, value in shares.items()}


def _spent(pid: int) -> float:
    """User and system time [s]; the fields are counted from behind the command, which may contain anything."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_S


def _machine() -> tuple[float, float]:
    """Time in which all cores did something [s], and time in which they would have but for the host of the machine."""
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
