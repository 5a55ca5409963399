"""``picker drive`` on the running graph, through a terminal: what a key moves, who may drive, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
from arm_fixtures import rigid_body
from geometry_msgs.msg import TwistStamped
from patient import patiently
from scenarios.bench import at_home, driver, is_told, moved, press_until, publishing, until, until_free, until_phase, until_shown
from waiting import PATIENCE_S, run
from waiting import until as wait_until

from benchmarks.terminal import Terminal
from picker_dynamics.errors import GoalRefusedError

pytestmark = [pytest.mark.ros, pytest.mark.long]

ENDS = {"q": "q", "Ctrl-C": "\x03", "Ctrl-D": "\x04", "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP}


@pytest.fixture
def terminal(client, board):
    """``picker drive``, which has the arm at its home pose."""
    at_home(client, board)
    with Terminal(patiently("picker", "drive")) as terminal:
        drives(client, terminal)
        yield terminal
        print(terminal.shown[-3000:])
    until_free(client)


def drives(client, terminal) -> None:
    """Wait until it does."""
    until_shown(client, terminal, "holding")
    until(client, lambda: driver(client), "a driver")


def steps(client) -> int:
    """How many steps there were of anybody who drives."""
    return sum("/" in goal for goal in client.outcomes)


def pressed(client, terminal, keys: str) -> np.ndarray:
    """Press keys and wait until what they began is done; the pose that is held then."""
    before = steps(client)
    press_until(client, terminal, keys, lambda: steps(client) > before and client.controller["phase"] == "holding")
    return client.reference()


def tip(q) -> np.ndarray:
    return rigid_body().forward_kinematics(q)


def test_each_press_is_one_step(client, terminal):
    held = client.reference()
    after = pressed(client, terminal, "\x1b[A")
    np.testing.assert_allclose(tip(after) - tip(held), [0.005, 0.0, 0.0], atol=1e-4)
    held, after = after, pressed(client, terminal, "2-")
    np.testing.assert_allclose(after - held, moved(np.zeros(5), shoulder=-np.radians(5.0)), atol=1e-6)
    held, after = after, pressed(client, terminal, ",+++++")  # five at once are one
    np.testing.assert_allclose(after - held, moved(np.zeros(5), shoulder=np.radians(1.0)), atol=1e-6)
    assert "dropped: the key repeats itself" in terminal.shown


def test_what_may_not_be_is_refused_in_the_gates_words(client, terminal):
    held = client.reference()
    for key in "5....":
        terminal.press(key)
        client.spin(0.3)
    terminal.press("+")  # the scissor, home at its upper limit
    until_shown(client, terminal, "scissor", "limit")
    terminal.press(":nonsense\r")
    until_shown(client, terminal, "means nothing")
    is_told(client, held, 1e-9)


def test_nobody_else_moves_it_meanwhile_and_a_second_driver_is_told_who_has_it(client, terminal):
    held = client.reference()
    with Terminal(patiently("picker", "drive")) as second:
        assert second.process.wait(PATIENCE_S) == GoalRefusedError.exit_code
        wait_until(lambda: f"a driver {driver(client)} moves the arm" in " ".join(second.shown.split()), second.shown)
    with pytest.raises(GoalRefusedError, match=f"moved by another .driver {driver(client)}"):
        client.move_through([1.0], [moved(base=0.2)])
    is_told(client, held, 1e-9)


def test_of_a_terminal_that_was_killed_the_arm_comes_to_rest(client, terminal):
    for key in "1..":
        terminal.press(key)
        client.spin(0.3)
    held = client.reference()
    press_until(client, terminal, "+", lambda: client.controller["phase"] == "executing")  # 20 degrees
    terminal.process.kill()
    until_phase(client)
    until_free(client)
    assert client.reference()[0] - held[0] < np.radians(20.0)
    assert client.move_through([1.0], [held])


@pytest.mark.parametrize("how", ENDS)
def test_however_it_ends_the_terminal_is_as_before_and_the_arm_free(client, terminal, how):
    assert not terminal.cooked
    end = ENDS[how]
    if isinstance(end, str):
        terminal.press(end)
    else:
        terminal.process.send_signal(end)
    assert terminal.process.wait(PATIENCE_S) == 0
    assert terminal.cooked
    until_free(client)
    assert client.move_through([1.0], [moved(base=0.05)])


def test_of_a_terminal_that_is_closed_the_arm_is_free(client, terminal):
    terminal.hang_up()
    assert terminal.process.wait(PATIENCE_S) == 0
    until_free(client)


def test_a_space_stops_and_only_words_bring_it_back(client, terminal):
    terminal.press(" ")
    until(client, client.is_stopped, "a latched stop")
    press_until(client, terminal, "+", lambda: "dropped: hardware: " in terminal.shown)
    for word, state in (("reset", "idle"), ("enable", "active")):
        reached = lambda wanted=state: client.hardware["state"] == wanted and not client.is_stopped()  # noqa: E731
        press_until(client, terminal, f":{word}\r", reached)
    until_phase(client)
    until(client, lambda: driver(client), "a driver")
    press_until(client, terminal, "p20\r", lambda: "payload set" in terminal.shown)
    assert client.payload() == pytest.approx(0.02)
    terminal.press("p0\r")
    until(client, lambda: client.payload() == 0.0, "no payload")


def test_suspended_it_gives_terminal_and_arm_back(client, board):
    at_home(client, board)
    words = " ".join(f"'{word}'" for word in patiently("picker", "drive"))
    with Terminal(["bash", "-c", f"set -m; {words}; echo suspended; read; fg"]) as terminal:
        drives(client, terminal)
        terminal.press("\x1a")
        until_shown(client, terminal, "suspended")
        until_free(client)
        assert terminal.cooked
        terminal.press("\r")
        until_shown(client, terminal, "back from suspension")
        until(client, lambda: driver(client), "a driver")
        assert not terminal.cooked
        terminal.press("q")
        assert terminal.process.wait(PATIENCE_S) == 0 and terminal.cooked


def test_a_velocity_of_the_tip_moves_it_until_it_falls_silent(client, board):
    """As teleoperation for MoveIt Servo sends it."""
    at_home(client, board)
    begin = tip(client.reference())
    message = TwistStamped()
    message.header.frame_id, message.twist.linear.y = "base_link", 0.05
    with publishing(client, TwistStamped, "arm_controller/delta_twist_cmds", 10) as twists:
        said = client.create_timer(0.02, lambda: twists.publish(message))
        until(client, lambda: (tip(client.desired) - begin)[1] > 0.04, "the tip goes along y")
        assert client.controller["lease"] == "stream jog"
        client.destroy_timer(said)
    until(client, lambda: client.controller["phase"] == "holding" and not client.controller["lease"], "it holds")
    way = tip(client.reference()) - begin
    assert np.linalg.norm(way[[0, 2]]) < 0.004


def test_keys_come_from_a_terminal_or_not_at_all():
    words = [sys.executable, "-m", "picker_dynamics", "drive"]
    said = run(*words, stdin=subprocess.DEVNULL)
    assert said.returncode == 5 and said.stderr.count("\n") == 1 and "standard input is none" in said.stderr
