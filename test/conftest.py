"""What all tests share: helpers whose asserts explain themselves, and one line at the very end: which tests of the firmware
did not run, and what would have to be installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from picker_dynamics.firmware import packages

pytest.register_assert_rewrite("ros_graph", "scenarios", "started_graph", "topic_system")

OF_THE_FIRMWARE = ("test_firmware", "test_avr", "test_conformance", "test_doctor", "test_toolchain")


def pytest_unconfigure(config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")  # None in a worker
    files = {Path(report.nodeid.split("::")[0]).stem for report in reporter.stats.get("skipped", [])} if reporter else set()
    skipped = sorted(name for name in files if name.startswith(OF_THE_FIRMWARE))
    missing = packages.missing() if skipped else ""
    if missing:
        reporter.write_line(f"{missing}; these tests were left out, wholly or partly: {', '.join(skipped)}")
