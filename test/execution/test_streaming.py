"""A stream of positions: followed sample by sample, refused by name, stopped by silence."""

import numpy as np
from execution_rig import HOME, ZERO, Rig, moved
from pytest import approx, fixture, mark, raises

from picker_dynamics.errors import LimitError
from picker_dynamics.execution.lease import PAUSE_S
from picker_dynamics.execution.motion import Phase

PERIOD = 0.02
STANDS = 8
"""So many samples are refused until a stream that was left has stood at the held pose for 0.15 s."""

LAG_S = 0.06
"""By which a steady stream is followed late, at most [s]."""


@fixture
def rig() -> Rig:
    return Rig(period_s=PERIOD)


def swing(count: int, rate: float = 0.3):
    """The base turns at ``rate`` [rad/s]."""
    return [moved(base=rate * PERIOD * k) for k in range(count)]


def test_nan_is_ignored(rig):
    rig.push(np.full(5, np.nan))
    assert rig.phase is Phase.HOLDING and not rig.refused


def test_a_first_command_away_from_the_held_pose_does_not_move_the_arm(rig):
    for zeros in (ZERO, moved(base=0.06)):
        with raises(LimitError, match="first command") as caught:
            rig.push(zeros)
        assert caught.value.limit == 0.05
    np.testing.assert_array_equal(rig.at(1.0).reference.q, HOME)


@mark.parametrize(
    ("step", "text"),
    [
        (dict(base=0.3), r"base: the stream is 17\.2 deg ahead of the arm, allowed 2\.9 deg"),
        (dict(base=0.051), "base: the stream is 2.922 deg ahead of the arm"),
        (dict(scissor=0.02), r"scissor reaches 69\.\d+ deg, limit 68\.8 deg"),
    ],
)
def test_a_sample_too_far_or_beyond_its_limit_stops_the_stream(rig, step, text):
    rig.feed([HOME] * 5)
    with raises(LimitError, match=text):
        rig.push(moved(**step))
    assert rig.refused == 1
    rig.run(1.0)
    np.testing.assert_allclose(rig["q"], np.broadcast_to(HOME, rig["q"].shape), atol=1e-9)


def test_a_stream_that_was_refused_is_taken_up_where_it_stands_not_where_it_passes(rig):
    for k in range(125):  # through the held pose, to -0.5
        with raises(LimitError, match="first command|once it has stood"):
            rig.push(moved(base=0.5 - 0.4 * PERIOD * k))
        np.testing.assert_array_equal(rig.tick().reference.q, HOME)
    rig.at(3.0)
    assert len(rig.stream([HOME] * 20)) == STANDS and rig.phase is Phase.STREAMING


@mark.parametrize("gap", [57, 60, 72])
def test_a_sender_that_pauses_up_to_half_a_second_goes_on(rig, gap):
    path = swing(120)
    rig.feed(path[:50])
    rig.tick(gap - 50)
    assert rig.phase is not Phase.STREAMING
    rig.references.clear()
    rig.feed(path[gap:])
    assert rig.refused == 0
    assert abs(rig["q"][-1, 0] - path[-1][0]) < 0.3 * LAG_S
    assert rig.fastest_tip() < 0.25 * 1.1


@mark.parametrize(("gap", "off"), [(57, 0.3), (60, -0.3), (80, 0.0)])
def test_a_sender_that_paused_longer_or_jumped_meanwhile_is_followed_again_where_it_stands_at_the_held_pose(rig, gap, off):
    path = swing(120)
    rig.feed(path[:50])
    rig.tick(gap - 50)
    assert rig.said("the stream ended")
    assert len(rig.stream(q + [off, 0, 0, 0, 0] for q in path[gap:])) == 120 - gap and rig.phase is Phase.HOLDING
    rig.run(0.3)
    assert len(rig.stream([rig.newest.q] * 20)) == STANDS and rig.phase is Phase.STREAMING


@mark.parametrize("gap_s", [0.0, 0.12, 0.7, 4.9])
def test_a_stream_that_was_refused_is_not_taken_up_where_it_turns_nor_at_its_first_sample_after_a_gap(rig, gap_s):
    """Of a stalled sender, line or loop: one sample has no speed."""
    with raises(LimitError, match="first command"):
        rig.push(moved(base=0.5))
    rig.at(rig.time_s + gap_s)
    for k in range(200):  # begins at the held pose, and turns there at 0.3 rad/s² again and again
        assert len(rig.stream([moved(base=0.3 * (1.0 - np.cos(k * PERIOD)))])) == 1
    np.testing.assert_array_equal(rig.newest.q, HOME)


def test_a_noisy_stream_that_was_refused_is_taken_up_once_it_has_stood_for_a_second(rig):
    rng = np.random.default_rng(0)
    with raises(LimitError, match="first command"):
        rig.push(moved(base=0.5))
    assert 50 <= len(rig.stream([HOME + rng.uniform(-0.003, 0.003, 5) for _ in range(60)])) < 55
    assert rig.phase is Phase.STREAMING


def test_a_refusal_that_goes_on_is_said_now_and_then():
    rig = Rig(period_s=0.01)

    def said() -> int:
        return len(rig.problems)

    times = []
    for _ in range(500):
        before, now_s = said(), rig.now_s
        rig.stream([ZERO])
        times += [now_s] * (said() - before)
    assert times == approx([0.0, 2.0, 4.0])
    rig.stream([moved(scissor=0.5)])
    assert said() == 4, "another reason is news"
    rig.at(10.1)  # who was silent for so long need not stand first
    rig.push(HOME)
    rig.cancel()
    rig.run(PAUSE_S)
    rig.stream([ZERO])
    assert said() == 5, "and so is a new beginning"
    assert rig.events[-1].error.subject == rig.events[1].error.subject
