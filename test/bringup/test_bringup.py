"""The graph as data: what runs with which options, and options that do not fit together."""

import json
import stat
import tempfile
from pathlib import Path

import any_arms
import pytest

from picker_dynamics.bringup.bringup import graph, remove_leftovers, view_graph
from picker_dynamics.bringup.options import RANGES, Options
from picker_dynamics.controller.parameters import PARTS, PAYLOAD, SIMULATED_TORQUE_ARM, controller
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.execution.tolerances import Tolerances
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms

SCENE, CAMERAS = (str(resource(f"config/{name}.yaml")) for name in ("scene", "cameras"))
SERIAL = {"hardware": "serial", "port": "/dev/ttyACM0"}


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def parameters(made, node):
    return next(spec.parameters[node] for spec in made.nodes if node in spec.parameters)


def test_simulation_runs_the_virtual_board_and_every_node_knows_its_servos(tmp_path):
    made = graph(Options(directory=str(tmp_path)))
    (arm,) = made.nodes
    assert (arm.name, tuple(arm.parameters)) == ("arm", PARTS)
    overlay = str(resource("config/servos.sim.yaml"))
    assert all(values["servo_overlay"] == overlay for values in arm.parameters.values())
    assert made.board.arguments[made.board.arguments.index("--servo-overlay") + 1] == overlay
    assert parameters(made, "hardware")["port"] == made.port == str(tmp_path / "tty")


def test_the_simulated_board_has_a_folder_of_its_own_that_nobody_else_enters_and_that_goes_with_it(temporary):
    one, other = (graph(Options(namespace="/a/left")) for _ in range(2))
    folder = Path(one.port).parent
    assert folder.parent == temporary and folder != Path(other.port).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for made in (one, other):
        remove_leftovers(made)
    assert not list(temporary.iterdir())


def test_on_a_real_port_nothing_is_simulated_and_nobody_claims_the_rest_pose():
    made = graph(Options(**SERIAL))
    assert made.board is None
    hardware = parameters(made, "hardware")
    assert hardware["port"] == "/dev/ttyACM0" and hardware["at_rest_pose"] is False
    assert not any("servo_overlay" in values for values in made.nodes[0].parameters.values())


def test_choices_reach_the_node_they_concern_and_defaults_stay_with_the_file(tmp_path):
    made = graph(Options(compensation="none", payload_mass=0.025, rate_hz=200.0, namespace="left", on_shutdown="park"))
    assert parameters(made, "dynamics")["compensation"] == "none"
    assert parameters(made, "dynamics")["payload.mass"] == 0.025
    assert parameters(made, "trajectory_controller")["rate_hz"] == 200.0
    assert parameters(made, "hardware")["on_shutdown"] == "park"
    assert not {"compensation", "payload.mass"} & set(parameters(graph(Options()), "dynamics"))
    arguments = made.nodes[0].ros_arguments()
    assert "__ns:=/left" in arguments
    passed = [arguments[i + 1] for i, word in enumerate(arguments) if word == "-p"]
    assert json.loads(dict(word.split(":=") for word in passed)["dynamics:payload.mass"]) == 0.025


def test_commands_run_beside_the_nodes_and_the_arm_goes_on_without_them():
    made = graph(Options(view=True, pick=True, cameras=CAMERAS, namespace="left"))
    assert made.nodes[0].required and not any(one.required for one in made.commands)
    assert [one.arguments for one in made.commands] == [
        ["view", "--wait", "60", "--namespace", "left"],
        ["pick", "--listen", "--cameras", CAMERAS, "--wait", "60", "--namespace", "left"],
    ]
    urdf = str(any_arms.urdf("four_joint"))
    of_its_own = graph(Options(view=True, urdf=urdf)).commands[-1].arguments
    assert of_its_own == ["view", "--urdf", urdf, "--wait", "60"], "its meshes lie beside it"
    assert graph(Options(pick=True)).commands[-1].arguments == ["pick", "--listen", "--wait", "60"]


