"""What an arm has to do, and what must not happen to it: functions of (client, board), for whatever runs the graph.

``client`` is an ArmClient on a running graph, ``board`` the BoardControl of its simulation.  Each starts with the arm
holding and leaves it holding, unless its name says otherwise.  Times are patience, never a measure; where the arm is
comes from the simulation itself.
"""

from __future__ import annotations

import threading
import uuid

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.errors import PickerError
from picker_dynamics.nodes.client import GoalRefusedError
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import LATEST, to_stamp
from picker_dynamics.sim.control_socket import BoardControl

NAMES = picker().joint_names
SERVOS = servos()
HOME, REST = np.array(SERVOS.home), np.array(SERVOS.rest)
ALL = (1 << len(NAMES)) - 1
QUANTUM = SERVOS.quantum_us * np.pi / 2000.0
"""One step of the simulated board's outputs [rad]."""
PATIENCE_S = 30.0
STILL = 0.02
"""Speed of the true arm [rad/s] below which it stands."""


def moved(q=HOME, **by) -> np.ndarray:
    target = np.array(q, dtype=float)
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return target


# -- looking -------------------------------------------------------------------------------------------


def until(client, condition, what: str) -> None:
    """Spin until ``condition()``; says what did not happen, and what the graph said last."""
    try:
        client.wait(condition, PATIENCE_S, what)
    except PickerError as error:
        raise AssertionError(f"{what} did not happen; hardware: {client.hardware}; controller: {client.controller}") from error


def stands(client, board) -> np.ndarray:
    """Wait until the true arm stands still; its pose."""
    looks = []

    def still() -> bool:
        looks.append(np.abs(board.truth().v).max() < STILL)
        return len(looks) > 2 and all(looks[-3:])

    until(client, still, "standstill")
    return board.truth().q


def ready(client) -> None:
    """Enabled and holding, whatever happened before."""
    client.wait(lambda: client.hardware and client.controller, PATIENCE_S, "nobody answers")
    if client.hardware["state"] not in ("active", "enabling"):
        until(client, lambda: client.hardware["state"] == "idle", "a board")
        client.trigger("reset")
        client.switch("enable", True)
    client.wait_holding(PATIENCE_S)


def at_home(client, board) -> np.ndarray:
    """Holding at the home pose; where the true arm is then."""
    ready(client)
    if np.abs(client.reference() - HOME).max() > 1e-6:
        client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)
    return stands(client, board)


def is_where_it_was(client, board, before: np.ndarray, tolerance: float = 3.0 * QUANTUM) -> None:
    np.testing.assert_allclose(stands(client, board), before, atol=tolerance)


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
        self._over.set()
        self._thread.join()
        self._board.close()
        if kind is None:
            self.require_no_step()

    def require_no_step(self) -> None:
        assert len(self.samples) > 3, "nothing was seen"
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
        self._client, self.positions, self.efforts = client, [], []

    def _take(self, message: JointState) -> None:
        order = [message.name.index(name) for name in NAMES]
        self.positions.append(np.array(message.position)[order])
        self.efforts.append(np.array(message.effort)[order])

    def __enter__(self) -> Commands:
        self._subscription = self._client.create_subscription(JointState, "joint_commands", self._take, 100)
        until(self._client, lambda: self.positions, "commands")
        return self

    def __exit__(self, *_exception) -> None:
        self._client.destroy_subscription(self._subscription)

    def more(self, count: int) -> None:
        wanted = len(self.positions) + count
        until(self._client, lambda: len(self.positions) >= wanted, "commands")

    def largest_step(self) -> float:
        return float(np.abs(np.diff(self.positions, axis=0)).max())


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


def start(client, message: JointTrajectory) -> str:
    """Send a goal, wait until it was accepted, and return its name."""
    client.wait_holding(PATIENCE_S)
    name = message.header.frame_id = uuid.uuid4().hex
    client.goals.publish(message)
    until(client, lambda: name in client.outcomes, "an answer to a goal")
    assert outcome(client, name) in ("accepted", "done"), client.outcomes[name].message
    return name


def outcome(client, name: str) -> str:
    return values_of(client.outcomes[name])["outcome"]


def start_swinging(client, board) -> str:
    """Start a slow, wide motion of the base from home, and wait until the arm really moves; leaves it moving."""
    at_home(client, board)
    name = start(client, goal(moved(base=0.9), times=[4.0]))
    until(client, lambda: board.truth().v[0] > 0.15, "motion")
    return name


