"""``picker teach`` and ``picker replay`` on the running graph: taught through a terminal, made again, refused as a whole."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from arm_fixtures import picker as picker_arm
from patient import patiently, picker
from scenarios.bench import HOME, at_home, is_told, moved, press_until, until, until_shown
from waiting import run

from benchmarks.terminal import Terminal
from picker_dynamics.errors import GoalRefusedError, InputError, LinkError
from picker_dynamics.scripting import taught
from picker_dynamics.scripting.taught import Pause, Payload

pytestmark = [pytest.mark.ros, pytest.mark.long]

HEAD = "arm: picker\njoints: {base: deg, shoulder: deg, elbow: deg, wrist: deg, scissor: deg}\nsteps:\n"


def test_what_was_taught_by_keys_is_made_again(client, board, tmp_path):
    at_home(client, board)
    path = tmp_path / "tour.yaml"

    def typed(terminal, keys: str, steps: int) -> None:
        def kept() -> bool:  # a file that was just opened is still empty
            return path.exists() and path.stat().st_size > 0 and len(taught.read(path, picker_arm()).steps) == steps

        press_until(client, terminal, keys, kept)

    with Terminal(patiently("picker", "teach", str(path))) as terminal:
        until_shown(client, terminal, "m keeps a pose", "holding")
        typed(terminal, "mhome\r", 1)
        typed(terminal, "w0.2\r", 2)
        typed(terminal, "kgrip\r", 3)
        typed(terminal, "w9\r", 4)
        typed(terminal, ":undo\r", 3)
        typed(terminal, "p10\r", 4)
        until_shown(client, terminal, "payload set")
        typed(terminal, "p0\r", 5)
        terminal.press("q")
        assert terminal.process.wait(60.0) == 0
        until_shown(client, terminal, "picker replay ")
        until(client, lambda: not client.controller["lease"], "the end of it")
    home, pause, grip, payload, _ = taught.read(path, picker_arm()).steps
    np.testing.assert_allclose([home.at[name] for name in picker_arm().joint_names], HOME, atol=1e-3)
    assert list(grip.at) == ["scissor"] and (pause, payload) == (Pause(0.2), Payload(pytest.approx(0.01)))

    client.move_through([2.0], [moved(base=0.4, wrist=-0.3)])
    assert picker("teach", str(path), "--here", "aside").returncode == 0
    done = picker("replay", str(path), "--loop", "2", "--speed", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("step 6: aside") == 2 and done.stdout.endswith("done: 12 steps\n")
    is_told(client, moved(base=0.4, wrist=-0.3), 1e-3)
    looked = picker("replay", str(path), "--check", "--from", "aside")
    assert looked.returncode == 0 and "1 steps" in looked.stdout


REFUSED = {
    "another arm's": (HEAD.replace("arm: picker", "arm: rrp") + "- pause: 1\n", InputError, "taught for the arm rrp"),
    "damaged": (HEAD + "- {pose: a\n", InputError, "cannot read taught motion"),
    "an unknown step": (HEAD + "- {pose: a, at: {base: 20}}\n- dance: 1\n", InputError, "step 2 must have one of"),
    "NaN": (HEAD + "- {pose: a, at: {base: 20}}\n- pause: .nan\n", InputError, "step 2: pause [s] is nan"),
    "what cannot be held": (
        HEAD + "- {pose: a, at: {base: 20}}\n- {pose: far, at: {shoulder: 0, elbow: 0, wrist: 0}}\n",
        GoalRefusedError,
        "step 2 (far) cannot be made, so none is",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_where_something_is_wrong_nothing_moves(client, board, tmp_path, what):
    text, kind, said = REFUSED[what]
    path = tmp_path / "tour.yaml"
    path.write_text(text)
    held = client.reference()
    done = picker("replay", str(path))
    assert (done.returncode, done.stderr.count("\n")) == (kind.exit_code, 1), done.stderr
    assert said in done.stderr and "step 1: a" not in done.stdout
    is_told(client, held, 1e-9)


def test_a_recording_is_made_again(client, board, tmp_path):
    pytest.importorskip("mcap")
    at_home(client, board)
    path = tmp_path / "run.mcap"
    with Terminal(patiently("picker", "record", "-o", str(path))) as recorder:
        until_shown(client, recorder, "recording to")
        client.spin(1.0)
        for base in (0.4, -0.2):
            client.move_through([2.0], [moved(base=base)])
        recorder.press("\x03")
        recorder.process.wait(60.0)
    at_home(client, board)

    with (
        client.hearing(type(client.message([1.0], [HOME])), "arm_controller/reference") as heard,
        Terminal(patiently("picker", "replay", str(path), "--speed", "0.8")) as player,
    ):
        until(client, lambda: player.process.poll() is not None, "the end of the replay")

    swings = [message.points[0].positions[0] for message in heard]
    assert player.process.returncode == 0, player.shown
    assert max(swings) == pytest.approx(0.4, abs=0.01) and swings[-1] == pytest.approx(-0.2, abs=0.01)
    assert math.isclose(min(swings), -0.2, abs_tol=0.02)


def test_where_no_graph_runs_that_is_said(tmp_path):
    (tmp_path / "tour.yaml").write_text(HEAD + "- pause: 1\n")
    words = [sys.executable, "-m", "picker_dynamics", "replay", str(tmp_path / "tour.yaml"), "--namespace", "nobody_here"]
    done = run(*words)
    assert done.returncode == LinkError.exit_code and "picker up" in done.stderr
