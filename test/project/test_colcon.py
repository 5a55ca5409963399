"""`colcon build` and `colcon test` of this package, on few tests; `make colcon` runs them all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FEW = ("test/robot/test_joint_order.py", "test/trajectory/test_splines.py", "test/bringup/test_launch_testing.py")


@pytest.fixture(scope="module")
def colcon(tmp_path_factory):
    """Run a verb of colcon in a workspace of its own; what it printed."""
    space = tmp_path_factory.mktemp("space")

    def run(verb: str, *options: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "colcon", "--log-base", str(space / "log"), verb, *options],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    bases = ("--base-paths", str(ROOT), "--build-base", str(space / "build"), "--install-base", str(space / "install"))
    run("build", *bases)

    def test(*selection: str) -> tuple[int, int]:
        """How many tests ran, and how many of them failed."""
        run("test", *bases, "--pytest-args", *selection)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "colcon",
                "--log-base",
                str(space / "log"),
                "test-result",
                "--test-result-base",
                str(space / "build"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"Summary: (\d+) tests?, (\d+) errors?, (\d+) failures?, (\d+) skipped", done.stdout)
        assert found, done.stdout + done.stderr
        count, errors, failures, skipped = map(int, found.groups())
        assert (done.returncode != 0) == (errors + failures > 0)
        return count - skipped, errors + failures

    return test


def test_it_runs_the_tests_and_they_pass(colcon):
    ran, failed = colcon(*FEW, "-m", "not slow")
    assert ran > 10 and failed == 0


def test_a_test_that_fails_is_reported(colcon, tmp_path):
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_it():\n    assert False\n")
    assert colcon(str(failing)) == (1, 1)
