"""What lies between control_msgs and the execution, without a wire: rclpy's action server is replaced, the messages are the real
ones where control_msgs is installed, else stand-ins with the same fields."""

import contextlib
import importlib
import importlib.util
import re
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
import stand_in_control_msgs as stand_in
from arm_fixtures import picker, servos
from execution_rig import HOME, NAMES, TIGHT, Rig
from places import ROOT
from rclpy.action import CancelResponse, GoalResponse
from ros_arm import goal
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory

from picker_dynamics.board.request_gate import RequestGate
from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.execution.driving import Jogging
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_tracking import ArmState, Code, Error
from picker_dynamics.execution.gripping import GripperSettings
from picker_dynamics.nodes.runtime import to_stamp
from picker_dynamics.nodes.trajectory_controller import TrajectoryController as Shell
from picker_dynamics.session.running_arm import RunningArm

REAL = importlib.util.find_spec("control_msgs") is not None
ACTIONS = "picker_dynamics.nodes.actions"


class Handle:
    """rclpy's ServerGoalHandle: which transitions are allowed, and what is published."""

    def __init__(self, number: int, request):
        self.goal_id = types.SimpleNamespace(uuid=np.full(16, number, dtype=np.uint8))
        self.request, self.feedback, self.status, self.result = request, [], "executing", None

    @property
    def is_cancel_requested(self) -> bool:
        return self.status == "canceling"

    def publish_feedback(self, message) -> None:
        assert self.status in ("executing", "canceling")
        self.feedback.append(message)

    def _end(self, status: str, *allowed: str) -> None:
        assert self.status in allowed, f"{self.status} -> {status} is no transition of an action"
        self.status = status

    def succeed(self) -> None:
        self._end("succeeded", "executing", "canceling")

    def abort(self) -> None:
        self._end("aborted", "executing", "canceling")

    def canceled(self) -> None:
        self._end("canceled", "canceling")


class Server:
    """In place of rclpy's ActionServer; what it does with a goal, a cancel request, and the coroutine that executes."""

    def __init__(self, _node, kind, name, execute, *, goal_callback, handle_accepted_callback, cancel_callback, **_qos):
        self._admit = goal_callback
        self.kind, self.name, self._execute, self._accepted = kind, name, execute, handle_accepted_callback
        self._cancel_callback = cancel_callback
        self.count, self._running = 0, []

    def send(self, request) -> Handle:
        self.count += 1
        handle = Handle(self.count, request)
        if self._admit(request) == GoalResponse.REJECT:
            handle.status = "rejected"
            return handle
        handle.execute = lambda: self._running.append((handle, self._execute(handle)))
        self._accepted(handle)
        return handle

    def cancel(self, handle: Handle) -> bool:
        accepted = self._cancel_callback(handle) == CancelResponse.ACCEPT
        if accepted:
            handle.status = "canceling"
        return accepted

    def wake(self) -> None:
        """Go on with what executes, as an executor does."""
        for one in list(self._running):
            handle, coroutine = one
            try:
                coroutine.send(None)
            except StopIteration as ended:
                self._running.remove(one)
                assert isinstance(ended.value, self.kind.Result) and handle.result is None, "one result"
                handle.result = ended.value