@pytest.mark.parametrize(("chosen", "added"), [("", {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}), ("SUBNET", {})])
def test_discovery_stays_on_this_machine_unless_the_user_says_otherwise(monkeypatch, chosen, added):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", chosen)
    assert graph(Options()).environment == added


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hardware": "cloud"}, "hardware"),
        ({"cameras": CAMERAS}, "cameras is .*, but nothing is to be picked: add pick"),
        ({"compensation": "gravty"}, "compensation is 'gravty', must be one of none, gravity, full"),
        ({"payload_mass": float("nan")}, "payload_mass is nan, must be 0 to 5 kg"),
        (
            {"rate_hz": 5000.0},
            r"rate_hz is 5000, must be 10 to 200 Hz for servos on a board \(torque-controlled arms: to 500 Hz\)$",
        ),
        (SERIAL | {"plant_error": 0.1}, "plant_error is 0.1, but hardware is serial: only a simulated one can be chosen"),
        ({"servo": "ideal", "arm": "rrp"}, "torque-controlled joints, no servos"),
        (SERIAL | {"arm": "rrp"}, "arm rrp has torque-controlled joints: there is no driver"),
        ({"arm": "rrp", "urdf": str(resource("urdf/picker.urdf"))}, "not both"),
        ({"arms": str(resource("config/arms.yaml"))}, "neither a urdf nor an arm of that file"),
        ({"arms": str(resource("config/arms.yaml")), "arm": "picker"}, "with servos: leave it out, give a urdf"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(options, named):
    with pytest.raises(ConfigurationError, match=named):
        Options(**options)


OWN = """
defaults: {bandwidth_rad_s: 9, peak_share: 1, hold_share: 0.5, tip_speed_m_s: 1}
arms:
  mine: {control: torque, home: {theta1: 0, theta2: 2, d3: 0.4}}
"""


@pytest.mark.parametrize("by", ["urdf"])
def test_a_torque_controlled_arm_may_be_in_a_file_of_ones_own(tmp_path, by):
    urdf, file = tmp_path / "mine.urdf", tmp_path / "my_arms.yaml"
    urdf.write_text(resource("urdf/rrp.urdf").read_text().replace('robot name="rrp"', 'robot name="mine"'))
    file.write_text(OWN)
    options = Options(arms=str(file), **{by: str(urdf) if by == "urdf" else "mine"})
    assert options.torque_controlled and options.urdf_path == str(urdf)
    made = graph(options)
    assert all(parameters(made, part)["arms"] == str(file) and by in parameters(made, part) for part in PARTS)
    assert parameters(made, "trajectory_controller")["control"] == "torque"
    assert parameters(made, "trajectory_controller")["tip_speed_limit"] == 1.0
    file.write_text(OWN.replace("mine", "other"))
    with pytest.raises(ConfigurationError, match="no arm 'mine'; there are other"):
        Options(arms=str(file), urdf=str(urdf)).torque_controlled  # noqa: B018


def test_the_numbers_that_are_refused_are_those_that_the_nodes_refuse():
    arm = arms.load("rrp")
    declared = (*controller(arm.description, False, 0.0, Tolerances.of_arm(arm)), *PAYLOAD, *SIMULATED_TORQUE_ARM)
    bounds = {one.name.replace("payload.mass", "payload_mass"): (one.low, one.high) for one in declared}
    assert {name: bounds[name] for name in RANGES} == {name: (low, high) for name, (low, high, _) in RANGES.items()}


def test_a_view_of_an_arm_starts_what_shows_it_and_nothing_else(tmp_path):
    assert [spec.name for spec in view_graph(Options(markers=True)).nodes] == ["markers"]
    (tmp_path / "broken.yaml").write_text("joints: 5")
    with pytest.raises(ConfigurationError):
        view_graph(Options(markers=True, servos=str(tmp_path / "broken.yaml")))
