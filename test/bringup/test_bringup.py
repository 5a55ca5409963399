"""The graph as data: what runs with which options, and options that do not fit together."""

import json
import stat
import tempfile
from pathlib import Path

import any_arms
import pytest

from picker_dynamics.bringup.bringup import graph, local_only, remove_leftovers, view_graph
from picker_dynamics.bringup.options import PAYLOAD_MAX_KG, Options
from picker_dynamics.controller.parameters import PARTS, PAYLOAD
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource

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
    """What a node of the graph is given by ``-p``."""
    given = [word.split(":", 1) for one in made.nodes for word in one.arguments if word.startswith(f"{node}:")]
    return {name: json.loads(value) for name, value in (word.split(":=", 1) for _, word in given)}


def test_simulation_runs_the_virtual_board_and_every_node_knows_its_servos(tmp_path):
    made = graph(Options(directory=str(tmp_path)))
    (arm,) = made.nodes
    overlay = str(resource("config/servos.sim.yaml"))
    assert arm.name == "arm" and all(parameters(made, part)["servo_overlay"] == overlay for part in PARTS)
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
    assert not any("servo_overlay" in parameters(made, part) for part in PARTS)


def test_choices_reach_the_node_they_concern_and_defaults_stay_with_the_file():
    made = graph(Options(namespace="left", on_shutdown="park", tip_speed_limit=0.5, collision=True))
    assert parameters(made, "hardware")["on_shutdown"] == "park"
    assert parameters(made, "trajectory_controller").items() >= {"tip_speed_limit": 0.5, "collision.enabled": True}.items()
    assert not {"tip_speed_limit", "collision.enabled"} & set(parameters(graph(Options()), "trajectory_controller"))
    assert "__ns:=/left" in made.nodes[0].arguments
    made = graph(Options(compensation="none", payload_mass=0.025, rate_hz=50.0, log_level="warn"))
    assert parameters(made, "dynamics").items() >= {"compensation": "none", "payload.mass": 0.025}.items()
    assert parameters(made, "trajectory_controller")["rate_hz"] == 50.0 and "warn" in made.nodes[0].arguments


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


def test_a_named_arm_with_servos_is_known_by_its_urdf_to_board_and_arm_alike():
    made, urdf = graph(Options(arm="so101")), str(resource("urdf/so101.urdf"))
    assert all(parameters(made, part)["urdf"] == urdf for part in PARTS) and urdf in made.board.arguments
    assert "urdf" not in parameters(graph(Options(arm="picker")), "dynamics")
    on_port = graph(Options(arm="so101", hardware="serial", port="/dev/ttyACM0"))
    assert on_port.board is None and not any("assumed" in note for note in on_port.notes)


@pytest.mark.parametrize(("chosen", "added"), [("", {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}), ("SUBNET", {})])
def test_discovery_stays_on_this_machine_unless_the_user_says_otherwise(chosen, added):
    assert local_only({"ROS_AUTOMATIC_DISCOVERY_RANGE": chosen}) == added


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hardware": "cloud"}, "hardware"),
        (SERIAL | {"plant_error": 0.1}, "plant_error is 0.1, but hardware is serial: only a simulated one can be chosen"),
        ({"compensation": "half"}, "compensation is 'half', must be one of none, gravity, full"),
        ({"servo": "ideal", "arm": "rrp"}, "torque-controlled joints, no servos"),
        (SERIAL | {"arm": "rrp"}, "arm rrp has torque-controlled joints, no servos: it can only be simulated"),
        ({"arm": "rrp", "urdf": str(resource("urdf/picker.urdf"))}, "not both"),
        (SERIAL | {"port": ""}, "no port is given"),
        ({"params_file": "/nowhere.yaml"}, "/nowhere.yaml"),
        ({"payload_mass": 5.1}, "payload_mass is 5.1 kg, must be <= 5"),
        ({"payload_mass": -0.1}, "payload_mass is -0.1 kg, must be >= 0"),
        ({"scene": "/nowhere.yaml"}, "cannot read scene /nowhere.yaml"),
        ({"scene": CAMERAS}, "cameras"),
        ({"pick": True, "cameras": "/nowhere.yaml"}, "cannot read cameras /nowhere.yaml"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name_before_anything_is_made(options, named, temporary):
    with pytest.raises(ConfigurationError, match=named):
        graph(Options(**options))
    assert not list(temporary.iterdir())


def test_the_largest_payload_is_that_of_the_parameter():
    assert PAYLOAD[0].high == PAYLOAD_MAX_KG


OWN = """
defaults: {bandwidth_rad_s: 9, peak_share: 1, hold_share: 0.5, tip_speed_m_s: 1}
arms:
  mine: {control: torque, home: {theta1: 0, theta2: 2, d3: 0.4}}
"""


def test_a_torque_controlled_arm_may_be_in_a_file_of_ones_own(tmp_path):
    urdf, file = tmp_path / "mine.urdf", tmp_path / "my_arms.yaml"
    urdf.write_text(resource("urdf/rrp.urdf").read_text().replace('robot name="rrp"', 'robot name="mine"'))
    file.write_text(OWN)
    options = Options(arms=str(file), urdf=str(urdf))
    assert options.torque_controlled and options.urdf_path == str(urdf)
    made = graph(options)
    assert all(parameters(made, part)["arms"] == str(file) and "urdf" in parameters(made, part) for part in PARTS)
    assert parameters(made, "trajectory_controller")["control"] == "torque"
    assert parameters(made, "trajectory_controller")["tip_speed_limit"] == 1.0
    file.write_text(OWN.replace("mine", "other"))
    with pytest.raises(ConfigurationError, match="no arm 'mine'; there are other"):
        Options(arms=str(file), urdf=str(urdf)).torque_controlled  # noqa: B018


def test_a_view_of_an_arm_starts_what_shows_it_and_nothing_else():
    assert [spec.name for spec in view_graph(Options(markers=True)).nodes] == ["markers"]
