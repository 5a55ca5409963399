"""A stream of positions: followed sample by sample, refused by name, stopped by silence."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos

from picker_dynamics.controller import Goal, Phase, ReferenceGenerator
from picker_dynamics.errors import InfeasibleError, LimitError, PickerError
from picker_dynamics.streaming import Stream

HOME = np.array(servos().home)
PERIOD = 0.02


def stream() -> Stream:
    generator = ReferenceGenerator(picker().joint_names, goal_check(), 4.0, picker().lower, picker().upper)
    generator.start(HOME)
    return Stream(generator)


def feed(made: Stream, path, begin: float = 0.0):
    """Push samples and send references at the same rate; returns the references."""
    references = []
    for k, q in enumerate(path):
        made.push(q, begin + k * PERIOD, begin + k * PERIOD)
        references.append(made.generator.sample(begin + (k + 1) * PERIOD)[0])
    return references


def swing(count: int, rate: float = 0.3):
    """The base turns at ``rate`` [rad/s]."""
    return [HOME + np.array([rate * PERIOD * k, 0, 0, 0, 0]) for k in range(count)]


def test_the_reference_follows_the_stream_without_steps():
    made = stream()
    references = feed(made, swing(100))
    q, v = np.array([r.q[0] for r in references]), np.array([r.v[0] for r in references])
    assert np.abs(np.diff(q)).max() < 0.3 * PERIOD * 1.6
    assert v[50:] == pytest.approx(0.3, abs=0.02)
    assert abs(q[-1] - swing(100)[-1][0]) < 0.3 * 2 * PERIOD, "no more than two samples behind"
    assert made.statistics.accepted == 100


def test_silence_decelerates_to_a_hold():
    made = stream()
    feed(made, swing(50))
    now = 50 * PERIOD
    assert not made.silent(now, now)
    assert made.silent(now + 0.2, now + 0.2)
    for k in range(100):
        reference, _ = made.generator.sample(now + 0.2 + 0.01 * k)
    assert not reference.v.any() and made.generator.phase() is Phase.HOLDING


def test_nan_is_ignored_and_counted():
    made = stream()
    assert made.push(np.full(5, np.nan), 0.0, 0.0) is False
    assert made.statistics.ignored == 1 and made.generator.phase() is Phase.HOLDING


def test_a_first_command_away_from_the_held_pose_does_not_move_the_arm():
    made = stream()
    for zeros in (np.zeros(5), HOME + np.array([0.06, 0, 0, 0, 0])):
        with pytest.raises(LimitError, match="first command") as caught:
            made.push(zeros, 0.0, 0.0)
        assert caught.value.limit == 0.05
    np.testing.assert_array_equal(made.generator.sample(1.0)[0].q, HOME)


@pytest.mark.parametrize(("step", "error", "text"), [
    ([0.3, 0, 0, 0, 0], LimitError, "base: the stream moves it"),
    ([0.05, 0, 0, 0, 0], LimitError, "tip at"),
    ([0, 0, 0, 0, 0.02], LimitError, "scissor: 1.2"),
])
def test_a_sample_too_fast_or_beyond_its_limit_stops_the_stream(step, error, text):
    made = stream()
    feed(made, [HOME] * 5)
    with pytest.raises(error, match=text):
        made.push(HOME + np.array(step), 5 * PERIOD, 5 * PERIOD)
    assert made.statistics.refused == 1
    q = np.array([made.generator.sample(0.1 + 0.01 * k)[0].q for k in range(100)])
    np.testing.assert_allclose(q, np.broadcast_to(HOME, q.shape), atol=1e-9)


def test_a_stream_into_a_pose_that_needs_too_much_torque_is_refused():
    made, reached = stream(), HOME.copy()
    with pytest.raises(InfeasibleError, match="shoulder"):
        for k in range(2000):
            reached = HOME + min(k * PERIOD * 0.12, 1.8) * np.array([0, -1.0, 1.0, 0, 0]) / np.sqrt(2)
            reached[1] = max(reached[1], 0.0)
            made.push(reached, k * PERIOD, k * PERIOD)
            made.generator.sample((k + 1) * PERIOD)
    torque = goal_check().model.gravity(reached)[1]
    assert torque == pytest.approx(0.6 * 1.08, abs=0.02), "as far as it could still hold if the stream ended"


def test_a_stream_does_not_interrupt_a_goal():
    made = stream()
    still = [[0.0] * 5]
    made.generator.submit(Goal(picker().joint_names, [2.0], [HOME + [0.3, 0, 0, 0, 0]], still, still), 0.0)
    made.generator.sample(0.5)
    with pytest.raises(PickerError, match="a goal is being executed"):
        made.push(HOME, 0.5, 0.51)
    assert made.generator.phase() is Phase.EXECUTING, "the goal goes on"
