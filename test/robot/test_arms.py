"""Every arm's URDF has the numbers of its closed form, and three readers of its text agree with that form."""

import numpy as np
import pytest

from picker_dynamics import resources
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.cross_check import sample_states
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource, share_directory
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.model import GRAVITY

TOLERANCE = 1e-9

every_arm = pytest.mark.parametrize(
    "name", ["rrp", "spatial_2r", "planar_2r", "pendulum", "cylindrical", "two_link", "three_link"]
)


def load(name: str):
    return description.load(resource(f"urdf/{name}.urdf"))


def closed_form(name: str):
    """The note's system with its default numbers, which are the URDF's."""
    return lagrangian.make(name, g=GRAVITY)


def states(arm, samples: int = 50):
    return sample_states(arm, samples, seed=3)


def close(ours, theirs) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=TOLERANCE * max(1.0, np.abs(theirs).max()))


@every_arm
def test_the_urdf_is_the_closed_form(name):
    arm, model = load(name), closed_form(name)
    assert arm.joint_names == model.joint_names
    pinocchio, chain = RigidBody(arm), lagrangian.ChainModel(arm)
    q, v, a = states(arm)
    for other in (pinocchio, chain):
        close(other.mass_matrix(q), model.mass_matrix(q))
        close(other.coriolis_matrix(q, v), model.coriolis_matrix(q, v))
        close(other.gravity(q), model.gravity(q))
        close(other.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a))


# -- config/arms.yaml ----------------------------------------------------------------------------------------


def test_every_urdf_is_an_arm_and_every_arm_has_a_urdf():
    assert {path.stem for path in (share_directory() / "urdf").glob("*.urdf")} == set(arms.names())


def test_resources_are_found_in_an_ament_prefix(tmp_path, monkeypatch):
    """No source tree is around the module where colcon installs it; empty entries and prefixes without the package are passed."""
    share = tmp_path / "second" / "share" / "picker_dynamics"
    (share / "urdf").mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "lib" / "picker_dynamics" / "resources.py"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", f":{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert share_directory() == share
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    monkeypatch.setattr(resources.sys, "prefix", str(tmp_path / "venv"))
    with pytest.raises(ConfigurationError, match="source install/setup.bash"):
        share_directory()


@every_arm
def test_an_arm_can_hold_its_home_pose_and_move_away_from_it(name):
    made = arms.load(name)
    assert made.control == "torque"
    assert (made.home > made.description.lower).all() and (made.home < made.description.upper).all()
    assert (np.abs(closed_form(name).gravity(made.home)) < made.hold_share * made.description.effort).all()
    assert made.hold_share <= made.peak_share < 1.0


DEFAULTS = "defaults: {bandwidth_rad_s: 15, peak_share: 0.8, hold_share: 0.6, tip_speed_m_s: 0.5}\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [("home: {theta1: 0, theta2: 2.2}", "d3"), ("bandwidth_rad_s: 0", "bandwidth_rad_s"), ("control: hydraulic", "hydraulic")],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path, line, reason):
    entry = ["control: torque", "home: {theta1: 0, theta2: 2.2, d3: 0.5}"]
    key = line.split(":")[0]
    lines = [line, *(other for other in entry if other.split(":")[0] != key)]
    file = tmp_path / "arms.yaml"
    file.write_text(f"{DEFAULTS}arms:\n  rrp:\n" + "".join(f"    {entry}\n" for entry in lines))
    with pytest.raises(ConfigurationError, match=reason):
        arms.load("rrp", file)
