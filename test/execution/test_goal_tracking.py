"""Verdicts on goals: compared at the right time, in time, and with the words that a person needs."""

import numpy as np

from picker_dynamics.execution.goal_tracking import ArmState, Code, Error, GoalTracker, Outcome, Tolerances, Verdict
from picker_dynamics.execution.motion import Reference

NAMES, UNITS = ("base", "lift"), ("rad", "m")
START, END = 100.0, 102.0


def tracker(path=(0.0, 0.0), goal=(0.0, 0.0), stopped=0.0, goal_time=0.0, **options) -> GoalTracker:
    return GoalTracker(NAMES, UNITS, Tolerances.of(path, goal, stopped, goal_time), START, **options)


def reference(time_s: float, q=(0.0, 0.0), v=(0.0, 0.0)) -> Reference:
    return Reference(time_s, np.array(q, dtype=float), np.array(v, dtype=float), np.zeros(2))


def error(time_s: float, q=(0.0, 0.0), v=(0.0, 0.0), desired=(0.0, 0.0), delay_s=0.0) -> Error:
    return Error(reference(time_s, desired), ArmState(time_s, np.array(q), None if v is None else np.array(v), delay_s=delay_s))


def look(made: GoalTracker, time_s: float, *arm) -> Verdict | None:
    """At a state that is as old as the look at it."""
    return made.look(time_s, error(time_s, *arm))


def test_without_tolerances_it_has_arrived_when_the_last_reference_holds_and_the_arm_was_seen_after_it():
    made = tracker(remark="slowed 2.00 times to fit")
    assert made.look(101.0, None) is None
    made.ended(reference(END))
    assert made.look(END - 0.01, None) is None, "sent, but a lead ahead"
    assert made.look(END, None) is None and made.look(END + 0.01, error(END - 0.01)) is None, "nobody knows yet"
    assert look(made, END, (9.0, 9.0)) == Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL, "slowed 2.00 times to fit")


def test_the_path_tolerance_names_joint_amount_and_time_and_wants_the_arm_stopped():
    made = tracker(path=(0.1, 0.0))
    assert made.watches_path
    assert look(made, 100.5, (0.09, 5.0)) is None
    verdict = look(made, 101.5, (0.15, 0.0))
    assert (verdict.outcome, verdict.code, verdict.stop) == (Outcome.ABORTED, Code.PATH_TOLERANCE_VIOLATED, True)
    assert verdict.text == "path tolerance: base is off by 8.6 deg, allowed 5.7 deg, 1.50 s after the start"


def test_the_goal_is_reached_when_a_state_taken_after_the_end_is_within():
    made = tracker(goal=(0.05, 0.0), stopped=0.1)
    made.ended(reference(END, (1.0, 0.0)))
    assert not made.watches_path
    assert made.look(END + 0.01, error(END - 0.01, (1.0, 0.0))) is None, "not yet known"
    assert look(made, END + 0.1, (0.9, 0.0)) is None
    assert look(made, END + 0.2, (0.96, 0.0), (0.2, 0.0)) is None, "it still moves"
    assert look(made, END + 0.3, (0.96, 0.0), (0.0, 0.0)).outcome is Outcome.SUCCEEDED


def test_a_cancelled_goal_is_answered_when_the_arm_stands():
    made = tracker(path=(1e-6, 1e-6))
    made.cancelling = True
    assert look(made, 101.0, (1.0, 1.0)) is None, "nobody minds the path any more"
    made.ended(reference(END))
    assert made.look(END - 0.01, None) is None
    assert made.look(END, None) is None and made.look(END + 0.1, error(END - 0.01)) is None, "nobody knows yet"
    assert look(made, END + 0.1, (0.0, 0.0), (0.2, 0.0)) is None, "it still moves"
    assert look(made, END + 0.2) == Verdict.canceled("cancelled: decelerated, and holding")
    unseen = "cancelled: the arm was not seen at rest, 1.5 s after its reference came to rest"
    assert made.look(END + 1.5, error(END + 1.5, v=None)) == Verdict.canceled(unseen)


def test_it_may_take_as_long_as_the_goal_time_says():
    made = tracker(goal=(0.05, 0.0), goal_time=0.5)
    made.ended(reference(END))
    assert look(made, END + 0.5, (0.1, 0.0)) is None
    verdict = look(made, END + 0.51, (0.1, 0.0))
    assert (verdict.code, verdict.stop) == (Code.GOAL_TOLERANCE_VIOLATED, False)
    assert verdict.text == "goal tolerance: base is off by 5.7 deg, allowed 2.9 deg, 0.51 s after the end (goal time 0.5 s)"


def test_what_the_board_plays_late_has_ended_when_it_was_played():
    made = tracker(goal=(0.05, 0.0), goal_time=0.5)
    made.ended(reference(END))
    assert made.look(END + 0.1, error(END + 0.1, delay_s=0.8)) is None, "within its tolerance, but on its way"
    assert made.look(END + 1.0, error(END + 1.0, (0.1, 0.0), delay_s=1.3)) is None
    assert made.look(END + 1.7, error(END + 1.7, (0.1, 0.0), delay_s=0.0)) is None, "nothing is to be played any more"
    verdict = made.look(END + 1.81, error(END + 1.81, (0.1, 0.0)))
    late = "0.51 s after the end, which the board played 1.30 s late (goal time 0.5 s)"
    assert verdict.text == f"goal tolerance: base is off by 5.7 deg, allowed 2.9 deg, {late}"


def test_a_delay_that_was_made_up_before_the_end_delays_nothing():
    made = tracker(goal=(0.05, 0.0), goal_time=0.5)
    made.ended(reference(END))
    assert made.look(END - 0.05, error(END - 0.05, delay_s=0.8)) is None
    assert made.look(END + 0.01, error(END + 0.01)).outcome is Outcome.SUCCEEDED
