"""``picker record``: records a running arm to an MCAP file, until Ctrl-C, as long as asked, or until the arm ends."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from picker_dynamics.errors import LinkError
from picker_dynamics.recording.arm_topics import ArmTopics
from picker_dynamics.recording.writer import Recording, checked_path
from picker_dynamics.robot import arm_text
from picker_dynamics.session.address import require_namespace
from picker_dynamics.session.remote import NOBODY, RemoteSession

from . import options as shared

PERIOD_S, DIAGNOSTICS_S = 0.1, 1.0
"""How often cycles come, and how often all parts of the arm are asked after [s]."""


def add_parser(commands) -> None:
    """Register ``record``."""
    parser = commands.add_parser("record", help="record references, commands, states and torques to an MCAP file")
    parser.add_argument("-o", "--out", default=None, metavar="FILE", help="file to write (default: picker_DATE_TIME.mcap)")
    seconds = shared.number(0.001, 1e6)
    parser.add_argument("--duration", type=seconds, default=1e6, metavar="S", help="stop after S seconds")
    shared.add(parser, "--namespace", "--host")


def run(options) -> int:
    """Record one arm; returns the exit code.

    Raises:
        ConfigurationError, InputError: options that cannot be.
        LinkError: no arm answered; there is no file then.
        RecordingError: the file could be written no more.
    """
    require_namespace(options.namespace)
    recording, begun_s = Recording(checked_path(options.out, options.namespace)), time.monotonic()
    print(f"recording to {recording.path} once an arm answers; Ctrl-C ends", flush=True)
    dropped = 0
    try:
        dropped = follow(recording, options, begun_s + options.duration)
    except KeyboardInterrupt:
        pass
    finally:
        recording.close()
        if not recording.messages:
            recording.path.unlink(missing_ok=True)
    if not recording.messages:
        raise LinkError(f"nothing to record: {NOBODY}")
    counts = ", ".join(f"{topic} {count}" for topic, count in recording.counts.items())
    lost = f"; {dropped} samples were dropped: this machine or its disk is busy" if dropped else ""
    print(f"{recording.path}: {recording.messages} messages in {time.monotonic() - begun_s:.1f} s: {counts}{lost}", flush=True)
    return 0


class Listener(RemoteSession):
    """Session that keeps what the arm says, for the thread that writes."""

    def __init__(self, *reached: str):
        self.heard: deque[tuple[str, Any]] = deque()
        super().__init__(*reached)

    def take(self, what: str, content: Any) -> None:
        self.heard.append((what, content))
        super().take(what, content)


def follow(recording: Recording, options, until_s: float) -> int:
    """Write what the arm says, until then on the monotonic clock [s]; returns how many samples it could not hand over.

    Raises:
        LinkError: none answers.
    """
    reached = options.namespace, *shared.reached(options.host)
    with shared.waited_for(lambda: Listener(*reached), until_s - time.monotonic()) as session:
        text, known, due_s, dropped = session.call("arm"), session.call("snapshot"), 0.0, 0
        arm, prefix = arm_text.read(text).description, f"/{session.namespace}/" if session.namespace else "/"
        topics = ArmTopics(recording, prefix, arm)
        topics.arm(text)
        topics.ahead_s = known["ahead_s"]
        for what in ("hardware", "payload"):
            topics.take(what, known[what])
        topics.take("event", known["controller"])
        session.tell("subscribe", period_s=PERIOD_S, all=True)
        try:
            while (now_s := time.monotonic()) < until_s:
                session.wait_at_most(min(PERIOD_S, until_s - now_s), lambda: session.heard)
                while session.heard:
                    what, content = session.heard.popleft()
                    topics.take(what, content)
                    dropped += content if what == "dropped" else 0
                if now_s >= due_s:
                    due_s, topics.ahead_s = now_s + DIAGNOSTICS_S, session.call("snapshot")["ahead_s"]
                    topics.diagnostics(session.call("diagnostics"))
                    recording.flush()
        except KeyboardInterrupt:
            pass
        except LinkError as error:  # what the arm did until it ended is there
            print(error, flush=True)
    return dropped
