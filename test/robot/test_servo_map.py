"""Pulses and angles: by hand for the shipped map, by round trip for others; the shipped files themselves."""

from math import pi, radians

import numpy as np
from arm_fixtures import servos
from numpy.testing import assert_allclose
from pytest import approx, mark, raises

from picker_dynamics.errors import InputError, LimitError

SHIPPED, SIMULATED = servos(simulated=False), servos()


@mark.parametrize(
    "joint, angle, pulse",
    [
        ("base", 0.0, 1500.0),
        ("base", pi / 4, 2000.0),
        ("base", -pi / 2, 500.0),
        ("shoulder", radians(65), 1500.0),
        ("shoulder", radians(65 + 45), 2000.0),
        ("elbow", radians(-59.6), 1500.0),
        ("elbow", radians(-59.6 - 45), 2000.0),
        ("scissor", radians(34.4), 1500.0),
    ],
)
def test_pulses_by_hand(joint, angle, pulse):
    q = np.array(SHIPPED.rest)
    q[SHIPPED.joint_names.index(joint)] = angle
    pulses = SHIPPED.to_pulse_us(q)
    assert pulses[SHIPPED.joint_names.index(joint)] == approx(pulse, abs=1e-9)
    assert_allclose(SHIPPED.to_angle(pulses), q, atol=1e-12)


def test_setpoints_outside_the_pulses_are_refused_or_clamped_as_asked():
    q = np.array(SHIPPED.rest)
    q[1] = 2.8
    with raises(LimitError, match=r"shoulder: set-point 160\.4 deg is outside -25\.0 deg \.\.\. 155\.0 deg") as caught:
        SHIPPED.to_pulse_us(q)
    assert (caught.value.subject, caught.value.value) == ("shoulder", 2.8)
    assert SHIPPED.to_pulse_us(SHIPPED.clamp(q))[1] == approx(2500.0)
    with raises(LimitError, match=r"wrist: pulse 2600"):
        SHIPPED.to_angle([1500, 1500, 1500, 2600, 1500])
    q[1] = np.nan
    for call in (SHIPPED.to_pulse_us, SHIPPED.clamp):
        with raises(InputError, match="nan"):
            call(q)


def test_the_grip_limits_torque_beyond_contact():
    """Blades that have met stand still at contact; the hardest set-point presses with the grip's torque."""
    for arm in (SHIPPED, SIMULATED):
        grip = arm.servos[4].grip
        contact = np.array([0.0, 0.0, 0.0, 0.0, grip.contact])
        pressing = arm.model.spring_torque(arm.clamp([0.0, 0.0, 0.0, 0.0, -1.0]), contact)
        assert pressing[4] + arm.model.friction(pressing)[4] == approx(-grip.torque), "what is left behind the gears"
        assert grip.torque < 0.3 * arm.stall_torque[4]
