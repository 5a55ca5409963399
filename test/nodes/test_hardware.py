"""``hardware`` on virtual time: lifecycle, services and their order, others' descriptions, parameters, what is published."""

import itertools
import re

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_arm import BEGAN_S, NAMES, ros_arm
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger

from benchmarks.ros_operator import values_of
from picker_dynamics.board.session import State
from picker_dynamics.nodes.hardware import DESCRIPTION_BYTES
from picker_dynamics.nodes.runtime import LATCHED, seconds

pytestmark = pytest.mark.ros
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = (
    Transition.TRANSITION_CONFIGURE,
    Transition.TRANSITION_CLEANUP,
    Transition.TRANSITION_ACTIVATE,
    Transition.TRANSITION_DEACTIVATE,
)
ON, OFF, PRESS = SetBool.Request(data=True), SetBool.Request(data=False), Trigger.Request()


def change(arm, number: int) -> bool:
    request = ChangeState.Request(transition=Transition(id=number))
    return arm.call(ChangeState, "hardware/change_state", request).success


@pytest.fixture(scope="module")
def made(domain):
    with ros_arm({"hardware:ambient_c": 35}) as arm:
        yield arm


@pytest.fixture
def arm(made):
    """Active, whatever was before."""
    if made.outputs.state is not State.ACTIVE:
        if made.node.lifecycle == "unconfigured":
            made.node.trigger_configure()
        made.until(lambda: not made.session.gate.settling, "an open gate")
        made.session.reset()
        made.session.enable(at_rest_pose=True)
    made.until(lambda: made.execution.phase.value == "holding" and made.node.lifecycle == "active", "an active arm")
    yield made


def entry(arm, part: str):
    arm.process.report.refresh()
    return arm.process.report.entries[f"hardware: {part}"]


# -- lifecycle ---------------------------------------------------------------------------------------------


def test_the_transitions_that_a_ros2_control_user_knows(arm):
    """Unconfigured: no port; inactive: connected, and not in command; active: in command; illegal ones are refused."""
    for illegal in (CONFIGURE, ACTIVATE, CLEANUP, 99):
        assert change(arm, illegal) is False and arm.node.lifecycle == "active"
    arm.run(1.0)
    outputs, before = arm.plant.setpoint.copy(), arm.plant.q.copy()
    assert change(arm, DEACTIVATE) and arm.node.lifecycle == "inactive" and arm.outputs.state is State.IDLE
    assert change(arm, CLEANUP) and arm.node.lifecycle == "unconfigured" and not arm.outputs.link.connected
    arm.run(0.5)
    np.testing.assert_array_equal(arm.plant.setpoint, outputs)
    assert change(arm, CONFIGURE) and arm.outputs.link.connected
    assert change(arm, ACTIVATE) and arm.outputs.state is State.ACTIVE
    arm.run(0.3)
    assert np.abs(arm.plant.q - before).max() < 0.02


def test_a_fault_deactivates_and_only_who_is_told_activates_again(arm):
    arm.board.plugged = False
    arm.until(lambda: arm.outputs.state is State.OFFLINE and arm.node.lifecycle == "inactive", "notice")
    assert change(arm, ACTIVATE) is False
    assert not arm.call(SetBool, "enable", ON).success and arm.call(SetBool, "emergency_stop", ON).success
    arm.board.plugged = True
    arm.until(lambda: arm.outputs.state is State.IDLE, "the way back")
    arm.run(0.3)
    assert arm.node.lifecycle == "inactive" and arm.outputs.state is State.IDLE
    assert arm.call(Trigger, "reset", PRESS).success and arm.call(SetBool, "enable", ON).success
    arm.until(lambda: arm.node.lifecycle == "active", "following the arm")


def test_an_unexpected_error_ends_unconfigured_and_it_can_start_anew(arm, capfd):
    assert change(arm, DEACTIVATE)
    arm.outputs.activate = lambda at_rest_pose: 1 / 0
    change(arm, ACTIVATE)
    assert arm.node.lifecycle == "unconfigured" and not arm.outputs.link.connected
    assert "on_activate: ZeroDivisionError" in capfd.readouterr().err
    del arm.outputs.activate
    assert change(arm, CONFIGURE) and change(arm, ACTIVATE)


# -- services ----------------------------------------------------------------------------------------------


