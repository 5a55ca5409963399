"""The held pose as a message: when the hardware node says it, and what the dynamics node makes of it."""

from __future__ import annotations

import copy
import time
import types

import hardware_bench
import numpy as np
import pytest
from execution_rig import Rig, goal, moved
from hardware_bench import HOME, hardware, port_of, ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import until

from picker_dynamics.board.session import State
from picker_dynamics.execution.following import Following
from picker_dynamics.nodes.hardware_status import HardwareStatus
from picker_dynamics.nodes.runtime import Epochs, seconds, to_stamp
from picker_dynamics.nodes.trajectory_controller import TrajectoryController
from picker_dynamics.resources import resource
from picker_dynamics.robot.units import told

pytestmark = [pytest.mark.ros, pytest.mark.usefixtures("domain")]

board = hardware_bench.board


class Sink:
    """Notes, instead of publishing."""

    def __init__(self, notes: list):
        self.notes = notes

    def publish(self, message) -> None:
        self.notes.append(copy.deepcopy(message))


def test_each_epoch_says_its_pose_behind_its_status_and_its_end_says_that_there_is_none(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        notes: list = []
        node.status_out = node.held_pose_out = Sink(notes)
        spun.until(lambda: node.session.state is State.ACTIVE and notes and notes[-1] is held(notes), "the held pose")
        session, said = node.session, held(notes)
        assert [one.key for one in notes[-2].values][:2] == ["state", "epoch"] and notes[-2].values[0].value == "active"
        assert list(said.name) == list(node.arm.joint_names) and list(said.velocity) == []
        np.testing.assert_array_equal(said.position, session.held)
        servo = node.servos.model
        supply = servo.supply_at(session.setpoint, session.held)
        np.testing.assert_array_equal(said.effort, servo.spring_torque(session.setpoint, session.held, supply))
        assert abs(seconds(said.header.stamp) - node.get_clock().now().nanoseconds * 1e-9) < 60.0
        count = len(notes)
        session.rejoin()
        node.publish_status()
        assert len(notes) == count + 2 and len(notes[-1].name) == 5, "a new epoch"
        session.problem = "something is said"
        node.publish_status()
        assert len(notes) == count + 3, "a status alone"
        session.stop()
        node.publish_status()
        assert len(notes) == count + 5 and not any((notes[-1].name, notes[-1].position, notes[-1].effort))


def test_who_joins_on_the_way_gets_the_present_pose_and_who_commands_no_new_epoch(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        notes: list = []
        node.status_out = node.held_pose_out = Sink(notes)
        spun.until(lambda: node.session.state is State.ACTIVE and held(notes) is not None, "the held pose")
        begun, known = held(notes), Epochs()
        start = list(begun.position)
        assert known.begins(begun.header.stamp)
        base = begun.name.index("base")
        target = node.session.setpoint.copy()

        def on_the_way() -> bool:
            now = time.monotonic()
            target[base] = min(target[base] + 0.005, HOME[base] + 0.5)
            node.session.command(now + 0.06, target, now)
            spun.spin(0.01)
            return held(notes).position[base] > start[base] + 0.2

        until(on_the_way, "the present pose")
        present = held(notes)
        np.testing.assert_allclose(present.position, node.session.model.q, atol=0.05)
        assert not known.begins(present.header.stamp) and node.session.epoch == 1
        spun.until(lambda: node.session.epoch == 2 and held(notes).header.stamp != begun.header.stamp, "an end of commands")
        assert known.begins(held(notes).header.stamp)
        np.testing.assert_array_equal(held(notes).position, node.session.held)


def held(notes: list) -> JointState | None:
    """The newest held pose."""
    return next((one for one in reversed(notes) if isinstance(one, JointState)), None)


@pytest.fixture
def node():
    """The dynamics node, which nobody else hears; not spun."""
    from picker_dynamics.nodes.dynamics import Dynamics

    with ros("-p", f"servo_overlay:={resource('config/servos.sim.yaml')}"):
        made = Dynamics()
        try:
            yield made
        finally:
            made.destroy_node()


def refer(node, q, time_s: float | None = None) -> None:
    """It gets this reference."""
    still = [0.0] * len(q)
    point = JointTrajectoryPoint(positions=list(q), velocities=still, accelerations=still)
    message = JointTrajectory(joint_names=list(node.arm.joint_names), points=[point])
    if time_s is not None:
        to_stamp(message.header.stamp, node.stamps.to_stamp(time_s))
    node.on_reference(message)


def hold(node, **effort) -> None:
    """It is told that the arm is held at home."""
    node.on_held_pose(JointState(name=list(node.arm.joint_names), position=HOME.tolist(), **effort))


@pytest.mark.parametrize("source", [1.0, 0.85])
@pytest.mark.parametrize("lead", [0.0, 0.009, -0.05, 0.08])
def test_the_first_command_is_the_set_point_that_is_on_the_outputs(node, lead, source):
    """The torque of the spring tells it, whatever the model says; inside the gap, and beyond stall, no arm rests."""
    servo, setpoint = node.servos.model, HOME + lead
    assert abs(lead) < 1e-12 or abs(lead) > servo.gap.max()
    held_pose = JointState(
        name=list(node.arm.joint_names)[::-1],
        position=HOME[::-1].tolist(),
        effort=servo.spring_torque(setpoint, HOME, servo.supply_at(setpoint, HOME, source))[::-1].tolist(),
    )
    node.on_source(Float64(data=source))
    node.on_held_pose(held_pose)
    refer(node, HOME)
    np.testing.assert_allclose(node.command.position, setpoint, atol=1e-12)


@pytest.mark.parametrize("away", [0.006, -0.03])
def test_a_reference_that_goes_on_from_an_older_pose_is_not_played(node, away):
    """A controller that does not know of the new epoch yet: an arm driven by it would step; after a while that is said."""
    from picker_dynamics.nodes.dynamics import PATIENCE_S

    older = HOME + np.array([0.0, away, 0.0, 0.0, 0.0])
    hold(node, effort=[0.0] * len(HOME))
    begun_s = time.monotonic()
    while time.monotonic() < begun_s + PATIENCE_S + 0.1:
        refer(node, older, node.stamps.now_s())
        assert not node.processed and (not node.problem or time.monotonic() > begun_s + PATIENCE_S)
        time.sleep(0.05)
    told_of = f"{told(abs(away), 'rad', 0.005)} from the pose that is held, allowed {told(0.005, 'rad', abs(away))}"
    assert f"shoulder would begin {told_of}" in node.problem
    refer(node, HOME)
    refer(node, older)
    assert node.processed == 2 and not node.problem, "once begun it goes where the reference goes"


@pytest.mark.parametrize(
    ("problem", "why"),
    [("", "commands start anew from where the arm is held"), ("no commands for 0.25 s: holding",) * 2],
    ids=["said too long ago", "said"],
)
def test_who_is_interrupted_by_a_new_epoch_is_told_why(problem, why):
    """The hardware node says for two seconds why it began one: a controller that stood still for longer does not hear it."""
    rig = Rig()
    rig.submit(goal(moved(base=0.5)), "g")
    hear_held_pose(controller_of(rig, problem), position=HOME.tolist())
    assert [event.text for event in rig.execution.take_events() if event.identifier == "g"][-1] == f"aborted: {why}"


def controller_of(rig: Rig, problem: str = "") -> types.SimpleNamespace:
    """What a controller's look at held poses needs of it, about the execution of a rig."""
    complaints: list[str] = []
    return types.SimpleNamespace(
        epochs=Epochs(),
        execution=rig.execution,
        hardware=HardwareStatus(State.ACTIVE, problem, message=problem or State.ACTIVE.value),
        arm=rig.execution.description,
        following=Following(0.01),
        stamps=types.SimpleNamespace(now_s=lambda: rig.now_s),
        look_whether_bearable=lambda: None,
        complaints=complaints,
        complain=lambda text, _error: complaints.append(text),
    )


def hear_held_pose(controller, stamp_s: int = 7, **values: list[float]) -> None:
    pose = JointState(name=list(controller.arm.joint_names), **values)
    pose.header.stamp.sec = stamp_s
    TrajectoryController.on_held_pose(controller, pose)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "5 joint names but 0 values"),
        ({"effort": [0.0] * 5}, "5 joint names but 0 values"),
        ({"position": [0.0] * 4}, "5 joint names but 4 values"),
        ({"position": HOME.tolist(), "effort": [0.0] * 4}, "5 joint names but 4 values"),
        ({"position": [0.0, np.nan, 0.0, 0.0, 0.0]}, "shoulder is nan"),
    ],
    ids=["names alone", "efforts alone", "too few positions", "too few efforts", "not a number"],
)
def test_a_held_pose_that_is_none_is_refused_and_the_controller_waits_for_the_next(values, why):
    rig = Rig()
    controller = controller_of(rig)
    hear_held_pose(controller, **values)
    assert not rig.execution.active and len(controller.complaints) == 1 and why in controller.complaints[0]
    assert rig.run(0.1) == [], "no reference is sent"
    hear_held_pose(controller, stamp_s=8, position=HOME.tolist())
    assert rig.execution.active


def test_a_held_pose_without_efforts_is_said_and_an_empty_one_ends_the_epoch(node):
    hold(node)
    assert "held pose ignored: hardware/held_pose: 5 joint names but 0 values" in node.problem
    refer(node, HOME)
    assert not node.processed, "nobody knows where the outputs are"
    hold(node, effort=[0.0] * len(HOME))
    refer(node, HOME)
    assert node.pose is not None and node.processed == 1 and not node.problem
    node.on_held_pose(JointState())
    refer(node, HOME)
    assert node.pose is None and node.processed == 1
