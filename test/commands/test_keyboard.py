"""Keys of who drives: what they mean, and that a key which is held down means one press."""

import pytest

from picker_dynamics.commands.keyboard import Action, Keys, keys_in


@pytest.fixture
def keys():
    return Keys(5)


def pressed(keys, typed, every_s=1.0, begin_s=0.0):
    """The actions of keys that are pressed one after another."""
    actions = [keys.press(key, begin_s + every_s * i) for i, key in enumerate(typed)]
    return [action for action in actions if action is not None]


@pytest.mark.parametrize(
    ("key", "action"),
    [
        ("up", Action("tip", 0, 1)),
        ("t", Action("tip", 3, 1)),
        ("+", Action("joint", 0, 1)),
        ("o", Action("gripper", 0, 1)),
        (" ", Action("stop")),
        ("q", Action("quit")),
        ("m", Action("m")),
    ],
)
def test_what_a_key_means(keys, key, action):
    assert keys.press(key, 0.0) == action


def test_joint_and_size_are_chosen(keys):
    assert pressed(keys, "3+9-") == [Action("joint", 2, 1), Action("joint", 2, -1)]  # there is no joint 9
    sizes = [keys.step]
    for typed in ("...", ",,,,"):
        pressed(keys, typed)
        sizes.append(keys.step)
    assert sizes == [5, 20, 1]


@pytest.mark.parametrize("every_s", [0.02, 0.1, 0.19])
def test_a_key_that_is_held_is_one_press_and_with_the_pause_before_it_repeats_two(keys, every_s):
    first = keys.press("up", 0.0)
    held = pressed(keys, ["up"] * 500, every_s, begin_s=0.5)
    assert first == Action("tip", 0, 1) and held == [Action("tip", 0, 1)]
    assert keys.press("up", 1000.0) == Action("tip", 0, 1)


def test_all_that_is_pasted_counts_once_and_the_stop_always(keys):
    assert pressed(keys, "++++  + ", every_s=0.0) == [Action("joint", 0, 1), Action("stop"), Action("stop"), Action("stop")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\x1b[Ab", ["a", "up", "b"]),
        ("\x1bOC\x1b[5~\x1b[6~", ["right", "page up", "page down"]),
        ("\x1b", ["\x1b"]),
        ("\x1b[1;5A\x1b[200~\x1b[?1;2c", []),  # Ctrl-up, the begin of a paste, what a terminal says of itself
        ("\x1b+", []),  # with Alt
    ],
)
def test_keys_in_what_a_terminal_sends(text, found):
    assert keys_in(text) == found