# -- scenarios -----------------------------------------------------------------------------------------


def comes_up_holding(client, board) -> None:
    """Bring-up ends with all outputs on, at the pose where the arm stood."""
    client.wait_holding(60.0)
    truth = board.truth()
    assert (truth.live, truth.owned, truth.faults) == (ALL, ALL, ())
    assert client.hardware["state"] == "active"
    np.testing.assert_allclose(stands(client, board), client.reference(), atol=0.03)


def executes_a_trajectory(client, board) -> None:
    """Through two points, in a hurry, yet no faster than the tip may be, to where it was told; the tip within 5 mm."""
    at_home(client, board)
    middle, end = moved(base=0.4, shoulder=-0.2), moved(base=0.1, shoulder=-0.3, elbow=0.3, wrist=-0.2)
    with Watch(board) as watch:
        client.move_through([0.2, 0.4], [middle, end], timeout_s=PATIENCE_S)
        np.testing.assert_allclose(client.reference(), end, atol=1e-6)
        wanted = rigid_body().forward_kinematics(end)
        until(client, lambda: np.linalg.norm(board.truth().tip - wanted) < 5e-3, "the tip within 5 mm")
    assert watch.tip_speed() < 0.25 * 1.25, "people stand beside it; a quarter for what springs add"
    passed = min(np.abs(truth.q - middle).max() for truth in watch.samples)
    assert passed < 0.15, "it went by way of the first point"
    until(client, lambda: np.abs(client.state - board.truth().q).max() < 0.03, "a modelled state near the truth")


IMPOSSIBLE = {
    "a pose that cannot be held": (dict(targets=[np.zeros(5)], times=[6.0]), "shoulder", "N·m"),
    "beyond a limit": (dict(targets=[moved(elbow=2.5)], times=[6.0]), "elbow", "limit"),
    "a joint that the arm does not have": (dict(targets=[HOME], names=(*NAMES[:-1], "tail")), "tail", "unknown"),
    "a joint missing": (dict(targets=[HOME[:-1]], names=NAMES[:-1]), "scissor", "missing"),
    "not a number": (dict(targets=[moved(wrist=np.nan)]), "wrist", "nan"),
    "infinite": (dict(targets=[moved(wrist=np.inf)]), "wrist", "inf"),
    "points out of order": (dict(targets=[HOME, HOME], times=[2.0, 1.0]), None, "point 1"),
    "speed at the end": (dict(targets=[HOME], velocities=[0.1] * 5), "base", "last point"),
    "too few positions": (dict(targets=[HOME[:-1]], rest=False), None, "4 positions for 5 joints"),
    "no points": (dict(targets=[]), None, "no points"),
}


def refuses(client, board, case: str) -> None:
    """One clear answer with the joint, the value and the limit, and the arm stays where it is."""
    options, joint, words = IMPOSSIBLE[case]
    before, reference = at_home(client, board), client.reference()
    targets = options["targets"]
    message = goal(*targets, **{key: value for key, value in options.items() if key != "targets"})
    with pytest.raises(GoalRefusedError) as caught:
        client.send(message)
    assert words in str(caught.value), str(caught.value)
    assert (caught.value.joint or None) == joint
    if words == "N·m":
        assert caught.value.value > caught.value.limit > 0.0
    np.testing.assert_array_equal(client.reference(), reference)
    assert client.controller["phase"] == "holding"
    is_where_it_was(client, board, before)


def refuses_a_goal_from_the_past(client, board) -> None:
    before = at_home(client, board)
    message = goal(moved(base=0.3))
    to_stamp(message.header.stamp, client.get_clock().now().nanoseconds * 1e-9 - 5.0)
    with pytest.raises(GoalRefusedError, match=r"should have started \d.\d+ s ago"):
        client.send(message)
    is_where_it_was(client, board, before)


def refuses_to_hurry_where_slowing_is_off(client, board) -> None:
    before = at_home(client, board)
    client.set_parameters("trajectory_controller", stretch=False)
    try:
        with pytest.raises(GoalRefusedError, match="tip would move at .* m/s") as caught:
            client.send(goal(moved(base=1.0), times=[0.4]))
        assert (caught.value.joint, caught.value.limit) == ("tip", 0.25)
        is_where_it_was(client, board, before)
    finally:
        client.set_parameters("trajectory_controller", stretch=True)
    assert client.send(goal(moved(base=0.1), times=[0.1])) > 0.1, "slowed instead"


