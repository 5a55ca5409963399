"""A stream of positions: followed sample by sample, refused by name, stopped by silence."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos

from picker_dynamics.errors import InfeasibleError, LimitError, PickerError
from picker_dynamics.execution.reference_generator import Goal, Phase, ReferenceGenerator
from picker_dynamics.execution.streaming import Stream

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


@pytest.mark.parametrize(
    ("step", "error", "text"),
    [
        ([0.3, 0, 0, 0, 0], LimitError, "base: the stream moves it"),
        ([0.05, 0, 0, 0, 0], LimitError, "tip at"),
        ([0, 0, 0, 0, 0.02], LimitError, "scissor: 1.2"),
    ],
)
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


def keep_sending(made: Stream, q, count: int, begin: float = 0.0):
    """The same sample again and again, whatever is said against it; returns references and errors."""
    references, errors = [], []
    for k in range(count):
        now = begin + k * PERIOD
        try:
            made.push(np.asarray(q), now, now)
        except PickerError as error:
            errors.append(error)
        references.append(made.generator.sample(now + PERIOD)[0])
    return references, errors


@pytest.mark.parametrize("offset", [[0.045, 0, 0, 0, 0], [0, 0.045, 0, 0, 0], [0, 0, 0, 0.045, 0]])
def test_the_way_to_a_first_command_is_no_faster_than_the_tip_may_be(offset):
    made = stream()
    references, errors = keep_sending(made, HOME + np.array(offset), 100)
    assert errors == []
    jacobian = goal_check().model.jacobian(HOME)
    assert max(np.linalg.norm(jacobian @ r.v) for r in references) < 0.25 * 1.05
    np.testing.assert_allclose(references[-1].q, HOME + offset, atol=1e-6)


def test_velocity_is_by_the_sender_s_clock_where_it_gives_one():
    """Samples of one motion, 20 ms apart when they were sent, arrive in pairs."""
    made, limit = stream(), 0.0
    for k, q in enumerate(swing(100, 0.6)):
        arrival = (k + k % 2 * -0.9) * PERIOD
        made.push(q, arrival, arrival, k * PERIOD + 1e9)
        limit = max(limit, abs(made.generator.sample(arrival + PERIOD)[0].v[0]))
    assert made.statistics.refused == 0
    assert limit < 0.6 * 1.6


def test_a_sender_s_clock_that_lies_does_not_make_the_arm_faster():
    made = stream()
    fastest = 0.0
    with pytest.raises(LimitError, match="ahead of the arm"):
        for k, q in enumerate(swing(500, 3.0)):  # ten times what it says
            made.push(q, k * PERIOD, k * PERIOD, k * PERIOD * 10.0)
            reference = made.generator.sample((k + 1) * PERIOD)[0]
            fastest = max(fastest, float(np.linalg.norm(goal_check().model.jacobian(reference.q) @ reference.v)))
    assert fastest < 0.25 * 1.3


def test_a_stream_that_was_refused_is_taken_up_where_it_stands_not_where_it_passes():
    made = stream()
    away = [HOME + np.array([0.5 - 0.4 * PERIOD * k, 0, 0, 0, 0]) for k in range(125)]  # through the held pose, to -0.5
    for k, q in enumerate(away):
        with pytest.raises(LimitError, match="first command|only at rest"):
            made.push(q, k * PERIOD, k * PERIOD)
        np.testing.assert_array_equal(made.generator.sample((k + 1) * PERIOD)[0].q, HOME)
    _, errors = keep_sending(made, HOME, 10, begin=3.0)
    assert errors == [] and made.generator.phase() is Phase.STREAMING


def test_after_a_deactivation_too():
    made = stream()
    feed(made, swing(50))
    made.generator.deactivate()
    made.reset()
    made.generator.start(swing(51)[-1])
    with pytest.raises(LimitError, match="only at rest"):
        made.push(swing(52)[-1], 50 * PERIOD, 50 * PERIOD)


@pytest.mark.parametrize("gap", [57, 60])
def test_a_sender_that_stumbles_goes_on(gap):
    made = stream()
    path = swing(120)
    feed(made, path[:50])
    for k in range(50, gap):
        made.silent(k * PERIOD, k * PERIOD)
        made.generator.sample((k + 1) * PERIOD)
    assert made.generator.phase() is not Phase.STREAMING
    references = feed(made, path[gap:], begin=gap * PERIOD)
    assert made.statistics.refused == 0
    assert abs(references[-1].q[0] - path[-1][0]) < 0.3 * 2 * PERIOD
    tip = [np.linalg.norm(goal_check().model.jacobian(r.q) @ r.v) for r in references]
    assert max(tip) < 0.25 * 1.1


def test_one_that_was_away_for_longer_begins_anew():
    made = stream()
    feed(made, swing(50))
    for k in range(50, 80):
        made.silent(k * PERIOD, k * PERIOD)
        made.generator.sample((k + 1) * PERIOD)
    with pytest.raises(LimitError, match="first command"):
        made.push(swing(81)[-1], 80 * PERIOD, 80 * PERIOD)


def test_a_refusal_that_goes_on_is_said_now_and_then():
    made = stream()
    said = []
    for k in range(500):
        now = k * 0.01
        error = keep_sending(made, np.zeros(5), 1, begin=now)[1][0]
        said += [now] if made.must_say(error, now) else []
    assert said == pytest.approx([0.0, 2.0, 4.0])
    other = keep_sending(made, HOME + np.array([0, 0, 0, 0, 0.5]), 1, begin=5.0)[1][0]
    assert made.must_say(other, 5.0), "another reason is news"
    made.push(HOME, 6.0, 6.0)
    made.reset()
    assert made.must_say(keep_sending(made, np.zeros(5), 1, begin=6.1)[1][0], 6.1), "and so is a new beginning"
