"""What all tests share: which files run beside each other, a second attempt, alone, where the machine stalled, and last words.

The last words: which tests ran again and why; which tests of the firmware did not run, and what they need.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
import zlib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pytest
import turns
from hypothesis import settings
from stalls import Stalls

from benchmarks.domain import own_domain
from picker_dynamics.board.firmware import packages

pytest.register_assert_rewrite("hardware_bench", "ros_graph", "scenarios", "session_bench", "topic_system", "waiting")

settings.register_profile("long", max_examples=3000, deadline=None)  # of generated sequences: test/support/generated.py

NOTICED_S = 1.0
"""Within which running nodes notice what a first attempt left behind, a board that was reset for one."""
AHEAD = 10
"""Steps of priority that tests against the clock go before others."""
AGAIN, STALLS = pytest.StashKey[list[str]](), pytest.StashKey[Stalls]()
SECOND_ATTEMPTS: list[str] = []
FIRST = "PYTEST_XDIST_WORKER" not in os.environ
"""Whether a person started this process, neither xdist nor a test."""
OF_THE_FIRMWARE = ("test_firmware", "test_avr", "test_conformance", "test_doctor", "test_toolchain")


def pytest_configure(config) -> None:
    """Whoever runs tests goes before strangers and behind nodes: a worker for itself, as another may calculate."""
    if hasattr(config, "workerinput"):
        with contextlib.suppress(PermissionError):  # leads a session already
            os.setsid()
    elif not FIRST:
        return
    favour(started=False)


def pytest_runtest_setup() -> None:
    """Signals are as a terminal has them, for each test and for all that it starts, also under nohup or in the background.

    A node that was run in this process may have left them ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


# -- which files go beside each other ------------------------------------------------------------------


@cache
def has_nodes(path: Path) -> bool:
    """Whether tests of this file start nodes: their marker stands in it.  Known before, and apart from, its collection."""
    return re.search(r"\bmark\.ros\b", path.read_text(encoding="utf-8")) is not None


def pytest_collection_modifyitems(items) -> None:
    """Files with nodes come first: among several workers they are the longest row."""
    items.sort(key=lambda item: not has_nodes(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Of each two workers, one takes the files with nodes, one file after another; the rest go to whoever is free.

    Two graphs beside each other want more than two slow cores have, and neither keeps its times.
    """
    from xdist.scheduler import LoadFileScheduling

    class Rows(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            row = zlib.crc32(file.encode()) % max(1, self.numnodes // 2)
            return f"nodes {row}" if has_nodes(config.rootpath / file) else file

    return Rows(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="module")
def domain():
    """A ROS domain that nobody else on this machine is in, for all tests of a file."""
    with own_domain() as environment:
        yield environment


def against_the_clock(item) -> bool:
    return any(map(item.get_closest_marker, ("ros", "realtime")))


@contextlib.contextmanager
def ahead_of_others() -> Iterator[None]:
    """This process, and what it starts meanwhile, goes before others where that is allowed, as on a robot; root may.

    Nodes that share two cores with whatever else computes there would stand still for longer than an arm may.
    """
    try:
        before = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, before - AHEAD)
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


def favour(process: int | str = "self", started: bool = True, nice: int = -2 * AHEAD) -> None:
    """The same for the session of a process: where Linux shares processors among sessions, nobody is nicer than one's own.

    Each node is in a session of its own; what shares ours keeps what this process has.  What has not ``started`` comes behind
    those that move an arm: a graph that starts would take all processors from them, as their equal.  A process that was put
    behind (``view_pages.behind_the_arm``) stays there.
    """
    with contextlib.suppress(OSError):  # no such sessions; not root; gone meanwhile
        if process != "self":
            if os.getsid(int(process)) == os.getsid(0):
                return
            nice = max(nice, os.getpriority(os.PRIO_PROCESS, int(process)))
        Path(f"/proc/{process}/autogroup").write_text(str(nice if started else nice // 2))


# -- the second attempt --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    attempt = partial(item.config.pluginmanager.getplugin("runner").runtestprotocol, item, nextitem=nextitem, log=False)
    takes_turns = hasattr(item.config, "workerinput")
    if against_the_clock(item):
        reports = attempts(item, attempt, takes_turns)
    else:
        with turns.beside_others() if takes_turns else contextlib.nullcontext():
            reports = attempt()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def attempts(item, attempt, takes_turns: bool):
    """Once, and once more, without other tests beside it, where the test failed and the machine stalled meanwhile."""
    with ahead_of_others(), Stalls(favour) as stalls:
        again = item.config.stash[AGAIN] = []
        item.config.stash[STALLS] = stalls
        with turns.beside_others() if takes_turns else contextlib.nullcontext():
            reports = attempt()
        if stalls.count and not again and (failed := [report for report in reports if report.failed]):
            again.append(f"{failed[0].when} failed, {stalls}\n{failed[0].longreprtext}")
            with turns.alone() if takes_turns else contextlib.nullcontext():
                time.sleep(NOTICED_S)
                reports = attempt()
    reports[0].again = again
    return reports


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """What several tests share, a running graph for one, is made a second time before it fails them all."""
    try:
        return (yield)
    except Exception as error:
        again, stalls = request.config.stash.get(AGAIN, None), request.config.stash.get(STALLS, None)
        if fixturedef.scope == "function" or again or stalls is None or not stalls.count:
            raise
        again.append(f"fixture {fixturedef.argname} failed, {stalls}\n{error!r}")
    return request.config.hook.pytest_fixture_setup(fixturedef=fixturedef, request=request)


def pytest_runtest_logreport(report) -> None:
    SECOND_ATTEMPTS.extend(f"{report.nodeid} ran again: {reason}" for reason in getattr(report, "again", ()))


# -- last words ----------------------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter) -> None:
    if SECOND_ATTEMPTS:
        terminalreporter.section("again, because the machine stalled")
        for line in SECOND_ATTEMPTS:
            terminalreporter.line(line)


def pytest_unconfigure(config) -> None:
    if FIRST:
        favour(nice=0)
    reporter = config.pluginmanager.get_plugin("terminalreporter")  # None in a worker
    files = {Path(report.nodeid.split("::")[0]).stem for report in reporter.stats.get("skipped", [])} if reporter else set()
    skipped = sorted(name for name in files if name.startswith(OF_THE_FIRMWARE))
    missing = packages.missing() if skipped else ""
    if missing:
        reporter.write_line(f"{missing}; these tests were left out, wholly or partly: {', '.join(skipped)}")