def stops_and_resumes_nothing(client, board) -> None:
    """emergency_stop in mid-motion: decelerate, hold, latch; reset moves nothing; enable starts from the held pose."""
    at_home(client, board)  # before the watch: what a fault left behind is no part of this
    with Watch(board):
        name = start_swinging(client, board)
        client.switch("emergency_stop", True)
        until(client, lambda: outcome(client, name) == "aborted", "the end of the motion")
        assert "stopped" in client.outcomes[name].message
        until(client, lambda: "STOPPED" in board.truth().faults and board.truth().state == "HOLD", "a board that holds")
        held = stands(client, board)
        assert held[0] < 0.8, "it did not go on to the end"
        assert client.hardware["state"] == "idle" and client.hardware["stop_latched"] == "true"
        with pytest.raises(PickerError, match="only latches"):
            client.switch("emergency_stop", False)
        with pytest.raises(PickerError, match="stop is latched"):
            client.switch("enable", True)
        client.trigger("reset")
        until(client, lambda: client.hardware["stop_latched"] == "false", "reset")
        until(client, lambda: board.truth().faults == (), "a board without faults")
        client.spin(0.3)  # time in which it could resume
        assert client.hardware["state"] == "idle"
        is_where_it_was(client, board, held)
        assert "adopted" in client.switch("enable", True)
        client.wait_holding(PATIENCE_S)
        is_where_it_was(client, board, held, tolerance=0.02)
    client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)


def takes_no_goal_while_it_is_off(client, board) -> None:
    """Between stop and enable a goal is refused, not kept for later."""
    before = at_home(client, board)
    client.switch("emergency_stop", True)
    until(client, lambda: client.controller["phase"] == "inactive", "an inactive controller")
    message = goal(moved(base=0.5))
    message.header.frame_id = name = uuid.uuid4().hex
    client.goals.publish(message)
    until(client, lambda: name in client.outcomes, "an answer")
    assert outcome(client, name) == "refused" and "not active" in client.outcomes[name].message
    ready(client)
    is_where_it_was(client, board, before, tolerance=0.02)


def relaxes(client, board) -> None:
    """All pulses are cut, the arm falls, and nobody claims to know where it is; enabling starts at the rest pose."""
    at_home(client, board)
    client.switch("emergency_stop", True)
    client.trigger("relax")
    until(client, lambda: board.truth().live == 0, "outputs off")
    assert np.isnan(board.truth().setpoint).all()
    until(client, lambda: board.truth().q[1] < HOME[1] - 0.2 or board.truth().q[1] > HOME[1] + 0.2, "the fall")
    client.spin(0.2)
    client.state = None
    client.spin(0.3)
    assert client.state is None, "joint_states of an arm that nobody knows"
    with pytest.raises(PickerError, match="stop is latched"):
        client.switch("enable", True)
    client.trigger("reset")
    said = client.switch("enable", True)
    assert said.startswith("enabling base, shoulder")
    client.wait_holding(PATIENCE_S)
    np.testing.assert_allclose(stands(client, board), REST, atol=0.05)


def carries_a_payload_without_a_jump(client, board) -> None:
    """The set-points rise to what the berry weighs, gradually; a bad value changes nothing."""
    at_home(client, board)
    with Commands(client) as commands:
        bare = commands.efforts[-1]
        client.set_parameters("dynamics", payload__mass=0.05)
        heavier = rigid_body(0.05).gravity(HOME) - rigid_body().gravity(HOME)
        until(client, lambda: np.allclose(commands.efforts[-1] - bare, heavier, atol=1e-6), "the torque of the payload")
        assert np.abs(heavier).max() > 0.02
        for bad in (-0.1, np.nan, 1e3, "heavy"):
            with pytest.raises(PickerError):
                client.set_parameters("dynamics", payload__mass=bad)
        for bad in ([0.1], [0.0, 0.0, np.nan]):
            with pytest.raises(PickerError, match="com|number"):
                client.set_parameters("dynamics", payload__com=bad)
        commands.more(20)
        np.testing.assert_allclose(commands.efforts[-1] - bare, heavier, atol=1e-6)
        client.set_parameters("dynamics", payload__mass=0.0)
        until(client, lambda: np.allclose(commands.efforts[-1], bare, atol=1e-6), "the torque of the bare arm")
    assert commands.largest_step() < 0.004, "half a second for the passage, at 100 Hz"


