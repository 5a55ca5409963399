"""A line that loses, damages, holds and delays bytes never makes the arm leap: the whole loop, the bytes and the true arm."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from arm_rig import HOME, PERIOD_S, Rig, outcome
from generated import LONG

from benchmarks.bad_line import BROKEN, FAULT_S, PASSING, TO_BOARD, TO_HOST, BadLine, Fault, carries_setpoint
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.resources import resource

TYPICAL = str(resource("config/servos.sim.yaml"))
NAMES = ("base", "shoulder", "elbow", "wrist", "scissor")
ALLOWED, SWING = 0.25, 1.12
"""Speed of the tip that motions are held to [m/s], and by how much the true one may exceed it: servos are springs."""

STEP_RAD = 0.04
"""Of a true joint in 10 ms, at most [rad]."""

SAID_S = 0.3
"""Within which a line that is gone is said [s]."""

PATH_RAD = 0.15
"""Path tolerance [rad]: what the arm moves, at 0.7 rad/s, in twice the 0.1 s by which what is heard of it may be old."""

AWAY = HOME + [1.2, 0.25, 0.2, 0.0, 0.0]


def arm(*faults: Fault, seed: int = 0) -> Rig:
    rig = Rig(TYPICAL, dt=1e-3, board=partial(BadLine, faults=faults, seed=seed)).adopt()
    rig.run(0.5)
    rig.tips, rig.q = rig.tips[-3:], rig.q[-3:]
    rig.board.begin()
    return rig


def require_calm(rig: Rig) -> None:
    """The true arm went no faster than motions may."""
    assert rig.fastest() <= SWING * ALLOWED
    assert np.abs(np.diff(np.array(rig.q), axis=0)).max() <= STEP_RAD


@pytest.mark.parametrize("line", PASSING)
def test_what_a_line_loses_or_holds_for_a_moment_delays_the_motion_and_the_goal_is_reached(line):
    """Within its path tolerance too: what is measured is compared with what is played; 0.39 rad were missing else."""
    rig = arm(PASSING[line])
    answers = rig.move(AWAY, tolerances=replace(rig.arm.tolerances(), path=np.stack([np.full(5, PATH_RAD), np.zeros(5)])))
    rig.run(6.0)
    require_calm(rig)
    assert rig.fastest() > 0.9 * ALLOWED, "or it proves nothing"
    assert outcome(answers) is Outcome.SUCCEEDED and rig.outputs.epoch == 1
    assert np.abs(rig.q[-1] - AWAY).max() < 0.03 and rig.outputs.delay_s == 0.0


@pytest.mark.parametrize("line", BROKEN)
def test_what_is_gone_for_longer_ends_the_goal_and_the_arm_stays_where_it_stopped(line):
    rig = arm(BROKEN[line])
    answers = rig.move(AWAY)
    rig.run(FAULT_S + SAID_S)
    assert outcome(answers) is Outcome.ABORTED, "it is said"
    rig.run(0.3)
    stopped = rig.q[-1].copy()
    rig.run(3.0)
    require_calm(rig)
    assert np.abs(rig.q[-1] - stopped).max() < 0.02, "it moves on when the line is back"
    assert stopped[0] < AWAY[0] - 0.3, "or there was nothing to stop"


@cache
def way_of_a_stop() -> float:
    """How far the true tip comes after a stop in the same motion, a servo frame later at the most [m]."""
    rig = arm()
    rig.move(AWAY)
    rig.run(FAULT_S + 0.25)
    rig.session.stop()
    return way_from_here(rig) + 0.02 * ALLOWED


def way_from_here(rig: Rig, seconds: float = 2.5) -> float:
    """How far the true tip comes in so long from where it is, or from where the last goal is answered meanwhile [m]."""
    begun = len(rig.tips)
    for _ in range(round(seconds / PERIOD_S)):
        if not rig.asked[-1]:
            begun = len(rig.tips) + 1
        rig.run(PERIOD_S)
    return float(np.linalg.norm(np.array(rig.tips[begun - 1 :]) - rig.tips[begun - 1], axis=1).max())


UNHEARD = {
    "the host alone hears nothing": (Fault(FAULT_S, 0.6, lose=1.0, ways=(TO_HOST,)),),
    "and the board is behind": (Fault(FAULT_S, 0.2, hold=True), Fault(FAULT_S + 0.25, 0.6, lose=1.0, ways=(TO_HOST,))),
    "set-points come again, and nobody hears of it": (
        Fault(FAULT_S, 0.22, lose=1.0, ways=(TO_BOARD,), only=carries_setpoint),
        Fault(FAULT_S + 0.22, 0.1, lose=1.0, ways=(TO_HOST,)),
    ),
}


@pytest.mark.parametrize("line", UNHEARD)
def test_an_aborted_goal_moves_the_arm_no_further_than_a_stop_whatever_the_board_took_unheard(line):
    """It was played out, for 0.08 to 0.45 rad; and where commands began anew before that, the arm leapt back at 0.77 m/s."""
    rig = arm(*UNHEARD[line])
    answers = rig.move(AWAY)
    rig.run(FAULT_S)
    assert way_from_here(rig) <= way_of_a_stop()
    require_calm(rig)
    assert outcome(answers) is Outcome.ABORTED and rig.outputs.epoch == 2, "and commands begin anew"


def test_enabled_right_after_a_release_the_arm_stays_where_it_is_held_though_a_line_holds_set_points():
    """They were played under the new epoch: 0.18 rad, and back at 0.58 m/s."""
    rig = arm(Fault(FAULT_S, 0.24, hold=True, ways=(TO_BOARD,)))
    rig.move(AWAY)
    rig.run(FAULT_S + 0.2)
    rig.outputs.release()
    rig.session.cycle()
    rig.session.enable(at_rest_pose=False)
    assert way_from_here(rig) < 0.002 and rig.outputs.epoch == 2
    require_calm(rig)


# -- generated -------------------------------------------------------------------------------------------------------


def drawn_fault(rng: np.random.Generator, begin_s: float) -> Fault:
    kind, short = rng.integers(5), float(rng.choice([0.05, 0.1, 0.2, 0.24, 0.3, 0.8]))
    if kind == 0:
        return Fault(begin_s, short, hold=True)
    if kind == 1:
        return Fault(begin_s, short, lose=float(rng.choice([0.2, 0.5, 1.0])))
    if kind == 2:
        return Fault(begin_s, short, damage=float(rng.choice([0.003, 0.01, 0.1])))
    if kind == 3:
        return Fault(begin_s, 1.0, late_s=float(rng.uniform(0.0, 0.15)), jitter_s=float(rng.uniform(0.0, 0.1)))
    return Fault(begin_s, short, lose=1.0, ways=(TO_BOARD,), only=carries_setpoint)


def act(rig: Rig, rng: np.random.Generator) -> None:
    """One thing that is asked of the arm in motion."""
    kind = rng.integers(6)
    if kind == 0:
        rig.session.cancel()
    elif kind == 1:
        rig.session.change(speed=float(rng.choice([0.0, 0.3])))
    elif kind == 2:
        rig.session.stop()
    elif kind == 3:
        rig.move(HOME + rng.uniform(-0.5, 0.5, 5) * [1.0, 0.3, 0.3, 0.5, 0.3])
    elif kind == 4:
        for _ in range(60):
            swing = 0.3 * np.sin(2.0 * np.pi * 0.7 * rig.board.now())
            rig.session.stream(NAMES, rig.execution.pose(rig.board.now()) + [0.02 * swing, 0.0, 0.0, 0.0, 0.0])
            rig.run(0.02)


def go_on(rig: Rig) -> None:
    """What a person does about a stop or a fault."""
    rig.session.change(speed=1.0)
    rig.session.cancel()
    rig.run(1.5)
    if not rig.session.cycle().sent:
        rig.session.reset()
        rig.session.enable(at_rest_pose=False)
    rig.run(0.3)


@pytest.mark.parametrize("seed", range(600 if LONG else 6))
def test_whatever_the_line_does_the_true_arm_goes_no_faster_and_nothing_moves_once_it_is_over(seed):
    rng = np.random.default_rng(seed)
    rig = arm(seed=seed)
    for number in range(4):
        rig.board.faults = tuple(drawn_fault(rng, float(rng.uniform(0.1, 2.0))) for _ in range(rng.integers(1, 4)))
        rig.board.begin()
        rig.move(np.where(number % 2, HOME, AWAY + rng.uniform(-0.1, 0.1, 5) * [1.0, 1.0, 1.0, 1.0, 0.0]))
        rig.run(float(rng.uniform(0.2, 2.0)))
        act(rig, rng)
        rig.run(float(rng.uniform(0.2, 2.0)))
        rig.board.faults = ()
        go_on(rig)
        require_calm(rig)
        held = rig.q[-1].copy()
        rig.run(0.5)
        assert np.abs(rig.q[-1] - held).max() < 0.02, f"sequence {number}: it moves with nothing under way"
    assert any(event.kind is EventKind.ACCEPTED for event in rig.events)
