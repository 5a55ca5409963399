"""``picker pick --listen`` beside an arm that is served, as a camera node asks it; the truth is the simulation's."""

import numpy as np
import pytest
from arm_fixtures import picker
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from patient import patiently
from served_arm import Served
from waiting import PATIENCE_S

from benchmarks.ros_operator import Operator, values_of
from benchmarks.terminal import Terminal
from picker_dynamics.nodes.pick_topic import KINDS
from picker_dynamics.nodes.runtime import OUTCOMES
from picker_dynamics.resources import resource

pytestmark = [pytest.mark.ros, pytest.mark.long]
SCENE = str(resource("config/scene.yaml"))
BERRY, TRAY = np.array([0.26, 0.02, 0.17]), np.array([0.20, -0.15, 0.12])


def test_a_camera_node_has_a_berry_picked_and_placed_one_target_at_a_time(domain):
    with (
        Served(scene=SCENE) as served,
        Operator(picker().joint_names) as client,
        client.hearing(DiagnosticStatus, "pick/status", OUTCOMES) as heard,
        Terminal(patiently("picker", "pick", "--listen", "--cameras", str(resource("config/cameras.yaml")))) as terminal,
    ):
        outs = {kind: client.create_publisher(PoseStamped, kind, 10) for kind in KINDS}
        client.until(lambda: "ready: " in terminal.shown and outs["pick"].get_subscription_count(), "a listener")

        def ask(kind: str, place) -> None:
            message = PoseStamped()
            message.header.frame_id = "base_link"
            message.pose.position.x, message.pose.position.y, message.pose.position.z = map(float, place)
            outs[kind].publish(message)

        def outcomes(kind: str) -> list[str]:
            return [values_of(one)["outcome"] for one in heard if values_of(one)["kind"] == kind]

        def ended(kind: str, how: str) -> None:
            client.until(lambda: outcomes(kind)[-1:] not in ([], ["under way"]), f"the end of {kind}")
            assert outcomes(kind)[-1] == how, heard[-1].message

        ask("pick", BERRY)
        client.until(lambda: outcomes("pick"), "a pick under way")
        ask("place", TRAY)
        ended("place", "refused")
        assert "busy with another target" in heard[-1].message
        client.until(lambda: any(one.message.endswith(": payload 25 g") for one in heard), "the berry is gripped")
        served.attach(0.025)
        ended("pick", "done")
        served.spend(1.0)
        assert np.linalg.norm(served.tip - BERRY - [0.0, 0.0, 0.03]) < 5e-3
        ask("place", TRAY)
        client.until(lambda: outcomes("place")[-1] == "done", "the end of place")
        served.attach(0.0)
        ask("move_straight", (0.2, 0.0, -0.02))
        ended("move_straight", "refused")
        terminal.press("\x03")
        assert terminal.process.wait(PATIENCE_S) == 0
