"""Time from a key of ``picker drive`` to the reference, and to motion of the simulated arm: ``python -m benchmarks.drive``.

The whole graph runs as with ``picker up --sim``, with typical servos, and ``picker drive`` on a terminal of its own.  A key is
pressed while the arm stands: steps of 5 degrees of the first joint and of 5 mm of the tip, forth and back, at moments that know
nothing of the controller's ticks.  Looked at is the arrival of the first reference that differs from the one that was held, at a
listener, and the first time at which a true joint is faster than ``MOVES``.  A reference is 60 ms ahead of its time, so
motion cannot come sooner than that after it.

Presses are left out, and counted, beside which this process, which only waits, was woken late (``LATE_S``), or of which nothing
came: there the machine was busy with something else, and who drives is stopped by a pause of 0.1 s.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.domain import own_domain
from benchmarks.ros_operator import Operator
from benchmarks.terminal import Terminal
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.control_socket import BoardControl

MOVES = 0.02
"""Speed [rad/s] from which on a joint moves."""

KEYS = ("+", "-", "\x1b[A", "\x1b[B")
READY_S, STEP_S = 60.0, 6.0
LATE_S, LOOK_S = 0.02, 0.002


class Sleeper(threading.Thread):
    """Sleeps, and notes how late it was woken at worst."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over, self.worst_s = False, 0.0

    def run(self) -> None:
        while not self.over:
            begin_s = time.monotonic()
            time.sleep(0.005)
            self.worst_s = max(self.worst_s, time.monotonic() - begin_s - 0.005)


class Watcher(Operator):
    """Notes when the reference begins to move."""

    moved_s: float | None = None

    def on_reference(self, message) -> None:
        before = self.desired
        super().on_reference(message)
        if self.moved_s is None and before is not None and not np.array_equal(before, self.desired):
            self.moved_s = time.monotonic()


def run(presses: int = 200, seed: int = 0) -> dict:
    """Press keys; ready for JSON."""
    joint_names = servo_arm.read_arm().joint_names
    draw, reference, motion, late, lost = np.random.default_rng(seed), [], [], 0, 0
    with own_domain(), tempfile.TemporaryDirectory(prefix="picker_bench_") as folder:
        graph = bringup.graph(bringup.Options(directory=folder))
        with (
            GraphRunner(graph, log_path=Path(folder) / "nodes.log") as runner,
            Watcher(joint_names, alive=runner.dead) as watcher,
        ):
            watcher.move(servo_arm.load()[1].home, 2.0)
            sleeper = Sleeper()
            with BoardControl(graph.control) as board, Terminal([sys.executable, "-m", "picker_dynamics", "drive"]) as terminal:
                watcher.until(lambda: "driver" in watcher.controller.get("lease", "") and "holding" in terminal.shown, "a driver")
                sleeper.start()
                for number in range(presses):
                    watcher.spin(0.4 + float(draw.uniform(0.0, 0.05)))  # what swings has calmed down
                    watcher.moved_s, sleeper.worst_s = None, 0.0
                    pressed_s, moves_s = terminal.press(KEYS[number % len(KEYS)]), None
                    while (watcher.moved_s is None or moves_s is None) and time.monotonic() - pressed_s < STEP_S:
                        watcher.spin_once(LOOK_S)
                        if watcher.moved_s is not None and moves_s is None:  # not before: each look takes time of the board's
                            truth = board.truth()
                            moves_s = truth.monotonic_s if np.abs(truth.v).max() > MOVES else None
                    watcher.until(watcher.holding, "standstill")
                    if sleeper.worst_s > LATE_S:
                        late += 1
                    elif watcher.moved_s is None or moves_s is None:
                        lost += 1
                    else:
                        reference.append(watcher.moved_s - pressed_s)
                        motion.append(moves_s - pressed_s)
                sleeper.over = True
                terminal.press("q")
                terminal.process.wait(READY_S)
    return {
        "presses": presses,
        "left_out": {"machine_late": late, "nothing_came": lost},
        "key_to_reference_ms": _spread(reference),
        "key_to_motion_ms": _spread(motion),
    }


def _spread(seconds: list[float]) -> dict | None:
    if not seconds:
        return None
    median, p99 = np.percentile(1e3 * np.array(seconds), (50, 99))
    return {"median": round(float(median), 1), "p99": round(float(p99), 1), "max": round(1e3 * max(seconds), 1)}


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:2])), indent=2))
