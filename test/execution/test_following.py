"""Who is missing between a reference and an arm that moves."""

from __future__ import annotations

import pytest

from picker_dynamics.execution.following import FIRST_S, HEARD_S, LOST_S, Following, Missing

RATE_HZ, LOOK_EVERY, LEAD_S = 100.0, 5, 0.06
BEGIN_S = 1000.0


class Watched:
    """A controller's references, and what comes of them; looked at as the node does."""

    def __init__(self, state_every: int = 2, **options):
        self.following = Following(1.0 / RATE_HZ, **options)
        self.commands, self.states, self.state_every = True, True, state_every
        self.tick, self.heard = 0, 0.0

    def stamp(self, tick: int) -> float:
        return BEGIN_S + tick / RATE_HZ

    def run(self, duration_s: float) -> float | None:
        """How long it took until somebody was missing; None: nobody was."""
        begin, fresh = self.tick, False
        for self.tick in range(begin + 1, begin + 1 + round(duration_s * RATE_HZ)):
            self.following.sent(self.stamp(self.tick), self.stamp(self.tick) + LEAD_S)
            fresh |= self.states and self.tick % self.state_every == 0
            if self.tick % LOOK_EVERY == 0:
                if self.commands:
                    self.following.commanded(self.heard or self.stamp(self.tick - 1))
                if fresh:
                    self.following.stated()
                fresh = False
                if self.following.missing:
                    return (self.tick - begin) / RATE_HZ
        return None


def test_nobody_is_missing_while_all_do_their_part():
    watched = Watched()
    assert watched.run(5.0) is None
    assert watched.following.followed_s == pytest.approx(watched.stamp(watched.tick - 1) + LEAD_S)


@pytest.mark.parametrize(("who", "said"), [("commands", Missing.COMMANDS), ("states", Missing.STATES)])
def test_who_stops_is_missed_within_a_quarter_of_a_second_until_it_is_back(who, said):
    watched = Watched()
    watched.run(3.0)
    setattr(watched, who, False)
    assert LOST_S < watched.run(1.0) < 0.3 and watched.following.missing is said
    watched.run(1.0)
    assert watched.following.missing is said
    setattr(watched, who, True)
    watched.run(2.0 * LOOK_EVERY / RATE_HZ)
    assert watched.following.missing is None


def test_an_epoch_that_nobody_follows_is_told_from_one_that_was_followed():
    watched = Watched()
    watched.run(3.0)
    watched.following.begins(watched.stamp(watched.tick + 1) + LEAD_S)
    watched.commands = False
    watched.run(1.0)
    assert watched.following.unfollowed
    watched.commands = True
    assert watched.run(1.0) is None and not watched.following.unfollowed
    watched.commands = False
    watched.run(1.0)
    assert watched.following.missing is Missing.COMMANDS and not watched.following.unfollowed


@pytest.mark.parametrize("who", ["commands", "states"])
def test_at_the_start_they_have_more_time_to_find_each_other(who):
    watched = Watched()
    setattr(watched, who, False)
    assert FIRST_S <= watched.run(5.0) < FIRST_S + 0.1


@pytest.mark.parametrize(("before", "patience_s"), [(False, FIRST_S), (True, HEARD_S)])
def test_commands_have_to_reach_the_hardware_at_the_start_and_each_time_it_begins_to_hold(before, patience_s):
    watched = Watched()
    if before:
        watched.following.heard(True)
    watched.following.heard(None)  # disabled: it takes none
    assert watched.run(5.0) is None
    watched.following.heard(False)
    watched.run(0.1)
    watched.following.heard(False)  # said again, of something else
    assert patience_s - 0.1 <= watched.run(5.0) < patience_s and watched.following.missing is Missing.DELIVERY
    watched.following.heard(True)
    assert watched.run(1.0) is None


def test_somebody_elses_commands_are_no_answer():
    watched = Watched()
    watched.run(3.0)
    watched.heard = 7.0
    assert watched.run(1.0) < 0.3 and watched.following.missing is Missing.COMMANDS
    assert not watched.following.known(7.0) and watched.following.known(watched.stamp(watched.tick))


def test_commands_that_bear_the_stamps_of_states_count_too_where_efforts_are_sent():
    watched = Watched(echoes=False)
    watched.heard = 7.0
    assert watched.run(3.0) is None
    assert watched.following.followed_s == pytest.approx(watched.stamp(watched.tick) + LEAD_S)


@pytest.mark.parametrize("rate_hz", [50.0, 10.0, 2.0])
def test_states_that_come_slowly_are_not_missed(rate_hz):
    watched = Watched(state_every=round(RATE_HZ / rate_hz))
    assert watched.run(6.0) is None
    watched.states = False
    assert watched.run(3.0) < max(0.3, 3.2 / rate_hz)


def test_a_controller_that_stood_still_misses_nobody():
    """Time is counted in its ticks: after a pause of its own the first look comes before the answers."""
    watched = Watched()
    watched.run(3.0)
    watched.tick += 500
    watched.commands = watched.states = False
    assert watched.run(LOST_S - 0.05) is None
    watched.commands = watched.states = True
    assert watched.run(1.0) is None


def test_a_board_that_does_not_confirm_commands_is_missed_at_once_while_it_takes_any():
    watched = Watched()
    watched.run(3.0)
    watched.following.heard(True, confirmed=False)
    assert watched.following.missing is Missing.CONFIRMATION
    watched.following.heard(True, confirmed=True)
    assert watched.following.missing is None
