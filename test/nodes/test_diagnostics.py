"""What is said again and again is cut to a rate, and texts to a length."""

from pytest import approx
from std_msgs.msg import Header

from benchmarks.ros_operator import values_of
from picker_dynamics.nodes.diagnostics import Flood, message_of, sender_in
from picker_dynamics.session.entry import OK, entry


def test_a_flood_passes_at_its_rate_what_comes_seldom_always_and_the_others_are_counted():
    flood = Flood(20.0)
    passed = sum(flood.lets_pass(1e-3 * k) for k in range(10_000))  # 1 kHz for 10 s
    assert passed == approx(20 + 20 * 10, abs=1) and flood.missed == 10_000 - passed
    assert [flood.lets_pass(70.0) for _ in range(21)] == [True] * 20 + [False], "a second's worth at once, after any silence"
    assert all(flood.lets_pass(100.0 + 0.06 * k) for k in range(100))


def test_what_others_name_is_cut_wherever_it_is_said():
    said = message_of(entry(OK, "hardware: board", "m" * 100_000, goal="g" * 100_000, rate=0.1), "left/hardware")
    assert said.name == "left/hardware: board"
    assert len(said.message) < 1100 and "(100000 characters)" in said.message
    assert len(values_of(said)["goal"]) < 1100 and values_of(said)["rate"] == "0.1"
    assert len(sender_in(Header(frame_id="z" * 5000))) < 250 and sender_in(Header(frame_id="goal 7")) == "goal 7"
