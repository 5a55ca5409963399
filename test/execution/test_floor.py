"""The floor: no goal, stream, stop or jog takes the tool or a joint below it; heights are Pinocchio's."""

import math

import numpy as np
import pinocchio as pin
from arm_fixtures import picker, servos, shipped_arm
from execution_rig import HOME, Rig, goal, limits, part
from pytest import approx, raises

from picker_dynamics.errors import LimitError
from picker_dynamics.execution.collision import OFF, TOLERANCE_M, FloorCheck, standing_floor
from picker_dynamics.execution.motion import Phase
from picker_dynamics.robot import arms
from picker_dynamics.robot.picker_shape import picker_inverse
from picker_dynamics.robot.tip_target import tip_target

PINOCCHIO = pin.buildModelFromXML(picker().urdf)
ELBOW = PINOCCHIO.getFrameId("elbow")  # what is before it keeps its height
FRAMES = [
    i for i, frame in enumerate(PINOCCHIO.frames) if i >= ELBOW and (frame.type == pin.FrameType.JOINT or frame.name == "tool0")
]


def lowest(q: np.ndarray) -> float:
    """Of the tool and the joints, over poses (s, n) [m]."""
    data, heights = PINOCCHIO.createData(), []
    for pose in np.asarray(q, dtype=float):
        pin.framesForwardKinematics(PINOCCHIO, data, pose)
        heights.append(min(data.oMf[frame].translation[2] for frame in FRAMES))
    return min(heights)


def held_to(floor_z: float = 0.0):
    return limits(further=(FloorCheck(picker(), floor_z),))


def down(x: float, z: float, pitch: float = -1.2) -> np.ndarray:
    """The hand points down to there [m]."""
    return picker_inverse(picker(), [x, 0.0, z], pitch, HOME)


def test_goals_below_the_floor_are_refused_with_place_depth_and_time():
    rig = Rig(held_to())
    below = tip_target(picker(), [0.2, 0.0, -0.08], near=HOME)
    with raises(LimitError, match=r"tip would be 80 mm below the floor \(floor_z 0\.000 m\) at ") as caught:
        rig.submit(goal(below))
    assert (caught.value.subject, caught.value.limit) == ("tip", 0.0) and caught.value.value == approx(-0.08)
    with raises(LimitError, match="tip would be 196 mm below the floor"):
        rig.submit(part(4.0, shoulder=math.radians(-20), elbow=math.radians(-60), wrist=math.radians(-30)))
    rig.execution.change(held_to(0.14))
    folded = [0.0, 0.9, -2.3, 1.5, 0.0]
    with raises(LimitError, match=f"wrist would be {140 - 1e3 * lowest([folded]):.0f} mm below the floor"):
        rig.submit(goal(folded))
    assert rig.phase is Phase.HOLDING


def test_from_below_the_arm_may_come_up_and_no_deeper():
    rig = Rig(held_to(), pose=down(0.2, -0.03))
    with raises(LimitError, match="tip would be 40 mm below the floor"):
        rig.submit(goal(down(0.2, -0.04)))
    rig.submit(goal(down(0.2, -0.02)))
    rig.to_rest()
    rig.submit(goal(down(0.2, 0.02)))
    rig.to_rest()
    with raises(LimitError, match="below the floor"):
        rig.submit(goal(down(0.2, -0.02)))
    assert lowest(rig["q"]) > -0.03 - TOLERANCE_M


def test_the_picker_stands_and_the_arms_of_the_notes_do_not():
    floors = {"picker": standing_floor(picker(), servos().rest)}
    floors |= {
        name: standing_floor(arm.description, arm.home)
        for name, arm in zip(arms.names(), map(shipped_arm, arms.names()))
        if arm.home is not None
    }
    assert floors.pop("picker") == (0.0, "") and len(floors) == 7
    assert all(height == OFF for height, _ in floors.values())
    assert floors["pendulum"][1] == "tip is below the plane of base_link where the arm rests"
    assert floors["rrp"][1] == "theta2 is in the plane of base_link where the arm rests"
