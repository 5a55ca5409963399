"""``picker pick`` and ``place`` on the running graph: by hand, and as a camera node asks; the truth is the simulation's."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from arm_fixtures import picker as picker_arm
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from patient import patiently, picker
from scenarios.bench import at_home, is_told, until, until_shown
from trajectory_msgs.msg import JointTrajectory
from waiting import PATIENCE_S

from benchmarks.terminal import Terminal
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import GoalRefusedError
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.pick_topic import KINDS
from picker_dynamics.nodes.runtime import LATEST, OUTCOMES, to_stamp
from picker_dynamics.resources import resource
from picker_dynamics.robot.sighting import read_cameras

pytestmark = [pytest.mark.ros, pytest.mark.long]

GRAPH = {"scene": str(resource("config/scene.yaml"))}
BERRY, TRAY = np.array([0.26, 0.02, 0.17]), np.array([0.20, -0.15, 0.12])

CAMERAS = resource("config/cameras.yaml")


@pytest.fixture
def asks(client, board):
    """Sends targets to ``picker pick --listen``, and waits for what becomes of them."""
    at_home(client, board)
    client.set_parameters("dynamics", payload__mass=0.0)
    heard: list[DiagnosticStatus] = []

    def on_status(status: DiagnosticStatus) -> None:
        """What is gripped hangs on the tool from then on."""
        heard.append(status)
        if status.message.endswith(": payload 25 g"):
            board.attach(0.025)
        elif status.message.endswith(": payload 0 g"):
            board.detach()

    ear = client.create_subscription(DiagnosticStatus, "pick/status", on_status, OUTCOMES)
    outs = {kind: client.create_publisher(PoseStamped, kind, 10) for kind in KINDS}
    with Terminal(patiently("picker", "pick", "--listen", "--cameras", str(CAMERAS))) as terminal:

        def send(kind: str, place, frame: str = "base_link", age_s: float = 0.0, **turn: float) -> float:
            message = PoseStamped()
            message.header.frame_id, stamp_s = frame, time.time() - age_s
            to_stamp(message.header.stamp, stamp_s)
            message.pose.position.x, message.pose.position.y, message.pose.position.z = map(float, place)
            for name, value in turn.items():
                setattr(message.pose.orientation, name, value)
            outs[kind].publish(message)
            return stamp_s

        def answers(stamp_s: float) -> list[DiagnosticStatus]:
            return [one for one in heard if abs(float(values_of(one)["stamp"]) - stamp_s) < 1e-6]

        def ask(kind: str, place, **how) -> DiagnosticStatus:
            stamp_s = send(kind, place, **how)
            until(client, lambda: answers(stamp_s) and outcome(answers(stamp_s)[-1]) != "under way", lambda: terminal.shown)
            return answers(stamp_s)[-1]

        def done(kind: str, place, **how) -> None:
            said = ask(kind, place, **how)
            assert outcome(said) == "done", said.message

        def refused(kind: str, place, **how) -> str:
            said = ask(kind, place, **how)
            assert outcome(said) == "refused" and "\n" not in said.message
            return said.message

        until_shown(client, terminal, "ready: ")
        until(client, lambda: outs["pick"].get_subscription_count(), "a listener")
        yield SimpleNamespace(send=send, answers=answers, done=done, refused=refused)
        terminal.press("\x03")
        assert terminal.process.wait(PATIENCE_S) == 0
    board.detach()
    client.set_parameters("dynamics", payload__mass=0.0)
    client.destroy_subscription(ear)
    for out in outs.values():
        client.destroy_publisher(out)


def outcome(answer: DiagnosticStatus) -> str:
    return values_of(answer)["outcome"]


def is_above(client, board, place) -> None:
    """The true tip is, by 3 cm, once the arm stands."""
    client.spin(2.0)
    assert np.linalg.norm(board.truth().tip - place - [0.0, 0.0, 0.03]) < 5e-3


def test_a_camera_node_has_a_berry_picked_and_placed(client, board, asks):
    """The berry is told in the camera's frame."""
    eye = read_cameras(CAMERAS, picker_arm())["camera_optical_frame"][1]
    asks.done("pick", eye.rotation.T @ (BERRY - eye.position), frame="camera_optical_frame", w=1.0)
    assert client.payload() == pytest.approx(0.025)
    is_above(client, board, BERRY)
    asks.done("place", TRAY)
    assert client.payload() == 0.0
    is_above(client, board, TRAY)


def test_a_straight_line_is_asked_for_by_topic(client, board, asks):
    """As far as one that is not turned says, with the hand as it is; where the table is, nothing moves."""
    model, end = RigidBody(picker_arm()), np.array([0.26, 0.08, 0.17])
    begin = model.forward_kinematics(client.reference())
    with client.hearing(JointTrajectory, "arm_controller/reference", LATEST) as heard:
        asks.done("move_straight", end)
    tips = model.forward_kinematics(np.array([message.points[0].positions for message in heard]))
    along = (end - begin) / np.linalg.norm(end - begin)
    away = tips - begin
    assert np.ptp(away @ along) > 0.9 * np.linalg.norm(end - begin)
    assert np.linalg.norm(away - np.outer(away @ along, along), axis=1).max() < 0.5e-3
    assert np.linalg.norm(tips[-1] - end) < 0.5e-3
    held = client.reference()
    asks.refused("move_straight", (0.2, 0.0, -0.02))
    is_told(client, held, 1e-9)


def test_one_target_at_a_time(client, board, asks):
    first = asks.send("pick", BERRY)
    until(client, lambda: asks.answers(first), "a pick under way")
    assert "busy with another target" in asks.refused("pick", BERRY)
    until(client, lambda: outcome(asks.answers(first)[-1]) != "under way", "the end of the pick")


def test_by_hand_it_says_each_leg_or_why_not(client, board):
    at_home(client, board)
    client.set_parameters("dynamics", payload__mass=0.0)  # an attempt that failed may have left one
    words = ("pick", *map(str, BERRY), "--mass-g", "10", "--close", "10")
    done = picker(*words)
    assert done.returncode == 0, done.stderr
    assert "step 1: approach, " in done.stdout and "step 4: close, " in done.stdout and "picked in " in done.stdout
    assert client.payload() == pytest.approx(0.01) and client.reference()[4] == pytest.approx(np.radians(10.0))
    held = client.reference()
    heavy = picker("pick", *map(str, BERRY), "--mass-g", "2000")
    assert heavy.returncode == GoalRefusedError.exit_code and "payload 2000 g: shoulder needs" in heavy.stderr
    is_told(client, held, 1e-9)
    assert picker("pick", "0.2").returncode == 5
    client.set_parameters("dynamics", payload__mass=0.0)
