"""Arms of other kinds and settings, each in a process of its own: what does not fit is named, nodes alone, efforts, scenes."""

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, shipped_arm
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from ros_arm import BEGAN_S, HOME, NAMES, goal, moved, ros_arm
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray
from waiting import until

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.nodes.dynamics import DynamicsAlone
from picker_dynamics.nodes.runtime import LATCHED, LATEST, payload_in, seconds, to_stamp
from picker_dynamics.resources import resource

pytestmark = pytest.mark.ros
GOALS = "arm_controller/joint_trajectory"


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"hardware:baud": "fast"}, "baud"),
        ({"hardware:temperature_limit_c": 40.0, "hardware:ambient_c": 45.0}, "must be above ambient_c, 45"),
        ({"hardware:servos": "/nowhere/servos.yaml"}, "servos is '/nowhere/servos.yaml' for hardware"),
        ({"trajectory_controller:rate_h": 50.0}, "parameter rate_h does not exist, did you mean rate_hz"),
        ({"hardware:use_sim_time": "true"}, "use_sim_time is true"),
    ],
    ids=str,
)
def test_a_parameter_that_does_not_fit_at_the_start_is_named_in_one_line(domain, parameters, named):
    with pytest.raises(Exception, match=named) as caught, ros_arm(parameters):
        pass
    assert isinstance(caught.value, (ConfigurationError, ValueError)) and "\n" not in str(caught.value)


def test_alone_it_sends_commands_of_others_through_the_same_guard(domain):
    with ros_arm(alone=True, namespace="left") as arm:
        arm.node.trigger_configure()
        assert arm.session.enable(at_rest_pose=False) and arm.operator.get_namespace() == "/left"
        out = arm.publisher(JointState, "joint_commands", LATEST)
        for k in range(100):
            wrong = ((moved(base=1.5), 0.0), (HOME, 5.0), (np.full(5, np.nan), 0.0))[k % 3]
            for position, late_s in ((moved(base=0.002 * k), 0.0), wrong):
                message = JointState(name=list(reversed(NAMES)), position=position[::-1].tolist())
                to_stamp(message.header.stamp, BEGAN_S + arm.board.now() + 0.06 - late_s)
                out.publish(message)
                arm.step()
        counts = arm.outputs.counts
        assert counts.sent > 20 and counts.away > 0 and abs(arm.plant.q[0] - HOME[0]) < 0.25


def test_dynamics_alone_answers_states_with_the_torques_that_hold_them(domain):
    import rclpy

    rclpy.init(args=["--ros-args", "-p", "payload.mass:=0.05"])
    executor = SingleThreadedExecutor()
    try:
        node, operator = DynamicsAlone(), rclpy.create_node("operator")
        for one in (node, operator):
            executor.add_node(one)
        heard: list[JointState] = []
        operator.create_subscription(JointState, "joint_torques", heard.append, LATEST)
        out, state = (
            operator.create_publisher(JointState, "joint_states", 10),
            JointState(name=list(NAMES), position=HOME.tolist()),
        )
        until(lambda: heard, "an answer", step=lambda: (out.publish(state), executor.spin_once(0.02)))
        np.testing.assert_allclose(heard[0].effort, rigid_body(0.05).gravity(HOME), atol=1e-9)
        assert tuple(heard[0].name) == NAMES
    finally:
        executor.shutdown()
        rclpy.try_shutdown()


def test_payload_mode_and_commands_of_the_law_are_published(domain):
    with ros_arm() as arm:
        modes, payloads = arm.hear(String, "compensation", LATCHED), arm.hear(InertiaStamped, "payload", LATCHED)
        arm.active()
        with arm.hearing(JointState, "joint_commands", LATEST) as commands:
            arm.until(lambda: commands and modes and payloads, "commands")
            parameters = [Parameter("payload.mass", value=0.05), Parameter("compensation", value="none")]
            request = SetParameters.Request(parameters=[one.to_parameter_msg() for one in parameters])
            assert all(one.successful for one in arm.call(SetParameters, "dynamics/set_parameters", request).results)
            arm.until(lambda: modes[-1].data == "none" and payload_in(payloads[-1])[0] == 0.05, "the change")
            arm.run(2.0)
        held = arm.session.reference()
        np.testing.assert_allclose(commands[-1].effort, rigid_body(0.05).gravity(held), atol=1e-6)
        np.testing.assert_allclose(commands[-1].position, held, atol=1e-6)
        assert payloads[-1].header.frame_id == "tool0" and [one.data for one in modes] == ["full", "none"]
        assert 0.0 < seconds(commands[-1].header.stamp) - BEGAN_S - arm.board.now() < 0.06


