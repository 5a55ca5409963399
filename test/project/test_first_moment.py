"""The first moment of ``picker``: nothing is loaded before it hears Ctrl-C."""

from waiting import python

LOOK = "import sys; before = set(sys.modules); import picker_dynamics; print(sorted(set(sys.modules) - before))"


def test_the_package_itself_loads_nothing():
    done = python("-c", LOOK, check=True)
    assert set(eval(done.stdout)) <= {"picker_dynamics", "__future__"}