def test_stop_reset_enable_adopt_and_relax_say_what_they_do(arm):
    assert "only latches" in arm.call(SetBool, "emergency_stop", OFF).message and not arm.session.gate.settling
    assert arm.call(SetBool, "emergency_stop", ON).message == "stopped: decelerating, then holding; latched until reset"
    assert "stop is latched" in arm.call(SetBool, "enable", ON).message
    assert arm.call(Trigger, "reset", PRESS).message == "reset: nothing moves; run picker enable to continue"
    assert arm.call(Trigger, "accept_board", PRESS).message == "accepted: the board was flashed for this servo map"
    assert "adopted" in arm.call(Trigger, "adopt", PRESS).message
    arm.until(lambda: arm.outputs.state is State.ACTIVE, "activation")
    assert arm.call(SetBool, "enable", OFF).message == "outputs off" and entry(arm, "board").level == 1
    assert "pose is unknown" in arm.call(Trigger, "adopt", PRESS).message
    assert arm.call(SetBool, "enable", ON).message.startswith("enabling base")
    arm.until(lambda: arm.outputs.state is State.ACTIVE, "activation")
    assert arm.call(Trigger, "relax", PRESS).message == "relaxed: all outputs off"
    assert (entry(arm, "joint state").level, entry(arm, "joint state").values["provenance"]) == (1, "none")


ASKED = {"emergency_stop": (SetBool, ON), "reset": (Trigger, PRESS), "enable": (SetBool, ON), "adopt": (Trigger, PRESS)}


@pytest.mark.parametrize("order", list(itertools.islice(itertools.permutations(ASKED), 0, 24, 13)), ids=" ".join)
def test_what_was_asked_together_with_a_stop_does_not_undo_it_and_who_asks_after_its_answer_passes(arm, order):
    futures = {name: arm.begin(ASKED[name][0], name, ASKED[name][1]) for name in order}
    arm.until(lambda: all(one.done() for one in futures.values()), "answers")
    assert futures["emergency_stop"].result().success and arm.outputs.stop_latched and arm.outputs.state is State.IDLE
    refused = [futures[name].result().message for name in order if not futures[name].result().success]
    assert all("stopped after this was asked" in one or "latched" in one for one in refused)
    for name in ("reset", "adopt"):
        answer = arm.call(Trigger, name, PRESS)
        assert answer.success, answer.message


def test_a_fault_is_not_cleared_by_what_waited_when_it_was_noticed(arm):
    client = arm.operator.create_client(Trigger, "reset")
    arm.until(client.service_is_ready, "the service")
    arm.board.plugged = False
    for _ in range(40):
        arm.session.cycle()
        arm.board.run(0.01)
    waits = client.call_async(PRESS)
    arm.until(waits.done, "an answer")
    assert not waits.result().success and arm.outputs.fault_latched
    arm.board.plugged = True
    arm.until(lambda: arm.outputs.state is State.IDLE and not arm.session.gate.settling, "the way back")


# -- what others say ---------------------------------------------------------------------------------------


def test_a_robot_description_of_another_arm_is_told_and_nothing_is_enabled(arm):
    urdf = arm.arm.description.urdf
    wider, report = urdf.replace('upper="0.45"', 'upper="2.0"'), arm.process.report
    out = arm.publisher(String, "robot_description", LATCHED)
    out.publish(String(data=wider))
    said = "robot_description: upper limit of elbow is 114.6 deg, this arm's is 25.8 deg"
    arm.until(lambda: report.description_problem == said, "the comparison")
    arm.until(lambda: arm.node.lifecycle == "inactive", "holding")
    assert said in arm.outputs.problem and change(arm, ACTIVATE) is False
    assert arm.call(SetBool, "enable", ON).message == said and entry(arm, "robot description").level == 2
    out.publish(String(data=DESCRIPTION_BYTES * "x"))
    arm.until(lambda: "bytes is ignored, at most" in report.description_problem, "one that is too long")
    out.publish(String(data=urdf))
    arm.until(lambda: report.description_problem == "", "agreement")
    assert change(arm, ACTIVATE) is True
    arm.operator.destroy_publisher(out)


def values(arm) -> dict:
    return {(part, name): settings[name] for part, settings in arm.arm.settings.items() for name in settings.declared}


