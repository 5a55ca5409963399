"""``picker view`` before it serves anything: what it refuses."""

import pytest

from picker_dynamics.commands import cli
from picker_dynamics.commands.view import LEAST_TOKEN, require_safe
from picker_dynamics.errors import ConfigurationError, MissingDependencyError
from picker_dynamics.scripting.view import server


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_beyond_this_machine_it_needs_a_token_of_its_own(host):
    with pytest.raises(ConfigurationError, match="give --token"):
        require_safe(host, "x" * (LEAST_TOKEN - 1))
    require_safe(host, "x" * LEAST_TOKEN)


def test_on_this_machine_it_needs_none():
    for host in ("127.0.0.1", "localhost", "::1"):
        require_safe(host, "")


def test_a_page_that_nobody_built_is_said_with_the_command_that_builds_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(server, "PAGE", tmp_path)
    assert cli.main(["view"]) == MissingDependencyError.exit_code
    assert "has not been built: 'make setup' does" in capsys.readouterr().err
