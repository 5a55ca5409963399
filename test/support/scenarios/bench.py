"""What every scenario needs: where the arm is, goals, waiting, and witnesses that look while it moves."""

from __future__ import annotations

import contextlib
import math
import threading
import time
import uuid

import numpy as np
import waiting
from arm_fixtures import picker, servos
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import PATIENCE_S

from picker_dynamics.errors import PickerError
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import LATEST, seconds, to_stamp
from picker_dynamics.sim.control_socket import BoardControl

NAMES = picker().joint_names
SERVOS = servos()
HOME, REST = np.array(SERVOS.home), np.array(SERVOS.rest)
ALL = (1 << len(NAMES)) - 1
QUANTUM = SERVOS.quantum_us * np.pi / 2000.0
"""One step of the simulated board's outputs [rad]."""
HELD_S = 1.0
"""Within which a controller that is said to hold sends a reference [s]."""
STILL = 0.02
"""Speed of the true arm [rad/s] below which it stands,"""
STANDS_S = 0.15
"""for so long [s]: one that swings turns round in between."""


def moved(q=HOME, **by) -> np.ndarray:
    target = np.array(q, dtype=float)
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return target


# -- looking -------------------------------------------------------------------------------------------


def until(client, condition, what):
    """Spin until ``condition()``, and return what it was; says what did not happen, and what the graph said last."""
    return waiting.until(condition, said_last(client, what), step=lambda: client.spin_once(0.05))


def said_last(client, what):
    return lambda: f"hardware: {client.hardware}; controller: {client.controller}; {what() if callable(what) else what}"


def until_phase(client, phase: str = "holding") -> None:
    until(client, lambda: client.controller.get("phase") == phase, f"a controller that is {phase}")


def until_hardware(client, state: str) -> None:
    until(client, lambda: client.hardware.get("state") == state, f"hardware that is {state}")


def until_told(client, words: str) -> None:
    """The controller says them."""
    until(client, lambda: words in client.controller.get("message", ""), words)


def until_shown(client, terminal, *words: str) -> None:
    """A terminal shows all of them."""
    until(client, lambda: all(word in terminal.shown for word in words), lambda: f"{words} in {terminal.shown[-500:]!r}")


def until_base(client, board, angle: float) -> None:
    """The true arm is turned there [rad]."""
    until(client, lambda: abs(board.truth().q[0] - angle) < 0.03, f"the base at {angle:.2f} rad")


def driver(client) -> str:
    """Who drives."""
    lease = client.controller.get("lease", "")
    return lease.removeprefix("driver ") if lease.startswith("driver ") else ""


def until_free(client) -> None:
    until(client, lambda: not driver(client), "an arm that nobody drives")


@contextlib.contextmanager
def publishing(client, kind, topic: str, qos=LATEST):
    """A publisher that somebody hears."""
    publisher = client.create_publisher(kind, topic, qos)
    try:
        until(client, lambda: publisher.get_subscription_count() > 0, "a listener")
        yield publisher
    finally:
        client.destroy_publisher(publisher)


def press_until(client, terminal, keys: str, condition) -> None:
    """Press keys where the arm holds or is off, and wait for what they bring about."""
    until(client, lambda: client.controller["phase"] in ("holding", "inactive"), "an arm that keys move")
    terminal.press(keys)
    until(client, condition, f"what {keys!r} is to bring about")


def stands(client, board) -> np.ndarray:
    """Wait until the true arm stands still; its pose."""
    moved_s = math.inf

    def still() -> bool:
        nonlocal moved_s
        truth = board.truth()
        if moved_s == math.inf or np.abs(truth.v).max() >= STILL:
            moved_s = truth.monotonic_s
        return truth.monotonic_s - moved_s >= STANDS_S

    until(client, still, "standstill")
    return board.truth().q


def wait_until_up(client) -> None:
    """All three nodes do their part: the arm is held, and goals are taken, for which the controller has to know the payload."""
    client.wait_ready(PATIENCE_S)


