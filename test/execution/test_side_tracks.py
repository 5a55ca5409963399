"""Some joints' motion beside the others': a gripper and an arm that do not wait for each other."""

import numpy as np
from execution_rig import HOME, NAMES, Rig, executing, part
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx, mark

from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.motion import Phase

SCISSOR = 4


def arm_goal(duration: float = 3.0, **by) -> Goal:
    return part(duration, **{name: HOME[k] + by.get(name, 0.0) for k, name in enumerate(NAMES[:4])})


def grip(position: float, duration: float = 1.0) -> Goal:
    return part(duration, "gripper", scissor=position)


def both_under_way(seconds: float = 1.0) -> Rig:
    rig = executing(arm_goal(base=0.5), name="arm")
    rig.submit(grip(0.1, 3.0), "grip")
    rig.run(seconds)
    return rig


@given(st.floats(0.05, 2.9), st.floats(0.3, 4.0), st.floats(0.0, 1.2))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_gripper_command_at_any_time_leaves_the_arm_s_motion_as_it_is(when, lasting, position):
    alone, both = Rig(), Rig()
    for rig in (alone, both):
        rig.submit(arm_goal(base=0.5, shoulder=0.2), "arm")
        rig.run(when)
    begin = both.time_s
    lasts = both.submit(grip(position, lasting), "grip").duration_s
    for rig in (alone, both):
        rig.run(6.0)
    np.testing.assert_allclose(both["q"][:, :4], alone["q"][:, :4], atol=1e-9)
    both.require_smooth(80.0)  # the scissor's quintic: 5.8 rad / s² for each rad in a second
    assert sorted(both.ended) == [("arm", False), ("grip", False)]
    if abs(begin + lasts - 3.0) > both.period_s:  # else both end in one cycle
        assert both.ended[0][0] == ("grip" if begin + lasts < 3.0 else "arm")
    assert both["q"][-1, SCISSOR] == approx(position)


@mark.parametrize("ramp", [0.1, 1.0])
@mark.parametrize("order", [["grip"], ["arm"], ["grip", "arm"], ["grip", None], [None]])
def test_in_a_pause_what_is_cancelled_is_answered_and_what_is_not_goes_on(order, ramp):
    """It was answered when the pause ended: its way to rest was in the trajectory's time, which stood still."""
    rig = both_under_way()
    rig.set_speed(0.0)
    rig.run(ramp)
    for name in order:
        rig.cancel(name)
    rig.run(1.0)
    cancelled = [("arm", True), ("grip", True)] if len(order) > 1 or order == [None] else [(order[0], True)]
    assert sorted(rig.ended) == cancelled
    stands = rig.newest.q
    rig.set_speed(1.0)
    rig.run(4.0)
    rig.require_smooth(12.0)
    left = [(name, False) for name in ("arm", "grip") if (name, True) not in cancelled]
    assert sorted(rig.ended) == sorted([*cancelled, *left]) and rig.phase is Phase.HOLDING
    moves = np.abs(rig["q"][-1] - stands) > 1e-9
    assert (moves[0], moves[SCISSOR]) == tuple((name, False) in left for name in ("arm", "grip"))
