"""Drivers at their door: who gets the arm, whose goals move it, and what becomes of one that falls silent."""

from execution_rig import ACCEPTED, REFUSED, Rig, goal, moved
from pytest import fixture

from picker_dynamics.execution.driving import Drivers
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.streaming import SILENCE_S


@fixture
def rig():
    return Rig()


@fixture
def drivers(rig):
    return Drivers(rig.execution)


def drive(rig, drivers, seconds, *names):
    """They say that they are there, every 20 ms."""
    for _ in range(round(seconds / 0.02)):
        for name in names:
            drivers.hear(name, rig.now_s)
        rig.run(0.02)


def send(rig, drivers, wanted, identifier):
    driver = drivers.of_goal(identifier, rig.now_s)
    rig.execution.submit(GoalRequest(lambda: wanted, identifier=identifier, driver=driver))
    rig.tick(2)


def told(rig, name):
    return [(event.kind, event.text) for event in rig.events if event.identifier == name]


def test_the_first_has_the_arm_and_the_second_is_told_who(rig, drivers):
    drive(rig, drivers, 1.0, "ada", "bob")
    assert told(rig, "ada") == [(ACCEPTED, "driver ada has control")]
    ((kind, text),) = told(rig, "bob")  # once, though it goes on
    assert kind is REFUSED and text.startswith("refused: a driver ada moves the arm")
    for other in ("bob/1", "stranger"):
        send(rig, drivers, goal(moved(base=0.2)), other)
        drive(rig, drivers, 1.0, "ada")
    assert rig.kinds("bob/1") == rig.kinds("stranger") == [REFUSED]
    drivers.hear("ada", rig.now_s)
    send(rig, drivers, goal(moved(base=0.2)), "ada/1")
    assert rig.kinds("ada/1") == [ACCEPTED]


def test_of_one_that_falls_silent_the_arm_decelerates_within_two_tenths_of_a_second(rig, drivers):
    drive(rig, drivers, 0.1, "ada")
    send(rig, drivers, goal(moved(base=1.0), times=[2.0]), "ada/1")
    drive(rig, drivers, 1.0, "ada")
    silent_s, speed = rig.now_s - 0.02, rig.newest.v[0]
    assert speed > 0.3
    rig.run(SILENCE_S + rig.lead_s + 0.05)
    assert rig.phase is Phase.STOPPING and rig.newest.v[0] < speed
    stopping = [event for event in rig.events if "silent for too long" in event.text]
    assert len(stopping) == 1 and rig.newest.time_s - rig.lead_s - silent_s < 0.2 + SILENCE_S
    rig.to_rest()
    rig.require_smooth(60.0)
    drivers.hear("bob", rig.now_s)
    rig.tick()
    assert [kind for kind, _ in told(rig, "bob")] == [ACCEPTED]