def ready(client) -> None:
    """Enabled and holding, with references, whatever happened before.

    It may be noticed only now, at any moment of this wait, as a cable that was pulled or a board that was reset.
    """

    def held() -> bool:
        client.catch_up()
        if client.hardware["state"] not in ("active", "enabling"):
            until_hardware(client, "idle")
            enable_again(client)
        client.desired = None
        return client.wait_at_most(HELD_S, lambda: is_held(client) and client.desired is not None and takes_goals(client))

    client.wait(lambda: client.hardware and client.controller, "nobody answers", PATIENCE_S)
    until(client, held, "an arm that is held and takes goals")


def is_held(client) -> bool:
    return (client.hardware["state"], client.controller["phase"]) == ("active", "holding")


def takes_goals(client) -> bool:
    """Goals are heard, and what comes of them is too, by the hardware and by this client."""
    heard = client.state is not None and client.goals.get_subscription_count() > 0
    return heard and client.hardware.get("commanded", "true") == "true"


def enable_again(client) -> None:
    """After a stop or a fault, as a person does."""
    client.trigger("reset")
    client.switch("enable", True)


def at_home(client, board) -> np.ndarray:
    """Holding at the home pose; where the true arm is then."""
    ready(client)
    if np.abs(client.reference() - HOME).max() > 1e-6:
        client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)
    return stands(client, board)


def is_where_it_was(client, board, before: np.ndarray, tolerance: float = 3.0 * QUANTUM) -> None:
    np.testing.assert_allclose(stands(client, board), before, atol=tolerance)


def is_told(client, q: np.ndarray, tolerance: float = 1e-6) -> None:
    """The reference is ``q`` (n,) [rad]."""
    np.testing.assert_allclose(client.reference(), q, atol=tolerance)


FEWEST = 3
"""So many looks are too few to tell a step."""


class Watch:
    """Looks at the true set-points from a thread of its own, and asserts that none was ever faster than its servo."""

    def __init__(self, board: BoardControl):
        self._board = BoardControl(board.path, timeout_s=PATIENCE_S)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.samples = []

    def _look(self) -> None:
        while not self._over.wait(0.01):
            try:
                self.samples.append(self._board.truth())
            except PickerError:  # the board was killed
                return

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, kind, *_exception) -> None:
        late_s = time.monotonic() + PATIENCE_S
        while kind is None and len(self.samples) <= FEWEST and self._thread.is_alive() and time.monotonic() < late_s:
            time.sleep(0.01)  # what was watched was over before a busy machine looked
        self._over.set()
        self._thread.join()
        self._board.close()
        if kind is None:
            self.require_no_step()

    def require_no_step(self) -> None:
        assert len(self.samples) > FEWEST, "nothing was seen"
        for before, now in zip(self.samples, self.samples[1:]):
            frames = (now.monotonic_s - before.monotonic_s) // SERVOS.frame_s + 1
            allowed = SERVOS.no_load_speed * SERVOS.frame_s * frames + 2.0 * QUANTUM
            step = np.abs(now.setpoint - before.setpoint)
            assert not (step > allowed).any(), f"set-points moved by {step} rad within {frames} frames"

    def tip_speed(self, over_s: float = 0.2) -> float:
        """Largest mean speed of the true tip over windows of ``over_s`` [m/s]."""
        times, tips = np.array([t.monotonic_s for t in self.samples]), np.array([t.tip for t in self.samples])
        later = np.searchsorted(times, times + over_s)
        pairs = [(i, j) for i, j in enumerate(later) if j < len(times)]
        return max(float(np.linalg.norm(tips[j] - tips[i]) / (times[j] - times[i])) for i, j in pairs)


