"""A designed arm: masses and inertias against its bodies cut into cubes, servo ranges, poses; and what is refused, by name."""

import numpy as np
import pytest
from pytest import approx

from picker_dynamics.errors import PickerError
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.arm_design import DENSITY, read_design, written
from picker_dynamics.robot.lint import lint
from picker_dynamics.robot.serial_arm import serial_arm

OUT = {"name": "out", "axis": "x", "along": "x", "length_mm": 80}
LIFT = {"name": "lift", "axis": "y", "length_mm": 120, "limits_deg": [-80, 80]}
TURN = {"name": "turn", "length_mm": 40}


def made(*joints, name="own", **top):
    return written(name, read_design(top | {"joints": list(joints)}))


def grid(*cells):
    """Middles of the cells of a unit cube, a column for each axis."""
    return np.stack(np.meshgrid(*((np.arange(one) + 0.5) / one for one in cells)), axis=-1).reshape(-1, 3)


def test_a_link_has_the_mass_centre_and_inertia_of_its_beam_and_the_servo_that_rides_on_it():
    arm = made(LIFT | {"section_mm": 30, "material": "aluminium"}, {"name": "bend", "length_mm": 50, "servo": "SG90"}).arm
    link = arm.links["lift_link"]
    beam = DENSITY["aluminium"] * np.pi * 0.015**2 * 0.12
    assert link.mass == approx(beam + 0.009, rel=1e-5)
    share, turn, height = grid(20, 12, 60).T
    radius, turn = 0.015 * np.sqrt(share), 2 * np.pi * turn
    rod = np.stack([radius * np.cos(turn), radius * np.sin(turn), 0.12 * height], axis=-1)
    servo = (grid(40, 40, 40) - 0.5) * (0.0222, 0.0118, 0.031) + (0, 0, 0.12)
    points, masses = np.concatenate([rod, servo]), np.repeat([beam / len(rod), 0.009 / len(servo)], [len(rod), len(servo)])
    centre = masses @ points / masses.sum()
    d = points - centre
    inertia = np.einsum("p,pij->ij", masses, (d**2).sum(axis=1)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :])
    assert link.com == approx(centre, abs=1e-6)
    assert link.inertia == approx(inertia, rel=1e-3, abs=1e-9)


def test_the_arm_is_the_chain_that_was_asked_for(tmp_path):
    own = made(TURN, LIFT, OUT, gripper="MG90S")
    arm = serial_arm(own.arm)
    assert arm.joint_names == ("turn", "lift", "out", "gripper") and not arm.notes and arm.tool == "tool0"
    assert [joint.axis.tolist() for joint in arm.movable[:3]] == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert arm.upper[1] == approx(np.radians(80), rel=1e-5)
    assert lint(arm) == ()
    (tmp_path / "servos.yaml").write_text(own.servos)
    servos = servo_map.load(tmp_path / "servos.yaml", arm.joint_names)
    assert servos.channels == (0, 1, 2, 3)
    assert arm.effort == approx(servos.stall_torque, rel=1e-5) and arm.velocity == approx(servos.no_load_speed, rel=1e-5)
    assert (servos.setpoint_lower <= arm.lower).all() and (servos.setpoint_upper >= arm.upper).all()
    for pose in (servos.home, servos.rest):
        assert (arm.lower <= pose).all() and (pose <= arm.upper).all()


def test_a_servo_that_is_too_weak_is_said_with_figures():
    """1 kg at 0.1 m, 80 degrees from upright; an SG90 at 6 V may hold 60 % of 0.221 N·m."""
    own = made(LIFT | {"mass_g": 1000, "length_mm": 200, "servo": "SG90"})
    text = "lift: at most 0.966 N·m of gravity; hold limit of SG90 0.133: too weak for the whole range by 7.3 times"
    assert own.loads == (text,) and own.weak == ("lift",)
    assert not made(LIFT | {"mass_g": 100}).weak


@pytest.mark.parametrize(
    "joints, top, message",
    [
        ([TURN | {"name": "1 <b>"}], {}, r"joint 1 <b>: name is '1 <b>': a letter, then"),
        ([TURN | {"axis": "w"}], {}, r"joint turn: axis is 'w', must be one of x, "),
        ([{"name": "turn"}], {}, r"joint turn: length_mm is missing"),
        ([TURN | {"limits_deg": [30, -30]}], {}, r"limits_deg is \[30, -30\]: the upper must be larger"),
        ([TURN | {"servo": "MG9000"}], {}, r"joint turn: servo is 'MG9000', must be one of SG90"),
        ([TURN], {"gripper": {"open_deg": 200}}, r"gripper: limits_deg is 200, must be"),
    ],
)
def test_what_cannot_be_is_one_message_that_names_it(joints, top, message):
    with pytest.raises(PickerError, match=message):
        written("own", read_design(top | {"joints": joints}))
