"""The ``picker`` command given something wrong: one line, and an exit code of its own; nothing was started."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from pytest import fixture, mark, raises
from ros_graph import own_domain
from small_urdfs import TWO_LINKS
from waiting import PATIENCE_S

from picker_dynamics import __version__
from picker_dynamics.bringup import runner
from picker_dynamics.commands import cli
from picker_dynamics.resources import resource
from picker_dynamics.session.address import Claim

PICKER = str(Path(sys.executable).with_name("picker"))


@fixture
def picker_command(run_picker, monkeypatch):
    """Run it in this process; (exit code, what it printed, its complaints).  Nothing may start a process."""

    def start(_self):
        raise AssertionError("a process would have been started")

    monkeypatch.setattr(runner.GraphRunner, "start", start)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def run(*words: str) -> tuple[int, str, list[str]]:
        code, said, complaints = run_picker(*words)
        return code, said, complaints.splitlines()

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


def commands_of(parser) -> list[str]:
    """As its help lists them, in that order."""
    return re.findall(r"^    ([a-z-]+)", parser.format_help(), re.M)


def test_the_table_of_commands_is_what_their_modules_have():
    assert commands_of(cli.parser()) == list(cli.COMMANDS)
    assert commands_of(cli.parser("nosuch")) == commands_of(cli.parser())
    for name, (module, _) in cli.COMMANDS.items():
        assert commands_of(cli.parser(name)) == [other for other, (of, _) in cli.COMMANDS.items() if of == module]


@mark.parametrize("command", cli.COMMANDS)
def test_the_help_of_a_command_says_what_it_does_and_ends_with_an_example_that_is_taken(capsys, command):
    with raises(SystemExit):
        cli.main([command, "--help"])
    said = capsys.readouterr().out
    assert re.search(r"^[A-Z]\w+ [^.]*\S\.", said.replace("docs/", ""), re.M)
    for example in re.findall(r"^(?:example:|) +(picker .*?)(?:   .*)?$", said[said.index("example") :], re.M):
        assert cli.parser().parse_args(shlex.split(example)[1:]).command


@mark.parametrize("command", cli.COMMANDS)
def test_every_command_and_what_is_under_it_has_a_help(capsys, command):
    def text(*words) -> str:
        with raises(SystemExit) as ended:
            cli.main([*words, "--help"])
        assert ended.value.code == 0
        return capsys.readouterr().out

    for verb in re.findall(r"^    ([a-z-]+)", text(command), re.M):
        assert f"usage: picker {command} {verb}" in text(command, verb)


@mark.parametrize(
    "words, said",
    [
        ("move --joints theta1=10 --duration nan", "argument --duration: 'nan', must be a number from 0 to 600"),
        ("move --tip nan 0 0.1", "argument --tip: 'nan', must be a number from -10 to 10"),
        ("payload -- -1", "'-1', must be a number from 0 to 5000 g, or one with its unit (g, kg, mg)"),
        ("payload 0.025", "'0.025' is less than a gram: give grams, or 0.025kg"),
        ("move --tip 260 80 170", "'260', must be a number from -10 to 10 m, or one with its unit (mm, cm, m)"),
        ("up --seed -1", "argument --seed: '-1', must be a whole number from 0"),
    ],
)
def test_numbers_of_options_are_finite_and_in_range(capsys, words, said):
    with raises(SystemExit) as ended:
        cli.main(words.split())
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 2 and said in complaint and len(complaint) < 300


@mark.parametrize(
    "words, said",
    [
        ("mvoe", "error: no 'mvoe': did you mean move? (see picker --help)"),
        ("wxyz", "error: no 'wxyz' (see picker --help)"),
        ("help mvoe", "error: no 'mvoe': did you mean move? (see picker --help)"),
        ("study rpr", "error: no 'rpr': did you mean rrp? (see picker study --help)"),
        ("check --urdf x", "error: unrecognized arguments: --urdf (see picker check --help)"),
        ("move 0.2 0 0.1 --strait", "error: unrecognized arguments: --strait: did you mean --straight? (see picker move --help)"),
        ("jog", "error: the following arguments are required: joint, AMOUNT (see picker jog --help)"),
    ],
)
def test_what_is_misspelt_is_answered_in_one_line_with_what_was_meant(capsys, words, said):
    with raises(SystemExit) as ended:
        cli.main(words.split())
    assert ended.value.code == 2 and capsys.readouterr().err == f"{said}\n"


def test_help_is_a_command_too(capsys):
    texts = []
    for words in (["help", "move"], ["move", "--help"]):
        with raises(SystemExit):
            cli.main(words)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and "usage: picker move" in texts[0]


# -- before anything starts ----------------------------------------------------------------------------


@mark.parametrize(
    "words, code, named",
    [
        ("up --namespace '2 bad'", 4, "namespace is '2 bad'"),
        ("up --urdf {}/two.urdf --servos {}/two.yaml", 4, "two.yaml"),
        ("up --sim --urdf {}/still.urdf", 3, "still.urdf)"),
        ("status --namespace '2 bad'", 4, "namespace is '2 bad', must be names of letters, digits and _, separated by /"),
        ("move --joints base=20", 9, "no running arm answers"),
        ("move", 5, "give X Y Z of the tip in metres, or --joints NAME=VALUE"),
        ("jog base ten", 5, "base: 'ten' is not a number"),
        ("replay nosuch", 5, "no file nosuch.yaml; picker teach nosuch makes a motion"),
        ("place 0.1 -0.2", 5, "give X Y Z in metres"),
        ("stop --host nowhere.invalid:1", 9, "no running arm answers at nowhere.invalid:1"),
        ("stop --host nowhere", 4, "PICKER_HOST is 'nowhere', must be HOST:PORT"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused_in_one_line(picker_command, tmp_path, words, code, named):
    still = re.sub('velocity="[^"]*"', 'velocity="0"', TWO_LINKS)
    texts = {"still.urdf": still, "two.urdf": TWO_LINKS, "two.yaml": resource("config/servos.yaml").read_text()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with own_domain():
        found, said, complaints = picker_command(*shlex.split(words.replace("{}", str(tmp_path))))
    assert found == code and said == "" and len(complaints) == 1
    assert complaints[0].startswith("error: ") and named in complaints[0] and len(complaints[0]) < 400


def test_up_refuses_where_an_arm_runs_and_a_domain_that_does_not_exist(picker_command, monkeypatch):
    with own_domain():
        claim = Claim("left")
        code, said, complaints = picker_command("up", "--sim", "--namespace", "left")
        claim.close()
    assert code == 15 and said == "" and "end that one" in complaints[0]
    monkeypatch.setenv("ROS_DOMAIN_ID", "xx")
    assert picker_command("up", "--sim")[2] == ["error: ROS_DOMAIN_ID is 'xx', must be a whole number from 0 to 232"]


@mark.ros
def test_a_number_that_a_node_refuses_ends_picker_up_with_its_complaint(tmp_path):
    file = tmp_path / "slow.yaml"
    file.write_text("/**/trajectory_controller: {ros__parameters: {rate_hz: 5.0}}")
    with own_domain():
        done = subprocess.run(
            [PICKER, "up", "--sim", "--params-file", str(file)], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == runner.ProcessEndedError.exit_code
    assert "arm ended by itself with exit code 4" in done.stderr
    assert "rate_hz" in done.stderr and "Traceback" not in done.stderr


# -- the others ----------------------------------------------------------------------------------------


@mark.parametrize("delay_s", [0.0, 0.5])
def test_ctrl_c_ends_a_command_without_a_traceback_at_any_time(delay_s):
    start = "import signal, sys; real = signal.signal; "
    start += "signal.signal = lambda *how: (real(*how), print('begins', flush=True))[0]; "
    start += "from picker_dynamics.__main__ import main; sys.exit(main())"
    command, pipe = [sys.executable, "-c", start, "check", "--samples", "1000000"], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        process.stdout.readline()
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in said and process.returncode == 130, (process.returncode, said)


@mark.parametrize("words, code", [(("check", "--samples", "50"), 1), (("--help",), 0)])
def test_a_command_whose_reader_has_ended_ends_without_noise(words, code):
    reader, writer = os.pipe()
    os.close(reader)
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}  # what is left at the end is what Python complains about
    command = [sys.executable, "-m", "picker_dynamics", *words]
    with open(writer, "wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env=buffered, timeout=60)
    assert (done.returncode, done.stderr) == (code, "")


@mark.parametrize("words, most_mb", [(("up", "--sim"), 500), (("demo",), 500), (("check",), 160)])
def test_too_little_memory_is_said_in_one_line_and_leaves_nothing_behind(tmp_path, words, most_mb):
    here = os.environ | {"TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    command = ["sh", "-c", f'ulimit -v {most_mb << 10}; exec "$@"', "sh", sys.executable, "-m", "picker_dynamics", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=here, cwd=tmp_path, timeout=PATIENCE_S)
    assert done.returncode and done.stdout == "" and list(tmp_path.iterdir()) == []
    assert re.fullmatch(rf"error: .*a process may take {most_mb} MB of memory here \(ulimit -v\).*\n", done.stderr), done.stderr


def test_the_installed_command_knows_its_version():
    done = subprocess.run([PICKER, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == f"picker_dynamics {__version__}"


@mark.parametrize("words", [["study", "rrp"], ["demo"], ["compare", "shipped", "shipped"], ["calibrate", "--simulated"]])
def test_without_what_shows_results_a_command_names_the_extra(words):
    start = "import sys; sys.modules['rich'] = None; from picker_dynamics.commands.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", start, *words], capture_output=True, text=True, timeout=PATIENCE_S)
    way = f'error: rich is not installed; picker {words[0]} needs it: pip install "picker_dynamics[demo]"\n'
    assert (done.returncode, done.stderr) == (11, way)
