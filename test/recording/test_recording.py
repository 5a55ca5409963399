"""Recordings: what is written is what other people's readers find; what is read is what was sent; figures of it."""

import argparse
import dataclasses
import os
import resource as system
import struct
import tracemalloc
from pathlib import Path

import any_arms
import lz4.frame
import numpy as np
import zstandard
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, fixture, importorskip, mark, raises
from recordings import (
    NAMES,
    STATES,
    STORE,
    header,
    joint_state,
    message,
    reference,
    story,
    wanted,
    written_by_us,
    written_elsewhere,
)
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin
from waiting import python

from picker_dynamics.commands import cli, plot
from picker_dynamics.commands.record import record
from picker_dynamics.errors import ConfigurationError, InputError, MissingDependencyError, RecordingError
from picker_dynamics.recording import definitions, topics, writer
from picker_dynamics.recording.reader import ArmRecording, Series, read
from picker_dynamics.recording.tracking import GAP_S, tracking_error, with_gaps
from picker_dynamics.recording.writer import Recording, checked_path
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.arm_text import Known, text_of

KNOWN = [topic for topic in topics.TOPICS if topic.kind in STORE.fielddefs]
LIMIT_BYTES = 100_000


# -- writing -----------------------------------------------------------------------------------------------------


@mark.parametrize("topic", KNOWN, ids=lambda topic: topic.name)
def test_the_definition_of_each_type_is_rosbags_own(tmp_path, topic):
    from rosbags.typesys import get_types_from_msg

    parsed = get_types_from_msg(definitions.definition(topic.kind), topic.kind)
    assert parsed[topic.kind][1] == STORE.fielddefs[topic.kind][1]
    for name, (_, fields) in parsed.items():
        assert fields == STORE.fielddefs[name][1], name


def test_a_type_that_is_not_installed_is_named():
    with raises(ConfigurationError, match="no_msgs/Nothing"):
        definitions.definition("no_msgs/msg/Nothing")


def test_another_reader_finds_every_message_with_its_time_and_qos(tmp_path):
    told = story("/left")
    with AnyReader([written_by_us(tmp_path / "a.mcap", told)]) as reader:
        found = [
            (one.topic, one.msgtype, time_ns, reader.deserialize(data, one.msgtype)) for one, time_ns, data in reader.messages()
        ]
        durability = {one.topic: one.ext.offered_qos_profiles[0].durability.name for one in reader.connections}
    assert len(found) == len(told)
    assert [(topic, kind, time_ns) for topic, kind, time_ns, _ in found] == [(a, b, round(t * 1e9)) for a, b, t, _ in told]
    assert_array_equal(found[-1][3].position, told[-1][3].position)
    assert durability["/left/arm_controller/status"] == "TRANSIENT_LOCAL" and durability["/left/joint_states"] == "VOLATILE"