class Commands:
    """The set-points that the dynamics node sends, in the order of the arm, while a ``with`` block lasts."""

    def __init__(self, client):
        self._client, self.positions, self.efforts, self.times_s = client, [], [], []

    def _take(self, message: JointState) -> None:
        order = [message.name.index(name) for name in NAMES]
        self.positions.append(np.array(message.position)[order])
        self.efforts.append(np.array(message.effort)[order])
        self.times_s.append(seconds(message.header.stamp))

    def __enter__(self) -> Commands:
        self._subscription = self._client.create_subscription(JointState, "joint_commands", self._take, 100)
        until(self._client, lambda: self.positions, "commands")
        return self

    def __exit__(self, *_exception) -> None:
        self._client.destroy_subscription(self._subscription)

    def more(self, count: int) -> None:
        wanted = len(self.positions) + count
        until(self._client, lambda: len(self.positions) >= wanted, "commands")

    def _steady(self, values: list[np.ndarray], tolerance: float, what: str) -> np.ndarray:
        self.more(50)
        until(self._client, lambda: np.ptp(values[-50:], axis=0).max() < tolerance, what)
        return values[-1]

    def steady(self) -> np.ndarray:
        """Wait until fifty in a row are the same set-point, and return it [rad]."""
        return self._steady(self.positions, 1e-3, "a steady set-point")

    def steady_efforts(self) -> np.ndarray:
        """Wait until fifty in a row are the same torque, as they are some time after commands began anew, and return it [N m]."""
        return self._steady(self.efforts, 1e-7, "a steady torque")

    def largest_step(self, period_s: float = 0.01) -> float:
        """From one command to the next; where some were not heard, or not sent, their share of it [rad]."""
        periods = np.maximum(np.diff(self.times_s) / period_s, 1.0)
        return float((np.abs(np.diff(self.positions, axis=0)).max(axis=1) / periods).max())


# -- goals ---------------------------------------------------------------------------------------------


def goal(*targets, times=(1.0,), names=NAMES, rest: bool = True, **fields) -> JointTrajectory:
    """A goal as a message; ``rest``: velocity and acceleration zero at every point."""
    message = JointTrajectory(joint_names=list(names))
    for time_s, target in zip(times, targets):
        point = JointTrajectoryPoint(positions=[float(angle) for angle in target])
        if rest:
            point.velocities = point.accelerations = [0.0] * len(target)
        for name, values in fields.items():
            setattr(point, name, values)
        to_stamp(point.time_from_start, time_s)
        message.points.append(point)
    return message


def answered(client, message: JointTrajectory) -> str:
    """Send a goal, wait until something is said of it, and return its name."""
    name = message.header.frame_id = uuid.uuid4().hex
    client.goals.publish(message)
    until(client, lambda: name in client.outcomes, "an answer to a goal")
    return name


def start(client, message: JointTrajectory) -> str:
    """Send a goal, wait until it was accepted, and return its name."""
    client.wait_holding(PATIENCE_S)
    name = answered(client, message)
    assert outcome(client, name) in ("accepted", "done"), client.outcomes[name].message
    return name


def refusal(client, message: JointTrajectory) -> str:
    """Why a goal is not accepted."""
    return ends(client, answered(client, message), "refused")


def outcome(client, name: str) -> str:
    return values_of(client.outcomes[name])["outcome"]


def over(client, name: str) -> bool:
    return name in client.outcomes and outcome(client, name) != "accepted"


def ends(client, name: str, how: str = "done") -> str:
    """Wait until a goal has ended, which it does like this; what was said of it."""
    until(client, lambda: over(client, name), "the end of a goal")
    assert outcome(client, name) == how, client.outcomes[name].message
    return client.outcomes[name].message


def start_swinging(client, board) -> str:
    """Start a slow, wide motion of the base from home, and wait until the arm really moves; leaves it moving."""
    at_home(client, board)
    return under_way(client, board, goal(moved(base=0.9), times=[6.0]))


def under_way(client, board, message: JointTrajectory) -> str:
    """Start a goal that turns the base, and wait until the arm really moves."""
    name = start(client, message)
    until(client, lambda: board.truth().v[0] > 0.1, "motion")
    return name


def hardware_figures(client) -> dict[str, float]:
    """The numbers in the next diagnostics of this graph's hardware node."""
    name = f"{client.get_namespace()}/hardware: board".lstrip("/")

    def figures() -> dict[str, float]:
        found = (values_of(entry) for message in heard for entry in message.status if entry.name == name)
        return {key: float(value) for values in found for key, value in values.items() if value.isdigit()}

    with client.hearing(DiagnosticArray, "/diagnostics") as heard:
        return until(client, figures, "diagnostics")
