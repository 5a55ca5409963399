"""``picker record``: records the topics of an arm to an MCAP file, until Ctrl-C or as long as asked."""

from __future__ import annotations

import math

from picker_dynamics.bringup.options import require_namespace
from picker_dynamics.errors import InputError, LinkError
from picker_dynamics.recording.writer import Recording, checked_path

from . import options as shared


def add_parser(commands) -> None:
    """Register ``record``."""
    parser = commands.add_parser("record", help="record references, commands, states and torques to an MCAP file")
    parser.add_argument("-o", "--out", default=None, metavar="FILE", help="default: picker_DATE_TIME.mcap")
    parser.add_argument(
        "--duration", type=shared.number(0.0, 1e6), default=None, metavar="S", help="end by itself after that long"
    )
    shared.add(parser, "--namespace")
    parser.set_defaults(run=lambda options: record(options.out, options.duration, options.namespace))


def record(out: str | None, duration_s: float | None, namespace: str) -> int:
    """Record one arm; returns the exit code.

    Raises:
        ConfigurationError, InputError: options that cannot be.
        LinkError: nobody said anything; there is no file then.
        RecordingError: the file could be written no more.
    """
    require_namespace(namespace)
    if duration_s is not None and not (math.isfinite(duration_s) and duration_s > 0.0):
        raise InputError(f"--duration is {duration_s}, must be above 0 s", subject="duration", value=duration_s, limit=0.0)
    recording = Recording(checked_path(out, namespace))
    from picker_dynamics.nodes.recorder import Recorder
    from picker_dynamics.nodes.runtime import run

    made: list[Recorder] = []

    def make() -> Recorder:
        made.append(Recorder(recording, namespace, duration_s))
        return made[0]

    try:
        code = run(make, ["picker"])
    finally:
        _end(recording)
    if made:
        print(made[0].summary(), flush=True)
    if code == 0 and not recording.messages:
        raise LinkError("nothing to record: nobody said anything (is 'picker up' running, in this namespace and ROS_DOMAIN_ID?)")
    return code


def _end(recording: Recording) -> None:
    """Close the file; one without messages goes."""
    try:
        recording.close()
    finally:
        if not recording.messages:
            recording.path.unlink(missing_ok=True)