def test_a_file_is_an_mcap_file_of_the_ros2_profile(tmp_path):
    from mcap.reader import make_reader

    with open(written_by_us(tmp_path / "a.mcap"), "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        made = reader.get_summary()
        assert {schema.encoding for schema in made.schemas.values()} == {"ros2msg"}
        assert {channel.message_encoding for channel in made.channels.values()} == {"cdr"}
        assert made.statistics.message_count == sum(1 for _ in reader.iter_messages()) == len(story())


@mark.parametrize(
    "out, said",
    [
        ("", "name of a file"),
        ("  ", "name of a file"),
        ("somewhere/", "name of a file"),
        ("nowhere/a", "no folder nowhere"),
        ("there", "there.mcap exists"),
        ("there.mcap", "exists"),
        ("a\0b", "null"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_the_reason(tmp_path, monkeypatch, out, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.mcap").touch()
    with raises(ConfigurationError, match=said):
        Recording(checked_path(out))
    assert [path.name for path in tmp_path.iterdir()] == ["there.mcap"]


def test_odd_names_that_can_be_are_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for out in ("a b ü", "take.1", "-o", "x.mcap"):
        Recording(checked_path(out)).close()
    assert {path.name for path in tmp_path.iterdir()} == {"a b ü.mcap", "take.1.mcap", "-o.mcap", "x.mcap"}
    assert checked_path(None, "/cell/left").name.startswith("picker_cell_left_2")
    assert not checked_path("missing_link").exists()
    (tmp_path / "dangling.mcap").symlink_to("gone")
    with raises(ConfigurationError, match="exists"):
        checked_path("dangling")


def test_a_folder_that_may_not_be_written_is_said(tmp_path, monkeypatch):
    with raises(ConfigurationError, match="File name too long"):
        Recording(checked_path(str(tmp_path / ("n" * 300))))


@mark.parametrize("duration", [0.0, -1.0, float("nan"), float("inf")])
def test_a_duration_that_cannot_be_is_refused_before_anything_is_made(tmp_path, monkeypatch, duration):
    monkeypatch.chdir(tmp_path)
    with raises(InputError, match="--duration"):
        record("a", duration, "")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_takes_no_more_is_said_once_and_what_is_there_can_be_read(tmp_path):
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


def test_a_full_disk_is_called_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "open", lambda *_: open("/dev/full", "wb"), raising=False)
    recording = Recording(tmp_path / "a.mcap")
    with raises(RecordingError, match="stopped after 0 messages: the disk is full"):
        recording.flush()
    recording.close()  # harmless


def test_without_the_packages_it_says_which_and_how_to_get_them():
    script = (
        "import sys; sys.modules['mcap'] = sys.modules['mcap.writer'] = sys.modules['rosbags'] = None\n"
        "from picker_dynamics.commands.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    for words, package in ((["record", "-o", "x"], "mcap"), (["plot", "x"], "rosbags")):
        done = python("-c", script, *words)
        assert done.returncode == MissingDependencyError.exit_code, done.stderr
        assert package in done.stderr and 'pip install "picker_dynamics[record]"' in done.stderr
    assert "matplotlib" in str(definitions.missing(ImportError("no", name="matplotlib")))


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


def test_of_several_arms_one_has_to_be_chosen(tmp_path):
    path = written_by_us(tmp_path / "two.mcap", sorted(story("/left") + story("/cell/right", 0.02), key=lambda row: row[2]))
    with raises(RecordingError, match="2 arms: choose with --namespace one of 'cell/right', 'left'"):
        read(path)
    assert np.nanmax(tracking_error(*_pair(read(path, "/cell/right"))).values) == approx(0.02, abs=1e-3)
    with raises(RecordingError, match="no arm in namespace 'up'"):
        read(path, "up")


def _pair(found):
    return found.reference, found.state


def test_states_of_other_joints_on_the_same_topic_are_left_out(tmp_path):
    told = story()
    told.append(("/joint_states", "sensor_msgs/msg/JointState", 111.0, joint_state(111.0, [0.1], names=["finger"])))
    assert len(read(written_by_us(tmp_path / "a.mcap", told)).state) == STATES


@mark.parametrize("share", [0.3, 0.55, 0.9])
def test_a_file_cut_short_is_read_up_to_there(tmp_path, share):
    whole = written_by_us(tmp_path / "a.mcap", story() * 10).read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole[: int(share * len(whole))])
    found = read(cut)
    assert "no end" in found.damaged and 20 < len(found.state) < 10 * STATES


@mark.parametrize(
    "name, content, said",
    [
        ("a.mcap", b"", "no MCAP recording"),
        ("a.mcap", b"\x89MCAP0\r\n", "no MCAP"),
        ("a.mcap", b"nonsense" * 99, "no MCAP"),
        ("a.db3", b"nonsense" * 99, "cannot read"),
        ("a.txt", b"words", "cannot read"),
        ("folder", None, "cannot read"),
        ("gone.mcap", ..., "no recording"),
    ],
)
def test_what_is_no_recording_gets_one_clear_line(tmp_path, name, content, said):
    path = tmp_path / name
    if content is None:
        path.mkdir()
    elif content is not ...:
        path.write_bytes(content)
    with raises(RecordingError, match=said) as caught:
        read(path)
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_a_foreign_controllers_state_serves_as_reference(tmp_path):
    """With the definition that is in the file: control_msgs need not be installed."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    kind, store, told = "control_msgs/msg/JointTrajectoryControllerState", get_typestore(Stores.ROS2_JAZZY), []
    text = "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint reference\n"
    store.register(get_types_from_msg(text, kind))
    for k in range(50):
        t = 100.0 + 0.02 * k
        said = store.types[kind](header=header(t), joint_names=list(NAMES), reference=reference(t, wanted(t)).points[0])
        told.append(("/arm_controller/controller_state", kind, t, said))
        told.append(("/joint_states", "sensor_msgs/msg/JointState", t, joint_state(t, wanted(t) + 0.01, names=NAMES)))
    written_by_us(tmp_path / "a.mcap", told, store, lambda one: store.generate_msgdef(one, ros_version=2)[0])
    found = read(tmp_path / "a.mcap")
    assert len(found.reference) == 50
    assert_allclose(tracking_error(found.reference, found.state).values, 0.01, atol=1e-9)


def test_a_recording_of_something_else_says_what_was_looked_for(tmp_path):
    told = [("/chatter", "std_msgs/msg/String", 1.0, message("std_msgs/msg/String", data="hello"))]
    with raises(RecordingError, match="no messages of an arm.*joint_states"):
        read(written_by_us(tmp_path / "a.mcap", told))


# -- what is made of it --------------------------------------------------------------------------------------------


def test_the_error_is_taken_at_the_time_of_the_state_and_not_across_gaps():
    t = np.array([0.0, 0.1, 0.2, 5.0, 5.1])
    line = Series(t, 2.0 * t[:, None])
    state = Series(np.array([-1.0, 0.05, 0.15, 3.0, 5.05, 9.0]), np.array([0.0, 0.13, 0.3, 6.0, 10.1, 0.0])[:, None])
    found = tracking_error(line, state).values[:, 0]
    assert_allclose(found, [np.nan, 0.03, 0.0, np.nan, 0.0, np.nan], atol=1e-12)
    broken = with_gaps(line)
    assert len(broken) == 6 and np.isnan(broken.values[3]).all() and (np.diff(broken.t) > 0.0).all() and GAP_S < 1.0
    nothing = Series(np.zeros(0), np.zeros((0, 1)))
    assert np.isnan(tracking_error(nothing, state).values).all() and len(with_gaps(nothing)) == 0


def test_limits_are_those_of_the_arm_that_was_recorded(tmp_path):
    found = read(written_by_us(tmp_path / "a.mcap"))
    limits = plot.limits_of(found)
    assert_allclose(limits.stall, 1.08)
    assert (limits.hold < limits.peak).all() and (limits.peak < limits.stall).all() and limits.units == ("rad",) * 5
    stranger = dataclasses.replace(found, joint_names=("a", "b", "c", "d", "e"), arm="")
    assert plot.limits_of(stranger) is None
    with raises(ConfigurationError, match="the recording has the joints a, b"):
        plot.limits_of(stranger, arm="picker")
    with raises(ConfigurationError, match="no arm 'nobody'"):
        plot.limits_of(found, arm="nobody")
    lines = plot.summary(found, limits)
    assert "shoulder: error at most 0.6 deg, rms 0.6 deg, torque at most 0.500 N·m (46 % of stall)" in lines
    assert any("rad or m" in line for line in plot.summary(stranger, None))


def test_a_recording_of_an_arm_that_nobody_here_knows_has_its_limits_in_it():
    known = Known(*servo_arm.load(any_arms.urdf("four_joint")))
    names = known.description.joint_names[::-1]
    empty = Series(np.zeros(0), np.zeros((0, len(names))))
    found = ArmRecording(names, *[empty] * 5, arm="four_joint", told=text_of(known))
    limits = plot.limits_of(found)
    assert_array_equal(limits.stall, known.servos.stall_torque[::-1])
    assert limits.units == known.description.position_units[::-1]
    assert plot.limits_of(dataclasses.replace(found, told="")) is None
    with raises(ConfigurationError, match="the running graph's arm"):
        plot.limits_of(dataclasses.replace(found, told="{"))


def test_plot_writes_three_figures_and_says_where(tmp_path, capsys):
    recorded = written_by_us(tmp_path / "a.mcap")
    plt = importorskip("matplotlib.pyplot", reason="matplotlib is an extra")
    out = tmp_path / "figures"
    assert cli.main(["plot", str(recorded), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    names = {f"{recorded.stem}_{kind}.png" for kind in ("position", "error", "torque")}
    assert {path.name for path in out.iterdir()} == names and all(name in said for name in names)
    assert "elbow: error at most 0.6 deg" in said
    for path in out.iterdir():
        picture = plt.imread(path)
        assert picture.shape[0] > 500 and picture[..., :3].std() > 0.01


def test_what_is_drawn_are_the_series(tmp_path):
    figures = importorskip("picker_dynamics.recording.figures", reason="matplotlib is an extra")
    found = read(written_by_us(tmp_path / "a.mcap"))
    axes = figures.error_figure(found, plot.limits_of(found), 100.0).axes
    lines = {line.get_label(): line for line in axes[1].lines}
    assert_allclose(np.abs(lines["error"].get_ydata()[1:-1]), np.degrees(0.01), atol=0.006)
    assert axes[1].get_ylabel().endswith("[deg]")
    assert figures.error_figure(dataclasses.replace(found, reference=Series(np.zeros(0), np.zeros((0, 5)))), None, 100.0) is None


def test_figures_that_cannot_be_written_are_said(tmp_path):
    importorskip("matplotlib", reason="matplotlib is an extra")
    path = written_by_us(tmp_path / "a.mcap")
    (tmp_path / "file").touch()
    options = argparse.Namespace(file=str(path), out=str(tmp_path / "file"), namespace=None, arm="", urdf="", servos="")
    with raises(ConfigurationError, match="cannot write figures"):
        plot.plot(options)


# -- damaged on purpose ------------------------------------------------------------------------------------------


def _chunk(content: bytes, says: int, compression: str = "lz4") -> bytes:
    """A chunk record of an MCAP file."""
    packed = lz4.frame.compress(content) if compression == "lz4" else zstandard.compress(content)
    name = compression.encode()
    head = struct.pack("<QQQII", 0, 0, says, 0, len(name)) + name + struct.pack("<Q", len(packed))
    return b"\x06" + struct.pack("<Q", len(head) + len(packed)) + head + packed


@mark.parametrize("compression", ["lz4", "zstd"])
@mark.parametrize("says", [1, 1 << 20, 1 << 40])
def test_a_chunk_that_inflates_to_gigabytes_is_left_out(tmp_path, compression, says):
    whole = written_by_us(tmp_path / "a.mcap", story()).read_bytes()
    at = 8 + 9 + int.from_bytes(whole[9:17], "little")  # behind the header
    path = tmp_path / "bomb.mcap"
    path.write_bytes(whole[:at] + _chunk(bytes(300 << 20), says, compression) + whole[at:])
    tracemalloc.start()
    found = read(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.state) == STATES and "damaged" in found.damaged and most < 100 << 20


def test_a_damaged_chunk_is_left_out_and_what_follows_is_read(tmp_path):
    whole = bytearray(written_by_us(tmp_path / "a.mcap", story() * 10).read_bytes())
    whole[len(whole) // 3] ^= 0xFF
    (tmp_path / "b.mcap").write_bytes(whole)
    found = read(tmp_path / "b.mcap")
    assert "damaged" in found.damaged and 5 * STATES < len(found.state) < 10 * STATES
    assert found.state.t[-1] == read(tmp_path / "a.mcap").state.t[-1]


def test_a_length_beyond_the_file_and_a_pipe_are_no_recording(tmp_path):
    (tmp_path / "a.mcap").write_bytes(b"\x89MCAP0\r\n\x03" + b"\xff" * 8 + b"x" * 99)
    os.mkfifo(tmp_path / "b.mcap")
    os.mkfifo(tmp_path / "b.db3")
    for name in ("a.mcap", "b.mcap", "b.db3"):
        with raises(RecordingError, match="no MCAP recording|no regular file"):
            read(tmp_path / name)
