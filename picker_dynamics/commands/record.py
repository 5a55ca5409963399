"""``picker record``: records a running arm to an MCAP file, until Ctrl-C or as long as asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
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

RETRY_S, SILENCE_S = 0.5, 5.0
"""How often an arm is looked for, and how often it is said that there is none [s]."""

QUEUE = 1000
"""Messages of the arm that wait while the disk is busy; older ones are dropped."""


def add_parser(commands) -> None:
    """Register ``record``."""
    parser = commands.add_parser("record", help="record references, commands, states and torques to an MCAP file")
    parser.add_argument("-o", "--out", default=None, metavar="FILE", help="default: picker_DATE_TIME.mcap")
    parser.add_argument(
        "--duration", type=shared.number(0.001, 1e6), default=None, metavar="S", help="end by itself after that long"
    )
    shared.add(parser, "--namespace", "--host")
    parser.set_defaults(run=lambda options: record(options.out, options.duration, options.namespace, options.host))


def record(out: str | None, duration_s: float | None, namespace: str, host: str = "") -> int:
    """Record one arm; returns the exit code.

    Raises:
        ConfigurationError, InputError: options that cannot be.
        LinkError: no arm answered; there is no file then.
        RecordingError: the file could be written no more.
    """
    require_namespace(namespace)
    recording, begun_s = Recording(checked_path(out, namespace)), time.monotonic()
    recorder = Recorder(recording, namespace.strip("/"), host)
    print(f"recording to {recording.path}; Ctrl-C ends", flush=True)
    try:
        recorder.run(begun_s + (duration_s or float("inf")))
    except KeyboardInterrupt:
        pass
    finally:
        recording.close()
        if not recording.messages:
            recording.path.unlink(missing_ok=True)
    if not recording.messages:
        raise LinkError(f"nothing to record: {NOBODY}")
    taken = ", ".join(f"{name.removeprefix(recorder.prefix)} {count}" for name, count in recording.counts.items())
    lost = f"; {recorder.dropped} samples were dropped: this machine or its disk is busy" if recorder.dropped else ""
    print(f"{recording.path}: {recording.messages} messages in {time.monotonic() - begun_s:.1f} s: {taken}{lost}", flush=True)
    return 0


class Recorder:
    """Recorder of the arm in ``namespace``, and of the one that runs there after it.

    Attributes:
        dropped: cycles and messages that came faster than they could be written.
        prefix: of its topics.
    """

    def __init__(self, recording: Recording, namespace: str, host: str = ""):
        self._recording, self._reached = recording, (namespace, *shared.reached(host))
        self._heard: deque[tuple[str, Any]] = deque(maxlen=QUEUE)
        self.dropped, self._of_arm = 0, 0
        self.prefix = f"/{namespace}/" if namespace else "/"

    def run(self, until_s: float) -> None:
        """Record until then on the monotonic clock [s]."""
        said_s = time.monotonic()
        while (now_s := time.monotonic()) < until_s:
            try:
                with Listener(self.hear, *self._reached) as session:
                    self._follow(session, until_s)
            except LinkError:
                if now_s > said_s + SILENCE_S and not self._recording.messages:
                    print(f"nothing heard yet: {NOBODY}", flush=True)
                    said_s = now_s
                time.sleep(max(min(RETRY_S, until_s - time.monotonic()), 0.0))

    def hear(self, what: str, content: Any) -> None:
        """Keep a message for the thread that writes."""
        self.dropped += len(self._heard) == QUEUE
        self._heard.append((what, content))

    def _follow(self, session: Listener, until_s: float) -> None:
        """Write what one arm says, until then or until it ends, which raises a LinkError."""
        text = session.call("arm")
        arm, known, due_s = arm_text.read(text).description, session.call("snapshot"), 0.0
        topics = ArmTopics(self._recording, self.prefix, arm.joint_names, arm.tool)
        topics.arm(text, arm.urdf)
        topics.status("hardware/status", known["hardware"])
        topics.status("arm_controller/status", known["controller"])
        self._of_arm = 0
        session.tell("subscribe", period_s=PERIOD_S, whole=True)
        while (now_s := time.monotonic()) < until_s:
            session.wait_at_most(min(PERIOD_S, until_s - now_s), lambda: self._heard)
            while self._heard:
                what, content = self._heard.popleft()
                if what != "cycles":
                    topics.status(what, content)
                    continue
                topics.cycles(content["cycles"], content["ahead_s"])
                topics.payload(content["payload"])
                self.dropped, self._of_arm = self.dropped + content["dropped"] - self._of_arm, content["dropped"]
            if now_s >= due_s:
                due_s = now_s + DIAGNOSTICS_S
                topics.diagnostics(session.call("diagnostics"))
                self._recording.flush()


class Listener(RemoteSession):
    """Session that hands what the arm says to ``hear``: the topic, or ``cycles``, and the message."""

    def __init__(self, hear: Callable[[str, Any], None], namespace: str, host: str, token: str):
        self._hear = hear
        super().__init__(namespace, host, token)

    def take(self, what: str, content: Any) -> None:
        if topic := TOPICS.get(what):
            self._hear(topic, content)
        super().take(what, content)


TOPICS = {"event": "arm_controller/status", "hardware": "hardware/status", "cycles": "cycles"}
"""What is published of an arm -> its topic."""