@pytest.mark.parametrize(
    ("part", "name", "value", "said"),
    [
        ("hardware", "temperature_limit_c", 500.0, "range"),
        ("hardware", "temperature_limit_c", 31.0, "must be above ambient_c, 35"),
        ("hardware", "port", "/dev/ttyACM9", "read-only|read only"),
        ("hardware", "use_sim_time", True, "leave it false"),
        ("trajectory_controller", "speed_scaling", float("nan"), "range|finite"),
        ("trajectory_controller", "floor_z", 1e300, "floor_z is 1e.300, must be -10 to 10, or -inf"),
        ("trajectory_controller", "stretch", 1, "type"),
        ("dynamics", "payload.mass", 4.0, "needs"),
        ("dynamics", "compensation", "most", "none, gravity, full"),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused_in_one_line_and_changes_nothing(arm, part, name, value, said):
    before = values(arm)
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    (result,) = arm.call(SetParameters, f"{part}/set_parameters", request).results
    assert not result.successful and re.search(said, result.reason, re.IGNORECASE) and "\n" not in result.reason
    assert before == values(arm)


def test_a_whole_number_is_taken_where_a_fraction_is_meant(arm):
    """As YAML has it: ``ambient_c: 35``; and ``ros2 param set``."""
    value = arm.node.get_parameter("ambient_c").value
    assert isinstance(value, float) and value == arm.arm.settings["hardware"]["ambient_c"] == 35.0
    request = SetParameters.Request(parameters=[Parameter("speed_scaling", value=0).to_parameter_msg()])
    assert arm.call(SetParameters, "trajectory_controller/set_parameters", request).results[0].successful
    assert arm.arm.settings["trajectory_controller"]["speed_scaling"] == 0.0
    value = arm.process.nodes["trajectory_controller"].get_parameter("speed_scaling").value
    assert isinstance(value, float) and value == 0.0


def test_parameters_and_settings_follow_each_other(arm):
    request = SetParameters.Request(parameters=[Parameter("speed_scaling", value=0.5).to_parameter_msg()])
    assert arm.call(SetParameters, "trajectory_controller/set_parameters", request).results[0].successful
    settings, node = arm.arm.settings["trajectory_controller"], arm.process.nodes["trajectory_controller"]
    assert settings["speed_scaling"] == 0.5 == arm.execution.limits.speed
    settings.change({"speed_scaling": 1.0})
    arm.until(lambda: node.get_parameter("speed_scaling").value == 1.0, "the parameter")


# -- what is published -------------------------------------------------------------------------------------


def test_states_status_held_pose_supply_and_diagnostics_are_published(arm):
    states, held = arm.hear(JointState, "joint_states"), arm.hear(JointState, "hardware/held_pose", LATCHED)
    supply, status = arm.hear(Float64, "hardware/supply", LATCHED), arm.hear(DiagnosticStatus, "hardware/status", LATCHED)
    told = arm.hear(DiagnosticArray, "/diagnostics", 10)
    arm.until(lambda: states and held and status, "states")
    assert tuple(states[-1].name) == NAMES and abs(seconds(states[-1].header.stamp) - BEGAN_S - arm.board.now()) < 0.2
    np.testing.assert_allclose(states[-1].position, arm.plant.q, atol=0.02)
    np.testing.assert_allclose(held[-1].position, arm.session.reference(), atol=0.02)
    assert values_of(status[-1])["state"] == "active" and values_of(status[-1])["provenance"] == "modelled"
    arm.board.firmware.set_supply(5400)
    arm.until(lambda: supply and supply[-1].data < 0.92, "the supply")
    arm.board.firmware.set_supply(20_000)
    arm.until(lambda: "reads 20.00 V, must be 3.6 ... 8.4 V" in entry(arm, "supply").message, "the warning")
    parts = {"board", "link", "queue", "timing", "temperature", "supply", "joint state", "robot description"}
    names = {f"hardware: {part}" for part in parts} | {"dynamics", "dynamics: cross-check"}
    names |= {"trajectory_controller", "trajectory_controller: loop"}
    arm.until(lambda: {one.name for message in told for one in message.status} == names, "diagnostics")
    figures = {one.name: values_of(one) for message in told for one in message.status}
    assert int(figures["hardware: board"]["commands_sent"]) > 0 and int(figures["hardware: queue"]["rejected"]) == 0
    arm.session.disable()
    arm.until(lambda: not held[-1].name, "no pose is held")
    arm.board.firmware.set_supply(6000)


@pytest.mark.parametrize("reaction", ["warn", "stop"])
def test_a_servo_at_its_temperature_limit_is_named_and_stops_the_arm_where_that_is_wanted(arm, reaction):
    hardware = arm.arm.settings["hardware"]
    hardware.change({"on_overheat": reaction, "temperature_limit_c": 60.0})
    arm.outputs.budget.celsius[1] = 71.0
    arm.run(1.2)
    told = entry(arm, "temperature")
    assert told.level == 2 and told.message.startswith("shoulder is at 7") and "(estimated), limit 60" in told.message
    assert arm.outputs.stop_latched is (reaction == "stop") and arm.outputs.outputs == "running"
    arm.outputs.budget.celsius[1] = 40.0
    hardware.change({"on_overheat": "warn", "temperature_limit_c": 75.0})
