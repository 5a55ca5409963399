"""launch/*.test.py under launch_test: what an arm has to do, on picker.launch.py.

A process of its own for each file: a launch changes signals and environment of the process that it runs in.
"""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "launch").glob("*.test.py"))
PATIENCE_S = 400.0


@pytest.fixture(scope="module")
def launch_test() -> list[str]:
    """Command that runs a launch test, where all that it needs is there."""
    missing = [
        f"{module}, which comes with ROS 2, not from PyPI"
        for module in ("launch_testing", "ros2launch")
        if importlib.util.find_spec(module) is None
    ]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    for package in ("picker_dynamics", "robot_state_publisher"):
        if not any(Path(prefix, "share/ament_index/resource_index/packages", package).is_file() for prefix in prefixes):
            missing.append(f"an installed {package}")
    if missing:
        pytest.skip(f"launch_test needs {'; '.join(missing)}")
    return [sys.executable, "-m", "launch_testing.launch_test"]


@pytest.mark.ros
@pytest.mark.long
@pytest.mark.timeout(PATIENCE_S + 20.0)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_launch(launch_test, file):
    with subprocess.Popen(
        [*launch_test, str(file)],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, said
    assert sum(int(count) for count in re.findall(r"^Ran (\d+) test", said, re.MULTILINE)) > 0, said
