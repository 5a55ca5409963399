"""Reader of recordings into arrays: any rosbag2, MCAP or SQLite, with or without definitions in it, and files cut short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from picker_dynamics.errors import RecordingError
from picker_dynamics.files.reading import opened

from .messages import known_types, missing

REFERENCE, CONTROLLER_STATE = "arm_controller/reference", "arm_controller/controller_state"
STATE, COMMAND, STATUS, ARM = "joint_states", "joint_commands", "arm_controller/status", "arm_controller/arm"
TORQUE = " torque"
"""Behind the topic: the efforts in its messages."""

WANTED = (REFERENCE, CONTROLLER_STATE, STATE, COMMAND, STATUS, ARM)
ENDS = tuple("/" + name for name in WANTED)

RECORD_BYTES = 64 << 20
"""Largest record, and largest chunk when it is inflated [bytes]; ours are a thousandth of it."""

LEFT_OUT = "messages that cannot be read were left out"

UNREADABLE = Exception
"""What the parsers of damaged messages and files raise: each part of the library has its own."""

Read = tuple[str, float, Any]
"""Topic, time of reception [s since 1970], and message."""


@dataclass(frozen=True, eq=False)
class Series:
    """Values (k, n) at times (k,) [s since 1970], in order of time."""

    t: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Event:
    """Event of a goal: what became of it, and when [s since 1970]."""

    t: float
    outcome: str
    message: str


@dataclass(frozen=True, eq=False)
class ArmRecording:
    """Recording of one arm: its words, at the times for which they hold (the stamps in the messages).

    Attributes:
        joint_names: order of every series.
        reference, state, setpoint: positions [rad or m]; any may be empty.
        torque: what the dynamics asked for [N·m or N]; state_torque: what the joints report.
        arm: name of the arm, if it was said; told: the arm itself, as the graph told it, unread; empty: it did not.
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
    told: str = ""


class Bounds(NamedTuple):
    """Bounds (n,) [N·m or N]: what joints give at the most, along a motion, and where it ends; units of positions."""

    stall: np.ndarray
    peak: np.ndarray
    hold: np.ndarray
    units: tuple[str, ...]