def changes_compensation_without_a_jump(client, board) -> None:
    """Without compensation the arm sags, with it it does not; an unknown mode changes nothing."""
    at_home(client, board)
    wanted = rigid_body().forward_kinematics(HOME)
    with Commands(client) as commands:
        for mode, near in (("none", False), ("gravity", True), ("none", False), ("full", True)):
            client.set_parameters("dynamics", compensation=mode)
            until(client, lambda near=near: bool(np.linalg.norm(board.truth().tip - wanted) < 4e-3) is near, f"effect of {mode}")
        before = commands.positions[-1]
        with pytest.raises(PickerError, match="none, gravity, full"):
            client.set_parameters("dynamics", compensation="most")
        commands.more(80)
        np.testing.assert_allclose(commands.positions[-1], before, atol=0.01)
    assert commands.largest_step() < 0.008


def follows_a_good_stream(client, board) -> None:
    """joint_reference, as a ros2_control client sends it: NaN and zeros first, which must move nothing; then a motion."""
    before = at_home(client, board)
    stream = client.create_publisher(JointState, "arm_controller/joint_reference", LATEST)
    try:
        until(client, lambda: stream.get_subscription_count() > 0, "a listener")
        for first in (np.full(5, np.nan), np.zeros(5), moved(base=0.06)):
            for _ in range(10):
                stream.publish(JointState(name=list(NAMES), position=first.tolist()))
                client.spin(0.02)
        until(client, lambda: "first command of a stream" in client.controller["message"], "the refusal")
        np.testing.assert_allclose(client.reference(), HOME, atol=1e-9)
        is_where_it_was(client, board, before)
        with Watch(board):
            for k in range(120):
                target = moved(base=0.3 * min(k / 100.0, 1.0))
                stream.publish(JointState(name=list(reversed(NAMES)), position=target[::-1].tolist()))
                client.spin(0.02)
            until(client, lambda: client.controller["phase"] == "holding", "the end of the stream")
        assert abs(client.reference()[0] - 0.3) < 0.02
        until(client, lambda: abs(board.truth().q[0] - client.desired[0]) < 0.02, "the arm at the end of the stream")
    finally:
        client.destroy_publisher(stream)


def survives_a_board_reset_in_mid_motion(client, board) -> None:
    """The outputs stay as they are, everyone says why, and the arm goes on only when it is told."""
    at_home(client, board)
    boot = board.truth().boot_id
    with Watch(board):
        name = start_swinging(client, board)
        board.reset(keep_outputs=True)
        until(client, lambda: outcome(client, name) == "aborted", "the end of the motion")
        assert f"the board was reset (boot id {boot} -> {boot + 1})" in client.outcomes[name].message
        held = board.truth().setpoint
        client.spin(0.3)
        truth = board.truth()
        np.testing.assert_array_equal(truth.setpoint, held)
        assert (truth.live, truth.owned) == (ALL, 0) and client.hardware["state"] == "idle"
        assert "adopted" in client.switch("enable", True)
        client.wait_holding(PATIENCE_S)
    client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)


def survives_a_pulled_cable(client, board) -> None:
    """One second without a cable, in mid-motion: the board holds, the link comes back, nothing moves until enable."""
    at_home(client, board)  # before the watch: what a fault left behind is no part of this
    with Watch(board):
        name = start_swinging(client, board)
        board.unplug(1.0)
        until(client, lambda: outcome(client, name) == "aborted", "the end of the motion")
        assert "cable pulled" in client.outcomes[name].message
        until(client, lambda: client.hardware["state"] == "idle", "the way back")
        held = board.truth()
        client.spin(0.3)
        truth = board.truth()
        np.testing.assert_array_equal(truth.setpoint, held.setpoint)
        assert truth.live == ALL and client.hardware["state"] == "idle" and np.abs(truth.v).max() < STILL
        assert "adopted" in client.switch("enable", True)
        client.wait_holding(PATIENCE_S)
        np.testing.assert_allclose(stands(client, board), truth.q, atol=0.02)
    client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)