@pytest.fixture
def made(monkeypatch):
    """Rig, shell, interfaces and control_msgs: the real glue on a rig instead of a node."""
    monkeypatch.delitem(sys.modules, ACTIONS, raising=False)
    if not REAL:
        for name, module in stand_in.modules().items():
            monkeypatch.setitem(sys.modules, name, module)
    actions = importlib.import_module(ACTIONS)
    monkeypatch.setattr(actions, "ActionServer", Server)
    rig = Rig(period_s=0.02, lead_s=0.06, begin_s=1000.0)
    published, complaints, speeds, settings = [], [], [], Settings(allow_partial_joints_goal=False)
    settings.change = lambda values: speeds.append(values["speed_scaling"])
    publisher = types.SimpleNamespace(publish=published.append, get_subscription_count=lambda: 1)
    running = types.SimpleNamespace(
        description=picker(),
        servos=None,
        tolerances=lambda: TIGHT,
        controller=types.SimpleNamespace(state=None, execution=rig.execution),
    )
    running.tracker = types.MethodType(RunningArm.tracker, running)
    gate = RequestGate()
    gate.begin(rig.now_s)
    session = types.SimpleNamespace(
        turn=contextlib.nullcontext(),
        submit=rig.execution.submit,
        cancel=lambda request=None: rig.execution.cancel(rig.now_s, request),
        jogging=Jogging(rig.execution),
        gate=gate,
    )
    shell = types.SimpleNamespace(
        node=types.SimpleNamespace(create_publisher=lambda *_: publisher, create_subscription=lambda *_, **__: None),
        running=running,
        arm=picker(),
        execution=rig.execution,
        session=session,
        driver_of=lambda _name: "",
        gripper=GripperSettings("scissor", torque=0.25),
        stamps=StampClock(wall=lambda: rig.now_s, steady=lambda: rig.now_s),
        complain=lambda text, error=None: complaints.append(text),
        settings=settings,
        wake=lambda: [action.server.wake() for action in offered.actions],
    )
    shell.sent_s, shell.is_due = (types.MethodType(act, shell) for act in (Shell.sent_s, Shell.is_due))
    offered = actions.ControlInterfaces(shell)
    yield types.SimpleNamespace(
        rig=rig,
        shell=shell,
        interfaces=offered,
        action=importlib.import_module("control_msgs.action"),
        msg=importlib.import_module("control_msgs.msg"),
        published=published,
        complaints=complaints,
        speeds=speeds,
    )
    rig.execution.close()
    shell.wake()
    assert not offered.concluding, "at the end every goal is answered"
    sys.modules.pop(ACTIONS, None)


class Settings(dict):
    """The controller's, as far as they matter here."""


@pytest.fixture
def follow(made):
    """Sends goals to the arm's action."""

    def send(*targets, times=(1.0,), names=NAMES, start_s=0.0, goal_time=0.0, name="", points=None, **fields) -> Handle:
        trajectory = goal(*targets, times=times, names=names, name=name, **points or {})
        request = made.action.FollowJointTrajectory.Goal(trajectory=trajectory, **fields)
        to_stamp(request.trajectory.header.stamp, start_s)
        to_stamp(request.goal_time_tolerance, goal_time)
        return made.interfaces.actions[0].server.send(request)

    return send


@pytest.fixture
def grip(made):
    """Sends goals to the gripper's."""
    kind = made.action.ParallelGripperCommand
    return lambda **command: made.interfaces.actions[1].server.send(kind.Goal(command=JointState(**command)))


def base(angle: float) -> np.ndarray:
    return HOME + [angle, 0, 0, 0, 0]


