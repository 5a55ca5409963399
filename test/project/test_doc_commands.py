"""Every ``picker`` command of README.md and docs/ is one: what a reader types is taken."""

import re
import shlex
from pathlib import Path

import pytest
from places import ROOT

from picker_dynamics.commands import cli


def commands(path: Path) -> list[list[str]]:
    """Words of each, after ``picker``; what has variables of a shell or leaves something out is no command to type."""
    lines = "\n".join(re.findall(r"```bash\n(.*?)```", path.read_text(encoding="utf-8"), re.S)).replace("\\\n", " ").splitlines()
    typed = [line for line in map(str.strip, lines) if re.match(r"(\.venv/bin/)?picker ", line) and not re.search(r"[…$]", line)]
    return [shlex.split(line, comments=True)[1:] for line in typed]


DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if commands(path)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_of_a_document_are_taken(path, capsys):
    for words in commands(path):
        try:
            cli.parser().parse_args(words)
        except SystemExit:
            pytest.fail(f"picker {shlex.join(words)}: {capsys.readouterr().err.splitlines()[-1]}")


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name)
def test_commands_within_the_text_exist_and_have_the_options_that_stand_there(path, capsys):
    for said in re.findall(r"`picker ([a-z][^`]*)`", re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)):
        words = said.split()
        under = [word for word in words[: 2 if words[0] in ("firmware", "identify", "servos", "study", "help") else 1]]
        with pytest.raises(SystemExit) as ended:
            cli.main([*under, "--help"])
        known = re.findall(r"--?[a-z][\w-]*", capsys.readouterr().out)
        assert ended.value.code == 0 and set(re.findall(r"(?<= )--?[a-z][\w-]*", said)) <= set(known), said


def test_there_are_documents_with_commands():
    assert {"README.md", "your_arm.md", "calibration.md"} <= {path.name for path in DOCUMENTS}
