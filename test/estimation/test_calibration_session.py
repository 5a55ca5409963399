"""The session on file: every answer at once, the same arm only, taken up where it was left; and what a person meets."""

import io
import sys
from argparse import ArgumentParser

from pytest import approx, fixture, mark, raises
from rich import console

from picker_dynamics.commands import calibrate as command
from picker_dynamics.commands import cli
from picker_dynamics.errors import InputError
from picker_dynamics.estimation import rehearsal
from picker_dynamics.estimation.calibration.questions import Context, OpenQuestionError, Question, Terminal
from picker_dynamics.estimation.calibration.session import Session

TIED = {"urdf_sha256": "u", "servos_sha256": "s"}
FILE = "session.json"


def session(folder, **options) -> Session:
    return Session.open(folder, options.pop("tied", TIED), options.pop("settings", {"seed": 1}), **options)


class Typist:
    """Types prepared lines; raises what is no line."""

    def __init__(self, *lines):
        self.lines = list(lines)

    def __call__(self, _prompt=""):
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if not isinstance(line, str):
            raise line
        return line


class Quiet:
    """Keeps what was said."""

    def __init__(self, *lines):
        self.said, self.typist = [], Typist(*lines)

    def ask(self, question):
        self.said.append(question.text)
        return self.typist()

    def tell(self, text, style=""):
        self.said.append(text)


@fixture
def calibrate(tmp_path):
    """``picker calibrate`` in this process with typed lines; its session is in ``tmp_path``."""
    commands = ArgumentParser().add_subparsers()
    command.add_parser(commands)

    def run(*words, lines=()):
        return command.run(commands.choices["calibrate"].parse_args(["--out", str(tmp_path), *words]), ask=Typist(*lines))

    return run


def test_every_answer_is_on_file_at_once_and_the_latest_counts(tmp_path):
    one = session(tmp_path)
    one.record("links", "hand.mass.0", 0.07, "70 g")
    one.record("links", "hand.mass.0", 0.08, "80 g")
    again = session(tmp_path)
    assert again.value("links", "hand.mass.0") == 0.08 and again.count("links") == 1
    assert all(entry["typed"] == "80 g" and entry["at"] for entry in again.answers.values())
    again.forget("links")
    assert session(tmp_path).value("links", "hand.mass.0") is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE]  # nothing half-written is left


def test_taking_back_takes_what_rests_on_it_but_no_facts(tmp_path):
    one = session(tmp_path)
    one.record("droop", "first", 1, "1")
    one.record("droop", "second", 2, "2")
    one.record("droop", "noted", 3)
    one.record("arm", "hanging", 0.4)
    assert one.take_back("droop")["key"] == "second"
    again = session(tmp_path)
    assert [again.value("droop", key) for key in ("first", "second", "noted")] == [1, None, None]
    again.forget("droop")
    assert again.value("arm", "hanging") == 0.4 and again.take_back("droop") is None


@mark.parametrize(
    "tied, why",
    [
        ({**TIED, "urdf_sha256": "x"}, "another URDF"),
        ({**TIED, "servos_sha256": "x"}, "another servo map"),
        ({**TIED, "kind": "a simulated arm"}, "it was None"),
    ],
)
def test_a_session_of_another_arm_is_refused_and_left_alone(tmp_path, tied, why):
    session(tmp_path).record("links", "a", 1)
    before = (tmp_path / FILE).read_bytes()
    with raises(InputError, match=f"belongs to another arm.*{why}.*--out, or move"):
        session(tmp_path, tied=tied)
    assert (tmp_path / FILE).read_bytes() == before
    assert session(tmp_path, tied=tied, restart=True).answers == {}
    assert (tmp_path / "session.json.1").read_bytes() == before


LATER = '{"version": 2, "arm": {}, "answers": [], "done": {}}'


@mark.parametrize("text", ["", "[]", '{"version": 1}', LATER])
def test_a_file_that_is_no_session_is_left_alone(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with raises(InputError, match="version 2, not 1" if text is LATER else "session"):
        session(tmp_path)
    assert (tmp_path / FILE).read_text() == text


def test_what_is_on_file_is_not_asked_and_what_cannot_be_is_asked_again(tmp_path):
    def measure(key, person, **more):
        context = Context(session(tmp_path), person, None, step="map")
        return context.read(key, "how far", "down", "mm", 0.05, 0.1, **more)

    person, near = Quiet("x", "500", "55", "95", "95.1"), {"expected": 0.08, "within": 0.01}
    assert measure("a", person, **near) == approx(0.0951)
    said = " ".join(person.said)
    assert "'x' is not a number" in said and "down is 500 mm, must be 50 to 100" in said
    assert "down is 55.0 mm, expected about 80.0" in said and "once more" in said
    assert measure("a", None) == approx(0.0951)
    with raises(OpenQuestionError, match="how far"):
        measure("b", None)


# -- at the terminal -------------------------------------------------------------------------------------------------


def test_an_interrupted_session_and_an_input_that_ends_keep_what_was_answered(calibrate, capsys, monkeypatch):
    monkeypatch.setattr(rehearsal.SimulatedPerson, "answer", lambda *_: Typist(KeyboardInterrupt())())
    assert calibrate("--sim") == 130
    assert "the arm holds, and every answer is kept" in " ".join(capsys.readouterr().out.split())
    with raises(OpenQuestionError, match="the input has ended; what was answered is kept"):
        Terminal(console.Console(), Typist()).ask(Question("base.0.angle", "base: where does it stand"))


@mark.parametrize("words, why", [(("--step", "map"), "give its --port"), (("--step", "result"), "nothing was measured yet")])
def test_what_cannot_be_done_yet_is_told(calibrate, words, why):
    with raises(InputError, match=why):
        calibrate(*words, lines=[""] * 9)


@mark.parametrize(
    "words, code, why",
    [
        ("--quick", 2, "unrecognized arguments: --quick"),
        ("--servos /nowhere.yaml", 4, "/nowhere.yaml"),
        ("--urdf /nowhere.urdf", 3, "/nowhere.urdf"),
        ("--out /proc/nowhere", 5, "cannot write"),
        ("--port /dev/ttyNOWHERE --simulated", 2, "not allowed with"),
        ("--step map", 5, "picker calibrate needs a terminal; --simulated runs unattended"),
    ],
)
def test_what_cannot_be_used_is_told_at_once(tmp_path, capsys, monkeypatch, words, code, why):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    try:
        returned = cli.main(["calibrate", "--out", str(tmp_path), *words.split()])
    except SystemExit as error:  # of argparse
        returned = error.code
    assert returned == code and why in " ".join(capsys.readouterr().err.split())
