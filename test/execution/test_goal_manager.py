"""Every goal is answered exactly once, whatever happens to it; the reference goes on meanwhile."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from picker_dynamics.errors import JointNamesError, TrajectoryError
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import OVERTAKEN, PREEMPTED, GoalDesk, Request
from picker_dynamics.execution.goal_tracking import ArmState, Code, GoalTracker, Outcome, SentReferences
from picker_dynamics.execution.reference_generator import Phase, ReferenceGenerator
from picker_dynamics.execution.streaming import Stream
from picker_dynamics.execution.tolerances import Tolerances

NAMES, HOME = picker().joint_names, np.array(servos().home)
PERIOD, LEAD = 0.02, 0.06
UNITS, BASE = picker().position_units, np.eye(5)[0]


class Bench:
    """A desk with a generator, ticked as the node ticks it; the arm follows perfectly, or lags by ``error`` [rad]."""

    def __init__(self):
        self.generator = ReferenceGenerator(NAMES, goal_check(), 4.0, picker().lower, picker().upper)
        self.generator.start(HOME)
        self.stream, self.sent, self.events = Stream(self.generator), SentReferences(100), []
        self.time_s = 1000.0
        self.desk = GoalDesk(self.generator, self.stream, self.events.append, self.sent, lambda: self.time_s)
        self.error, self.answers, self.feedback, self.references = 0.0, {}, {}, []

    def goal(self, base: float = 0.2, duration: float = 1.0, **fields) -> Goal:
        still = [[0.0] * 5]
        return Goal(NAMES, [duration], [[HOME[0] + base, *HOME[1:]]], still, still, **fields)

    def request(self, name: str, goal=None, *, tolerances: Tolerances | None = None, track: str = "arm") -> Request:
        def make():
            made = self.goal() if goal is None else goal
            if isinstance(made, Exception):
                raise made
            return made

        def tracker(motion):
            return None if tolerances is None else GoalTracker(NAMES, UNITS, tolerances.only(motion.joints), motion.start_s)

        self.answers[name], self.feedback[name] = [], []
        return Request(
            make, track, name, tracker, self.answers[name].append, lambda error, progress: self.feedback[name].append(progress)
        )

    def send(self, name: str, goal=None, **options) -> Request:
        request = self.request(name, goal, **options)
        self.desk.receive(request)
        return request

    def tick(self, count: int = 1) -> None:
        for _ in range(count):
            self.time_s += PERIOD
            if self.generator.active:
                reference, finished = self.generator.sample(self.time_s)
                self.sent.append(reference)
                self.references.append(reference)
                if finished is not None:
                    self.desk.finished(finished, reference)
                now = self.time_s - LEAD
                held = self.sent.at(now)
                state = None if held is None else ArmState(now, held.q - self.error * BASE, held.v)
                self.desk.monitor(now, self.time_s, state, True)
            if self.desk.inbox:
                self.desk.consider(self.time_s)

    def answer(self, name: str):
        assert len(self.answers[name]) == 1, (name, self.answers[name])
        return self.answers[name][0]

    def outcomes(self, name: str) -> list[str]:
        return [event.outcome for event in self.events if event.identifier == name and event.outcome]


TIGHT = Tolerances.of([0.05] * 5, [0.01] * 5, 0.01, 0.5)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_goal_is_accepted_followed_and_answered_once(bench):
    bench.send("g", tolerances=TIGHT)
    bench.tick(80)
    assert bench.answer("g").outcome is Outcome.SUCCEEDED
    assert bench.outcomes("g") == ["accepted", "done"]
    progress = bench.feedback["g"]
    assert progress == sorted(progress) and 0.9 < progress[-1] <= 1.0


def test_a_goal_without_a_tracker_is_done_with_its_reference(bench):
    bench.send("g")
    bench.tick(60)
    assert bench.answer("g").text == "done: holding" and bench.outcomes("g") == ["accepted", "done"]


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        (JointNamesError("unknown joint 'tail'"), Code.INVALID_JOINTS),
        (TrajectoryError("nan"), Code.INVALID_GOAL),
        (Goal(NAMES[:-1], [1.0], [HOME[:-1]]), Code.INVALID_JOINTS),
        (Goal(NAMES, [1.0], [HOME], start_s=900.0), Code.OLD_HEADER_TIMESTAMP),
        (Goal(NAMES, [9.0], [[0.0] * 5], [[0.0] * 5], [[0.0] * 5]), Code.INVALID_GOAL),
    ],
)
def test_a_refusal_has_its_code_and_leaves_a_motion_alone(bench, goal, code):
    bench.send("first", bench.goal(duration=3.0))
    bench.tick(20)
    bench.send("bad", goal)
    bench.tick(5)
    assert bench.answer("bad").code is code and bench.outcomes("bad") == ["refused"]
    assert bench.answers["first"] == [] and bench.generator.phase() is Phase.EXECUTING
    assert (bench.desk.accepted, bench.desk.refused) == (1, 1)


def test_what_leaves_its_path_is_aborted_and_the_arm_decelerates(bench):
    bench.send("g", bench.goal(0.6, 3.0), tolerances=TIGHT)
    bench.tick(60)
    bench.error = 0.06
    bench.tick(1)
    verdict = bench.answer("g")
    assert verdict.code is Code.PATH_TOLERANCE_VIOLATED and "base is off by 0.06 rad, allowed 0.05" in verdict.text
    assert bench.generator.phase() is Phase.STOPPING
    bench.tick(60)
    assert bench.generator.phase() is Phase.HOLDING and not bench.references[-1].v.any()
    assert bench.events[-1].text == "stopped: holding"


def test_what_does_not_arrive_in_time_is_aborted(bench):
    bench.send("g", tolerances=TIGHT)
    bench.tick(10)
    bench.error = 0.02
    bench.tick(65)
    assert bench.answers["g"] == [], "within its goal time"
    bench.tick(30)
    assert bench.answer("g").code is Code.GOAL_TOLERANCE_VIOLATED and "base is off by 0.02 rad" in bench.answer("g").text


def test_of_a_flood_the_last_one_wins_and_each_is_answered(bench):
    bench.send("before", bench.goal(0.5, 4.0), tolerances=TIGHT)
    bench.tick(30)
    names = [str(k) for k in range(200)]
    for k, name in enumerate(names):
        bench.send(name, bench.goal(0.3 - 0.001 * k), tolerances=TIGHT)
        if k % 20 == 0:
            bench.tick()
    bench.tick(120)
    assert bench.answer("before").text == PREEMPTED
    assert bench.answer(names[-1]).outcome is Outcome.SUCCEEDED
    texts = {bench.answer(name).text for name in names[:-1]}
    assert texts <= {OVERTAKEN, PREEMPTED} and OVERTAKEN in texts
    assert bench.references[-1].q[0] == pytest.approx(HOME[0] + 0.3 - 0.199)
    v = np.array([one.v[0] for one in bench.references])
    assert np.abs(np.diff(v)).max() < 12.0 * PERIOD, "no step in any of it"


def test_a_long_goal_is_checked_while_the_arm_stands(bench):
    bench.send("first", bench.goal(0.5, 4.0), tolerances=TIGHT)
    bench.tick(60)
    bench.send("long", bench.goal(0.1, 30.0), tolerances=TIGHT)
    bench.tick(1)
    assert bench.generator.phase() is Phase.STOPPING
    assert bench.answer("first").text.startswith(PREEMPTED)
    bench.tick(60)
    assert bench.outcomes("long") == ["accepted"]
    v = np.array([one.v[0] for one in bench.references])
    assert np.abs(np.diff(v)).max() < 6.0 * PERIOD


def test_a_long_goal_that_makes_no_sense_does_not_stop_the_arm(bench):
    bench.send("first", bench.goal(0.5, 4.0))
    bench.tick(30)
    bench.send("long", Goal((*NAMES[:-1], "tail"), [30.0], [HOME]))
    bench.tick(5)
    assert bench.answer("long").code is Code.INVALID_JOINTS and bench.generator.phase() is Phase.EXECUTING


def test_a_goal_for_later_takes_over_at_its_time(bench):
    bench.send("first", bench.goal(0.5, 4.0), tolerances=TIGHT)
    bench.tick(10)
    start_s = bench.time_s + 1.0
    bench.send("later", bench.goal(0.0, 2.0, start_s=start_s), tolerances=TIGHT)
    bench.tick(40)
    assert bench.outcomes("later") == [] and any("waits for its start in 0.9" in event.text for event in bench.events)
    bench.tick(15)
    assert bench.answer("first").text == PREEMPTED
    motion = next(event.motion for event in bench.events if event.identifier == "later" and event.outcome == "accepted")
    assert motion.start_s - start_s < 2 * PERIOD
    bench.tick(130)
    assert bench.answer("later").outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("when", ["waiting", "moving", "arrived", "paused"])
def test_cancel_is_answered_once_wherever_the_goal_is(bench, when):
    if when == "waiting":
        request = bench.send("g", bench.goal(0.5, 3.0), tolerances=TIGHT)
    else:
        bench.error = 0.02 if when == "arrived" else 0.0
        request = bench.send("g", bench.goal(0.5, 3.0), tolerances=TIGHT)
        if when == "paused":
            bench.tick(50)
            bench.generator.set_speed(0.0, bench.time_s)
        bench.tick({"moving": 60, "arrived": 160, "paused": 60}[when])
        assert bench.answers["g"] == []
    bench.desk.cancel(request, bench.time_s)
    bench.tick(60)
    assert bench.answer("g").outcome is Outcome.CANCELED
    assert bench.generator.phase() is Phase.HOLDING and not bench.references[-1].v.any()
    bench.desk.cancel(request, bench.time_s)
    bench.tick(5)
    bench.answer("g")


def test_cancelling_everything_withdraws_what_waits_too(bench):
    bench.send("moving", bench.goal(0.5, 3.0), tolerances=TIGHT)
    bench.tick(40)
    bench.send("waiting")
    assert bench.desk.cancel_all(bench.time_s) is True
    bench.tick(60)
    assert [bench.answer(name).outcome for name in ("moving", "waiting")] == [Outcome.CANCELED] * 2
    assert bench.desk.cancel_all(bench.time_s) is False


def test_a_fault_aborts_with_its_words_and_later_goals_are_refused(bench):
    bench.send("g", bench.goal(0.5, 3.0), tolerances=TIGHT)
    bench.tick(40)
    bench.generator.deactivate()
    assert bench.desk.abort_all("aborted: cable pulled") is True and bench.desk.abort_all("again") is False
    assert bench.answer("g").text == "aborted: cable pulled"
    bench.send("late")
    bench.tick(3)
    assert "not active" in bench.answer("late").text


def test_while_barred_the_arm_holds_and_says_why(bench):
    bench.send("g", bench.goal(0.5, 3.0), tolerances=TIGHT)
    bench.tick(40)
    bench.desk.bar("two controllers on one arm", bench.time_s)
    bench.send("other")
    bench.tick(60)
    assert bench.answer("g").text == "aborted: two controllers on one arm"
    assert bench.answer("other").text == "two controllers on one arm"
    assert bench.generator.phase() is Phase.HOLDING
    bench.desk.bar("", bench.time_s)
    bench.send("again")
    bench.tick(3)
    assert bench.outcomes("again") == ["accepted"]


def test_a_gripper_command_goes_on_beside_the_arm(bench):
    still = [[0.0]]
    bench.send("arm", Goal(NAMES[:4], [2.0], [[0.3, *HOME[1:4]]], [[0.0] * 4], [[0.0] * 4], partial=True), tolerances=TIGHT)
    bench.tick(20)
    bench.send("grip", Goal(["scissor"], [0.5], [[0.4]], still, still, partial=True), tolerances=TIGHT, track="gripper")
    bench.tick(40)
    assert bench.answer("grip").outcome is Outcome.SUCCEEDED and bench.answers["arm"] == []
    progress = bench.feedback["arm"]
    assert progress == sorted(progress), "who moves beside it does not set it back"
    bench.tick(80)
    assert bench.answer("arm").outcome is Outcome.SUCCEEDED


def test_a_goal_for_after_the_end_of_a_motion_does_not_cut_it_short():
    """It was taken at once, and the reference stood where the first motion would have ended."""
    bench = Bench()
    bench.send("first", bench.goal(0.25, 0.05))
    bench.tick(5)
    bench.send("later", bench.goal(0.0, 0.05, start_s=bench.time_s + 0.35))
    bench.tick(60)
    q, v = (np.array([getattr(one, name) for one in bench.references]) for name in ("q", "v"))
    assert np.abs(np.diff(q, axis=0) - PERIOD * (v[1:] + v[:-1]) / 2.0).max() < 0.01
    assert q[:, 0].max() == pytest.approx(HOME[0] + 0.25) and q[-1, 0] == pytest.approx(HOME[0])
    assert bench.outcomes("first") == bench.outcomes("later") == ["accepted", "done"]


class AnythingAtAnyTime(RuleBasedStateMachine):
    """Goals, cancels, pauses, faults and rivals in any order."""

    def __init__(self):
        super().__init__()
        self.bench, self.requests = Bench(), {}
        self.count = 0

    @rule(
        base=st.floats(-0.4, 0.4),
        duration=st.sampled_from([0.05, 0.5, 2.0, 25.0]),
        tracked=st.booleans(),
        wait=st.sampled_from([None, 0.3]),
    )
    def goal(self, base, duration, tracked, wait):
        self.count += 1
        name = f"g{self.count}"
        start_s = None if wait is None else self.bench.time_s + wait
        self.requests[name] = self.bench.send(
            name, self.bench.goal(base, duration, start_s=start_s), tolerances=TIGHT if tracked else None
        )

    @rule(position=st.floats(0.0, 1.2))
    def grip(self, position):
        self.count += 1
        name = f"g{self.count}"
        goal = Goal(["scissor"], [0.4], [[position]], [[0.0]], [[0.0]], partial=True)
        self.requests[name] = self.bench.send(name, goal, tolerances=TIGHT, track="gripper")

    @rule()
    def nonsense(self):
        self.count += 1
        self.requests[f"g{self.count}"] = self.bench.send(f"g{self.count}", TrajectoryError("nonsense"))

    @rule(count=st.integers(1, 40))
    def tick(self, count):
        self.bench.tick(count)

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def cancel(self, data):
        name = data.draw(st.sampled_from(sorted(self.requests)))
        self.bench.desk.cancel(self.requests[name], self.bench.time_s)

    @rule()
    def cancel_all(self):
        self.bench.desk.cancel_all(self.bench.time_s)

    @rule(speed=st.sampled_from([0.0, 0.3, 1.0]))
    def speed(self, speed):
        self.bench.generator.set_speed(speed, self.bench.time_s)

    @rule()
    def fault(self):
        if self.bench.generator.active:
            held = self.bench.generator.state_at(self.bench.time_s)[0]
            self.bench.generator.deactivate()
            self.bench.desk.abort_all("fault")
            self.bench.sent.clear()
            self.bench.references.clear()
            self.bench.generator.start(held)

    @rule(why=st.sampled_from(["", "a rival"]))
    def bar(self, why):
        self.bench.desk.bar(why, self.bench.time_s)

    @rule(error=st.sampled_from([0.0, 0.02, 0.06]))
    def lag(self, error):
        self.bench.error = error

    @invariant()
    def never_answered_twice_and_no_step(self):
        assert all(len(answers) <= 1 for answers in self.bench.answers.values())
        references = self.bench.references[-60:]
        if len(references) > 1:
            v = np.array([one.v for one in references])
            q = np.array([one.q for one in references])
            assert np.abs(np.diff(q, axis=0) - PERIOD * (v[1:] + v[:-1]) / 2.0).max() < 0.01

    def teardown(self):
        self.bench.desk.bar("", self.bench.time_s)
        self.bench.error = 0.0
        self.bench.generator.set_speed(1.0, self.bench.time_s)
        self.bench.tick(40)
        self.bench.desk.cancel_all(self.bench.time_s)
        self.bench.tick(80)
        assert all(len(answers) == 1 for answers in self.bench.answers.values()), "somebody still waits"
        assert self.bench.generator.phase() is Phase.HOLDING


AnythingAtAnyTime.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestAnythingAtAnyTime = AnythingAtAnyTime.TestCase
