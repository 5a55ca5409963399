"""What a page asked for before it let go, cancelled or was stopped does not move the arm afterwards, however the threads run."""

import json
import threading

import numpy as np
import pytest
from waiting import begun, until

from picker_dynamics import Arm
from picker_dynamics.errors import GoalRefusedError, PickerError
from picker_dynamics.scripting.view.arm_view import ArmView
from picker_dynamics.scripting.view.requests import Request, read

A, B = "a.1", "b.1"


def request(**values) -> Request:
    return read(json.dumps(values).encode())


ASIDE, AHEAD = request(do="joints", to={"base": 0.5}), request(do="jog", joints={"base": 0.5})


class Asked(threading.Thread):
    """A request of a page, on its way."""

    def __init__(self, view: ArmView, asked, page: str = A):
        super().__init__(daemon=True)
        self._do = lambda: view.do(asked, page)
        self.error: PickerError | None = None
        self.start()

    def run(self) -> None:
        try:
            self._do()
        except PickerError as error:
            self.error = error


class Gate:
    """Something that a view does, held back until ``open`` is set."""

    def __init__(self, act):
        self._act = act
        self.reached, self.open = threading.Event(), threading.Event()

    def reaches(self) -> None:
        """Wait until it is done, but for what is held back."""
        assert self.reached.wait(10.0)

    def __call__(self, *arguments):
        done = self._act(*arguments)
        self.reached.set()
        assert self.open.wait(10.0)
        return done


@pytest.fixture
def arm():
    with Arm.simulated(real_time=False) as arm:
        yield arm


@pytest.fixture
def view(arm):
    view = ArmView(arm.known, arm.session)  # Arm.view opens a page, too
    yield view
    view.close()


@pytest.fixture
def planning(view, monkeypatch):
    gate = Gate(view.arm.goal)
    monkeypatch.setattr(view.arm, "goal", gate)
    return gate


@pytest.fixture
def taking(view, monkeypatch):
    gate = Gate(view.session.take_arm)
    monkeypatch.setattr(view.session, "take_arm", gate)
    return gate


def passes(arm, requests=(), seconds: float = 1.0) -> None:
    """Let time pass until these are answered, and ``seconds`` more."""
    until(lambda: not any(one.is_alive() for one in requests), "answers", step=lambda: arm.wait(0.01))
    arm.wait(seconds)


ENDS = {
    "cancelled": lambda view: view.do(request(do="cancel"), A),
    "let go": lambda view: view.do(request(do="leave"), A),
    "stopped": lambda view: view.stop(),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_motion_that_was_ended_while_it_was_planned_does_not_begin(arm, view, planning, how):
    motion, before = Asked(view, ASIDE), arm.q
    planning.reaches()
    turn = view.turn
    ended = begun(lambda: ENDS[how](view))
    until(lambda: view.turn != turn, "the end")
    arm.wait(0.1)
    planning.open.set()
    passes(arm, (motion, ended))
    assert isinstance(motion.error, GoalRefusedError)
    np.testing.assert_allclose(arm.q, before, atol=0.01)


def test_a_press_that_waits_for_the_arm_does_not_outlive_its_release(arm, view, taking):
    press, before = Asked(view, AHEAD), arm.q
    taking.reaches()
    view.do(request(do="jog"), A)
    taking.open.set()
    passes(arm, (press,), 0.5)
    assert press.error is None, "nothing went wrong"
    np.testing.assert_allclose(arm.q, before, atol=0.01)


def test_a_stop_where_the_script_lets_no_time_pass_holds_the_arm(arm, view):
    Asked(view, request(do="joints", to={"base": 1.4}))
    until(lambda: arm.q[0] > 0.2, "motion", step=lambda: arm.wait(0.01))
    view.stop()
    held = arm.q[0]
    arm.wait(1.0)
    assert view.session.status().stop_latched and 0.2 < held < 0.7 and abs(arm.q[0] - held) < 0.02


def test_who_takes_over_loses_nothing_by_what_the_other_page_had_asked(arm, view, taking):
    other, old = request(do="joints", to={"base": -0.5}), Asked(view, ASIDE)
    taking.reaches()
    over = Asked(view, request(do="drive", over=True), B)
    until(lambda: view.wheel.driver == B, "the takeover")
    new = Asked(view, other, B)
    taking.open.set()
    passes(arm, (old, over, new), 3.0)
    assert str(old.error) == "ended before it began" and over.error is None and new.error is None
    assert abs(arm.q[0] + 0.5) < 0.05