def test_a_goal_gets_feedback_and_a_result(made, follow):
    handle = follow(base(0.2))
    made.rig.tick(90)
    servers = [(one.server.name, one.server.kind) for one in made.interfaces.actions]
    assert servers == [
        ("arm_controller/follow_joint_trajectory", made.action.FollowJointTrajectory),
        ("gripper_controller/gripper_cmd", made.action.ParallelGripperCommand),
    ]
    assert (handle.status, handle.result.error_code, handle.result.error_string) == ("succeeded", 0, "")
    one = handle.feedback[20]
    assert tuple(one.joint_names) == NAMES and one.header.stamp.sec >= 1000
    np.testing.assert_allclose(np.subtract(one.desired.positions, one.actual.positions), one.error.positions, atol=1e-12)
    assert not made.interfaces.concluding


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (lambda _: dict(names=(*NAMES[:-1], "tail")), "unknown joint 'tail'"),
        (lambda _: dict(targets=[base(0.2)[:3]], names=NAMES[:3]), "wrist"),
        (lambda _: dict(targets=[base(np.nan)]), "point 0: base has nan among its positions"),
        (lambda _: dict(targets=[base(0.1)] * 2, times=(1.0, 1.0)), "point 1 is at 1 s, must be after 1 s"),
        (lambda _: dict(targets=[]), "the goal has no points"),
        (lambda one: dict(start_s=one.rig.time_s - 5.0), "would be over since"),
        (
            lambda one: dict(component_goal_tolerance=[one.msg.JointComponentTolerance() if REAL else object()]),
            "a component tolerance is given; this arm has joints of one degree of freedom only",
        ),
        (
            lambda _: dict(multi_dof_trajectory=MultiDOFJointTrajectory(joint_names=["rail"])),
            "multi_dof_trajectory or a component tolerance is given",
        ),
    ],
)
def test_what_is_wrong_with_a_goal_by_itself_is_rejected_and_said(made, follow, fields, words):
    """It was accepted, then aborted at once; a motion under way goes on."""
    moving = follow(base(0.3), times=(3.0,))
    made.rig.tick(5)
    fields = fields(made)
    handle = follow(*fields.pop("targets", [base(0.1)]), **{"name": "me"} | fields)
    assert handle.status == "rejected" and handle.result is None
    made.rig.tick(3)
    (refused,) = [event for event in made.rig.events if event.kind is EventKind.REFUSED]
    assert words in refused.text and refused.identifier == "me" and refused.error is not None
    made.shell.wake()
    assert moving.status == "executing"


def at(*angles: float, times=(1.0, 2.0), **points) -> dict:
    """Fields of a goal through these poses of the base."""
    return {"targets": [base(angle) for angle in angles], "times": times, "points": points}


def tolerance(kind: str, **fields):
    return lambda one: {f"{kind}_tolerance": [one.msg.JointTolerance(**fields)]}


REJECTED, ABORTED, TAKEN = "rejected", "aborted", "succeeded"
BUT = {
    "tolerances": [
        (tolerance("path", name="base", velocity=-3.0), REJECTED, "path_tolerance of base (velocity) is -3"),
        (tolerance("goal", name="tail", position=0.1), REJECTED, "goal_tolerance: unknown joint 'tail'"),
        (lambda _: {"goal_time": -7.0}, REJECTED, "goal_time_tolerance"),
    ],
    "tolerances of accelerations": [(tolerance("path", name="base", acceleration=1e-9), TAKEN, "")],
    "last velocity": [
        (lambda _: at(0.1, velocities=[9e-4] * 5), TAKEN, ""),
        (lambda _: at(0.1, velocities=[2e-3] * 5), REJECTED, "last point: base still moves at 0.1 deg/s"),
    ],
    "efforts": [(lambda _: at(0.1, effort=[0.0] * 5), REJECTED, "point 0 has efforts")],
    "missing fields": [
        (lambda _: at(0.1, positions=[]), REJECTED, "point 0: 0 positions for 5 joints"),
        (lambda _: {"targets": [base(0.1), ()], "times": (1.0, 2.0)}, REJECTED, "point 1: 0 positions for 5 joints"),
        (lambda _: at(0.1, velocities=[]), REJECTED, "accelerations but no velocities"),
    ],
    "positions alone": [(lambda _: at(0.4, 0.8, velocities=[], accelerations=[]), TAKEN, "")],
    "positions beyond limits": [(lambda _: at(9.0), REJECTED, "point 0: base at 515.7 deg, limit 85.9 deg")],
    "first point at 0 s": [
        (lambda _: at(0.04, 0.3, times=(0.0, 2.0)), TAKEN, ""),
        (lambda _: at(0.2, 0.3, times=(0.0, 2.0)), ABORTED, "point 0 is at 0 s, but base would jump by 11.5 deg, limit 2.9 deg"),
    ],
    "too fast": [(lambda _: at(0.8, times=(0.3,)), TAKEN, "slowed")],
    "length": [
        (lambda _: at(*[0.0] * 10_001, times=np.arange(10_001.0)), REJECTED, "10001 points, at most 10000 are taken"),
        (lambda _: at(0.1, times=(601.0,)), REJECTED, "the goal lasts 601 s, at most 600 s"),
        (lambda one: {"start_s": one.rig.time_s + 900.0}, REJECTED, "the goal starts 900 s from now"),
    ],
}


