"""What ``picker view`` costs, and how fast a button is on the wire: ``python -m benchmarks.view``.

The whole graph runs as with ``picker up --sim``, and ``picker view`` beside it, with one reader of its stream, as a browser has.
Looked at are processor time and memory of its own (private pages) of the view, and when a subscriber hears what was asked for: a
goal for a button, and for a stop the word of the hardware that it was stopped, which comes back over two more messages.  Of the
page the bytes are counted that a browser fetches before it shows something, as they are sent: compressed.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from benchmarks.domain import own_domain
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.nodes.client import ArmClient
from picker_dynamics.robot import servo_arm

TOKEN = "a-token-of-the-benchmark"
READY_S = 60.0
FIRST = ("/", "/style.css", "/app.js", "/api/arm")


class Watcher(ArmClient):
    """Notes when a goal is on the wire."""

    def __init__(self, joint_names):
        super().__init__(joint_names)
        self.goal_s: float | None = None
        self.create_subscription(JointTrajectory, "arm_controller/joint_trajectory", self.on_goal, 10)

    def on_goal(self, message: JointTrajectory) -> None:
        self.goal_s = self.goal_s or time.monotonic()

    def until(self, condition, longest_s: float = READY_S) -> bool:
        ends_s = time.monotonic() + longest_s
        while not condition() and time.monotonic() < ends_s:
            self.spin(0.001)
        return bool(condition())


class Page:
    """Asks as a page does."""

    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20.0)
        self.lines = {"Authorization": f"Bearer {TOKEN}", "X-Page": "0123456789abcdef.01", "Content-Type": "application/json"}

    def ask(self, path: str, what: dict | None = None) -> bytes:
        method, body = ("GET", None) if what is None else ("POST", json.dumps(what))
        self.connection.close()  # the server ends what is silent
        self.connection.request(method, path, body, self.lines | {"Accept-Encoding": "gzip"})
        return self.connection.getresponse().read()


class Reader(threading.Thread):
    """Reads the stream, and counts."""

    def __init__(self, port: int):
        super().__init__(daemon=True)
        self._page, self.bytes, self.poses = Page(port), 0, 0

    def run(self) -> None:
        self._page.connection.request("GET", "/api/stream", headers=self._page.lines)
        answer = self._page.connection.getresponse()
        while line := answer.readline():
            self.bytes += len(line)
            self.poses += line == b"event: pose\n"


def run(seconds: float = 20.0, presses: int = 100, stops: int = 10) -> dict:
    """Measure; ready for JSON."""
    names = servo_arm.read_arm().joint_names
    with own_domain(), tempfile.TemporaryDirectory(prefix="picker_bench_") as folder:
        graph = bringup.graph(bringup.Options(directory=folder))
        with GraphRunner(graph, log_path=Path(folder) / "nodes.log") as runner, Watcher(names) as watcher:
            watcher.until(lambda: watcher.controller.get("phase") == "holding" and watcher.hardware.get("state") == "active")
            assert runner.dead() is None
            command = [sys.executable, "-m", "picker_dynamics", "view", "--no-browser", "--view-port", "0", "--token", TOKEN]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as view:
                try:
                    assert view.stdout is not None
                    port = int(re.search(r":(\d+)/", view.stdout.readline())[1])  # type: ignore[index]
                    return measured(watcher, view.pid, port, seconds, presses, stops)
                finally:
                    view.terminate()


def measured(watcher: Watcher, pid: int, port: int, seconds: float, presses: int, stops: int) -> dict:
    page, reader = Page(port), Reader(port)
    fetched = sum(len(page.ask(path)) for path in FIRST)
    parts = {part for path in FIRST[2:3] for part in _parts(page, path)}
    fetched += sum(len(page.ask(part)) for part in parts)
    reader.start()
    time.sleep(1.0)
    before, begin_s, poses, size = processor_s(pid), time.monotonic(), reader.poses, reader.bytes
    time.sleep(seconds)
    passed_s = time.monotonic() - begin_s
    found = {
        "processor_percent": round(100.0 * (processor_s(pid) - before) / passed_s, 1),
        "own_mb": round(own_mb(pid), 1),
        "poses_hz": round((reader.poses - poses) / passed_s, 1),
        "stream_kb_s": round((reader.bytes - size) / passed_s / 1e3, 1),
        "fetched_mb": round(fetched / 1e6, 3),
    }
    page.ask("/api/do", {"do": "home"})
    watcher.until(lambda: watcher.controller.get("phase") == "holding", 20.0)
    pressed = []
    for number in range(presses):
        watcher.spin(0.3)
        watcher.until(lambda: watcher.controller.get("phase") == "holding", 20.0)
        watcher.goal_s, asked_s = None, time.monotonic()
        step = {"do": "step", "joint": "base", "by": 0.03 * (-1.0) ** number}
        threading.Thread(target=Page(port).ask, args=("/api/do", step)).start()
        if watcher.until(lambda: watcher.goal_s, 2.0):
            pressed.append(1e3 * (watcher.goal_s - asked_s))  # type: ignore[operator]
    stopped = []
    for _ in range(stops):
        asked_s = time.monotonic()
        threading.Thread(target=Page(port).ask, args=("/api/stop", {})).start()
        if watcher.until(lambda: watcher.hardware.get("stop_latched") == "true", 2.0):
            stopped.append(1e3 * (time.monotonic() - asked_s))
        page.ask("/api/do", {"do": "reset"})
        page.ask("/api/do", {"do": "enable"})
        watcher.until(lambda: watcher.hardware.get("state") == "active", 20.0)
    return found | {
        "button_to_goal_ms": _figures(pressed),
        "stop_to_word_ms": _figures(stopped),
        "presses": len(pressed),
        "stops": len(stopped),
    }


def _parts(page: Page, path: str) -> set[str]:
    """The parts that a file of the page loads at once."""
    import gzip

    text = gzip.decompress(page.ask(path)).decode()
    return {
        f"/{name}" for name in re.findall(r'from"\./(part-\w+\.js)"|import"\./(part-\w+\.js)"', text) for name in name if name
    }


def _figures(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {name: round(float(np.percentile(values, share)), 1) for name, share in (("median", 50), ("p99", 99))}


def processor_s(pid: int) -> float:
    """Processor time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def own_mb(pid: int) -> float:
    """Memory that no other process shares [MB]."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.MULTILINE)) / 1e3


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
