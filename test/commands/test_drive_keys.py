"""Keys of who drives: what they mean, and that a key which is held down means one press."""

from __future__ import annotations

import pytest

from picker_dynamics.commands.drive_keys import Action, Panel
from picker_dynamics.commands.keyboard import keys_in


@pytest.fixture
def panel():
    return Panel(5)


def pressed(panel, keys, every_s=1.0, begin_s=0.0):
    """The actions of keys that are pressed one after another."""
    actions = [panel.press(key, begin_s + every_s * i) for i, key in enumerate(keys)]
    return [action for action in actions if action not in (None, Action("repeated"))]


@pytest.mark.parametrize(
    ("key", "action"),
    [
        ("up", Action("tip", 0, 1)),
        ("t", Action("tip", 3, 1)),
        ("+", Action("joint", 0, 1)),
        ("o", Action("gripper", 0, 1)),
        (" ", Action("stop")),
        ("q", Action("quit")),
        ("x", None),
        ("ä", None),
    ],
)
def test_what_a_key_means(panel, key, action):
    assert panel.press(key, 0.0) == action


def test_joint_and_size_are_chosen(panel):
    assert pressed(panel, "3+9-") == [Action("joint", 2, 1), Action("joint", 2, -1)]  # there is no joint 9
    assert panel.step == 5
    pressed(panel, "...")
    assert panel.step == 20
    pressed(panel, ",,,,", begin_s=10.0)
    assert panel.step == 1


@pytest.mark.parametrize("every_s", [0.02, 0.1, 0.19])
def test_a_key_that_is_held_is_one_press_and_with_the_pause_before_it_repeats_two(panel, every_s):
    first = panel.press("up", 0.0)
    held = pressed(panel, ["up"] * 500, every_s, begin_s=0.5)
    assert first == Action("tip", 0, 1) and held == [Action("tip", 0, 1)]
    assert panel.press("up", 1000.0) == Action("tip", 0, 1)


def test_all_that_is_pasted_counts_once_and_the_stop_always(panel):
    assert pressed(panel, "++++  + ", every_s=0.0) == [Action("joint", 0, 1), Action("stop"), Action("stop"), Action("stop")]


def test_words_need_enter_and_a_space_stops_while_they_are_typed(panel):
    assert pressed(panel, ":resex\x7ft\n") == [Action("words", words=("reset",))]
    assert pressed(panel, "p25\r", begin_s=10.0) == [Action("words", words=("payload", "25"))]
    assert pressed(panel, ":enable ", begin_s=20.0) == [Action("stop")] and panel.line is None
    assert pressed(panel, ":up+q\x1b+", begin_s=30.0) == [Action("joint", 0, 1)]
    assert pressed(panel, ":\n", begin_s=40.0) == [] and panel.line is None


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a\x1b[Ab", ["a", "up", "b"]),
        ("\x1bOC\x1b[5~\x1b[6~", ["right", "page up", "page down"]),
        ("\x1b", ["\x1b"]),
        ("\x1b[1;5A\x1b[200~\x1b[?1;2c", []),  # Ctrl-up, the begin of a paste, what a terminal says of itself
        ("\x1b+", []),  # with Alt
    ],
)
def test_keys_in_what_a_terminal_sends(text, keys):
    assert keys_in(text) == keys