def test_an_arm_whose_joints_take_efforts_moves_and_stops(domain):
    rrp = shipped_arm("rrp")
    with ros_arm({"control": "torque"}) as arm:
        arm.active()
        goals, names = arm.publisher(JointTrajectory, GOALS), rrp.description.joint_names
        target = rrp.home + [0.3, 0.2, 0.02]
        goals.publish(goal(target, names=names, name="there"))
        arm.said("there", "done")
        with arm.hearing(JointState, "joint_states") as states:
            arm.until(lambda: states, "states")
        np.testing.assert_allclose(states[-1].position, target, atol=1e-3)
        assert len(states[-1].effort) == 3
        goals.publish(goal(rrp.home, times=[2.0], names=names, name="back"))
        arm.until(lambda: abs(arm.arm.plant.v[0]) > 0.05, "motion")
        assert arm.call(SetBool, "emergency_stop", SetBool.Request(data=True)).message.startswith("stopped: braking")
        arm.said("back", "aborted")
        assert np.abs(arm.arm.plant.v).max() < 0.05


# -- scenes ------------------------------------------------------------------------------------------------


def box(**fields) -> Marker:
    """In the way of a swing of the base."""
    marker = Marker(ns="box", type=Marker.CUBE, **fields)
    marker.header.frame_id = "base_link"
    marker.scale.x, marker.scale.y, marker.scale.z = 0.05, 0.05, 0.2
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = 0.16, -0.11, 0.2
    return marker


def test_shapes_that_come_by_the_topic_are_not_hit_and_what_is_wrong_is_refused_whole(domain):
    pytest.importorskip("coal", reason="collision needs coal")
    with ros_arm({"trajectory_controller:collision.scene": str(resource("config/scene.yaml"))}) as arm:
        shown = arm.hear(MarkerArray, "collision_scene/shapes", LATCHED)
        arm.active()
        goals, out = arm.publisher(JointTrajectory, GOALS), arm.publisher(MarkerArray, "collision_scene", 10)
        swing = moved(base=-0.9)

        def names() -> set[str]:
            return {one.ns for one in shown[-1].markers if one.action == Marker.ADD}

        def publish(*markers: Marker) -> None:
            out.publish(MarkerArray(markers=list(markers)))

        arm.until(lambda: shown, "the scene")
        scene = names()
        publish(box())
        arm.until(lambda: names() == scene | {"box"}, "the box")
        (drawn,) = (one for one in shown[-1].markers if one.ns == "box")
        assert (drawn.type, drawn.scale, drawn.pose.position) == (Marker.CUBE, box().scale, box().pose.position)
        goals.publish(goal(swing, name="into it"))
        assert " box" in arm.said("into it", "refused").message
        for field, value, said in (
            ("frame_id", "map", "box: frame is 'map', must be base_link"),
            ("type", Marker.MESH_RESOURCE, "a marker of type 10, must be CUBE, SPHERE or CYLINDER"),
            ("y", 0.04, "a cylinder must be round"),
            ("w", 0.0, "orientation is not a unit quaternion"),
        ):
            wrong = box()
            where = {"frame_id": wrong.header, "y": wrong.scale, "w": wrong.pose.orientation}.get(field, wrong)
            setattr(where, field, value)
            wrong.type = Marker.CYLINDER if field == "y" else wrong.type
            publish(box(action=Marker.DELETE), wrong)
            arm.until(lambda said=said: any(said in one.message for one in arm.status), said)
            assert names() == scene | {"box"}
        publish(box(action=Marker.DELETE))
        arm.until(lambda: names() == scene, "its end")
        goals.publish(goal(swing, times=[6.0], name="past it"))
        arm.until(lambda: arm.plant.v[0] < -0.05, "motion")
        publish(box())
        assert " box" in arm.said("past it", "aborted").message and arm.plant.q[0] > swing[0] + 0.3
        assert picker().root == shown[-1].markers[0].header.frame_id
