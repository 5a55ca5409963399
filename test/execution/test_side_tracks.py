"""Some joints' motion beside the others': a gripper and an arm that do not wait for each other."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picker_dynamics.errors import InfeasibleError, PickerError
from picker_dynamics.execution.reference_generator import Goal, Phase, ReferenceGenerator
from picker_dynamics.trajectory.trajectory import standing

NAMES, HOME = picker().joint_names, np.array(servos().home)
ARM, SCISSOR = list(range(4)), 4
PERIOD = 0.01


def generator() -> ReferenceGenerator:
    made = ReferenceGenerator(NAMES, goal_check(), 4.0, picker().lower, picker().upper)
    made.start(HOME)
    return made


def arm_goal(duration: float = 3.0, identifier: str = "arm", **by) -> Goal:
    target = {name: HOME[k] + by.get(name, 0.0) for k, name in enumerate(NAMES[:4])}
    still = [[0.0] * 4]
    return Goal(list(target), [duration], [list(target.values())], still, still, identifier=identifier, partial=True)


def grip(position: float, duration: float = 1.0, identifier: str = "grip") -> Goal:
    return Goal(["scissor"], [duration], [[position]], [[0.0]], [[0.0]], identifier=identifier, partial=True, track="gripper")


def run(made, begin: float, duration: float):
    references, ended = [], []
    for k in range(round(duration / PERIOD)):
        reference, finished = made.sample(begin + k * PERIOD)
        references.append(reference)
        ended += [(finished.identifier, finished.cancelled)] if finished else []
    return references, ended


def assert_smooth(references, acceleration: float = 12.0) -> None:
    q, v = (np.array([getattr(one, name) for one in references]) for name in "qv")
    np.testing.assert_allclose(np.diff(q, axis=0), PERIOD * (v[1:] + v[:-1]) / 2.0, atol=acceleration * PERIOD**2 / 4.0)
    assert np.abs(np.diff(v, axis=0)).max() < acceleration * PERIOD


@given(st.floats(0.05, 2.9), st.floats(0.3, 4.0), st.floats(0.0, 1.2))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_gripper_command_at_any_time_leaves_the_arm_s_motion_as_it_is(when, lasting, position):
    alone, both = generator(), generator()
    for made in (alone, both):
        made.submit(arm_goal(base=0.5, shoulder=0.2), 0.0)
    first, ended = run(both, 0.0, when)
    before = [run(alone, 0.0, when)[0], first]
    begin = len(first) * PERIOD
    both.submit(grip(position, lasting), begin)
    after = [run(made, begin, 6.0) for made in (alone, both)]
    arm_alone, arm_both = (np.array([one.q[ARM] for one in [*early, *late[0]]]) for early, late in zip(before, after))
    np.testing.assert_allclose(arm_both, arm_alone, atol=1e-9)
    assert_smooth([*first, *after[1][0]], 80.0)  # the scissor's quintic: 5.8 rad / s² for each rad in a second
    assert sorted(after[1][1]) == [("arm", False), ("grip", False)]
    order = [name for name, _ in after[1][1]]
    assert order[0] == ("grip" if begin + lasting < 3.0 else "arm")
    assert after[1][0][-1].q[SCISSOR] == pytest.approx(position)


def test_an_arm_motion_does_not_disturb_a_gripper_under_way():
    made = generator()
    made.submit(grip(0.2, 2.0), 0.0)
    first, _ = run(made, 0.0, 0.7)
    made.submit(arm_goal(base=0.4), 0.7)
    second, ended = run(made, 0.7, 4.0)
    assert_smooth([*first, *second])
    assert ended == [("grip", False), ("arm", False)] and second[-1].q[SCISSOR] == pytest.approx(0.2)


def test_cancelling_one_leaves_the_other():
    for cancelled, goes_on, joint in (("grip", "arm", SCISSOR), ("arm", "grip", 0)):
        made = generator()
        made.submit(arm_goal(base=0.5), 0.0)
        made.submit(grip(0.1, 3.0), 0.0)
        first, _ = run(made, 0.0, 1.2)
        assert made.cancel(1.2, cancelled).identifier == cancelled
        assert made.cancel(1.21, cancelled) is None, "once is enough"
        second, ended = run(made, 1.2, 4.0)
        assert_smooth([*first, *second])
        assert ended == [(cancelled, True), (goes_on, False)]
        target = {"grip": 0.1, "arm": HOME[0] + 0.5}
        assert abs(second[-1].q[joint] - target[cancelled]) > 0.05
        assert second[-1].q[{"arm": 0, "grip": SCISSOR}[goes_on]] == pytest.approx(target[goes_on])


def test_cancelling_everything_answers_for_both():
    made = generator()
    made.submit(arm_goal(base=0.5), 0.0)
    made.submit(grip(0.1, 3.0), 0.0)
    run(made, 0.0, 1.0)
    made.cancel(1.0)
    references, ended = run(made, 1.0, 2.0)
    assert sorted(ended) == [("arm", True), ("grip", True)] and made.phase() is Phase.HOLDING
    assert_smooth(references)


def test_a_newer_partial_goal_brings_the_joints_it_does_not_name_to_rest():
    made = generator()
    made.submit(arm_goal(base=0.6, wrist=0.5, identifier="first"), 0.0)
    first, _ = run(made, 0.0, 1.3)
    assert abs(first[-1].v[3]) > 0.1
    made.submit(Goal(["base"], [2.0], [[HOME[0]]], [[0.0]], [[0.0]], identifier="second", partial=True), 1.3)
    assert [one.identifier for one in made.displaced] == ["first"]
    second, ended = run(made, 1.3, 3.0)
    assert_smooth([*first, *second])
    assert ended == [("second", False)]
    assert HOME[3] < second[-1].q[3] < HOME[3] + 0.5 and second[-1].q[0] == pytest.approx(HOME[0])


def test_a_whole_goal_displaces_both():
    made = generator()
    made.submit(arm_goal(base=0.5), 0.0)
    made.submit(grip(0.1, 3.0), 0.0)
    run(made, 0.0, 1.0)
    still = [[0.0] * 5]
    made.submit(Goal(NAMES, [2.0], [HOME], still, still, identifier="all"), 1.0)
    assert sorted(one.identifier for one in made.displaced) == ["arm", "grip"]


def test_the_gripper_does_not_take_its_joint_from_a_motion_or_a_stream():
    made = generator()
    still = [[0.0] * 5]
    made.submit(Goal(NAMES, [2.0], [HOME], still, still, identifier="all"), 0.0)
    with pytest.raises(PickerError, match="scissor belongs to the motion that is being executed"):
        made.require_free(grip(0.1))
    made.require_free(arm_goal())
    made.cancel(0.1)
    made.require_free(grip(0.1))
    made.start(HOME)
    made.follow(standing(NAMES, HOME), 0.0)
    with pytest.raises(PickerError, match="a stream moves scissor"):
        made.require_free(grip(0.1))


def test_the_whole_arm_is_checked_whatever_the_goal_names():
    made = generator()
    out = Goal(["shoulder"], [9.0], [[0.0]], [[0.0]], [[0.0]], partial=True)
    made.submit(out, 0.0)  # the elbow is folded
    made.start([0.0, 0.9, -0.2, -0.2, 0.5])
    with pytest.raises(InfeasibleError, match="shoulder"):
        made.submit(out, 0.0)


def test_what_is_left_of_a_motion_is_told_whoever_moves_beside_it():
    made = generator()
    motion = made.submit(arm_goal(base=0.5), 0.0)
    run(made, 0.0, 1.0)
    assert made.left(motion, 1.0) == pytest.approx(2.0)
    made.submit(grip(0.1, 0.5), 1.0)
    run(made, 1.0, 1.0)
    assert made.left(motion, 2.0) == pytest.approx(1.0)
    run(made, 2.0, 2.0)
    assert made.left(motion, 4.0) == 0.0
