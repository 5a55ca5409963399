"""The first moment of ``picker``: nothing is loaded before it hears Ctrl-C."""

import subprocess
import sys

LOOK = "import sys; before = set(sys.modules); import picker_dynamics; print(sorted(set(sys.modules) - before))"


def test_the_package_itself_loads_nothing():
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) <= {"picker_dynamics", "__future__"}
