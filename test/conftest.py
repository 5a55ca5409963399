"""What all tests share: a ROS domain, signals, and which tests of the firmware were left out."""

import os

# Matrices here are small: threads of BLAS cost more than they save, tenfold on a busy machine.  NumPy reads it when it loads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from benchmarks.domain import own_domain
from picker_dynamics.board.firmware import packages

pytest.register_assert_rewrite(*("avr_bench", "firmware_bench", "ros_arm", "ros_graph", "rules", "waiting"))

settings.register_profile("long", max_examples=3000, deadline=None)  # of generated sequences: test/support/generated.py

OF_THE_FIRMWARE = ("test_firmware", "test_avr", "test_rules_avr", "test_doctor", "test_toolchain")


SOCKETS = tempfile.TemporaryDirectory(prefix="picker_sockets_")
"""Folder of the sockets of arms that tests run: a person's own arm is not theirs."""


def pytest_configure() -> None:
    os.environ["XDG_RUNTIME_DIR"] = SOCKETS.name


def pytest_runtest_setup() -> None:
    """Give signals the handlers that they have in a terminal: a node that ran in this process may have ignored them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


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
