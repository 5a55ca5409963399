"""The linter: silent on a sound arm, and one finding for each way of breaking one."""

import numpy as np
import pytest
from arm_fixtures import picker
from small_urdfs import TWO_LINKS, broken

from picker_dynamics.robot import description
from picker_dynamics.robot.lint import holding_torque, lint

PICKER = picker()
ARM_INERTIA = '<inertia ixx="6e-5" ixy="0" ixz="0" iyy="1.4e-3" iyz="0" izz="1.4e-3"/>'
ROD_INERTIA = '<inertia ixx="5e-6" ixy="0" ixz="0" iyy="8.6e-5" iyz="0" izz="8.6e-5"/>'


def diagonal(x, y, z):
    return f'<inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" izz="{z}"/>'


def findings(*changes, text=TWO_LINKS):
    return lint(description.parse(broken(*changes, text=text)))


def test_nothing_is_found_in_sound_arms():
    assert lint(PICKER) == ()
    assert findings() == ()


WRONG = {
    "unit inertias": ([(ARM_INERTIA, diagonal(1.0, 1.0, 1.0))], "inertia", "placeholder"),
    "an indefinite tensor": (
        [(ARM_INERTIA, '<inertia ixx="6e-5" ixy="1e-3" ixz="0" iyy="1.4e-3" iyz="0" izz="1.4e-3"/>')],
        "inertia",
        "principal moment is negative",
        "arm",
        True,
    ),
    "heavy for the shape": ([('value="0.4"', 'value="42.9"')], "mass", "2.38e+05 kg/m³"),
    "the centre outside": (
        [('<origin xyz="0.1 0 0" rpy="0 0 0"/>', '<origin xyz="100 0 0"/>')],
        "centre of mass",
        "99.8 m outside",
    ),
    "no range": ([('lower="-1" upper="2"', "")], "position limits of joint lift", "no range"),
    "a load beyond the motor": ([('effort="3"', 'effort="0.5"')], "holding torque at joint lift", "more than its limit 0.5 N·m"),
    "a last link without mass": (
        [(f'<mass value="0.1"/>\n      {ROD_INERTIA}', f'<mass value="0"/>\n      {diagonal(0, 0, 0)}')],
        "mass driven by joint slide",
        "infinite",
        "rod",
        True,
    ),
}
"""What is changed, of what something is found, why; the link if it is not ``arm``, and whether that is fatal."""


@pytest.mark.parametrize("fault", WRONG.values(), ids=WRONG.keys())
def test_each_fault_is_found_with_its_link_and_reason(fault):
    changes, what, reason, link, fatal = (*fault, *("arm", False)[len(fault) - 3 :])
    found = findings(*changes)
    matching = [f for f in found if f.link == link and f.what.startswith(what) and reason in f.reason]
    assert len(matching) == 1, [str(f) for f in found]
    assert matching[0].fatal is fatal
    assert matching[0].value
    assert any(f.fatal for f in found) is fatal, "no other finding may stop a simulation"
    assert all("\n" not in str(f) for f in found)


BAR = '<origin xyz="0.1 0 0"/><geometry><box size="0.2 0.03 0.03"/></geometry>'
ENDS = "</collision><collision>".join(
    f'<origin xyz="{x} 0 0"/><geometry><box size="0.08 0.03 0.03"/></geometry>' for x in (0.04, 0.16)
)
ALONG = '<origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.02" length="0.2"/></geometry>'
KNOB = '<origin xyz="0.2 0 0"/><geometry><sphere radius="0.03"/></geometry>'
TENT = '<origin xyz="0.1 0 0"/><geometry><mesh filename="tent.obj" scale="2 1 1"/></geometry>'
TENT_POINTS = "v -0.05 0 -0.01\nv 0.05 0 -0.01\nv 0 0.01 -0.01\nv 0.02 0 0.055\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


@pytest.mark.parametrize(
    "drawn, solid, outside, where",
    [
        (BAR, ENDS, 20.0, "(0.100, "),  # the middle of the gap is 20 mm from either end
        (ALONG, BAR, 5.0, ""),  # radius less half an edge
        (KNOB, BAR, 30.0, "(0.230, 0.000, 0.000)"),
        (TENT, BAR, 40.0, "(0.140, 0.000, 0.055)"),  # its top, stretched along x
        (BAR, TENT, None, ""),
        (BAR, KNOB + "</collision><collision>" + BAR, 0.0, ""),
        (TENT, TENT, 0.0, ""),
        (TENT, "", 0.0, ""),  # what is drawn counts
    ],
    ids=["gap", "cylinder", "sphere", "mesh", "in a mesh", "larger", "same mesh", "no collision shape"],
)
def test_what_is_drawn_outside_of_the_collision_shapes_is_found_in_mm(drawn, solid, outside, where, tmp_path):
    (tmp_path / "tent.obj").write_text(TENT_POINTS)
    visual, collision = f"<visual>{drawn}</visual>", f"<collision>{solid}</collision>" if solid else ""
    changes = (f"<visual>{BAR}</visual>", visual), (f"<collision>{BAR}</collision>", collision)
    found = lint(description.parse(broken(*changes), source=str(tmp_path / "arm.urdf")))
    of_shapes = [one for one in found if one.what == "what is drawn"]
    assert len(of_shapes) == (outside != 0.0), [str(one) for one in found]
    for one in of_shapes:
        assert one.link == "arm" and not one.fatal and where in one.value
        assert outside is None or float(one.value.split()[0]) == pytest.approx(outside, abs=0.05)  # three digits are printed


def test_a_mesh_that_is_not_there_is_found():
    for tag in ("visual", "collision"):
        (found,) = (one for one in findings((f"<{tag}>{BAR}", f"<{tag}>{TENT}")) if one.what == "mesh")
        assert (found.link, found.value) == ("arm", "tent.obj") and "no file of the mesh" in found.reason


def test_holding_torque_is_the_slope_of_the_potential_energy():
    """Against Pinocchio's gravity, a sliding joint included."""
    rigid_body = pytest.importorskip("picker_dynamics.dynamics.rigid_body", reason="needs Pinocchio")
    arm = description.parse(TWO_LINKS)
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (20, 2))
    assert holding_torque(arm, q) == pytest.approx(rigid_body.RigidBody(arm).gravity(q), abs=1e-13)
