"""Time of ``picker up --sim`` from the start of its process to an arm that is enabled, and of ``picker status`` beside it."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time

from benchmarks.arms import Witness
from benchmarks.domain import own_domain

READY_S = 60.0
END_S = 30.0
ASKED = 15
"""``picker status`` in each run."""

PICKER = (sys.executable, "-m", "picker_dynamics.commands.cli")


def run(runs: int = 5) -> dict:
    """Bring the arm up ``runs`` times, one after another; ready for JSON.

    The witness is there before, so its own discovery costs no time that a user would not wait for.
    """
    taken, asked = [], []
    for _ in range(runs):
        taken.append(_once(asked))
    return {
        "runs": runs,
        "enabled_s": {"median": round(statistics.median(taken), 2), "max": round(max(taken), 2)},
        "each_s": [round(one, 2) for one in taken],
        "status_s": {"median": round(statistics.median(asked), 2), "p95": round(sorted(asked)[int(0.95 * len(asked))], 2)},
    }


def _once(asked: list[float]) -> float:
    """Seconds until the arm is enabled; those that each ``picker status`` takes as a process of its own join ``asked``."""
    with own_domain() as environment:
        witness = Witness(int(environment["ROS_DOMAIN_ID"]))
        begin_s = time.monotonic()
        quiet = {"env": os.environ | environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([*PICKER, "up", "--sim"], start_new_session=True, **quiet)
        try:
            while witness.state != "active":
                if process.poll() is not None or time.monotonic() > begin_s + READY_S:
                    raise RuntimeError(f"the arm did not come up: {witness.state or 'no status'}")
                witness.spin(0.02)
            enabled_s = time.monotonic() - begin_s
            for _ in range(ASKED):
                begin_s = time.monotonic()
                subprocess.run([*PICKER, "status"], check=True, timeout=READY_S, **quiet)
                asked.append(time.monotonic() - begin_s)
            return enabled_s
        finally:
            witness.close()
            process.send_signal(signal.SIGINT)
            process.wait(END_S)


if __name__ == "__main__":
    print(run())
