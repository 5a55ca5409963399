"""Latency, jitter, CPU and memory of an arm's process: ``python -m benchmarks.loop``.

The real process runs against a board without an arm (``stamping_board``), and the arm is kept moving, with goals back and
forth.  Every run starts everything anew.  What is looked at is the wire, nobody listens to a topic meanwhile:

* A set-point carries the board time at which it holds, and that is ``lead_s`` after its reference was made.  The board's
  clock is known exactly here, so  latency = arrival - (time at which it holds - lead).  It runs from the loop's
  reading of the clock to the bytes as the board reads them.
* The arm only has a fit of the board's clock; an error e of the fit shifts each such time, and makes the latency
  too short by e.  So after each interval the references are listened to for a while: their stamps against the same times on
  the wire give e.  Its median is added to the latencies; median and worst are reported.
* Periods are differences between the times at which consecutive set-points hold (that is when the loop
  ran), and between their arrivals.  Jitter is |period - nominal|; a period above 1.5 nominal ones counts as missed.
* ``long_goal``: by how much the longest period between two references exceeds the nominal one while the topic brings a goal
  of so many points: the most that there may be, checked and then refused for its last point, and far too many.
* CPU is user and system time of the process, from /proc, in per cent of one core.
* ``beside`` is what else the machine did, and how late it let the board run, which does nothing but sleep and answer: no
  figure here can be better than that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmarks.machine import CpuMeter, load, resident_mb
from benchmarks.ros_operator import values_of
from benchmarks.stamping_board import StampingBoard, Wire, bench
from picker_dynamics.board.protocol import SetPoint, Telemetry
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.nodes.runtime import LATCHED, LATEST, OUTCOMES, seconds, to_stamp

LEAD_S = 0.06
"""Default of the controller's ``lead_s``."""

READY_S = 30.0
BROKEN_AT_MOST = 3
WARM_UP_S = 1.0
CLOCK_CHECK_S = 1.5
MOVE_S = 2.0
MANY = {"most": MAX_POINTS, "too_many": 100_000}
"""Points of goals that are refused."""
SWING = (0.5, -0.15, 0.2, 0.3, -0.6)
"""From the home pose to the other one [rad]; the tip's speed limit makes the way there last longer than MOVE_S."""