@pytest.mark.parametrize(("row", "number"), [(row, k) for row, cases in BUT.items() for k in range(len(cases))])
def test_what_differs_from_joint_trajectory_controller(made, follow, row, number):
    rig, (fields, status, words) = made.rig, BUT[row][number]
    fields = fields(made)
    handle = follow(*fields.pop("targets", [base(0.1)]), **fields)
    rig.tick(3 if status != TAKEN else 200)
    assert handle.status == status and any(words in event.text for event in rig.events)
    rig.require_smooth(5.0)


def test_the_table_of_what_differs_has_these_rows_and_two_that_are_tested_elsewhere():
    text = (ROOT / "docs/moveit.md").read_text(encoding="utf-8").split("## As joint_trajectory_controller, but")[1]
    rows = re.findall(r"^\| (.+?) \|", text.split("\n## ")[0], re.MULTILINE)[1:]
    assert rows == [*BUT, "a goal without points", "`query_state`"], "test_trajectory_controller.py; and below"
    assert "query_state" not in (ROOT / "docs/ros.md").read_text(encoding="utf-8"), "test_ros_doc.py"


def test_an_arm_that_cannot_take_a_goal_rejects_it_and_what_planning_finds_is_aborted_with_code_and_words(made, follow):
    rig = made.rig
    heavy = follow([0.0] * 5, times=(9.0,))
    rig.tick(3)
    assert (heavy.status, heavy.result.error_code) == ("aborted", int(Code.INVALID_GOAL))
    assert heavy.result.error_string.startswith("shoulder")
    rig.lead("somebody", 9.0)
    assert follow(base(0.1)).status == "rejected"
    rig.tick()
    assert rig.said("somebody moves the arm")
    rig.execution.deactivate("it was switched off")
    assert follow(base(0.1)).status == "rejected"
    rig.tick()
    assert rig.said("refused: the arm is not active: enable it first")


def test_a_plan_to_where_the_arm_is_succeeds_at_once_and_a_jump_is_refused(made, follow):
    """MoveIt makes one point at 0 s of it: it was aborted."""
    here = follow(base(0.01), times=(0.0,))
    made.rig.tick(15)
    assert (here.status, here.result.error_code) == ("succeeded", 0), here.result
    assert not made.rig["v"].any()
    away = follow(base(0.14), times=(0.0,))
    made.rig.tick(3)
    assert (away.status, away.result.error_code) == ("aborted", int(Code.INVALID_GOAL))
    said = "point 0 is at 0 s, but base would jump by 8.0 deg, limit 2.9 deg: give it time to get there"
    assert away.result.error_string == said
    near = follow(base(0.04), times=(0.0,), goal_time=0.2)
    made.rig.tick(30)
    assert near.result.error_code == Code.GOAL_TOLERANCE_VIOLATED, "it stands, and not within the tolerance of what was asked"


def test_tolerances_of_the_goal_come_through_and_partial_goals_where_they_are_allowed(made, follow):
    rig, tolerance = made.rig, made.msg.JointTolerance
    rig.error = 0.03
    first = follow(base(0.2), goal_tolerance=[tolerance(name="base", position=0.04)])
    rig.tick(90)
    assert first.status == "succeeded"
    second = follow(base(0.0), path_tolerance=[tolerance(name="base", position=0.02)])
    rig.tick(20)
    assert second.result.error_code == Code.PATH_TOLERANCE_VIOLATED and "base is off by 1.7 deg" in second.result.error_string
    third = follow(base(0.1), goal_time=0.2)
    rig.tick(90)
    assert third.result.error_code == Code.GOAL_TOLERANCE_VIOLATED and "goal time 0.2 s" in third.result.error_string
    rig.error, made.shell.settings["allow_partial_joints_goal"] = 0.0, True
    fourth = follow(base(0.2)[:3], names=NAMES[:3])
    rig.tick(90)
    assert fourth.status == "succeeded"


