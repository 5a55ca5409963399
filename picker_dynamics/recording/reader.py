"""Reader of recordings into arrays: any rosbag2, MCAP or SQLite, with or without definitions in it, and files cut short."""

from __future__ import annotations

import array
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import JointNamesError, RecordingError
from picker_dynamics.files.formats import read_yaml, said
from picker_dynamics.files.reading import opened

from .definitions import missing
from .mcap_file import McapFile, Message, Schema

REFERENCE, CONTROLLER_STATE = "arm_controller/reference", "arm_controller/controller_state"
STATE, COMMAND, STATUS, ARM = "joint_states", "joint_commands", "arm_controller/status", "arm_controller/arm"
TORQUE = " torque"
"""Behind the topic: the efforts in its messages."""

WANTED = (REFERENCE, CONTROLLER_STATE, STATE, COMMAND, STATUS, ARM)
ENDS = tuple("/" + name for name in WANTED)

NUMBERS_MAX, EVENTS_MAX = 20_000_000, 100_000
"""Numbers and events of one arm that are taken: two hours at 100 Hz."""

DEFINITION_MAX, LARGE_ARRAY = 200_000, re.compile(r"\[\s*(<=)?\s*\d{4,}")
"""Longest definition of a message [characters], and arrays of fixed size that no message of an arm has."""

LEFT_OUT = "messages that cannot be read were left out"

UNREADABLE = Exception
"""What the parsers of damaged messages and files raise: each part of the library has its own."""


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
    """Times and values of each topic, by the names in its messages, as they came: a row (1 + n) for each."""

    rows: dict[str, dict[tuple[str, ...], array.array]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    arm: str = ""
    told: str = ""
    numbers: int = 0

    def add(self, kind: str, time_s: float, names, values) -> None:
        values = np.asarray(values, dtype=float).ravel().tolist()
        if values and len(values) == len(names):
            tables = self.rows.setdefault(kind, {})
            table = tables.setdefault(tuple(names), array.array("d"))
            table.append(time_s)
            table.extend(values)
            self.numbers += 1 + len(values)
        if self.numbers > NUMBERS_MAX or len(self.events) > EVENTS_MAX:
            raise RecordingError(f"more than {NUMBERS_MAX} numbers: take a part of it", value=self.numbers, limit=NUMBERS_MAX)


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
    damage: list[str] = []
    for topic, time_s, message in _messages(path, damage):
        for wanted in WANTED:
            if topic.endswith("/" + wanted):
                into = collected.setdefault(topic[: -len(wanted) - 1].strip("/"), _Collected())
                try:
                    _take(into, wanted, message, time_s)
                except RecordingError:
                    raise
                except UNREADABLE:  # its definition is another one
                    damage.append(LEFT_OUT)
    chosen = _choose(collected, namespace, path)
    return _arrays(collected[chosen], chosen, "; ".join(dict.fromkeys(damage)), path)


def _messages(path: Path, damage: list[str]) -> Iterator[tuple[str, float, object]]:
    """(topic, time of reception [s], message) of the wanted topics; what cannot be read is noted."""
    files = [path] if path.suffix == ".mcap" and not path.is_dir() else _mcap_files(path) if path.is_dir() else []
    if not files:
        yield from _of_another_kind(path, damage)
    for one in files:
        file, types = McapFile(one), _Types()
        for message in file.messages(ENDS):
            try:
                yield message.topic, message.time_s, types.message(message)
            except UNREADABLE:
                damage.append(LEFT_OUT)
        if not file.found:
            raise RecordingError(f"{one} is no MCAP recording, or an empty one", value=str(one))
        if file.damage:
            damage.append(file.damage)


def _mcap_files(folder: Path) -> list[Path]:
    """Those of a bag; none where it is of another kind."""
    with said(f"cannot read {folder}", RecordingError):
        about = read_yaml(folder / "metadata.yaml", "bag", RecordingError)["rosbag2_bagfile_information"]
        if about.get("compression_format"):
            raise RecordingError(f"{folder} is compressed as a whole: unpack it with ros2 bag convert", value=str(folder))
        names = [Path(str(name)).name for name in about["relative_file_paths"]]
        return [folder / name for name in names] if about.get("storage_identifier") == "mcap" else []


class _Types:
    """Messages of a file, by the definitions in it, or by ROS 2 Jazzy's where it has none."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_typestore

        self._own, self._known = get_typestore(Stores.EMPTY), get_typestore(Stores.ROS2_JAZZY)
        self._stores: dict[Schema, object] = {}

    def message(self, message: Message):
        """What its bytes say."""
        schema = message.schema
        if schema not in self._stores:
            self._stores[schema] = self._registered(schema)
        return self._stores[schema].deserialize_cdr(message.data, schema.name)

    def _registered(self, schema: Schema):
        from rosbags.typesys import get_types_from_idl, get_types_from_msg

        if not schema.text:
            return self._known
        if len(schema.text) > DEFINITION_MAX or LARGE_ARRAY.search(schema.text):
            raise ValueError("a definition of a message too large")
        types = get_types_from_msg(schema.text, schema.name) if schema.encoding == "ros2msg" else get_types_from_idl(schema.text)
        self._own.register({name: fields for name, fields in types.items() if name not in self._own.fielddefs})
        return self._own


def _of_another_kind(path: Path, damage: list[str]) -> Iterator[tuple[str, float, object]]:
    """As ``_messages``, of SQLite."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    if not path.is_dir():
        with opened(path, "recording", RecordingError):
            """It is a file."""
    with contextlib.ExitStack() as stack:
        try:
            reader = stack.enter_context(AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)))
        except UNREADABLE as error:
            raise RecordingError(
                f"cannot read {path}: {' '.join(str(error).split()) or type(error).__name__}", value=str(path)
            ) from error
        try:
            known = [one for one in reader.connections if one.topic.endswith(ENDS)]
            for connection, time_ns, data in reader.messages(known) if known else ():
                yield connection.topic, 1e-9 * time_ns, reader.deserialize(data, connection.msgtype)
        except RecordingError:
            raise
        except UNREADABLE as error:
            damage.append(" ".join(str(error).split()) or type(error).__name__)


def _take(into: _Collected, kind: str, message, received_s: float) -> None:
    if kind == ARM:
        into.told = message.data
        return
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
        (next(iter(rows[kind])) for kind in (REFERENCE, CONTROLLER_STATE, COMMAND, COMMAND + TORQUE, STATE) if kind in rows), ()
    )

    def series(kind: str) -> Series:
        parts = [np.zeros((0, 1 + len(names)))]
        for present, table in rows.get(kind, {}).items():
            if set(names) <= set(present):  # else of other joints: a bag may have a gripper's states on the same topic
                columns = [0, *(1 + present.index(name) for name in names)]
                parts.append(np.frombuffer(table).reshape(-1, 1 + len(present))[:, columns])
        taken = np.concatenate(parts)
        taken = taken[np.argsort(taken[:, 0], kind="stable")]
        return Series(taken[:, 0], taken[:, 1:])

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
        one.told,
    )
