"""Writer of MCAP files of ROS 2 messages, as ``ros2 bag`` and Foxglove read them."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from picker_dynamics.errors import ConfigurationError, RecordingError

from .messages import known_types, missing

CHUNK_BYTES = 64 * 1024
"""Small: what was not yet written when the power went is a second of an arm's messages."""

ENDLESS = "    sec: 9223372036\n    nsec: 854775807\n"


def checked_path(out: str | None, namespace: str = "") -> Path:
    """Path to record to: a file that does not exist yet, in a folder that does.

    Args:
        out: None: a name of the present time, in this folder.

    Raises:
        ConfigurationError: it cannot be, with the reason.
    """
    if out is None:
        arm = "_".join(["picker", *filter(None, namespace.split("/"))])
        out = time.strftime(f"{arm}_%Y-%m-%d_%H-%M-%S.mcap")
    path, wrong = Path(out if out.endswith(".mcap") else f"{out}.mcap"), ""
    if not out.strip() or out.endswith(os.sep) or "\0" in out:
        wrong = f"--out is {out!r}, must be the name of a file"
    elif not path.parent.is_dir():
        wrong = f"no folder {path.parent} to record to"
    elif os.path.lexists(path):
        wrong = f"{path} exists; a recording never overwrites one"
    if wrong:
        raise ConfigurationError(wrong, "out", out)
    return path


class Recording:
    """Writes messages as they come; ``close`` ends the file with its index.

    Attributes:
        counts: messages of each topic.

    Raises:
        ConfigurationError: the file cannot be made.
        MissingDependencyError: mcap is not installed.
        RecordingError: in each method, once the file can be written no more.
    """

    def __init__(self, path: Path):
        try:
            from mcap.writer import Writer
        except ImportError as error:
            raise missing(error) from error
        self.path, self.counts, self._types = path, Counter[str](), known_types()
        self._channels: dict[str, int] = {}
        try:
            self._file = open(path, "xb")
        except OSError as error:
            raise ConfigurationError(f"cannot record to {path}: {error.strerror}", "out", str(path)) from error
        self._writer = Writer(self._file, chunk_size=CHUNK_BYTES)
        with self._said():
            self._writer.start(profile="ros2", library="picker_dynamics")

    @property
    def messages(self) -> int:
        return self.counts.total()

    def write(self, topic: str, message: Any, time_ns: int, latched: bool = False) -> None:
        """Write one message with the time at which it came [ns since 1970].

        Args:
            latched: whether a late subscriber still gets the topic's last message.
        """
        kind = message.__msgtype__
        data = bytes(self._types.serialize_cdr(message, kind))
        with self._said():
            if topic not in self._channels:
                definition = self._types.generate_msgdef(kind, ros_version=2)[0]
                schema = self._writer.register_schema(kind, "ros2msg", definition.encode())
                qos = {"offered_qos_profiles": _qos(latched)}
                self._channels[topic] = self._writer.register_channel(topic, "cdr", schema, qos)
            self._writer.add_message(self._channels[topic], time_ns, data, time_ns, self.messages & 0xFFFFFFFF)
            self.counts[topic] += 1

    def flush(self) -> None:
        """Hand on to the system what is complete."""
        with self._said():
            self._file.flush()

    def close(self) -> None:
        """Write index and end; harmless where the file has failed or is closed."""
        if self._file.closed:
            return
        with self._said():
            self._writer.finish()
            self._file.close()

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """Raise a RecordingError where the system takes no more bytes; the file keeps what it has."""
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
            raise RecordingError(
                f"recording stopped after {self.messages} messages: {why}; {self.path} can be read up to there",
                value=str(self.path),
            ) from error


def _qos(latched: bool) -> str:
    """QoS with which a topic is played back; the layout of rosbag2 from Jazzy on."""
    depth, durability = (1, "transient_local") if latched else (10, "volatile")
    return (
        f"- history: keep_last\n  depth: {depth}\n  reliability: reliable\n  durability: {durability}\n"
        f"  deadline:\n{ENDLESS}  lifespan:\n{ENDLESS}  liveliness: automatic\n"
        f"  liveliness_lease_duration:\n{ENDLESS}  avoid_ros_namespace_conventions: false\n"
    )
