"""A recording as pages see it: where the arm was at each time, what was said then; and that nothing moves."""

import json
import threading

import pytest
import recordings
from view_pages import Told
from waiting import until

from picker_dynamics.errors import GoalRefusedError, RecordingError
from picker_dynamics.scripting.view.recording import open_recording
from picker_dynamics.scripting.view.requests import read


def do(view, **values):
    return view.do(read(json.dumps(values).encode()), "a.1")


@pytest.fixture
def view(tmp_path):
    made = open_recording(recordings.written_by_us(tmp_path / "run.mcap"))
    thread = threading.Thread(target=made.run, args=(lambda: False,), daemon=True)
    thread.start()
    yield made
    made.close()
    made.channel.close()
    thread.join()


def test_at_each_time_the_arm_is_where_it_was(view):
    reader = Told(view.channel)
    for at_s in (0.5, 2.0, 1.0):
        do(view, do="play", on=False, at_s=at_s)
        until(lambda at_s=at_s: reader.newest.get("pose", {}).get("t") == at_s, "the pose there")
        until(lambda at_s=at_s: reader.newest.get("play", {}).get("at_s") == at_s, "the place on the time line")
        assert reader.newest["pose"]["q"]["reference"] == pytest.approx(recordings.wanted(100.0 + at_s), abs=0.02)
        assert reader.newest["pose"]["q"]["state"] == pytest.approx(recordings.wanted(100.0 + at_s) + 0.01, abs=0.02)


def test_it_plays_says_what_was_said_and_begins_again(view):
    reader = Told(view.channel)
    do(view, do="play", on=True, at_s=0.0, rate=10.0)
    until(lambda: sum("refused: too far" in text for text in reader.said) > 1, "the second round")
    assert "2.0 s: refused: too far" in reader.said


def test_nothing_moves_and_a_stop_has_nothing_to_stop(view):
    for asked in ({"do": "home"}, {"do": "joints", "to": {"base": 0.1}}, {"do": "payload", "kg": 0.1}, {"do": "reset"}):
        with pytest.raises(GoalRefusedError, match="a recording: nothing moves"):
            do(view, **asked)
    assert "nothing to stop" in view.stop()


def test_a_recording_of_another_arm_is_refused_by_its_joints(tmp_path):
    with pytest.raises(RecordingError, match="joints base, shoulder.*the arm rrp has theta1"):
        open_recording(recordings.written_by_us(tmp_path / "run.mcap"), arm="rrp")
