"""What all tests share: which files run side by side, a ROS domain, signals, and which tests of the firmware were left out."""

from __future__ import annotations

import re
import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from benchmarks.domain import own_domain
from picker_dynamics.board.firmware import packages

pytest.register_assert_rewrite("hardware_bench", "ros_graph", "scenarios", "session_bench", "topic_system", "waiting")

settings.register_profile("long", max_examples=3000, deadline=None)  # of generated sequences: test/support/generated.py

OF_THE_FIRMWARE = ("test_firmware", "test_avr", "test_conformance", "test_doctor", "test_toolchain")


def pytest_runtest_setup() -> None:
    """Give signals the handlers that they have in a terminal: a node that ran in this process may have ignored them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@cache
def has_nodes(path: Path) -> bool:
    """Whether tests of this file start nodes: their marker stands in it."""
    return re.search(r"\bmark\.ros\b", path.read_text(encoding="utf-8")) is not None


def pytest_collection_modifyitems(items) -> None:
    """Files with nodes come first: one worker runs all of them."""
    items.sort(key=lambda item: not has_nodes(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One worker runs the files with nodes, one graph at a time; each other file goes to the next free worker."""
    from xdist.scheduler import LoadFileScheduling

    class OneGraphAtATime(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "nodes" if has_nodes(config.rootpath / file) else file

    return OneGraphAtATime(config, log)


@pytest.fixture(scope="module")
def domain():
    """A ROS domain that nobody else on this machine is in, for all tests of a file."""
    with own_domain() as environment:
        yield environment


def pytest_unconfigure(config) -> None:
    """Say which tests of the firmware were skipped, and which packages they need."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")  # None in a worker
    files = {Path(report.nodeid.split("::")[0]).stem for report in reporter.stats.get("skipped", [])} if reporter else set()
    skipped = sorted(name for name in files if name.startswith(OF_THE_FIRMWARE))
    missing = packages.missing() if skipped else ""
    if missing:
        reporter.write_line(f"{missing}; these tests were left out, wholly or partly: {', '.join(skipped)}")
