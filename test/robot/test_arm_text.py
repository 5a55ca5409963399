"""The arm as one text: what comes back is what went in, and damage is one clear error."""

import json

import numpy as np
import pytest
from arm_fixtures import picker, servos, shipped_arm

from picker_dynamics.errors import PickerError
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known, read, text_of


def assert_same(one: Known, other: Known) -> None:
    for servo, back in zip(*(known.servos.servos if known.servos else () for known in (one, other))):
        for key in set(vars(servo)) - {"pulse_map"}:
            value = vars(servo)[key]
            exact = not isinstance(value, float) and key not in ("horn_angles", "pulses_us")
            assert vars(back)[key] == (value if exact else pytest.approx(value, rel=1e-14)), key
    a, b = one.description, other.description
    assert (a.name, a.joint_names, a.tool, a.position_units) == (b.name, b.joint_names, b.tool, b.position_units)
    for name in ("lower", "upper", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("overlay", ["", str(resource("config/servos.sim.yaml"))])
def test_a_servo_map_with_grip_currents_and_unmeasured_figures_comes_back(overlay):
    known = Known(*servo_arm.load(overlay=overlay))
    assert known.servos.servos[-1].grip is not None and known.servos.servos[0].electric is not None
    assert_same(read(text_of(known)), known)


@pytest.mark.parametrize("name", [one for one in arms.names() if shipped_arm(one).control == "torque"])
def test_a_torque_controlled_arm_comes_back(name):
    arm = shipped_arm(name)
    back = read(text_of(Known(arm.description, torque=arm)))
    assert_same(back, Known(arm.description))
    np.testing.assert_array_equal(back.torque.home, arm.home)
    for key in ("peak_share", "bandwidth", "tip_speed"):
        assert getattr(back.torque, key) == getattr(arm, key)


def damaged(*way, value=None):
    """The picker's text with a value replaced, or taken away."""
    told = json.loads(text_of(Known(picker(), servos())))
    where = told
    for key in way[:-1]:
        where = where[key]
    if value is None:
        del where[way[-1]]
    else:
        where[way[-1]] = value
    return json.dumps(told)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not|Expecting"),
        ("{}", "no URDF"),
        (damaged("tool", value="nowhere"), "no link nowhere"),
        (damaged("servos", "board", "frame_us", value="soon"), "frame_us is 'soon'"),
        (damaged("servos", "joints", "base", "home_rad"), "base: home_rad is missing"),
        (damaged("servos", "joints", "base"), "base"),
    ],
)
def test_a_damaged_text_is_one_clear_error(text, said):
    with pytest.raises(PickerError, match=said) as caught:
        read(text)
    assert len(str(caught.value)) < 2000 and not isinstance(caught.value, AssertionError)
