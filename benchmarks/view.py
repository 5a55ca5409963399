"""What ``picker view`` costs the arm and its machine, and how fast a button is on the wire: ``python -m benchmarks.view``.

The real arm runs at 100 Hz against a board without an arm (``stamping_board``), as in ``loop``, and goals keep the arm moving
back and forth.  Intervals without the view and with it take turns; the view has one reader then, as a browser has.

* Processor time is that of the view's process, its memory what it shares with no other (private pages), and ``arm`` is the
  arm's process in both kinds of interval: processor time, and the jitter and loss of what arrives on the wire.
* A button is a short way of the first joint, asked for over HTTP while the arm stands.  Its time ends when the first set-point of
  that motion has arrived at the board; which one that is, the first reference tells that differs from the held one.
* A stop is asked for in mid-motion.  Its time ends when the stop's frame has arrived at the board; it begins before the
  request is sent, so it is longer than the time since the request's arrival.
* In a headless Chromium, which draws by software, the first picture is there when the arm has been drawn and the place of its
  tip been written, since the address was opened, with an empty cache; frames are counted while the arm moves and the camera
  turns, so that every frame differs.  ``fetched`` is the whole page and the arm without meshes, as sent: compressed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from benchmarks import ros_operator
from benchmarks.loop import SetPoints, regularity
from benchmarks.machine import CpuMeter, load
from benchmarks.stamping_board import StampingBoard, bench
from picker_dynamics.board.protocol import SetPoint, Stop
from picker_dynamics.nodes.runtime import LATEST, seconds
from picker_dynamics.scripting.view.server import page_files

TOKEN = "a-token-of-the-benchmark"
RATE_HZ, READY_S, ANSWER_S, MOVE_S, WARM_UP_S = 100.0, 20.0, 3.0, 2.0, 2.0
BROKEN_AT_MOST = 2
SWING = (0.5, -0.15, 0.2, 0.3, -0.6)
"""From the home pose to the other one [rad]."""

STEP_RAD = 0.03
ASIDE = ("/licences.txt", "/made_from")
"""Files that no page asks for."""

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SOFTWARE = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--mute-audio"]
SHOWN = """
  window.shown_ms = 0;
  const look = () => {
    const there = window.picker?.stage?.frames > 1 && /mm/.test(document.getElementById("tip")?.textContent);
    if (there) window.shown_ms = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""
"""Notes when the arm is to be seen [ms]."""

TURN = """seconds => new Promise(resolve => {
  const { stage } = picker, begin = performance.now(), before = stage.frames;
  const turn = () => {
    const now = performance.now();
    if (now - begin > 1e3 * seconds) return resolve(1e3 * (stage.frames - before) / (now - begin));
    stage.camera.position.applyAxisAngle(stage.camera.up, 0.01);
    stage.camera.lookAt(stage.controls.target);
    stage.draw();
    requestAnimationFrame(turn);
  };
  turn();
})"""
"""Frames a second while the camera turns."""


class Operator(ros_operator.Operator):
    """Keeps the arm moving while asked to, and notes when the reference begins to differ."""

    def __init__(self, joint_names, poses, alive):
        super().__init__(joint_names, alive=alive)
        self._poses, self._next, self.swings = poses, 1, False
        self._held: np.ndarray | None = None
        self.moved_stamp_s: float | None = None

    def hear_motion(self) -> None:
        """Of nothing, unless asked to: what is measured is on the wire."""

    def on_controller(self, message) -> None:
        super().on_controller(message)
        if self.swings and self.controller["outcome"] == "done":
            self._send()

    def _send(self) -> None:
        self.goals.publish(self.message(self._poses[self._next], MOVE_S))
        self._next = 1 - self._next

    def enable(self) -> None:
        self.until(lambda: self.hardware.get("state") == "idle", "a board", READY_S)
        self.switch("enable")
        self.wait_holding()

    def swing(self, duration_s: float) -> None:
        """Move back and forth for so long, then come to rest."""
        self.swings = True
        self._send()
        self.spin(duration_s)
        self.swings = False

    def listen(self) -> None:
        """From now on to references."""
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)

    def on_reference(self, message) -> None:
        now = np.array(message.points[0].positions)
        if self.moved_stamp_s is None and self._held is not None and not np.array_equal(now, self._held):
            self.moved_stamp_s = seconds(message.header.stamp) + time.monotonic() - time.time()
        self._held = now


