"""One process runs an arm: its claim is given once, and is free again with the process that had it, however that ended."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.session.address import DOMAIN, Claim, OccupiedError, require_free, socket_path

HOLD = """
import sys
from picker_dynamics.session.address import Claim
claim = Claim(sys.argv[1])
print("has it", flush=True)
sys.stdin.read()  # ends with who started it
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder for sockets that nobody else uses."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / f"picker_dynamics_run_{os.getuid()}"


@pytest.mark.parametrize("namespace", ["", "/left/arm/"])
def test_a_claim_of_another_process_is_refused_by_its_number_and_free_when_that_was_killed(namespace):
    command = [sys.executable, "-c", HOLD, namespace]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline()
            for ask in (Claim, require_free):
                with pytest.raises(OccupiedError, match=rf"ROS domain \d+ is run by process {process.pid} already"):
                    ask(namespace)
            require_free("right")
        finally:
            process.send_signal(signal.SIGKILL)
    Claim(namespace).close()


def test_sockets_are_this_users_alone_and_long_names_fit(folder):
    path = socket_path("a_long_namespace/" * 8)
    assert path.parent == folder and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(str(path.name)) < 108


@pytest.mark.parametrize("runtime", ["", "."])
def test_a_folder_that_somebody_else_has_made_is_named_and_no_claim_of_its_own_is_given(tmp_path, monkeypatch, runtime):
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime and str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    socket_path("").parent.chmod(0o777)
    with pytest.raises(ConfigurationError, match="picker_dynamics_run_.* is not this user's alone: set XDG_RUNTIME_DIR"):
        Claim("")


@pytest.mark.parametrize("value", ["xx", "233", "\u0662"])
def test_a_domain_that_does_not_exist_is_named(monkeypatch, value):
    monkeypatch.setenv(DOMAIN, value)
    with pytest.raises(ConfigurationError, match="ROS_DOMAIN_ID is .*, must be a whole number from 0 to 232"):
        require_free("")