class Operator(Node):
    """Enables the arm and keeps it moving; listens to the references only while asked to."""

    def __init__(self, joint_names, poses):
        super().__init__("benchmark")
        self._joint_names, self._poses = list(joint_names), poses
        self._next = 0
        self.goals_done = 0
        self.phase = self.hardware = ""
        self.trouble = ""
        self.expected = self.refused = 0
        self._goals = self.create_publisher(JointTrajectory, "arm_controller/joint_trajectory", 10)
        self.create_subscription(DiagnosticStatus, "arm_controller/status", self._on_controller, OUTCOMES)
        self.create_subscription(DiagnosticStatus, "hardware/status", self._on_hardware, LATCHED)
        self._enable = self.create_client(SetBool, "enable")

    def _on_controller(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        self.phase = values["phase"]
        if values["outcome"] == "done":
            self.goals_done += 1
            self._send()
        elif values["outcome"] == "refused" and self.refused < self.expected:
            self.refused += 1
        elif values["outcome"] not in ("", "accepted"):
            self.trouble = f"trajectory_controller: {message.message}"

    def _on_hardware(self, message: DiagnosticStatus) -> None:
        self.hardware = values_of(message)["state"]

    def _send(self) -> None:
        zero = [0.0] * len(self._joint_names)
        point = JointTrajectoryPoint(positions=list(self._poses[self._next]), velocities=zero, accelerations=zero)
        to_stamp(point.time_from_start, MOVE_S)
        self._next = 1 - self._next
        self._goals.publish(JointTrajectory(joint_names=self._joint_names, points=[point]))

    def long_goal(self, points: int) -> bytes:
        """A goal within 500 s that stands, and whose last point is far beyond the first joint's limit."""
        made = [JointTrajectoryPoint(positions=list(self._poses[0])) for _ in range(points)]
        made[-1].positions[0] = 9.0
        for k, point in enumerate(made):
            to_stamp(point.time_from_start, 500.0 * (k + 1) / points)
        return serialize_message(JointTrajectory(joint_names=self._joint_names, points=made))

    def send_long(self, data: bytes) -> None:
        """Send such a goal, and wait until it was refused."""
        self.expected += 1
        self._goals.publish(data)
        self._wait(lambda: self.refused == self.expected, lambda: None, "a long goal is not refused")
        self.spin(0.5)

    def start(self, dead) -> None:
        """Enable, send the first goal, and return once the arm has gone to the first pose; ``dead()`` names what ended."""
        self._wait(lambda: self.hardware == "idle" and self._enable.service_is_ready(), dead, "the hardware node is not ready")
        answer = self._enable.call_async(SetBool.Request(data=True))
        self._wait(lambda: answer.done() and answer.result().success, dead, "the arm cannot be enabled")
        self._wait(
            lambda: self.phase == "holding" and self.hardware == "active" and self._goals.get_subscription_count(),
            dead,
            "the controller does not hold the arm",
        )
        self._send()
        self._wait(lambda: self.goals_done, dead, "the first goal is not done")
        self.spin(WARM_UP_S)

    def _wait(self, condition, dead, complaint: str) -> None:
        until_s = time.monotonic() + READY_S
        while not condition():
            if dead() or self.trouble or time.monotonic() > until_s:
                raise RuntimeError(
                    f"{complaint}: hardware {self.hardware!r}, controller {self.phase!r}, ended: {dead()}; {self.trouble}"
                )
            rclpy.spin_once(self, timeout_sec=0.1)

    def spin(self, duration_s: float) -> None:
        """Go on for a while; sleeps but for the two messages of each goal."""
        until_s = time.monotonic() + duration_s
        while (left := until_s - time.monotonic()) > 0.0:
            rclpy.spin_once(self, timeout_sec=left)
        if self.trouble:
            raise RuntimeError(self.trouble)

    def listen(self, duration_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Stamps and arrivals of references and of commands: two arrays of rows (stamp, arrival) [s, monotonic]."""
        heard: tuple[list, list] = [], []
        to_monotonic = time.monotonic() - time.time()

        def note(rows):
            return lambda message: rows.append((seconds(message.header.stamp) + to_monotonic, time.monotonic()))

        subscriptions = [
            self.create_subscription(kind, topic, note(rows), LATEST)
            for kind, topic, rows in (
                (JointTrajectory, "arm_controller/reference", heard[0]),
                (JointState, "joint_commands", heard[1]),
            )
        ]
        self.spin(duration_s)
        for subscription in subscriptions:
            self.destroy_subscription(subscription)
        return np.array(heard[0]), np.array(heard[1])


@dataclass(frozen=True)
class SetPoints:
    """The set-points of an interval: when each holds on the board, and when it arrived there [s, monotonic]."""

    hold: np.ndarray
    arrival: np.ndarray

    @classmethod
    def of(cls, wire: Wire, start_s: float) -> SetPoints:
        rows = [
            (start_s + 1e-6 * frame.message.time_us, time_s)
            for time_s, frame in wire.received
            if isinstance(frame.message, SetPoint)
        ]
        return cls(*np.array(rows).T)


def measure(interval_s: float, rate_hz: float) -> dict:
    """Start everything, measure one interval, end everything."""
    with bench(rate_hz) as here:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        try:
            operator = Operator(here.arm.joint_names, (here.servos.home, here.servos.home + SWING))
            operator.start(here.runner.dead)
            return _interval(operator, here.board, here.pid, interval_s, rate_hz)
        finally:
            rclpy.try_shutdown()


def _interval(operator: Operator, board: StampingBoard, pid: int, interval_s: float, rate_hz: float) -> dict:
    cpu = CpuMeter({"arm": pid, "board": board.pid, "benchmark": os.getpid()})
    board.wire()
    operator.spin(interval_s)
    wire, shares = board.wire(), cpu.shares()
    memory, files = ({"arm": resident_mb(pid, what)} for what in ("VmRSS", "RssFile"))
    references, commands = operator.listen(CLOCK_CHECK_S)
    check = SetPoints.of(board.wire(), board.start_s)
    error = clock_error(check.hold, references[:, 0], rate_hz)
    points = SetPoints.of(wire, board.start_s)
    late_ms = {}
    for name, data in {name: operator.long_goal(count) for name, count in MANY.items()}.items():
        board.wire()
        operator.send_long(data)
        late_ms[name] = regularity(SetPoints.of(board.wire(), board.start_s).hold, rate_hz)["longest_ms"] - 1e3 / rate_hz
    return {
        "latency_ms": _spread(1e3 * (points.arrival - points.hold + LEAD_S + np.median(error))),
        "clock_error_ms": {
            "median": 1e3 * float(np.median(error)),
            "worst": 1e3 * float(error[np.argmax(np.abs(error))]),
            "lost": len(references) - len(error),
        },
        "to_a_listener_ms": {
            "reference": _spread(1e3 * (references[:, 1] - references[:, 0] + LEAD_S)),
            "command": _spread(1e3 * (commands[:, 1] - commands[:, 0] + LEAD_S)),
        },
        "period": {"reference": regularity(points.hold, rate_hz), "arrival": regularity(points.arrival, rate_hz)},
        "long_goal": {"late_ms": late_ms},
        "cpu_percent": {"arm": shares["arm"]},
        "memory_mb": memory,
        "memory_of_files_mb": files,
        "beside": {
            "cpu_percent": {name: share for name, share in shares.items() if name != "arm"},
            "load_average": load()[0],
            "late_wake_up_ms": _spread(1e3 * late_wake_ups(wire, board.start_s)),
        },
        "board": _board(wire, len(points.hold)),
    }


def clock_error(hold: np.ndarray, stamps: np.ndarray, rate_hz: float) -> np.ndarray:
    """How much later than its reference's stamp each set-point holds on the board [s].

    Over the references heard, but for those of which no set-point came of (a newer one overtook it, on a busy machine).
    """
    error = hold[np.abs(hold[None, :] - stamps[:, None]).argmin(axis=1)] - stamps
    return error[np.abs(error) < 0.5 / rate_hz]


def late_wake_ups(wire: Wire, start_s: float) -> np.ndarray:
    """How late the board's process ran when its telemetry was due [s]: what the machine does to one that only sleeps."""
    return np.array(
        [time_s - start_s - 1e-6 * frame.message.time_us for time_s, frame in wire.sent if isinstance(frame.message, Telemetry)]
    )


def regularity(times_s: np.ndarray, rate_hz: float) -> dict:
    """Jitter p99 [ms] of the periods between these times, longest period [ms], and how many were missed."""
    periods, nominal = np.diff(times_s), 1.0 / rate_hz
    return {
        "jitter_p99_ms": 1e3 * float(np.percentile(np.abs(periods - nominal), 99)),
        "longest_ms": 1e3 * float(periods.max()),
        "missed": int((periods > 1.5 * nominal).sum()),
    }


def _spread(values: np.ndarray) -> dict:
    median, p99 = np.percentile(values, (50, 99))
    return {"median": float(median), "p99": float(p99), "max": float(values.max())}


def _board(wire: Wire, setpoints: int) -> dict:
    """What the board did with the set-points, from its own telemetry; moving: share of frames in which pulses changed."""
    telemetry = [frame.message for _, frame in wire.sent if isinstance(frame.message, Telemetry)]
    first, last = telemetry[0], telemetry[-1]
    moving = np.mean([one.pulses != two.pulses for one, two in zip(telemetry, telemetry[1:])])
    return {
        "setpoints": setpoints,
        "rejected": (last.rejected - first.rejected) & 0xFFFF,
        "underruns": (last.underruns - first.underruns) & 0xFFFF,
        "moving_share": float(moving),
    }


def median_of(runs: list):
    """The runs' medians, figure by figure, in the shape of one run."""
    if isinstance(runs[0], dict):
        return {key: median_of([run[key] for run in runs]) for key in runs[0]}
    return round(float(np.median(runs)), 3)


def at_rate(rate_hz: float, runs: int, interval_s: float, tell) -> dict:
    """Medians over the runs, the runs, and what was said of those that broke off (a machine that stalls does that)."""
    results, broken = [], []
    while len(results) < runs:
        tell(f"loop: {rate_hz:g} Hz, run {len(results) + 1} of {runs}")
        try:
            results.append(measure(interval_s, rate_hz))
        except RuntimeError as error:
            broken.append(str(error))
            tell(f"loop: this run broke off: {error}")
            if len(broken) > BROKEN_AT_MOST:
                raise
    return {"median_of_runs": median_of(results), "runs": [median_of([result]) for result in results], "broken_off": broken}


def run(
    seconds: float = 10.0, runs: int = 5, rate_hz: float = 200.0, others_hz: tuple[float, ...] = (100.0,), tell=lambda _text: None
) -> dict:
    """Measure at ``rate_hz``, ``runs`` times, and once at each of ``others_hz``; ready for JSON.

    Args:
        seconds: length of the interval that is measured.
        tell: called with a line about what is being done.
    """
    rates = ((rate_hz, runs), *((other, 1) for other in others_hz))
    setup = {"interval_s": seconds, "lead_s": LEAD_S}
    return setup | {f"{rate:g}_hz": at_rate(rate, count, seconds, tell) for rate, count in rates}


if __name__ == "__main__":
    print(json.dumps(run(tell=lambda text: print(text, file=sys.stderr, flush=True)), indent=2))
