"""Recordings: what is written is what other people's readers find; what is read is what was sent; figures of it."""

import dataclasses
import resource as system
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, fixture, importorskip, mark, raises
from recordings import NAMES, STATES, joint_state, story, wanted, written_by_us, written_elsewhere
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin

from picker_dynamics.commands import cli, plot
from picker_dynamics.errors import ConfigurationError, RecordingError
from picker_dynamics.recording import messages, writer
from picker_dynamics.recording.reader import Series, read, tracking_error, with_gaps
from picker_dynamics.recording.writer import Recording, checked_path

LIMIT_BYTES = 100_000
EMPTY = Series(np.zeros(0), np.zeros((0, 5)))


# -- writing -----------------------------------------------------------------------------------------------------


def test_other_readers_find_every_message_with_its_time_and_qos(tmp_path):
    from mcap.reader import make_reader

    told, path = story("/left"), tmp_path / "a.mcap"
    written_by_us(path, told)
    with AnyReader([path]) as reader:
        found = [
            (one.topic, one.msgtype, time_ns, reader.deserialize(data, one.msgtype)) for one, time_ns, data in reader.messages()
        ]
        durability = {one.topic: one.ext.offered_qos_profiles[0].durability.name for one in reader.connections}
    assert [(topic, kind, time_ns) for topic, kind, time_ns, _ in found] == [(a, b, round(t * 1e9)) for a, b, t, _ in told]
    assert_array_equal(found[-1][3].position, told[-1][3].position)
    assert durability["/left/arm_controller/status"] == "TRANSIENT_LOCAL" and durability["/left/joint_states"] == "VOLATILE"
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        made = reader.get_summary()
        assert reader.get_header().profile == "ros2" and {one.encoding for one in made.schemas.values()} == {"ros2msg"}
        assert {one.message_encoding for one in made.channels.values()} == {"cdr"}
        assert made.statistics.message_count == len(told)


