"""The plug-ins for LeRobot: what their positions mean, and, where LeRobot is installed, what its tools do with them."""

import importlib.util
import math

import numpy as np
import pytest
from places import ROOT
from spawned_board import running
from waiting import until

from picker_dynamics.errors import ClosedError, InputError, JointNamesError, PickerError
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.sim.bus_in_memory import BusInMemory
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.virtual_bus import VirtualBus

FOLDERS = [str(ROOT / "integrations" / name) for name in ("lerobot_robot_picker", "lerobot_teleoperator_picker")]
NAMES = "shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"


@pytest.fixture
def plugins(monkeypatch):
    """The plug-ins, as LeRobot finds them."""
    pytest.importorskip("lerobot.robots", reason="LeRobot is not installed: its plug-ins are not run")
    for folder in FOLDERS:
        monkeypatch.syspath_prepend(folder)
    return [importlib.import_module(name) for name in ("lerobot_robot_picker", "lerobot_teleoperator_picker")]


def positions(arm="so101", servos=""):
    """Positions alone, without LeRobot."""
    path = f"{FOLDERS[0]}/lerobot_robot_picker/positions.py"
    spec = importlib.util.spec_from_file_location("positions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Positions(equipment(arm, servos))


def test_joints_are_degrees_in_the_arms_order_and_the_gripper_goes_from_0_to_100():
    so101 = positions()
    assert list(so101.features.items()) == [(f"{name}.pos", float) for name in NAMES]
    told = so101.told(np.array([0.5, -math.pi / 4, 0.0, 1.0, -2.0, -0.174]))
    assert told == pytest.approx(dict(zip(so101.features, (28.6479, -45.0, 0.0, 57.2958, -114.5916, 0.0))), abs=1e-4)
    assert so101.told(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.745]))["gripper.pos"] == pytest.approx(100.0)
    backwards = dict(reversed(told.items())) | {"front": "a picture"}
    assert so101.read(backwards) == pytest.approx([0.5, -math.pi / 4, 0.0, 1.0, -2.0, -0.174])


def test_a_joint_that_slides_is_told_in_millimetres():
    rrp = positions("rrp")
    q = np.array([0.5, -0.25, 0.012])
    assert list(rrp.told(q).values()) == pytest.approx([28.648, -14.324, 12.0], abs=1e-3)
    assert rrp.read(rrp.told(q)) == pytest.approx(q)


def test_an_action_of_another_arm_is_refused():
    with pytest.raises(JointNamesError, match=r"no elbow_flex.pos, .*in base.pos: is that of another arm\?"):
        positions().read({"base.pos": 1.0})


def test_a_robot_measures_follows_and_holds(plugins, tmp_path):
    robots = importlib.import_module("lerobot.robots")
    robot = robots.make_robot_from_config(plugins[0].PickerConfig(id="mine", port="sim", calibration_dir=tmp_path))
    assert isinstance(robot, robots.Robot) and robot.name == "picker" and robot.is_calibrated and not robot.is_connected
    assert robot.observation_features == robot.action_features == {f"{name}.pos": float for name in NAMES}
    with pytest.raises(ClosedError):
        robot.get_observation()
    robot.connect()
    begin = robot.get_observation()
    target = begin | {"shoulder_pan.pos": 40.0, "gripper.pos": 20.0, "wrist_flex.pos": 400.0}
    sent = [robot.send_action(target)]

    def arrived():
        sent.append(robot.send_action(target))
        seen = robot.get_observation()
        return abs(seen["shoulder_pan.pos"] - 40.0) < 1.0 and abs(seen["gripper.pos"] - 20.0) < 2.0

    until(arrived, "the pose that was asked for")
    assert sent[0] == pytest.approx(begin, abs=0.5), "it begins where it is"
    ways = np.abs(np.diff([[one[name] for name in begin] for one in sent], axis=0))
    assert ways.max() < math.degrees(2.55) * 0.25, "in 0.2 s of simulated time, at the most"
    assert robot.get_observation()["wrist_flex.pos"] == pytest.approx(95.0, abs=1.0), "its limit"
    with pytest.raises(InputError, match="is nan, must be a finite number"):
        robot.send_action(target | {"elbow_flex.pos": math.nan})
    robot.disconnect()
    assert not robot.is_connected


def test_what_stopped_the_arm_is_said_and_it_goes_on_only_after_enable(plugins, tmp_path):
    robot = plugins[0].Picker(plugins[0].PickerConfig(port="sim", calibration_dir=tmp_path))
    robot.connect()
    action = robot.get_observation()
    robot.send_action(action)
    robot.arm.stop()
    with pytest.raises(PickerError, match="the arm is not active: stopped"):
        robot.send_action(action)
    robot.arm.reset()
    robot.arm.enable()
    assert robot.send_action(action) == pytest.approx(action, abs=0.5)
    robot.disconnect()


def test_a_leader_is_read_and_is_limp(plugins, tmp_path):
    teleoperators = importlib.import_module("lerobot.teleoperators")
    known, port = equipment("so101"), tmp_path / "port"
    bus = BusInMemory(Plant(known.description, known.servos, q=known.home, support=True, quantise=False), known.servos)
    config = plugins[1].PickerLeaderConfig(port=str(port), calibration_dir=tmp_path)
    teleoperator = teleoperators.make_teleoperator_from_config(config)
    assert isinstance(teleoperator, teleoperators.Teleoperator) and teleoperator.feedback_features == {}
    with running(VirtualBus(bus, port)):
        teleoperator.connect()
        action = teleoperator.get_action()
        assert action.keys() == teleoperator.action_features.keys()
        assert action == pytest.approx(positions().told(known.home), abs=0.2)
        teleoperator.disconnect()
    assert not any(servo.torque for servo in bus.servos)
