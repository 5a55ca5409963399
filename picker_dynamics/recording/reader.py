"""Reader of recordings into arrays: any rosbag2, MCAP or SQLite, with or without definitions in it, and files cut short."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from picker_dynamics.errors import JointNamesError, RecordingError

from .definitions import missing

REFERENCE, CONTROLLER_STATE = "arm_controller/reference", "arm_controller/controller_state"
STATE, COMMAND, STATUS = "joint_states", "joint_commands", "arm_controller/status"
TORQUE = " torque"
"""Behind the topic: the efforts in its messages."""

WANTED = (REFERENCE, CONTROLLER_STATE, STATE, COMMAND, STATUS)
ENDS = tuple("/" + name for name in WANTED)


@dataclass(frozen=True, eq=False)
class Series:
    """Values (k, n) at times (k,) [s since 1970], in order of time."""

    t: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Event:
    """What became of a goal, and when [s since 1970]."""

    t: float
    outcome: str
    message: str


@dataclass(frozen=True, eq=False)
class ArmRecording:
    """One arm's words, at the times for which they hold (the stamps in the messages).

    Attributes:
        joint_names: order of every series.
        reference, state, setpoint: positions [rad or m]; any may be empty.
        torque: what the dynamics asked for [N·m or N]; state_torque: what the joints report.
        arm: name of the arm, if it was said.
        damaged: why not all of the file was read; empty: all was.
    """

    joint_names: tuple[str, ...]
    reference: Series
    state: Series
    setpoint: Series
    torque: Series
    state_torque: Series
    events: tuple[Event, ...] = ()
    arm: str = ""
    namespace: str = ""
    damaged: str = ""


@dataclass
class _Collected:
    """(time, names, values) of each topic, as they came."""

    rows: dict[str, list] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    arm: str = ""

    def add(self, kind: str, time_s: float, names, values) -> None:
        values = np.asarray(values, dtype=float)
        if values.size and values.size == len(names):
            self.rows.setdefault(kind, []).append((time_s, tuple(names), values))


def read(path: str | Path, namespace: str | None = None) -> ArmRecording:
    """Read one arm of a recording.

    Args:
        namespace: of the arm; None: the only one there is.

    Raises:
        RecordingError: no such recording, one that is none, or without states and references.
        MissingDependencyError: rosbags or mcap is not installed.
    """
    try:
        import rosbags.highlevel  # noqa: F401
    except ImportError as error:
        raise missing(error) from error
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"no recording {path}", value=str(path))
    collected: dict[str, _Collected] = {}
    damaged = ""
    try:
        for topic, time_s, message in _messages(path):
            for wanted in WANTED:
                if topic.endswith("/" + wanted):
                    _take(collected.setdefault(topic[: -len(wanted) - 1].strip("/"), _Collected()), wanted, message, time_s)
    except _CutShort as error:
        damaged = str(error)
    chosen = _choose(collected, namespace, path)
    return _arrays(collected[chosen], chosen, damaged, path)


class _CutShort(Exception):
    """The rest of the file is missing."""


def _messages(path: Path) -> Iterator[tuple[str, float, object]]:
    """(topic, time of reception [s], message) of the wanted topics."""
    from rosbags.highlevel import AnyReader, AnyReaderError
    from rosbags.typesys import Stores, get_typestore

    with contextlib.ExitStack() as stack:
        try:
            reader = stack.enter_context(AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)))
        except Exception as error:  # whatever its parser stumbles over
            if path.suffix == ".mcap" and path.is_file():
                yield from _salvaged(path)
                return
            raise RecordingError(
                f"cannot read {path}: {' '.join(str(error).split()) or type(error).__name__}", value=str(path)
            ) from error
        try:
            known = [one for one in reader.connections if one.topic.endswith(ENDS)]
            for connection, time_ns, data in reader.messages(known) if known else ():
                yield connection.topic, 1e-9 * time_ns, reader.deserialize(data, connection.msgtype)
        except (AnyReaderError, ValueError, KeyError) as error:
            raise _CutShort(" ".join(str(error).split())) from error


def _salvaged(path: Path) -> Iterator[tuple[str, float, object]]:
    """What an MCAP file without its end still holds."""
    try:
        from mcap.records import Channel, Message, Schema
        from mcap.stream_reader import StreamReader
    except ImportError as error:
        raise missing(error) from error
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    schemas, channels, found = {}, {}, False
    with open(path, "rb") as file:
        try:
            for record in StreamReader(file, skip_magic=False).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record.name
                    types = get_types_from_msg(record.data.decode(), record.name)
                    store.register({name: fields for name, fields in types.items() if name not in store.fielddefs})
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message):
                    found, channel = True, channels[record.channel_id]
                    if channel.topic.endswith(ENDS):
                        kind = schemas[channel.schema_id]
                        yield channel.topic, 1e-9 * record.log_time, store.deserialize_cdr(record.data, kind)
        except Exception as error:  # half a record, half a compressed block: each part of the library has its own
            if not found:
                raise RecordingError(f"{path} is no MCAP recording, or an empty one", value=str(path)) from error
    raise _CutShort("the file has no end: read up to where it breaks off")


def _take(into: _Collected, kind: str, message, received_s: float) -> None:
    if kind == STATUS:
        facts = {pair.key: pair.value for pair in message.values}
        into.arm = message.hardware_id or into.arm
        if facts.get("outcome"):
            into.events.append(Event(received_s, facts["outcome"], message.message))
        return
    stamp = message.header.stamp
    time_s = stamp.sec + 1e-9 * stamp.nanosec or received_s
    if kind == REFERENCE:
        if len(message.points) == 1:
            into.add(kind, time_s, message.joint_names, message.points[0].positions)
    elif kind == CONTROLLER_STATE:
        into.add(kind, time_s, message.joint_names, message.reference.positions)
    else:
        into.add(kind, time_s, message.name, message.position)
        into.add(kind + TORQUE, time_s, message.name, message.effort)


def _choose(collected: dict[str, _Collected], namespace: str | None, path: Path) -> str:
    arms = sorted(name for name, one in collected.items() if one.rows)
    there = ", ".join(map(repr, arms))
    if namespace is not None:
        if namespace.strip("/") not in arms:
            raise RecordingError(f"{path} has no arm in namespace {namespace!r}; it has {there or 'none'}", value=namespace)
        return namespace.strip("/")
    if not arms:
        raise RecordingError(f"{path} has no messages of an arm (looked for {', '.join(WANTED)})", value=str(path))
    if len(arms) > 1:
        raise RecordingError(f"{path} has {len(arms)} arms: choose with --namespace one of {there}", value=str(path))
    return arms[0]


def _arrays(one: _Collected, namespace: str, damaged: str, path: Path) -> ArmRecording:
    rows = one.rows
    names = next(
        (rows[kind][0][1] for kind in (REFERENCE, CONTROLLER_STATE, COMMAND, COMMAND + TORQUE, STATE) if kind in rows), ()
    )

    def series(kind: str) -> Series:
        taken = []
        for time_s, present, values in rows.get(kind, ()):
            try:
                taken.append((time_s, values[[present.index(name) for name in names]]))
            except ValueError:
                continue  # of other joints: a bag may have a gripper's states on the same topic
        taken.sort(key=lambda row: row[0])
        return Series(np.array([row[0] for row in taken]), np.array([row[1] for row in taken]).reshape(-1, len(names)))

    if not names:
        raise JointNamesError(f"{path}: no joints are named")
    reference = series(REFERENCE)
    return ArmRecording(
        names,
        reference if len(reference) else series(CONTROLLER_STATE),
        *map(series, (STATE, COMMAND, COMMAND + TORQUE, STATE + TORQUE)),
        tuple(one.events),
        one.arm,
        namespace,
        damaged,
    )
