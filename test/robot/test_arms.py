"""Every arm's URDF has the numbers of its closed form, and three readers of its text agree with that form."""

from __future__ import annotations

import numpy as np
import pytest

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.cross_check import sample_states
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource, share_directory
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.sim.torque_plant import TorquePlant

SPACE = np.eye(3)
UPRIGHT_PLANE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""The note's plane, x along x and y along z: columns are its axes in base_link."""

TOLERANCE = 1e-9


def bar(arm, link: str, tip: str, axis: int = 1) -> tuple[float, float, float, float]:
    """Length to the joint ``tip``, distance of the centre of mass, mass, and inertia about ``axis``."""
    body = arm.links[link]
    return (np.linalg.norm(arm.joint(tip).xyz), np.linalg.norm(body.com), body.mass, body.inertia[axis, axis])


def read_rrp(arm):
    link2, link3 = arm.links["link2"], arm.links["link3"]
    l4, l2 = arm.joint("tool").xyz[2], -arm.joint("d3").xyz[0]
    l3 = 2.0 * (l4 - link3.com[2])
    assert link2.com == pytest.approx([-l2 / 2.0, 0.0, 0.0])
    assert link2.inertia[1, 1] == pytest.approx(link2.mass * l2**2 / 12.0, rel=1e-12), "a slender uniform rod"
    assert link3.inertia[1, 1] == pytest.approx(link3.mass * l3**2 / 12.0, rel=1e-12), "a slender uniform rod"
    return dict(l2=l2, l=l3, l4=l4, m2=link2.mass, m3=link3.mass, M=arm.links["load"].mass)


def read_spatial_2r(arm):
    L1, _, m1, I1x = bar(arm, "link1", "q2", axis=0)
    L2, _, m2, I2x = bar(arm, "link2", "tool", axis=0)
    inertia = arm.links["link2"].inertia
    return dict(L1=L1, L2=L2, m1=m1, m2=m2, I1x=I1x, I2x=I2x, I2y=inertia[1, 1], I2z=inertia[2, 2])


def read_planar_2r(arm):
    (l1, lg1, m1, I1), (l2, lg2, m2, I2) = bar(arm, "link1", "theta2"), bar(arm, "link2", "tool")
    return dict(l1=l1, l2=l2, lg1=lg1, lg2=lg2, m1=m1, m2=m2, I1=I1, I2=I2)


def read_pendulum(arm):
    _, a, m, J_G = bar(arm, "bar", "tool")
    return dict(a=a, m=m, J_G=J_G)


def read_cylindrical(arm):
    _, a, m2, J2 = bar(arm, "body2", "r3")
    _, _, m3, J3 = bar(arm, "shaft", "tool")
    return dict(a=a, m2=m2, m3=m3, J2=J2, J3=J3)


def read_bars(*names_and_tips):
    def read(arm):
        parameters = {}
        for number, (link, tip) in enumerate(names_and_tips, start=2):
            parameters |= dict(zip((f"d{number}", f"a{number}", f"m{number}", f"J{number}"), bar(arm, link, tip)))
        return parameters

    return read


READERS = {
    "rrp": (read_rrp, SPACE),
    "spatial_2r": (read_spatial_2r, SPACE),
    "planar_2r": (read_planar_2r, UPRIGHT_PLANE),
    "pendulum": (read_pendulum, UPRIGHT_PLANE),
    "cylindrical": (read_cylindrical, UPRIGHT_PLANE),
    "two_link": (read_bars(("bar2", "theta3"), ("bar3", "tool")), UPRIGHT_PLANE),
    "three_link": (read_bars(("bar2", "theta3"), ("bar3", "theta4"), ("bar4", "tool")), UPRIGHT_PLANE),
}
NOTE_RRP = dict(l2=1.6, l=1.2, l4=0.3, m2=10.8, m3=8.4, M=0.5)


every_arm = pytest.mark.parametrize("name", READERS)


def load(name: str):
    return description.load(resource(f"urdf/{name}.urdf"))


def closed_form(name: str):
    return lagrangian.make(name, g=GRAVITY, **READERS[name][0](load(name)))


def states(arm, samples: int = 300):
    return sample_states(arm.lower, arm.upper, arm.velocity, samples, seed=3)


def close(ours, theirs) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=TOLERANCE * max(1.0, np.abs(theirs).max()))


@every_arm
def test_the_urdf_is_the_closed_form(name):
    arm, model = load(name), closed_form(name)
    assert arm.joint_names == model.joint_names
    pinocchio, chain = RigidBody(arm), lagrangian.chain_of(arm)
    q, v, a = states(arm)
    for other in (pinocchio, chain):
        close(other.mass_matrix(q), model.mass_matrix(q))
        close(other.coriolis_matrix(q, v), model.coriolis_matrix(q, v))
        close(other.gravity(q), model.gravity(q))
        close(other.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a))


@every_arm
def test_mujoco_reads_the_same_arm(name):
    arm, model = load(name), closed_form(name)
    plant = TorquePlant(arm)
    for q, v, _ in zip(*states(arm, 30)):
        close(plant.mass_matrix(q), model.mass_matrix(q))
        close(plant.bias(q, v), model.coriolis_matrix(q, v) @ v + model.gravity(q))


# -- config/arms.yaml ----------------------------------------------------------------------------------------


def test_every_urdf_is_an_arm_and_every_arm_has_a_urdf():
    assert {path.stem for path in (share_directory() / "urdf").glob("*.urdf")} == set(arms.names())


@every_arm
def test_an_arm_can_hold_its_home_pose_and_move_away_from_it(name):
    made = arms.load(name)
    assert made.control == "torque"
    assert (made.home > made.description.lower).all() and (made.home < made.description.upper).all()
    assert (np.abs(closed_form(name).gravity(made.home)) < made.hold_limit).all()
    assert made.hold_share <= made.peak_share < 1.0


def test_an_unknown_arm_is_told_which_there_are():
    with pytest.raises(ConfigurationError, match="no arm 'rpr'.*pendulum.*rrp"):
        arms.load("rpr")


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
