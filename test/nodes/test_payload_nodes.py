"""Following the payload in nodes: the torque arm's as processes; the servo arm's node by itself, told what is measured."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest
from arm_fixtures import shipped_arm
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from hardware_bench import ros
from patient import picker
from rclpy.parameter import Parameter
from ros_graph import running_nodes
from scenarios.bench import until, wait_until_up
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.bringup import bringup
from picker_dynamics.errors import InfeasibleError, PickerError
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.nodes.diagnostics import status
from picker_dynamics.nodes.dynamics import Dynamics
from picker_dynamics.nodes.runtime import LATCHED, to_stamp
from picker_dynamics.nodes.torque_control import TorqueControl
from picker_dynamics.resources import resource
from picker_dynamics.sim.plant import Plant

pytestmark = pytest.mark.ros

RRP = shipped_arm("rrp")


@pytest.mark.long
def test_the_torque_arm_finds_what_hangs_on_it(domain, tmp_path):
    told: list[float] = []
    made, log = bringup.graph(bringup.Options(arm="rrp")), tmp_path / "nodes.log"
    with running_nodes(made, log, RRP.description.joint_names) as running:
        client = running.client
        client.create_subscription(InertiaStamped, "payload", lambda message: told.append(message.inertia.m), LATCHED)
        wait_until_up(client)
        client.set_parameters("dynamics", payload__mass=0.8)

        def refusal() -> str:
            with pytest.raises(PickerError) as caught:
                client.set_parameters("dynamics", payload__follow=True)
            return str(caught.value)

        until(client, lambda: "have not been heard of yet" not in refusal(), "the hardware's word that states are measured")
        assert "payload.mass is 0.8 kg, above payload.follow_max, 0.5 kg" in refusal()
        client.set_parameters("dynamics", payload__mass=0.0)
        client.set_parameters("hardware", attached_kg=0.3)
        client.set_parameters("dynamics", payload__follow=True, payload__follow_rate=1.0)
        until(client, lambda: told and abs(told[-1] - 0.3) < 0.02, "the payload found")
        reference = client.reference()
        until(client, lambda: np.abs(client.state - reference).max() < 5e-5, "the way back to the reference")
        weighed = picker("weigh", "--absolute", "--json")
        assert weighed.returncode == 0, weighed.stderr
        assert json.loads(weighed.stdout)["mass_kg"] == pytest.approx(0.3, abs=0.03)
        client.set_parameters("dynamics", payload__follow=False)
        until(client, lambda: told[-1] == 0.0, "the payload that was set")


@pytest.fixture
def node(domain):
    """The dynamics node, which nobody else hears; not spun: what it is told, it is told here."""
    overlay = resource("config/servos.ideal.yaml")  # springs tell what hangs there only where gears hold nothing back
    with ros("-p", f"servo_overlay:={overlay}"):
        made = Dynamics()
        try:
            yield made
        finally:
            made.destroy_node()


def test_the_compensation_is_switched_off_or_on_at_rest_only(node):
    """On its way the arm would sag or rise, faster than its tip may go."""

    def changed(mode: str) -> str:
        answer = node.set_parameters([Parameter("compensation", value=mode)])[0]
        return "" if answer.successful else answer.reason

    def refer(speed: float) -> None:
        point = JointTrajectoryPoint(
            positions=node.servos.home.tolist(), velocities=[speed, 0.0, 0.0, 0.0, 0.0], accelerations=[0.0] * 5
        )
        message = JointTrajectory(joint_names=list(node.arm.joint_names), points=[point])
        to_stamp(message.header.stamp, node.stamps.to_stamp(node.stamps.now_s()))
        node.on_reference(message)

    hardware_says(node, "modelled")
    assert changed("none") == "" and changed("full") == ""
    refer(0.1)
    assert changed("gravity") == ""
    assert "from gravity to none at rest only" in changed("none") and node.compensator.mode == "gravity"
    refer(0.0)
    assert changed("none") == ""
    refer(0.1)
    assert "from none to full at rest only" in changed("full") and node.compensator.mode == "none"


def test_an_arm_that_hung_from_its_springs_is_said_to_do_so_until_it_has_risen(node):
    heard, settled = [], node.compensator.settled
    node.mode_out.publish = lambda message: heard.append(message.data)
    for mode in ("gravity", "full", "none"):
        assert node.set_parameters([Parameter("compensation", value=mode)])[0].successful
    assert heard == ["gravity", "full", "none"] and not settled
    hardware_says(node, "modelled")
    assert node.set_parameters([Parameter("compensation", value="full")])[0].successful
    point = JointTrajectoryPoint(positions=node.servos.home.tolist(), velocities=[0.0] * 5, accelerations=[0.0] * 5)
    message, begin_s = JointTrajectory(joint_names=list(node.arm.joint_names), points=[point]), node.stamps.now_s()
    for k in range(200):
        assert heard[3:] == ([] if not node.compensator.settled else ["full"])
        to_stamp(message.header.stamp, node.stamps.to_stamp(begin_s + 0.01 * k))
        node.on_reference(message)
    assert heard[3:] == ["full"]


def hardware_says(node, provenance: str) -> None:
    names, q = list(node.arm.joint_names), node.servos.home.tolist()
    node.on_hardware(status(DiagnosticStatus.OK, "hardware", "active", state="active", epoch=1, provenance=provenance))
    node.on_held_pose(JointState(name=names, position=q, effort=[0.0] * len(q)))


def set_to(node, **values):
    return node.set_parameters_atomically([Parameter(name.replace("__", "."), value=value) for name, value in values.items()])


def test_gears_that_bear_a_payload_at_rest_are_named(domain):
    with ros("-p", f"servo_overlay:={resource('config/servos.sim.yaml')}"):
        node = Dynamics()
        try:
            hardware_says(node, "measured")
            refused = set_to(node, payload__follow=True)
            assert not refused.successful and "the gears hold back up to 40 % of what the motors give" in refused.reason
            node.following.wished = True  # as a parameter file has it from the start
            hardware_says(node, "measured")
            assert node.following.on
            Potentiometers(node).run(0.1)
            assert "the payload is not followed: the gears hold back" in node.following.problem
        finally:
            node.destroy_node()


def test_a_modelled_state_is_never_followed(node):
    refused = set_to(node, payload__follow=True)
    assert not refused.successful and "joint_states have not been heard of yet" in refused.reason
    hardware_says(node, "modelled")
    refused = set_to(node, payload__follow=True)
    assert not refused.successful
    assert refused.reason == ("payload.follow: joint_states are modelled, not measured: nothing tells what the tool carries")
    assert not node.following.on and node.states is None
    node.following.wished = True  # as a parameter file has it from the start
    hardware_says(node, "modelled")
    assert not node.following.on and "joint_states are modelled, not measured" in node.following.problem


class Potentiometers:
    """MuJoCo's picker moved by the node's set-points, its angles measured."""

    def __init__(self, node):
        self.node, self.time_s, self.next_s = node, 100.0, 100.5
        self.plant = Plant(node.arm, node.servos, q=node.servos.home, quantise=False)

    def run(self, duration_s: float) -> None:
        node, names, home = self.node, list(self.node.arm.joint_names), self.node.servos.home.tolist()
        still = [0.0] * len(names)
        for _ in range(round(duration_s / 0.02)):
            reference = JointTrajectory(
                joint_names=names, points=[JointTrajectoryPoint(positions=home, velocities=still, accelerations=still)]
            )
            state = JointState(name=names, position=self.plant.q.tolist(), velocity=self.plant.v.tolist())
            for message in (reference, state):
                to_stamp(message.header.stamp, self.time_s)
            node.on_reference(reference)
            self.plant.advance(tuple(node.servos.to_pulse_us(np.array(node.command.position)).tolist()), 0.02)
            if node.following.on:
                node.on_state(state)
                if self.time_s >= self.next_s:
                    self.next_s += node.following.period_s
                    node.following.update_estimate()
            self.time_s += 0.02


def test_measured_angles_are_followed_within_the_bounds_and_what_can_be_held(node, monkeypatch):
    hardware_says(node, "measured")
    arm = Potentiometers(node)
    arm.run(1.0)
    assert set_to(node, payload__follow=True, payload__follow_max=0.08).successful
    assert node.states is not None
    arm.plant.attach(0.05)
    arm.run(3.0)
    assert node.following.mass == pytest.approx(0.05, abs=0.005) and node.following.payload.mass == 0.0
    assert node.compensator.model.payload_mass == node.following.mass and not node.following.problem
    arm.plant.attach(0.15)
    arm.run(3.0)
    assert node.following.mass == 0.08 and "not followed beyond payload.follow_max, 0.08 kg" in node.following.problem
    refused = set_to(node, payload__mass=0.2)
    assert not refused.successful and "above payload.follow_max" in refused.reason
    believed = node.following.mass
    assert set_to(node, payload__follow_max=5.0, payload__follow_rate=5.0).successful
    follower = node.following.follower
    monkeypatch.setattr(type(follower), "estimate", 20.0 * follower.estimate)  # the springs seem to bear kilograms
    told: list[float] = []
    monkeypatch.setattr(node, "publish_payload", lambda payload: told.append(payload.mass))
    node.following.update_estimate()
    assert node.following.mass == believed and "not followed further" in node.following.problem
    assert told == [believed], "nobody hears of a payload that was refused"
    assert set_to(node, payload__follow=False).successful
    assert not node.following.on and node.following.mass == 0.0 and node.compensator.model.payload_mass == 0.0
    assert not node.following.problem


NO_GOOD = {
    "heavy": (0.6, [0.0, 0.0, 0.0], "needs"),
    "far below": (0.3, [0.0, 0.0, -0.9], "0.90 m from the tool"),
    "far behind": (0.3, [-0.9, 0.0, 0.0], "0.90 m from the tool"),
    "lighter, but elsewhere": (0.04, [0.0, 2.0, 0.0], "2.00 m from the tool"),
}


@pytest.mark.parametrize("known", ["nothing", "its state", "its reference"])
@pytest.mark.parametrize(("mass", "com", "why"), NO_GOOD.values(), ids=NO_GOOD.keys())
def test_a_payload_is_held_to_wherever_the_arm_may_be(node, mass, com, why, known):
    """Driven or not; what is lighter and in the same place always passes, and nothing changes by what is refused."""
    if known == "its reference":
        drive(node)
    elif known == "its state":
        node.states_of_arm.state = ArmState(node.stamps.now_s(), np.array(node.servos.home), None)
    assert set_to(node, payload__mass=0.05).successful
    refused = set_to(node, payload__mass=mass, payload__com=com)
    assert not refused.successful and why in refused.reason and "allowed 0.6" in refused.reason
    assert node.following.payload == (0.05, (0.0, 0.0, 0.0)) and node.compensator.model.payload_mass == 0.05
    heavy = set_to(node, payload__mass=0.25)
    assert heavy.successful is (known == "nothing"), "folded, the arm holds more"
    assert set_to(node, payload__mass=0.01).successful and set_to(node, payload__mass=0.0).successful


def drive(node) -> None:
    """An epoch at the home pose, and a reference in it."""
    hardware_says(node, "modelled")
    refer(node)


def refer(node, q=None) -> None:
    still = [0.0] * len(node.still)
    point = JointTrajectoryPoint(positions=node.servos.home.tolist() if q is None else q, velocities=still, accelerations=still)
    message = JointTrajectory(joint_names=list(node.arm.joint_names), points=[point])
    to_stamp(message.header.stamp, node.stamps.to_stamp(node.stamps.now_s()))
    node.on_reference(message)


def test_no_epoch_begins_with_what_cannot_be_borne_and_a_smaller_payload_is_the_way_out(node):
    assert set_to(node, payload__mass=0.3).successful, "at its rest pose the arm holds that"
    drive(node)
    assert node.processed == 0 and "the payload of 0.3 kg cannot be borne where the arm stands: shoulder needs" in node.problem
    assert set_to(node, payload__mass=0.28).successful and set_to(node, payload__mass=0.1).successful
    refer(node)
    assert node.processed == 0, "the epoch began where the arm was thought to rest with the other one"
    hardware_says(node, "modelled")
    refer(node)
    assert node.processed == 1 and not node.problem


def test_an_epoch_without_payload_always_begins(node):
    stretched = JointState(name=list(node.arm.joint_names), position=[0.0] * 5, effort=[0.0] * 5)
    node.on_held_pose(stretched)
    refer(node, list(stretched.position))
    assert node.processed == 1
    refused = set_to(node, payload__mass=1.0)
    assert not refused.successful
    node.pose = None
    node.on_held_pose(JointState())
    assert node.begun is None


def test_a_torque_arm_is_not_driven_with_what_it_cannot_bear_and_goes_on_at_once(domain):
    with ros():
        node = TorqueControl()
        try:
            q, names = np.array([0.2, 2.9, 0.9]), list(node.arm.joint_names)  # link 2 nearly horizontal, the slide far out
            state = JointState(name=names, position=q.tolist(), velocity=[0.0] * 3)
            assert set_to(node, payload__mass=3.0).successful, "at home it can"
            for _ in range(2):
                node.on_held_pose(JointState(name=names, position=q.tolist()))
                node.on_state(state)
                assert node.processed == 0 and "the payload of 3 kg cannot be borne where the arm stands" in node.problem
            assert not set_to(node, payload__mass=3.5).successful
            assert set_to(node, payload__mass=0.0).successful
            node.on_state(state)
            assert node.processed == 1
            np.testing.assert_allclose(node.command.effort, node.model.gravity(q), atol=1e-6)
        finally:
            node.destroy_node()


def test_a_node_does_not_begin_with_what_the_arm_could_hold_neither_at_rest_nor_at_home(domain):
    with ros("-p", "payload.mass:=2.0"), pytest.raises(InfeasibleError, match="needs .* to hold its pose, allowed 0.6"):
        Dynamics()
    gc.collect()  # what the node that was never made had claimed


def test_off_it_costs_nothing(node):
    hardware_says(node, "measured")
    timers, subscriptions = len(list(node.timers)), len(list(node.subscriptions))
    set_to(node, payload__follow=True)
    assert (len(list(node.timers)), len(list(node.subscriptions))) == (timers + 1, subscriptions + 1)
    set_to(node, payload__follow=False)
    assert (len(list(node.timers)), len(list(node.subscriptions))) == (timers, subscriptions)
