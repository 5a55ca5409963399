"""Writer of MCAP files of ROS 2 messages, as ``ros2 bag`` and Foxglove read them."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, RecordingError

from .definitions import missing

CHUNK_BYTES = 64 * 1024
"""Small: what was not yet written when the power went is a second of an arm's words."""

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
    if not out.strip() or out.endswith(os.sep):
        raise ConfigurationError(f"--out is {out!r}, must be the name of a file", subject="out", value=out)
    path = Path(out if out.endswith(".mcap") else f"{out}.mcap")
    try:
        if not path.parent.is_dir():
            raise ConfigurationError(f"no folder {path.parent} to record to", subject="out", value=out)
        if os.path.lexists(path):
            raise ConfigurationError(f"{path} exists; a recording never overwrites one", subject="out", value=out)
    except ValueError as error:
        raise ConfigurationError(f"--out is {out!r}: {error}", subject="out", value=out) from error
    return path


class Recording:
    """Writes messages as they come; ``close`` ends the file with its index.

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
        self.path, self.messages = path, 0
        try:
            self._file = open(path, "xb")
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"cannot record to {path}: {getattr(error, 'strerror', None) or error}", subject="out", value=str(path)
            ) from error
        self._writer = Writer(self._file, chunk_size=CHUNK_BYTES)
        with self._said():
            self._writer.start(profile="ros2", library="picker_dynamics")

    def add_topic(self, name: str, kind: str, definition: str, *, latched: bool, depth: int) -> int:
        """The channel of a topic.

        Args:
            kind: for example ``sensor_msgs/msg/JointState``.
            definition: its text, see ``definitions``.
        """
        with self._said():
            schema = self._writer.register_schema(kind, "ros2msg", definition.encode())
            return self._writer.register_channel(name, "cdr", schema, {"offered_qos_profiles": qos_text(latched, depth)})

    def write(self, channel: int, data: bytes, received_ns: int, sent_ns: int) -> None:
        """Write one serialised message, with the times at which it came and was sent [ns since 1970]."""
        with self._said():
            self._writer.add_message(channel, received_ns, data, sent_ns, self.messages & 0xFFFFFFFF)
            self.messages += 1

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
    def _said(self):
        """A system that takes no more bytes is said once; the file keeps what it has."""
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


def qos_text(latched: bool, depth: int) -> str:
    """The publisher's QoS, so that what plays the file back can be as it was; the layout of rosbag2 from Jazzy on."""
    durability = "transient_local" if latched else "volatile"
    return (
        f"- history: keep_last\n  depth: {depth}\n  reliability: reliable\n  durability: {durability}\n"
        f"  deadline:\n{ENDLESS}  lifespan:\n{ENDLESS}  liveliness: automatic\n"
        f"  liveliness_lease_duration:\n{ENDLESS}  avoid_ros_namespace_conventions: false\n"
    )
