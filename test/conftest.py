"""What all tests share: helpers whose asserts explain themselves, an order in which graphs of nodes are not all up at once, and
one line at the very end: which tests of the firmware did not run, and what would have to be installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from picker_dynamics.board.firmware import packages

pytest.register_assert_rewrite("ros_graph", "scenarios", "started_graph", "topic_system")

OF_THE_FIRMWARE = ("test_firmware", "test_avr", "test_conformance", "test_doctor", "test_toolchain")


def pytest_collection_modifyitems(items) -> None:
    """Files with live nodes, those with slow tests first, spread evenly among the others.

    Workers take files in this order: some wait for nodes while others calculate.
    """
    files: dict[Path, list] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    live, others = [], []
    for tests in files.values():
        (live if any(test.get_closest_marker("ros") for test in tests) else others).append(tests)
    live.sort(key=lambda tests: not any(test.get_closest_marker("slow") for test in tests))
    places = sorted(
        [((i + 0.5) / len(kind), tests) for kind in (live, others) for i, tests in enumerate(kind)], key=lambda place: place[0]
    )
    items[:] = [test for _, tests in places for test in tests]


def pytest_unconfigure(config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")  # None in a worker
    files = {Path(report.nodeid.split("::")[0]).stem for report in reporter.stats.get("skipped", [])} if reporter else set()
    skipped = sorted(name for name in files if name.startswith(OF_THE_FIRMWARE))
    missing = packages.missing() if skipped else ""
    if missing:
        reporter.write_line(f"{missing}; these tests were left out, wholly or partly: {', '.join(skipped)}")