def arrives_in_spite_of_damaged_frames(client, board) -> None:
    """One frame in ten is damaged: the board drops and counts them, and plays what it has."""
    at_home(client, board)
    target = moved(base=-0.4)
    board.wire(corrupt=0.005)
    try:
        with Watch(board):
            name = start(client, goal(target, times=[2.0]))
            until(client, lambda: outcome(client, name) != "accepted", "the end of the motion")
    finally:
        board.wire()
    assert outcome(client, name) == "done", client.outcomes[name].message
    until(client, lambda: np.abs(board.truth().q - target).max() < 0.03, "arrival")
    assert client.hardware["state"] == "active"
    until(client, lambda: hardware_figures(client)["bad_frames"] > 0, "a count of damaged frames")


def brakes_at_a_fault_and_names_it(client, board) -> None:
    """The servo supply breaks down in mid-motion: hold, say it, and go on only after it is back, reset and enable."""
    at_home(client, board)  # before the watch: what a fault left behind is no part of this
    with Watch(board):
        name = start_swinging(client, board)
        board.supply(3.9)
        until(client, lambda: outcome(client, name) == "aborted", "the end of the motion")
        assert "SUPPLY_LOW" in client.outcomes[name].message
        stands(client, board)
        with pytest.raises(PickerError, match="SUPPLY_LOW"):
            client.trigger("reset")
        with pytest.raises(PickerError, match="SUPPLY_LOW"):
            client.switch("enable", True)
        board.supply(6.0)
        client.trigger("reset")
        client.switch("enable", True)
        client.wait_holding(PATIENCE_S)
    client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)


def refuses_illegal_transitions_and_lives(client, board) -> None:
    """rclpy would let an illegal lifecycle request kill the node; the guard answers it."""
    before = at_home(client, board)

    def change(number: int) -> bool:
        return client.call(ChangeState, "hardware/change_state", ChangeState.Request(transition=Transition(id=number))).success

    def state() -> str:
        return client.call(GetState, "hardware/get_state", GetState.Request()).current_state.label

    for illegal in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CLEANUP, 99):
        assert change(illegal) is False
        assert state() == "active"
    assert change(Transition.TRANSITION_DEACTIVATE) is True
    until(client, lambda: client.hardware["state"] == "idle", "deactivation")
    assert change(Transition.TRANSITION_DEACTIVATE) is False
    is_where_it_was(client, board, before)
    assert change(Transition.TRANSITION_ACTIVATE) is True
    client.wait_holding(PATIENCE_S)
    assert state() == "active"
    is_where_it_was(client, board, before, tolerance=0.02)


def ignores_commands_that_do_not_fit(client, board) -> None:
    """Straight to the hardware node, past the gate: nothing away from the outputs, stale, or not finite is sent."""
    before = at_home(client, board)
    intruder = client.create_publisher(JointState, "joint_commands", LATEST)
    cases = {"commands_away": (moved(base=0.5), NAMES, 0.0), "commands_stale": (HOME, NAMES, 5.0),
             "commands_invalid": (moved(base=np.nan), NAMES, 0.0)}
    try:
        until(client, lambda: intruder.get_subscription_count() > 0, "a listener")
        counts = hardware_figures(client)
        for position, names, late in (*cases.values(), (HOME[:-1], NAMES[:-1], 0.0)):
            message = JointState(name=list(names), position=position.tolist())
            for _ in range(20):  # the other commands, 100 a second, take the only place in the queue from most of them
                to_stamp(message.header.stamp, client.get_clock().now().nanoseconds * 1e-9 + 0.06 - late)
                intruder.publish(message)
                client.spin(0.005)
        figures: dict[str, float] = {}

        def counted() -> bool:
            figures.update(hardware_figures(client))
            return all(figures[key] > counts[key] for key in cases)

        until(client, counted, f"one more of each of {', '.join(cases)}")
        assert figures["commands_sent"] > counts["commands_sent"]
        is_where_it_was(client, board, before)
    finally:
        client.destroy_publisher(intruder)


def hardware_figures(client) -> dict[str, float]:
    """The numbers in the next diagnostics of this graph's hardware node."""
    found: dict[str, float] = {}
    name = f"{client.get_namespace()}/hardware: board".lstrip("/")

    def look(message: DiagnosticArray) -> None:
        for entry in message.status:
            if entry.name == name:
                found.update({key: float(value) for key, value in values_of(entry).items() if value.isdigit()})

    subscription = client.create_subscription(DiagnosticArray, "/diagnostics", look, 10)
    try:
        until(client, lambda: found, "diagnostics")
    finally:
        client.destroy_subscription(subscription)
    return found
