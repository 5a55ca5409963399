"""Time of ``picker up --sim`` from the start of its process to an arm that is enabled."""

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


def run(runs: int = 5) -> dict:
    """Bring the arm up ``runs`` times, one after another; ready for JSON.

    The witness is there before, so its own discovery costs no time that a user would not wait for.
    """
    taken = [_once() for _ in range(runs)]
    return {
        "runs": runs,
        "enabled_s": {"median": round(statistics.median(taken), 2), "max": round(max(taken), 2)},
        "each_s": [round(one, 2) for one in taken],
    }


def _once() -> float:
    with own_domain() as environment:
        witness = Witness(int(environment["ROS_DOMAIN_ID"]))
        begin_s = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "picker_dynamics.commands.cli", "up", "--sim"],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while witness.state != "active":
                if process.poll() is not None or time.monotonic() > begin_s + READY_S:
                    raise RuntimeError(f"the arm did not come up: {witness.state or 'no status'}")
                witness.spin(0.02)
            return time.monotonic() - begin_s
        finally:
            witness.close()
            process.send_signal(signal.SIGINT)
            process.wait(END_S)


if __name__ == "__main__":
    print(run())
