"""Texts of others are cut to a length."""

from std_msgs.msg import Header

from benchmarks.ros_operator import values_of
from picker_dynamics.nodes.runtime import message_of, sender_in
from picker_dynamics.session.entry import OK, entry


def test_what_others_name_is_cut_wherever_it_is_said():
    said = message_of(entry(OK, "hardware: board", "m" * 100_000, goal="g" * 100_000, rate=0.1), "left/hardware")
    assert said.name == "left/hardware: board"
    assert len(said.message) < 1100 and "(100000 characters)" in said.message
    assert len(values_of(said)["goal"]) < 1100 and values_of(said)["rate"] == "0.1"
    assert len(sender_in(Header(frame_id="z" * 5000))) < 250 and sender_in(Header(frame_id="goal 7")) == "goal 7"
