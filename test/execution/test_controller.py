"""The reference: continuous whatever happens, and never anything that was not checked."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos

from picker_dynamics.errors import InfeasibleError, JointNamesError, LimitError, PickerError, TrajectoryError
from picker_dynamics.execution.reference_generator import Goal, Phase, ReferenceGenerator

NAMES = picker().joint_names
HOME = np.array(servos().home)
PERIOD = 0.01


def generator(**options) -> ReferenceGenerator:
    made = ReferenceGenerator(NAMES, goal_check(**options), 4.0, picker().lower, picker().upper)
    made.start(HOME)
    return made


def goal(*targets, times=None, names=NAMES, **fields) -> Goal:
    rest = [[0.0] * len(NAMES)] * len(targets)
    return Goal(
        names,
        times or [2.0 * (i + 1) for i in range(len(targets))],
        [list(t) for t in targets],
        fields.pop("velocities", rest),
        fields.pop("accelerations", rest),
        **fields,
    )


def moved(**by) -> np.ndarray:
    target = HOME.copy()
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return target


def run(made: ReferenceGenerator, begin: float, duration: float):
    """Sample as the node does; (references, motions that ended)."""
    references, ended = [], []
    for k in range(round(duration / PERIOD) + 1):
        reference, finished = made.sample(begin + k * PERIOD)
        references.append(reference)
        ended += [finished] if finished else []
    return references, ended


def assert_continuous(references, acceleration=60.0):
    """Positions agree with the velocities between them, velocities with a bounded acceleration."""
    q, v = (np.array([getattr(r, key) for r in references]) for key in "qv")
    t = np.array([r.time_s for r in references])[:, None]
    mean_v = np.diff(q, axis=0) / np.diff(t, axis=0)
    assert np.abs(mean_v - (v[1:] + v[:-1]) / 2.0).max() < acceleration * PERIOD
    assert np.abs(np.diff(v, axis=0)).max() < acceleration * PERIOD


def test_a_goal_is_executed_and_then_held():
    made, target = generator(), moved(base=0.3, shoulder=0.2)
    motion = made.submit(goal(target, identifier="g"), 10.0)
    references, ended = run(made, 10.0, motion.trajectory.duration + 0.5)
    assert [m.identifier for m in ended] == ["g"]
    np.testing.assert_allclose(references[0].q, HOME, atol=1e-12)
    np.testing.assert_allclose(references[-1].q, target, atol=1e-9)
    assert made.phase() is Phase.HOLDING and not references[-1].v.any()
    assert_continuous(references)


def test_joints_may_come_in_any_order():
    made, target = generator(), moved(base=0.1, wrist=0.2)
    shuffled = [3, 1, 4, 0, 2]
    motion = made.submit(goal(target[shuffled], names=[NAMES[i] for i in shuffled]), 0.0)
    np.testing.assert_allclose(motion.trajectory.end, target, atol=1e-12)


@pytest.mark.parametrize("fields", [{}, {"velocities": None, "accelerations": None}])
def test_a_new_goal_takes_over_from_the_last_point_sent_without_a_step(fields):
    made = generator()
    made.submit(goal(moved(base=0.5)), 0.0)
    first, _ = run(made, 0.0, 0.8)
    made.submit(goal(moved(shoulder=0.2), **fields), 0.8)
    second, _ = run(made, 0.8 + PERIOD, 4.0)
    assert np.abs(first[-1].v).max() > 0.1, "the arm must be moving when the second goal comes"
    assert_continuous(first[1:] + second)
    np.testing.assert_allclose(second[-1].q, moved(shoulder=0.2), atol=1e-9)


def test_cancel_decelerates_and_holds_where_it_stopped():
    made = generator()
    made.submit(goal(moved(base=0.6)), 0.0)
    before, _ = run(made, 0.0, 0.9)
    cancelled = made.cancel(0.9)
    after, ended = run(made, 0.9 + PERIOD, 2.0)
    assert cancelled is not None and ended[0].phase is Phase.STOPPING
    assert_continuous(before[1:] + after)
    assert made.phase() is Phase.HOLDING
    assert HOME[0] < after[-1].q[0] < HOME[0] + 0.6
    np.testing.assert_array_equal(after[-1].q, after[-2].q)


def test_cancel_at_rest_changes_nothing():
    made = generator()
    assert made.cancel(0.0) is None
    np.testing.assert_array_equal(made.sample(0.1)[0].q, HOME)


def test_deactivation_aborts_and_nothing_is_sent_until_a_new_start():
    made = generator()
    motion = made.submit(goal(moved(base=0.5)), 0.0)
    assert made.deactivate() is motion and made.phase() is Phase.INACTIVE
    with pytest.raises(PickerError, match="not active"):
        made.sample(0.1)
    with pytest.raises(PickerError, match="not active"):
        made.submit(goal(HOME), 0.1)
    made.start(moved(base=0.2))
    np.testing.assert_array_equal(made.sample(0.2)[0].q, moved(base=0.2))


def test_a_motion_that_is_too_fast_is_slowed_or_refused():
    quick = goal(moved(base=1.2), times=[0.5])
    slowed = generator().submit(quick, 0.0)
    assert slowed.fitted.factor > 2.0
    speed, _ = goal_check().tip_speed(slowed.trajectory)
    assert 0.9 * 0.25 < speed <= 0.25 * (1 + 1e-6), "as fast as allowed, not slower"
    with pytest.raises(LimitError, match="tip would move"):
        generator(stretch=False).submit(quick, 0.0)


def test_a_pose_that_cannot_be_held_is_refused_however_slowly():
    made = generator()
    with pytest.raises(InfeasibleError, match="shoulder") as caught:
        made.submit(goal(np.zeros(5), times=[20.0]), 0.0)
    assert caught.value.subject == "shoulder" and caught.value.value > caught.value.limit > 0.0
    np.testing.assert_array_equal(made.sample(0.1)[0].q, HOME)


def test_what_carries_a_payload_is_checked_with_it():
    light, heavy = generator(), ReferenceGenerator(NAMES, goal_check(0.15), 4.0, picker().lower, picker().upper)
    heavy.start(HOME)
    target = moved(shoulder=-0.4, elbow=0.4)
    light.submit(goal(target, times=[6.0]), 0.0)
    with pytest.raises(InfeasibleError):
        heavy.submit(goal(target, times=[6.0]), 0.0)


def test_no_goal_before_the_payload_is_known():
    made = ReferenceGenerator(NAMES, None, 4.0, picker().lower, picker().upper)
    made.start(HOME)
    with pytest.raises(PickerError, match="payload is not known"):
        made.submit(goal(HOME), 0.0)


BAD_GOALS = {
    "no points": (dict(times=[]), TrajectoryError, "no points"),
    "missing joint": (dict(names=NAMES[:-1]), JointNamesError, "scissor"),
    "unknown joint": (dict(names=(*NAMES[:-1], "tail")), JointNamesError, "tail"),
    "out of order": (dict(times=[2.0, 1.0]), TrajectoryError, "point 1"),
    "too long": (dict(times=[1e4]), TrajectoryError, "600 s"),
    "in the past": (dict(start_s=5.0), TrajectoryError, "s ago"),
    "too far ahead": (dict(start_s=5000.0), TrajectoryError, "from now"),
    "moves at the end": (dict(velocities=[[0.1] * 5]), TrajectoryError, "last point"),
    "starts elsewhere": (dict(times=[0.0, 3.0], jump=0.2), TrajectoryError, "base"),
    "not a number": (dict(value=np.nan), TrajectoryError, "elbow"),
    "infinite": (dict(value=np.inf), TrajectoryError, "elbow"),
    "beyond a limit": (dict(value=0.9), LimitError, "elbow"),
    "too few positions": (dict(short=True), TrajectoryError, "4 positions for 5 joints"),
}


@pytest.mark.parametrize("case", BAD_GOALS)
def test_a_bad_goal_is_refused_by_name_and_the_reference_goes_on(case):
    options, error, text = BAD_GOALS[case]
    options = dict(options)
    target = moved(base=options.pop("jump", 0.0))
    target[2] = options.pop("value", target[2])
    times = options.setdefault("times", [3.0])
    targets = [target if not options.get("short") else target[:-1]] * len(times)
    options.pop("short", None)
    made = generator()
    made.sample(100.0)
    names = options.pop("names", NAMES)
    with pytest.raises(error, match=text):
        made.submit(goal(*([list(t[: len(names)]) for t in targets]), names=names, **options), 100.0)
    assert made.phase() is Phase.HOLDING
    np.testing.assert_array_equal(made.sample(100.1)[0].q, HOME)


def test_a_goal_with_a_stamp_waits_for_it():
    made = generator()
    made.submit(goal(moved(base=0.3), start_s=12.0), 10.0)
    references, _ = run(made, 10.0, 5.0)
    q = np.array([r.q[0] for r in references])
    assert (q[:200] == HOME[0]).all() and q[-1] == pytest.approx(HOME[0] + 0.3)