def test_cancel_is_accepted_once_and_answered_at_rest(made, follow):
    rig, server = made.rig, made.interfaces.actions[0].server
    handle = follow(base(0.5), times=(3.0,))
    rig.tick(60)
    assert server.cancel(handle) is True and handle.result is None
    rig.tick(60)
    assert handle.status == "canceled" and handle.result.error_code == 0 and not rig.references[-1].v.any()
    assert server.cancel(handle) is False
    moving = follow(base(0.5), times=(3.0,))
    rig.tick(60)
    rig.cancel()
    rig.tick(60)
    assert (moving.status, moving.result.error_code) == ("aborted", 0), (
        "whoever stopped the arm: rclpy has no other way to say so"
    )
    assert "cancelled" in moving.result.error_string


def test_the_gripper_s_result_and_its_refusals(made, follow, grip):
    rig = made.rig
    beyond = grip(position=[3.0])
    rig.tick(3)
    assert beyond.status == "rejected" and rig.said("scissor: 171.9 deg is beyond its limits")
    handle = grip(name=["scissor"], position=[0.5])
    rig.tick(30)
    made.shell.running.controller.state = types.SimpleNamespace(time_s=rig.time_s, q=HOME, v=None)
    rig.tick(60)
    assert handle.status == "succeeded" and (handle.result.reached_goal, handle.result.stalled) == (True, False)
    assert list(handle.result.state.name) == ["scissor"] and handle.result.state.position[0] == servos().home[4]
    assert handle.feedback
    whole = follow(base(0.4), times=(3.0,))
    rig.tick(10)
    late = grip(position=[0.2])
    rig.tick(3)
    assert late.status == "rejected" and whole.status == "executing" and rig.said("moves the arm for another")


def test_controller_state_speed_and_jogs(made, follow):
    rig, interfaces = made.rig, made.interfaces
    follow(base(0.2))
    rig.tick(30)
    held, newest = rig.execution.sent.at(rig.now_s), rig.execution.sent.newest
    error = Error(held, ArmState(held.time_s, held.q - 0.01, held.v))
    assert interfaces.heard
    interfaces.publish_state(replace(rig.last, error=error, progress_s=0.5, speed=0.25), newest)
    state = made.published[-1]
    assert tuple(state.joint_names) == NAMES and state.speed_scaling_factor == 0.25
    np.testing.assert_allclose(state.error.positions, [0.01] * 5)
    np.testing.assert_allclose(state.output.positions, newest.q)
    interfaces.on_speed(made.msg.SpeedScalingFactor(factor=0.5), {})
    assert made.speeds == [0.5]
    rig.cancel()
    rig.to_rest()
    number, jog = 0, made.msg.JointJog(joint_names=["base"], velocities=[0.3])
    for late_s in (0.5, rig.now_s - made.shell.session.gate.since_s + 0.01):  # old, and from before the arm was enabled
        interfaces.on_joint_jog(jog, {"publication_sequence_number": 1, "source_timestamp": round(1e9 * (rig.now_s - late_s))})
        rig.tick()
        assert rig.newest.v[0] == 0.0
    for number, field in enumerate(["velocities"] * 50 + ["displacements"] * 20, 1):
        jog = made.msg.JointJog(joint_names=["base"], **{field: [0.3]})
        interfaces.on_joint_jog(jog, {"publication_sequence_number": number, "source_timestamp": 0})
        rig.tick()
        if number == 50:
            assert rig.newest.v[0] == pytest.approx(0.3, rel=0.05)
    (said,) = [one for one in rig.problems if one.startswith("jog refused: displacements are not taken")]
