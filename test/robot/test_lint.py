"""The linter: silent on a sound arm, and one finding for each way of breaking one."""

from __future__ import annotations

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


def test_holding_torque_is_the_slope_of_the_potential_energy():
    """Against Pinocchio's gravity, a sliding joint included."""
    rigid_body = pytest.importorskip("picker_dynamics.dynamics.rigid_body", reason="needs Pinocchio")
    arm = description.parse(TWO_LINKS)
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (20, 2))
    assert holding_torque(arm, q) == pytest.approx(rigid_body.RigidBody(arm).gravity(q), abs=1e-13)
