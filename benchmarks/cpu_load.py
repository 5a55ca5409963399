"""CPU load of a known size, for what has to work on a busy machine: processes that compute a share of the time.

They end by themselves when their parent is gone, and after ``longest_s`` whatever happens.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PERIOD_S = 0.02
BURN = """
import os, sys, time
share, longest_s, period_s, parent = float(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), os.getppid()
end = time.monotonic() + longest_s
while time.monotonic() < end and os.getppid() == parent:
    begin = time.monotonic()
    while time.monotonic() - begin < share * period_s:
        sum(range(200))
    time.sleep(max(0.0, (1.0 - share) * period_s))
"""


@contextmanager
def cpu_load(cores: float, longest_s: float) -> Iterator[int]:
    """Keep ``cores`` cores busy, at least that share of the time; yields the number of processes."""
    count = max(1, round(2 * cores)) if cores > 0.0 else 0
    command = [sys.executable, "-S", "-c", BURN, str(cores / max(count, 1)), str(longest_s), str(PERIOD_S)]
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) for _ in range(count)]
    try:
        yield count
    finally:
        for process in processes:
            process.kill()
            process.wait()
