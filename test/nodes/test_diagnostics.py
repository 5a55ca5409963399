"""What is said again and again is cut to a rate, and nothing of it is lost count of."""

from pytest import approx
from std_msgs.msg import Header

from picker_dynamics.nodes.diagnostics import Flood, message_of, sender_in, values_of
from picker_dynamics.session.entry import OK, entry


def test_a_flood_passes_at_its_rate_and_the_others_are_counted():
    now = [0.0]
    flood = Flood(20.0, lambda: now[0])
    passed = 0
    for k in range(10_000):  # 1 kHz for 10 s
        now[0] = 1e-3 * k
        passed += flood.lets_pass()
    assert passed == approx(20 + 20 * 10, abs=1) and flood.missed == 10_000 - passed
    assert flood.withheld() == f" (and {flood.missed} more)" and flood.withheld() == ""
    now[0] += 60.0
    assert [flood.lets_pass() for _ in range(21)] == [True] * 20 + [False], "a second's worth at once, after any silence"


def test_what_comes_seldom_always_passes():
    now = [0.0]
    flood = Flood(5.0, lambda: now[0])
    for k in range(100):
        now[0] = 0.21 * k
        assert flood.lets_pass()
    assert flood.missed == 0 and flood.withheld() == ""


def test_what_others_name_is_cut_wherever_it_is_said():
    said = message_of(entry(OK, "hardware: board", "m" * 100_000, goal="g" * 100_000, rate=0.1), "left/hardware")
    assert said.name == "left/hardware: board"
    assert len(said.message) < 1100 and "(100000 characters)" in said.message
    assert len(values_of(said)["goal"]) < 1100 and values_of(said)["rate"] == "0.1"
    assert len(sender_in(Header(frame_id="z" * 5000))) < 250 and sender_in(Header(frame_id="goal 7")) == "goal 7"
