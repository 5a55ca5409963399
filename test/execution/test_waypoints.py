"""Motions through waypoints: within the limits as Pinocchio sees them, on their lines, and faster than from rest to rest."""

from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos, tip_speeds, validator

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError, LimitError
from picker_dynamics.execution.checks import SETPOINT_SHARE
from picker_dynamics.execution.waypoints import JOINT_ACCELERATION, Waypoint, motion_through
from picker_dynamics.robot import description
from picker_dynamics.robot.inverse_kinematics import ChainKinematics

ARM, HOME, CHECKS = picker(), np.array(servos().home), validator()
TIP = ChainKinematics(ARM).forward
BEGIN = TIP(HOME)
LINES = [(0.26, 0.08, 0.17), (0.2, 0.2, 0.17), (0.22, 0.1, 0.1), (0.15, -0.1, 0.16)]


def straight(tip, **more):
    return Waypoint(tip, straight=True, **more)


def states(motion, count=3000):
    return motion.sample(np.linspace(0.0, motion.duration, count))


@pytest.mark.parametrize("tip", LINES)
@pytest.mark.parametrize("tip_speed", [0.25, 1.0])
def test_a_line_is_followed_within_every_limit(tip, tip_speed):
    motion = motion_through(HOME, [straight(tip)], validator(tip_speed=tip_speed), ARM)
    q, v, a = states(motion)
    points, end = rigid_body().forward_kinematics(q), np.array(tip)
    off = np.linalg.norm(np.cross(points - BEGIN, end - BEGIN), axis=1) / np.linalg.norm(end - BEGIN)
    assert off.max() < 5e-4
    np.testing.assert_allclose(points[-1], end, atol=1e-5)
    assert not v[[0, -1]].any()
    speed = tip_speeds(q, v)
    assert speed.max() <= tip_speed * (1.0 + 1e-3)
    assert np.abs(a).max() <= JOINT_ACCELERATION * 1.1
    assert (np.abs(v) <= np.minimum(ARM.velocity, SETPOINT_SHARE * servos().setpoint_speed) * (1.0 + 1e-3)).all()
    torque = rigid_body().required_torque(q, v, a)
    assert (np.abs(torque) <= servos().peak_share * servos().stall_torque * (1.0 + 1e-3)).all()
    np.testing.assert_allclose(np.diff(points @ (end - BEGIN)) >= -1e-9, True)
    if tip_speed == 0.25:
        assert CHECKS.scaled(motion).factor == 1.0, "the validator lets it pass as it is"


def test_a_stop_stops_at_its_point_and_a_blend_passes_near_it_without_stopping():
    via, end, radius = (0.24, 0.08, 0.17), (0.2, -0.1, 0.2), 0.03
    for blend in (0.0, radius):
        motion = motion_through(HOME, [straight(via, blend=blend), straight(end)], CHECKS, ARM)
        q, v, _ = states(motion)
        away = np.linalg.norm(TIP(q) - via, axis=1)
        k = int(away.argmin())
        between = np.linalg.norm(v, axis=1)[100:-150]
        if blend:
            assert 1e-3 < away[k] < radius and between.min() > 0.02
            outside = away > radius + 1e-3
            lines = [
                np.linalg.norm(np.cross(TIP(q) - a, np.subtract(b, a)), axis=1) / np.linalg.norm(np.subtract(b, a))
                for a, b in ((BEGIN, via), (via, end))
            ]
            assert np.minimum(*lines)[outside].max() < 5e-4, "outside its blend the tool is on its lines"
        else:
            assert away[k] < 1e-4 and between.min() < 5e-3
        np.testing.assert_allclose(motion.end, q[-1])


@pytest.mark.parametrize(
    "waypoints, error, said",
    [
        ([], InputError, "0 waypoints, must be 1 to 50"),
        (
            [Waypoint((0.24, 0.08, 0.17), blend=0.2), Waypoint((0.2, -0.1, 0.2))],
            InputError,
            "via point 1 is longer than a leg to it, 92 mm",
        ),
        (
            [Waypoint((0.24, 0.08, 0.17), blend=0.06), Waypoint((0.24, 0.15, 0.17), blend=0.06), Waypoint((0.2, -0.1, 0.2))],
            InputError,
            "the blends at via points 1 and 2 are longer than the leg between them, by 50 mm",
        ),
        (
            [Waypoint((0.24, 0.08, 0.17), blend=30.0), Waypoint((0.2, -0.1, 0.2))],
            InputError,
            r"blend is 30 m, must be within 10 m: are these millimetres\?",
        ),
        ([Waypoint(q=HOME)], InputError, "where the one before it is"),
        ([straight((-0.1, 0.1, 0.2))], LimitError, "base reaches .* limit 85.9 deg"),
        ([straight((0.33, 0.0, 0.17))], InfeasibleError, "shoulder needs .* to hold its pose"),
    ],
)
def test_what_can_be_no_motion_is_refused_with_the_reason(waypoints, error, said):
    with pytest.raises(error, match=said):
        motion_through(HOME, waypoints, CHECKS, ARM)


def test_where_friction_leaves_no_torque_a_line_is_refused_with_its_numbers():
    stuck = RigidBody(description.parse(ARM.urdf.replace('friction="0"', 'friction="2"')))
    with pytest.raises(InfeasibleError, match=r"elbow .* allowed .* stall"), np.errstate(all="raise", under="ignore"):
        motion_through(HOME, [straight(LINES[0])], replace(CHECKS, model=stuck), ARM)