@dataclass
class _Collected:
    """Rows (time, values) of each topic by the names in its messages, as they came."""

    rows: dict[str, dict[tuple[str, ...], list[list[float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    events: list[Event] = field(default_factory=list)
    arm: str = ""
    told: str = ""

    def take(self, topic: str, message: Any, received_s: float) -> None:
        if topic == ARM:
            self.told = message.data
        elif topic == STATUS:
            outcome = {pair.key: pair.value for pair in message.values}.get("outcome")
            self.arm = message.hardware_id or self.arm
            if outcome:
                self.events.append(Event(received_s, outcome, message.message))
        else:
            stamp = message.header.stamp
            time_s = stamp.sec + 1e-9 * stamp.nanosec or received_s
            if topic in (STATE, COMMAND):
                self._add(topic, time_s, message.name, message.position)
                self._add(topic + TORQUE, time_s, message.name, message.effort)
            else:
                for point in message.points[:1] if topic == REFERENCE else (message.reference,):
                    self._add(topic, time_s, message.joint_names, point.positions)

    def _add(self, kind: str, time_s: float, names: list[str], values: Any) -> None:
        if 0 < len(values) == len(names):
            self.rows[kind][tuple(names)].append([time_s, *map(float, values)])

    def series(self, kind: str, names: tuple[str, ...]) -> Series:
        """What was said of these joints; messages of others are left out: a bag may have a gripper's states on the same topic."""
        parts = [np.zeros((0, 1 + len(names)))]
        for present, rows in self.rows.get(kind, {}).items():
            if set(names) <= set(present):
                parts.append(np.array(rows)[:, [0, *(1 + present.index(name) for name in names)]])
        taken = np.concatenate(parts)
        taken = taken[np.argsort(taken[:, 0], kind="stable")]
        return Series(taken[:, 0], taken[:, 1:])


def read(path: str | Path, namespace: str | None = None) -> ArmRecording:
    """Read one arm of a recording.

    Args:
        namespace: of the arm; None: the only one there is.

    Raises:
        RecordingError: no such recording, one that is none, or without states and references.
        MissingDependencyError: rosbags or mcap is not installed.
    """
    known_types()
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"no recording {path}", value=str(path))
    collected: dict[str, _Collected] = defaultdict(_Collected)
    damage: list[str] = []
    messages = _of_mcap if path.suffix == ".mcap" and not path.is_dir() else _of_bag
    for topic, time_s, message in messages(path, damage):
        for wanted in WANTED:
            if topic.endswith("/" + wanted):
                try:
                    collected[topic[: -len(wanted) - 1].strip("/")].take(wanted, message, time_s)
                except UNREADABLE:  # its definition is another one
                    damage.append(LEFT_OUT)
    chosen = _choose(collected, namespace, path)
    one = collected[chosen]
    names = next(
        next(iter(one.rows[kind]))
        for kind in (REFERENCE, CONTROLLER_STATE, COMMAND, COMMAND + TORQUE, *one.rows)
        if kind in one.rows
    )
    reference = one.series(REFERENCE, names)
    return ArmRecording(
        names,
        reference if len(reference) else one.series(CONTROLLER_STATE, names),
        *(one.series(kind, names) for kind in (STATE, COMMAND, COMMAND + TORQUE, STATE + TORQUE)),
        tuple(one.events),
        one.arm,
        chosen,
        "; ".join(dict.fromkeys(damage)),
        one.told,
    )


def _choose(collected: dict[str, _Collected], namespace: str | None, path: Path) -> str:
    arms = sorted(name for name, one in collected.items() if one.rows)
    there = ", ".join(map(repr, arms))
    if namespace is not None and namespace.strip("/") in arms:
        return namespace.strip("/")
    if namespace is not None:
        raise RecordingError(f"{path} has no arm in namespace {namespace!r}; it has {there or 'none'}", value=namespace)
    if not arms:
        raise RecordingError(f"{path} has no messages of an arm (looked for {', '.join(WANTED)})", value=str(path))
    if len(arms) > 1:
        raise RecordingError(f"{path} has {len(arms)} arms: choose with --namespace one of {there}", value=str(path))
    return arms[0]


def _of_mcap(path: Path, damage: list[str]) -> Iterator[Read]:
    """Messages of an MCAP file; without a damaged chunk, and up to where it breaks off."""
    try:
        from mcap.records import Channel, Chunk, Message, Schema
        from mcap.stream_reader import StreamReader, breakup_chunk
    except ImportError as error:
        raise missing(error) from error
    schemas, channels, types, found = dict[int, Schema](), dict[int, Channel](), _Types(), False
    with opened(path, "recording", RecordingError) as file:
        try:
            for record in StreamReader(file, emit_chunks=True, record_size_limit=RECORD_BYTES).records:
                parts = [record]
                if isinstance(record, Chunk):
                    try:
                        parts = breakup_chunk(record, validate_crc=True) if record.uncompressed_size <= RECORD_BYTES else []
                    except UNREADABLE:
                        parts = []
                    if not parts:
                        damage.append(f"what stands before byte {file.tell()} is damaged and was left out")
                for part in parts:
                    if isinstance(part, Schema):
                        schemas[part.id] = part
                    elif isinstance(part, Channel):
                        channels[part.id] = part
                    elif isinstance(part, Message):
                        found, channel = True, channels[part.channel_id]
                        if channel.topic.endswith(ENDS):
                            try:
                                message = types.message(schemas[channel.schema_id], part.data)
                            except UNREADABLE:
                                damage.append(LEFT_OUT)
                                continue
                            yield channel.topic, 1e-9 * part.log_time, message
        except UNREADABLE:
            damage.append("the file has no end: read up to where it breaks off")
    if not found:
        raise RecordingError(f"{path} is no MCAP recording, or an empty one", value=str(path))


class _Types:
    """Message types of a file, by the definitions in it, or by ROS 2 Jazzy's where it has none."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_typestore

        self._own, self._stores = get_typestore(Stores.EMPTY), dict[str, Any]()

    def message(self, schema: Any, data: bytes) -> Any:
        """Message of serialised ``data``."""
        if schema.name not in self._stores:
            self._stores[schema.name] = self._registered(schema.name, schema.encoding, schema.data.decode())
        return self._stores[schema.name].deserialize_cdr(data, schema.name)

    def _registered(self, name: str, encoding: str, text: str) -> Any:
        from rosbags.typesys import get_types_from_idl, get_types_from_msg

        if not text:
            return known_types()
        types = get_types_from_msg(text, name) if encoding == "ros2msg" else get_types_from_idl(text)
        self._own.register({name: fields for name, fields in types.items() if name not in self._own.fielddefs})
        return self._own


def _of_bag(path: Path, damage: list[str]) -> Iterator[Read]:
    """Messages of a bag that rosbags reads: a folder, or a file of SQLite."""
    from rosbags.highlevel import AnyReader

    begun = False
    try:
        with AnyReader([path], default_typestore=known_types()) as reader:
            begun, wanted = True, [one for one in reader.connections if one.topic.endswith(ENDS)]
            for connection, time_ns, data in reader.messages(wanted) if wanted else ():
                yield connection.topic, 1e-9 * time_ns, reader.deserialize(data, connection.msgtype)
    except UNREADABLE as error:
        words = " ".join(str(error).split()) or type(error).__name__
        if not begun:
            raise RecordingError(f"cannot read {path}: {words}", value=str(path)) from error
        damage.append(words)