@mark.parametrize("out, said", [("somewhere/", "name of a file"), ("nowhere/a", "no folder nowhere"), ("there.mcap", "exists")])
def test_a_name_that_cannot_be_is_refused_with_the_reason(tmp_path, monkeypatch, out, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.mcap").touch()
    with raises(ConfigurationError, match=said):
        Recording(checked_path(out))
    assert {path.name for path in tmp_path.iterdir()} == {"there.mcap"}
    assert checked_path(None, "/cell/left").name.startswith("picker_cell_left_2")
    assert checked_path("a b ü").name == "a b ü.mcap"


def test_a_disk_that_takes_no_more_is_said_once_and_what_is_there_can_be_read(tmp_path, monkeypatch):
    before = system.getrlimit(system.RLIMIT_FSIZE)
    path = tmp_path / "full.mcap"
    told = [row for row in story() if "status" not in row[0]] * 10
    system.setrlimit(system.RLIMIT_FSIZE, (LIMIT_BYTES, before[1]))
    try:
        with raises(RecordingError, match=r"stopped after \d+ messages: File too large; .*full.mcap can") as caught:
            written_by_us(path, told)
    finally:
        system.setrlimit(system.RLIMIT_FSIZE, before)
    assert caught.value.exit_code == 13 and path.stat().st_size <= LIMIT_BYTES
    found = read(path)
    assert "no end" in found.damaged and len(found.state) > 20
    assert_allclose(found.state.values[0], wanted(found.state.t[0]) + 0.01, atol=1e-9)
    monkeypatch.setattr(writer, "open", lambda *_: open("/dev/full", "wb"), raising=False)
    recording = Recording(tmp_path / "a.mcap")
    with raises(RecordingError, match="stopped after 0 messages: the disk is full"):
        recording.flush()
    recording.close()  # harmless


# -- reading -----------------------------------------------------------------------------------------------------


@fixture(params=["ours", "mcap bag", "sqlite3 bag", "sqlite3 file"])
def recorded(request, tmp_path) -> Path:
    if request.param == "ours":
        return written_by_us(tmp_path / "a.mcap")
    plugin = StoragePlugin.MCAP if request.param.startswith("mcap") else StoragePlugin.SQLITE3
    folder = written_elsewhere(tmp_path / "bag", story(), plugin)
    return next(folder.glob("*.db3")) if request.param == "sqlite3 file" else folder


def test_series_are_those_that_were_sent_wherever_they_were_recorded(recorded):
    found = read(recorded)
    assert found.joint_names == NAMES and found.arm == "picker" and not found.damaged
    assert [len(found.reference), len(found.state), len(found.setpoint), len(found.torque)] == [STATES] * 4
    assert not len(found.state_torque)
    assert_allclose(found.reference.values, [wanted(t) for t in found.reference.t], atol=1e-9)
    assert_allclose(found.state.values, [wanted(t) + 0.01 for t in found.state.t], atol=1e-9)
    assert_allclose(found.reference.t, 100.0 + 0.02 * np.arange(STATES))
    assert [(event.t, event.outcome) for event in found.events] == [(101.0, "accepted"), (102.0, "refused")]


def test_of_several_arms_one_has_to_be_chosen_and_other_joints_states_are_left_out(tmp_path):
    told = sorted(story("/left") + story("/cell/right", 0.02), key=lambda row: row[2])
    told.append(("/left/joint_states", messages.JOINT_STATE, 111.0, joint_state(111.0, ["finger"], [0.1])))
    path = written_by_us(tmp_path / "two.mcap", told)
    with raises(RecordingError, match="2 arms: choose with --namespace one of 'cell/right', 'left'"):
        read(path)
    right = read(path, "/cell/right")
    assert np.nanmax(tracking_error(right.reference, right.state).values) == approx(0.02, abs=1e-3)
    left = read(path, "left")
    assert len(left.state) == STATES and left.damaged == "left out: 1 joint_states of finger" and not right.damaged
    with raises(RecordingError, match="no arm in namespace 'up'"):
        read(path, "up")


def test_references_with_other_values_than_joints_or_more_points_are_counted(tmp_path):
    def padded(t: float):
        return messages.reference(t, NAMES, [*wanted(t), 0.0, 0.0])

    twice = messages.reference(113.0, NAMES, wanted(113.0))
    twice.points *= 2
    told = story() + [("/arm_controller/reference", messages.TRAJECTORY, t, padded(t)) for t in (111.0, 112.0)]
    found = read(written_by_us(tmp_path / "a.mcap", [*told, (told[-1][0], messages.TRAJECTORY, 113.0, twice)]))
    assert len(found.reference) == STATES + 1
    topic = "arm_controller/reference"
    assert set(found.damaged.split("; ")) == {
        f"left out: 2 {topic} with 7 values for 5 joints",
        f"left out: 1 points beyond the first in {topic}",
    }


def test_a_file_cut_short_or_damaged_is_read_up_to_there(tmp_path):
    whole = bytearray(written_by_us(tmp_path / "a.mcap", story() * 5).read_bytes())
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    whole[len(whole) // 2] ^= 0xFF
    (tmp_path / "damaged.mcap").write_bytes(whole)
    for name in ("cut", "damaged"):
        found = read(tmp_path / f"{name}.mcap")
        assert "no end" in found.damaged and 20 < len(found.state) < 5 * STATES


@mark.parametrize(
    "name, content, said",
    [
        ("a.mcap", b"", "not an MCAP recording"),
        ("a.mcap", b"nonsense" * 99, "not an MCAP"),
        ("a.db3", b"nonsense" * 99, "cannot read"),
        ("gone.mcap", "", "no recording"),
    ],
)
def test_what_is_no_recording_gets_one_clear_line(tmp_path, name, content, said):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        path.mkdir()
    with raises(RecordingError, match=said) as caught:
        read(path)
    assert "\n" not in str(caught.value) and name in str(caught.value)


# -- what is made of it --------------------------------------------------------------------------------------------


def test_the_error_is_taken_at_the_time_of_the_state_and_not_across_gaps():
    t = np.array([0.0, 0.1, 0.2, 5.0, 5.1])
    line = Series(t, 2.0 * t[:, None])
    state = Series(np.array([-1.0, 0.05, 0.15, 3.0, 5.05, 9.0]), np.array([0.0, 0.13, 0.3, 6.0, 10.1, 0.0])[:, None])
    found = tracking_error(line, state).values[:, 0]
    assert_allclose(found, [np.nan, 0.03, 0.0, np.nan, 0.0, np.nan], atol=1e-12)
    broken = with_gaps(line)
    assert len(broken) == 6 and np.isnan(broken.values[3]).all() and (np.diff(broken.t) > 0.0).all()
    assert np.isnan(tracking_error(Series(np.zeros(0), np.zeros((0, 1))), state).values).all()


def test_limits_are_those_of_the_arm_that_was_recorded(tmp_path):
    found = read(written_by_us(tmp_path / "a.mcap"))
    limits = plot.limits_of(found)
    assert_allclose(limits.stall, 1.08)
    assert (limits.hold < limits.peak).all() and (limits.peak < limits.stall).all() and limits.units == ("rad",) * 5
    stranger = dataclasses.replace(found, joint_names=("a", "b", "c", "d", "e"), arm="")
    assert plot.limits_of(stranger) is None
    with raises(ConfigurationError, match="the recording has the joints a, b"):
        plot.limits_of(stranger, arm="picker")
    assert "base: error at most 0.574 deg, rms 0.574 deg, torque at most 0.500 N·m (46 % of stall)" in plot.summary(found, limits)
    assert any("rad or m" in line for line in plot.summary(stranger, None))


def test_plot_writes_a_figure_of_the_series_and_says_where(tmp_path, capsys):
    recorded = written_by_us(tmp_path / "a.mcap")
    importorskip("matplotlib", reason="matplotlib is an extra")
    out = tmp_path / "figures"
    assert cli.main(["plot", str(recorded), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"figure: {out}/a.png" in said and (out / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "base: error at most 0.574 deg" in said
    for file, begins in (("b.svg", b"<?xml"), ("c.pdf", b"%PDF")):
        assert cli.main(["plot", str(recorded), "-o", str(out / file)]) == 0 and (out / file).read_bytes().startswith(begins)


def test_a_tenth_of_a_degree_does_not_fill_an_axis(tmp_path, monkeypatch):
    importorskip("matplotlib", reason="matplotlib is an extra")
    from picker_dynamics.commands import report

    drawn = []
    monkeypatch.setattr(report.plt, "close", drawn.append)
    found = read(written_by_us(tmp_path / "a.mcap"))
    plot.draw(found, plot.limits_of(found), tmp_path / "a.png")
    position, error, _ = drawn[0].axes[:3]
    for axes, least in ((position, 5.0), (error, 1.0)):
        low, high = axes.get_ylim()
        assert high - low >= least - 1e-9
