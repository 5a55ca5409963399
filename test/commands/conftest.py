"""The ``picker`` command in this process, as the tests of its commands run it."""

import pytest

from picker_dynamics.commands import cli


@pytest.fixture
def run_picker(capsys):
    """Run it: (exit code, output, complaints)."""

    def run(*words: str) -> tuple[int, str, str]:
        code = cli.main(list(words))
        return code, *capsys.readouterr()

    return run
