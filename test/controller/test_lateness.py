"""A machine that is too slow: who is told of it, and for how long."""

import re
import threading

import numpy as np
from arm_rig import HOME, Rig
from pytest import approx, fixture

from picker_dynamics.execution.lateness import KEPT_S
from picker_dynamics.session import process
from picker_dynamics.session.report import Report

BASE = np.array([0.4, 0.0, 0.0, 0.0, 0.0])
LATE = r"the control loop ran (\d+) ms late: load \d+ on \d+ cores"


@fixture
def late():
    """An arm whose loop stood still for 0.7 s in a motion, and what became of its goal."""
    rig = Rig().adopt()
    answers = rig.move(HOME + BASE, duration_s=2.0)
    rig.run(0.5)
    rig.run(0.7, stalls=True)
    rig.run(0.3)
    return rig, answers


def test_an_aborted_goal_says_how_late_the_loop_ran(late):
    rig, (answer,) = late
    assert answer.outcome.value == "aborted"
    assert float(re.search(rf"\({LATE}\)$", answer.text)[1]) == approx(700.0, abs=1.0)
    assert any(event.text == answer.text for event in rig.events)


def test_the_report_says_it_as_long_as_it_is_news_and_a_loop_in_time_says_nothing(late):
    rig, _ = late
    report = Report(rig.arm)
    report.refresh()
    assert re.fullmatch(LATE, report.entries["trajectory_controller: loop"].message)
    rig.run(KEPT_S)
    report.refresh()
    assert report.entries["trajectory_controller: loop"].message == "in time"


def test_the_process_says_it_once(late, monkeypatch, capsys):
    rig, _ = late
    ended = threading.Event()

    class Loop:
        """A loop that makes no cycle."""

        running, failure = True, None

        def __init__(self, *_):
            pass

        def close(self):
            """Nothing to end."""

    looks, server = iter(range(3)), type("Server", (), {"close": ended.set})
    for name, stand_in in {"LoopThread": Loop, "Server": lambda *_: server, "tame_collector": int}.items():
        monkeypatch.setattr(process, name, stand_in)
    monkeypatch.setattr(rig.arm, "leave", lambda _hurry: None)
    claim = type("Claim", (), {"path": ""})
    process.run(rig.arm, Report(rig.arm), claim, [], alive=lambda: next(looks, None) is not None)
    assert re.fullmatch(rf"warning: {LATE}\n", capsys.readouterr().err) and ended.is_set()
