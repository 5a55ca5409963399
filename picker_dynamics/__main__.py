"""``picker``: starts the command so that Ctrl-C ends it without a traceback, from its first moment to its last."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
"""Exit code of a command that a person interrupted, as in ``commands.terminal``, which is not loaded yet."""

IGNORED = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""As it is behind & in a script."""

if not IGNORED:
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # while modules are loaded nothing is open yet


def loads(frame: FrameType | None) -> bool:
    """Whether a module is being loaded there: what is raised then leaves it half loaded, or looks like a missing library."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def main() -> int:
    """Load the commands and run one; returns its exit code, 130 where a person interrupted."""
    heard: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if loads(frame):
            os._exit(INTERRUPTED)
        heard.append(number)
        raise KeyboardInterrupt

    from picker_dynamics.commands.cli import main as run

    try:
        if not IGNORED:
            signal.signal(signal.SIGINT, interrupt)
        code = run()
    except BaseException:  # libraries turn an interruption into errors of their own
        if not heard:
            raise
        code = INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if heard or "rclpy" in sys.modules:  # all is closed: Python would wind up for 0.2 s, or crash over what was interrupted
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed, by whoever read it
                stream.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