class Page:
    """Asks as a page does."""

    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20.0)
        self.lines = {"Authorization": f"Bearer {TOKEN}", "X-Page": "0123456789abcdef.01", "Content-Type": "application/json"}

    def ask(self, path: str, what: dict) -> dict:
        self.connection.close()  # the server ends what is silent
        self.connection.request("POST", path, json.dumps(what), self.lines)
        answer = self.connection.getresponse()
        said = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{what}: {said}")
        return said

    def ask_meanwhile(self, path: str, what: dict) -> float:
        """Ask, and wait for no answer; when that was [s]."""
        asked_s = time.monotonic()
        threading.Thread(target=self.ask, args=(path, what), daemon=True).start()
        return asked_s


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


@contextmanager
def viewing() -> Iterator[tuple[int, int]]:
    """``picker view`` of the running graph: its process and its port."""
    command = [sys.executable, "-m", "picker_dynamics", "view", "--no-browser", "--view-port", "0", "--token", TOKEN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as view:
        try:
            assert view.stdout is not None
            said = view.stdout.readline()
            found = re.search(r":(\d+)/", said)
            if found is None:
                raise RuntimeError(f"picker view: {said}")
            yield view.pid, int(found[1])
        finally:
            view.send_signal(signal.SIGTERM)


def run(**sizes) -> dict:
    """Measure, again where the machine stalled for so long that the board gave the arm up; ready for JSON."""
    broken: list[str] = []
    while True:
        try:
            return measured(**sizes) | {"broken_off": broken}
        except RuntimeError as error:
            broken.append(str(error))
            if len(broken) > BROKEN_AT_MOST:
                raise


def measured(interval_s: float = 10.0, pairs: int = 2, presses: int = 100, stops: int = 30, frames_s: float = 6.0) -> dict:
    """Start everything, measure, end everything."""
    with (
        bench(RATE_HZ) as here,
        Operator(here.arm.joint_names, (here.servos.home, here.servos.home + SWING), here.runner.dead) as operator,
    ):
        board, processes = here.board, {"arm": here.pid}
        operator.enable()
        operator.swing(WARM_UP_S)
        without, beside = [], []
        for _ in range(pairs):
            without.append(interval(operator, board, processes, interval_s))
            with viewing() as (pid, port):
                beside.append(watched(operator, board, processes | {"view": pid}, port, interval_s))
        with viewing() as (_, port):
            Reader(port).start()
            operator.until(operator.holding, "standstill")
            found = {"button_to_wire_ms": pressed(operator, board, port, here.servos.home[0], presses)}
            found["stop_to_wire_ms"] = stopped(operator, board, port, here.servos.home[0], stops)
            found["fetched_mb"] = fetched_mb(port)
            Page(port).ask("/api/do", {"do": "leave"})
            found |= in_chromium(operator, port, frames_s)
    costs, alone = means(beside), means(without)
    return {
        "server": {name: costs.pop(name) for name in ("processor_percent", "own_mb", "poses_hz", "stream_kb_s")},
        "arm": {"without": alone, "with": costs},
        "arm_more_points": round(costs["cpu_percent"] - alone["cpu_percent"], 1),
        "jitter_more_ms": round(costs["jitter_p99_ms"] - alone["jitter_p99_ms"], 2),
        **found,
        "load_average": load(),
    }


def set_points(board: StampingBoard) -> SetPoints:
    """Those since the wire was asked last."""
    wire = board.wire()
    if not any(isinstance(frame.message, SetPoint) for _, frame in wire.received):
        raise RuntimeError("no set-point has reached the board")
    return SetPoints.of(wire, board.start_s)


def interval(operator: Operator, board: StampingBoard, processes: dict[str, int], duration_s: float) -> dict:
    """What the arm's process does while the arm moves."""
    meter = CpuMeter(processes)
    board.wire()
    operator.swing(duration_s)
    if not operator.hardware.get("state") == "active":
        raise RuntimeError(f"the arm was lost: {operator.hardware['message']}")
    shares, points = meter.shares(), set_points(board)
    view = {"processor_percent": shares.pop("view")} if "view" in shares else {}
    arrival, reference = regularity(points.arrival, RATE_HZ), regularity(points.hold, RATE_HZ)
    return view | {
        "cpu_percent": shares["arm"],
        "jitter_p99_ms": arrival["jitter_p99_ms"],
        "reference_jitter_p99_ms": reference["jitter_p99_ms"],
        "missed_percent": 100.0 * reference["missed"] / len(points.hold),
        "others_percent": shares["others"] + shares["stolen"],
    }


def watched(operator: Operator, board: StampingBoard, processes: dict[str, int], port: int, duration_s: float) -> dict:
    """The same beside a view with a reader."""
    reader = Reader(port)
    reader.start()
    operator.swing(WARM_UP_S)
    begin_s, poses, size = time.monotonic(), reader.poses, reader.bytes
    found = interval(operator, board, processes, duration_s)
    passed_s = time.monotonic() - begin_s
    found |= {"poses_hz": (reader.poses - poses) / passed_s, "stream_kb_s": (reader.bytes - size) / passed_s / 1e3}
    return found | {"own_mb": own_mb(processes["view"])}


def _at_most(operator: Operator, condition) -> None:
    """Wait for it no longer than a page does."""
    with contextlib.suppress(RuntimeError):
        operator.until(condition, "an answer", ANSWER_S)


def pressed(operator: Operator, board: StampingBoard, port: int, home: float, count: int) -> dict | None:
    """From a button to the first set-point of its motion."""
    page, times = Page(port), []
    page.ask("/api/do", {"do": "home"})
    operator.listen()
    operator.spin(1.0)
    draw = np.random.default_rng(0)
    for number in range(count):
        operator.until(operator.holding, "standstill")
        operator.spin(0.1 + float(draw.uniform(0.0, 0.02)))
        operator.moved_stamp_s = None
        board.wire()
        asked_s = page.ask_meanwhile("/api/do", {"do": "joints", "to": {"base": home + STEP_RAD * ((number + 1) % 2)}})
        _at_most(operator, lambda: operator.moved_stamp_s is not None)
        operator.spin(0.1)
        if operator.moved_stamp_s is not None and operator.hardware.get("state") == "active":
            points = set_points(board)
            first = int(np.abs(points.hold - operator.moved_stamp_s).argmin())
            times.append(points.arrival[first] - asked_s)
    return spread(times, count)


def stopped(operator: Operator, board: StampingBoard, port: int, home: float, count: int) -> dict | None:
    """From a stop in mid-motion to its frame."""
    page, times = Page(port), []
    for number in range(count):
        page.ask("/api/do", {"do": "joints", "to": {"base": home + 5.0 * STEP_RAD * (-1.0) ** number}})
        operator.spin(0.15)
        board.wire()
        asked_s = page.ask_meanwhile("/api/stop", {})
        _at_most(operator, lambda: operator.hardware.get("stop_latched") == "true")
        arrived = [at_s for at_s, frame in board.wire().received if isinstance(frame.message, Stop)]
        times += [arrived[0] - asked_s] if arrived else []
        operator.spin(0.3)  # a stop is answered only then
        page.ask("/api/do", {"do": "reset"})
        page.ask("/api/do", {"do": "enable"})
        operator.until(operator.holding, "standstill")
        operator.spin(0.3)  # until the page's server has heard it too
    return spread(times, count)


def fetched_mb(port: int) -> float:
    """What a browser fetches, meshes aside."""
    page = Page(port)
    page.connection.request("GET", "/api/arm", headers=page.lines | {"Accept-Encoding": "gzip"})
    files = (len(body) for name, (_, body) in page_files().items() if name not in ASIDE)
    return round((sum(files) + len(page.connection.getresponse().read())) / 1e6, 3)


def in_chromium(operator: Operator, port: int, duration_s: float, loads: int = 3) -> dict:
    """What a browser shows of it, and how soon."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        return {"first_picture_ms": {"median": None, "max": None}, "frames_hz": None}
    shown_ms: list[float] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=SOFTWARE)
        for _ in range(loads):
            context = browser.new_context(viewport={"width": 1100, "height": 800})
            context.add_init_script(SHOWN)
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{port}/#{TOKEN}")
            ends_s = time.monotonic() + READY_S
            while not page.evaluate("window.shown_ms") and time.monotonic() < ends_s:
                page.wait_for_timeout(50)
            shown_ms.append(page.evaluate("window.shown_ms"))
            if len(shown_ms) == loads:
                mover = threading.Thread(target=operator.swing, args=(duration_s,))
                mover.start()
                frames_hz = page.evaluate(TURN, duration_s)
                mover.join()
            context.close()
        browser.close()
    return {
        "first_picture_ms": {"median": round(float(np.median(shown_ms))), "max": round(max(shown_ms))},
        "frames_hz": round(frames_hz, 1),
    }


def means(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.mean([one[name] for one in runs])), 2) for name in runs[0]}


def spread(times_s: list[float], count: int) -> dict | None:
    if not times_s:
        return None
    median, p99 = np.percentile(1e3 * np.array(times_s), (50, 99))
    found = {"median": median, "p99": p99, "max": 1e3 * max(times_s)}
    return {name: round(float(value), 1) for name, value in found.items()} | {"of": count, "seen": len(times_s)}


def own_mb(pid: int) -> float:
    """Memory that a process shares with no other [MB = 1e6 bytes]."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.MULTILINE)) * 1024 / 1e6


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
