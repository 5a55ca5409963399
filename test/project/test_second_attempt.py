"""The second attempt of tests that run against the clock: one, only where the machine stalled, and never in silence."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import stalls

pytest_plugins = ("pytester",)

TEST = Path(__file__).resolve().parents[1]
FILE = """
import pytest
import stalls

pytestmark = pytest.mark.{marker}
stalls.STALL_S = {stall_s}  # a negative one: every look is a stall
made, remade, ran = [], [], []

@pytest.fixture(scope="module")
def shared():
    made.append(1)
    time_passes()
    assert len(made) > 1

@pytest.fixture(scope="module")
def also_shared():
    remade.append(1)
    time_passes()
    assert len(remade) > 1

def time_passes():
    import time
    time.sleep(0.1)

def test_once_more():
    ran.append(1)
    time_passes()
    assert len(ran) > 1

def test_not_for_ever():
    time_passes()
    assert False

def test_on_what_is_shared(shared):
    pass

def test_on_what_was_made_again(also_shared):
    time_passes()
    assert False
"""


@pytest.mark.parametrize(
    ("marker", "stall_s", "passed", "again"), [("ros", -1.0, 2, 4), ("realtime", 1e3, 0, 0), ("slow", -1.0, 0, 0)]
)
def test_what_fails_on_a_machine_that_stalled_runs_again_and_that_is_said(pytester, marker, stall_s, passed, again):
    pytester.makeconftest((TEST / "conftest.py").read_text())
    pytester.makeini(
        f"[pytest]\npythonpath = {TEST.parent} {TEST / 'support'}\nmarkers =\n    ros\n    realtime\n    slow\n    timeout\n"
    )
    pytester.makepyfile(FILE.format(marker=marker, stall_s=stall_s))
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcomes = found.parseoutcomes()
    assert outcomes.get("passed", 0) == passed and outcomes.get("failed", 0) + outcomes.get("errors", 0) == 4 - passed
    said = [line for line in found.outlines if " ran again: " in line]
    assert len(said) == again and all("the machine stalled" in line for line in said)


@pytest.mark.slow
def test_many_short_waits_of_one_process_are_a_stall():
    """Four processes on one processor: each waits its turn again and again, never for long where nobody else is."""
    words = "import os,time;os.sched_setaffinity(0,{0});[os.fork() for _ in range(2)];e=time.time()+2\nwhile time.time()<e:pass"
    with stalls.Stalls() as seen, subprocess.Popen([sys.executable, "-c", words]) as busy:
        busy.wait(30.0)
    assert seen.count


def test_many_short_waits_of_many_processes_are_a_stall(monkeypatch):
    """Twelve times a sixth of a processor: no process waits for half of the time."""
    monkeypatch.setattr(stalls, "STALL_S", 60.0)
    words = "import time\nend = time.time() + 1.5\nwhile time.time() < end: pass"
    with stalls.Stalls() as seen, contextlib.ExitStack() as processes:
        for _ in range(8 * len(os.sched_getaffinity(0))):
            processes.enter_context(subprocess.Popen([sys.executable, "-c", words]))
    assert seen.count and "the threads of all processes waited for processors" in str(seen)


def test_a_processor_that_is_away_again_and_again_is_a_stall(monkeypatch):
    """Two ticks of each look's three: no look finds it away for long."""
    ticks = itertools.count()
    monkeypatch.setattr(stalls, "taken_s", lambda: {"cpu0": 0.0125 * next(ticks)})
    with stalls.Stalls() as seen:
        time.sleep(0.6)
    assert "cpu0 was with the host, now and then, for 0.1" in str(seen)


def test_a_processor_that_a_virtual_machine_does_not_have_is_a_stall(tmp_path):
    (tmp_path / "stat").write_text(
        "cpu  90 0 9 900 1 0 1 70 0 0\ncpu0 45 0 5 450 1 0 1 40 0 0\ncpu1 45 0 4 450 0 0 0 30 0 0\nintr 9\n"
    )
    assert stalls.taken_s(tmp_path / "stat") == {"cpu0": 40 * stalls.TICK_S, "cpu1": 30 * stalls.TICK_S}
    assert stalls.taken_s()
