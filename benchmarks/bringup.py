"""Time to import the package, of ``picker up --sim`` from its start to an arm that is enabled, and of commands beside it, beyond
their motion."""

from __future__ import annotations

import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time

from benchmarks.arms import Witness
from benchmarks.domain import own_domain

READY_S = 60.0
END_S = 30.0
ASKED = 6
"""How often each of the commands is given in each run, each time as a process of its own."""

COMMANDS = ("status", "home", "jog base 3", "payload 0")
MOTION = re.compile(r"there after ([\d.]+) s")

PICKER = (sys.executable, "-m", "picker_dynamics")

IMPORTS = 10
IMPORT = "import time; begin_s = time.perf_counter(); from picker_dynamics import Arm, load; print(time.perf_counter() - begin_s)"
"""What a script begins with, in a fresh process."""


def run(runs: int = 5) -> dict:
    """Bring the arm up ``runs`` times, one after another; ready for JSON.

    The witness is there before, so its own discovery costs no time that a user would not wait for.
    """
    taken: list[float] = []
    asked: dict[str, list[tuple[float, float]]] = {words: [] for words in COMMANDS}
    for _ in range(runs):
        taken.append(_once(asked))
    return {
        "runs": runs,
        "enabled_s": {"median": round(statistics.median(taken), 2), "max": round(max(taken), 2)},
        "each_s": [round(one, 2) for one in taken],
        "import_s": _figures([_imported() for _ in range(IMPORTS)]),
        "beyond_motion_s": {words: _figures([one for one, _ in each]) for words, each in asked.items()},
        "cpu_s": {words: _figures([cpu for _, cpu in each]) for words, each in asked.items()},
    }


def _figures(each: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(each), 2), "p95": round(sorted(each)[int(0.95 * len(each))], 2)}


def _imported() -> float:
    """Seconds that a fresh interpreter takes to import what scripts use."""
    return float(subprocess.run([sys.executable, "-c", IMPORT], check=True, timeout=READY_S, capture_output=True).stdout)


def _given(words: str, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds that a command takes beyond its motion, and those in which it computes."""
    before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    said = subprocess.run([*PICKER, *words.split()], check=True, timeout=READY_S, env=environment, capture_output=True, text=True)
    took_s, after = time.monotonic() - begin_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    motion = MOTION.search(said.stdout)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took_s - (float(motion[1]) if motion else 0.0), cpu_s


def _once(asked: dict[str, list[tuple[float, float]]]) -> float:
    """Seconds until the arm is enabled; what each command takes joins ``asked``."""
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
            for words in COMMANDS * ASKED:
                asked[words].append(_given(words, quiet["env"]))
            return enabled_s
        finally:
            witness.close()
            process.send_signal(signal.SIGINT)
            process.wait(END_S)


if __name__ == "__main__":
    print(run())
