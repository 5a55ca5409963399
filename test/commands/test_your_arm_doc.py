"""docs/your_arm.md: its commands run, its answers make an arm, and it explains every message of ``picker check``."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
import yaml
from ros_graph import own_domain, running_graph
from scenarios.bench import wait_until_up

from picker_dynamics.commands import cli
from picker_dynamics.dynamics import check
from picker_dynamics.resources import resource
from picker_dynamics.robot import description, lint, serial_arm, servo_arm, urdf_elements
from picker_dynamics.robot.arm_design import JOINT

DOC = (Path(__file__).resolve().parents[2] / "docs" / "your_arm.md").read_text(encoding="utf-8")
ANSWERS = re.search(r"```yaml\n(.*?)```", DOC, re.S)[1]
COMMANDS = [shlex.split(line)[1:] for block in re.findall(r"```bash\n(.*?)```", DOC, re.S) for line in block.splitlines() if line]
ALONE = ("new", "check", "weigh", "firmware")
"""Commands that need neither a graph nor a board."""

FIRST_MOVES = ("home", "move", "status")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the reader stands, with the answers on file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    return tmp_path


def test_its_commands_are_ones():
    assert {words[0] for words in COMMANDS} == {*ALONE, *FIRST_MOVES, "up", "enable", "jog", "relax"}
    for words in COMMANDS:
        cli.parser().parse_args(words)


def test_what_needs_no_graph_runs_in_its_order(folder, run_picker):
    for words in COMMANDS:
        if words[0] in ALONE:
            code, _, complaints = run_picker(*words)
            assert code == 0, (words, complaints)
    arm, servos = servo_arm.load(folder / "my_arm" / "my_arm.urdf", folder / "my_arm" / "servos.yaml")
    assert arm.joint_names == ("turn", "lift", "bend", "nod", "gripper")
    assert "PICKER_JOINTS 5" in (folder / "my_arm" / "arm_config.h").read_text()


@pytest.mark.long
@pytest.mark.ros
def test_the_first_moves_run_in_their_order(folder, run_picker):
    run_picker(*COMMANDS[0])
    with own_domain(), running_graph(folder, urdf="my_arm/my_arm.urdf", servos="my_arm/servos.yaml") as running:
        wait_until_up(running.client)
        for words in COMMANDS:
            if words[0] in FIRST_MOVES:
                code, _, complaints = run_picker(*words)
                assert code == 0, (words, complaints)


def test_every_key_of_a_joint_is_in_its_table():
    for key in JOINT:
        assert key == "material" or re.search(rf"^\|.*`{key}`", DOC, re.M), key


PLAIN = DOC.replace("`", "")


def constant(said):
    """The longest of a message's words that stay the same."""
    words = said.value if isinstance(said, ast.Constant) else None
    if isinstance(said, ast.JoinedStr):
        words = max((part.value for part in said.values if isinstance(part, ast.Constant)), key=len)
    return words and " ".join(words.strip(" :,(").split())


def calls(module, but=""):
    """Calls of names, and what they or ``Assign`` to a name are given, in a module without the function ``but``."""
    tree = ast.parse(Path(module).read_text(encoding="utf-8"))
    tree.body = [one for one in tree.body if getattr(one, "name", None) != but]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.args, {one.arg for one in node.keywords}
        elif isinstance(node, ast.Assign):
            yield getattr(node.targets[0], "id", ""), [node.value], set()


def reasons():
    """What the linter's rules say, and whether it is fatal."""
    for path in Path(lint.__file__).parent.glob("*.py"):
        for name, given, more in calls(path):
            if name in ("Finding", "reason") and (said := constant(given[3 if name == "Finding" else 0])):
                yield said, "fatal" in more


def refusals():
    """What the reader of a URDF, and of one chain in it, refuses it with."""
    for module in (urdf_elements, description, serial_arm):
        for name, given, _ in calls(module.__file__, but="require_agreement"):
            if name in ("DescriptionError", "element_error", "message") and (said := constant(given[name == "element_error"])):
                yield said


def test_every_finding_of_the_linter_is_explained():
    """A rule with another message, or that becomes fatal, fails here until the table has it."""
    found = list(reasons())
    assert len(found) > 18 and sum(fatal for _, fatal in found) == 4
    for reason, fatal in found:
        (row,) = [line for line in PLAIN.splitlines() if line.startswith("|") and reason in line.split("|")[1]]
        assert ("FATAL" in row) is fatal, reason


def test_every_refusal_of_the_reader_is_explained():
    found = list(refusals())
    assert len(found) > 30
    for said in found:
        assert any(said in line.split("|")[1] for line in PLAIN.splitlines() if line.startswith("|")), said


def test_it_says_which_words_follow_a_check_that_went_wrong():
    notes = [constant(given[0]) for name, given, _ in calls(check.__file__) if name == "notes.append"]
    assert len(notes) == 2
    notes = [f"note: {note.partition(':')[0]}" for note in notes]
    for said in (*notes, "note: it cannot be driven", "models FAILED", "lint FAILED"):
        assert said in PLAIN, said


def test_it_says_which_joints_get_the_pickers_map():
    shipped = yaml.safe_load(resource(servo_arm.SHIPPED).read_text(encoding="utf-8"))["joints"]
    assert f"({', '.join(shipped)}) gets the picker's own map, {servo_arm.SHIPPED}" in " ".join(PLAIN.split())
