"""Short dashes in long goals: the tip is never faster than it may be, however long the goal is and however short the dash.

The truth is the way of the tip that the other model makes of the path, every 0.2 ms.
"""

import numpy as np
from arm_fixtures import picker, rigid_body, servos
from execution_rig import HOME, TIP_SPEED, Rig, goal, limits, moved
from pytest import approx, mark

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import LimitError

BEGIN_S, STEP_S = 31.2345, 2e-4


def held_rig(**fields) -> Rig:
    """With the model that the controller has."""
    return Rig(limits(model=lagrangian.analytic_model(picker(), servos().armature), **fields))


def fastest_tip(path, begin_s: float, end_s: float) -> float:
    """By finite differences of its position [m/s]."""
    around = np.arange(begin_s - 0.1, end_s + 0.1, STEP_S)
    tip = rigid_body().forward_kinematics(path.sample(around)[0])
    return float(np.linalg.norm(np.diff(tip, axis=0), axis=1).max() / STEP_S)


def with_dash(lasts_s: float, dash_s: float, by: float, **fields):
    """A goal that stands, moves the base by that much in that time, and stands."""
    return goal(HOME, moved(base=by), moved(base=by), times=[BEGIN_S, BEGIN_S + dash_s, lasts_s], **fields)


@mark.parametrize("straight", [False, True])
@mark.parametrize(
    ("lasts_s", "dash_s", "by"), [(60, 0.29, 0.7), (599, 0.29, -1.2), (599, 0.9, 1.2), (60, 0.02, 0.1), (60, 0.003, 0.005)]
)
def test_it_is_slowed_or_refused(lasts_s, dash_s, by, straight):
    """It moved the tip at 0.91 and 1.58 m/s: 200 instants were looked at, and nothing between two points 3 ms apart."""
    fields = {"velocities": None, "accelerations": None} if straight else {}
    rig, wanted = held_rig(), with_dash(lasts_s, dash_s, by, **fields)
    try:
        motion = rig.submit(wanted)
    except LimitError as error:
        assert error.subject == "tip" and error.value > TIP_SPEED
        return
    factor = motion.validated.factor
    begin_s, end_s = BEGIN_S * factor, (BEGIN_S + dash_s) * factor
    assert 0.3 * TIP_SPEED < fastest_tip(motion.trajectory, begin_s, end_s) <= 1.03 * TIP_SPEED
    for time_s in np.arange(begin_s - 0.1, end_s + 0.6, 0.01):
        rig.at(float(time_s))  # the rig fails where the guard stops anything
    assert rig.newest.q[0] == approx(HOME[0] + by, abs=1e-3)
