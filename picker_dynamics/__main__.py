"""``picker``: starts the command so that Ctrl-C ends it without a traceback, from its first moment to its last."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""Exit code of a command that a person interrupted, as in ``commands.terminal``, which is not loaded yet."""

IGNORED = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""As it is behind & in a script."""

if not IGNORED:
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # while modules are loaded nothing is open yet

AGAIN_S = 0.05
"""How often an interruption that cannot be raised yet is tried again [s]."""


def loads(frame: FrameType | None) -> bool:
    """Whether a module is being loaded there: what is raised then leaves it half loaded, or looks like a missing library."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def ended(code: int, interrupted: bool) -> int:
    """Exit code; where ROS was loaded or somebody interrupted the process ends with it here: all is closed, and Python would wind
    up for 0.2 s, or crash over modules that were loaded by half."""
    if interrupted or "rclpy" in sys.modules:
        import contextlib

        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # closed, by whoever read it
                stream.flush()
        os._exit(code)
    return code


def main() -> int:
    """Load the commands and run one; returns its exit code, 130 where a person interrupted."""
    heard: list[int] = []

    def again() -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            heard.append(number)
            sys.unraisablehook = swallowed
        if len(heard) == 1 and loads(frame):
            again()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            raise KeyboardInterrupt

    def swallowed(told) -> None:
        """A destructor that was interrupted goes on, and so would the command."""
        if issubclass(told.exc_type, KeyboardInterrupt):
            again()

    from picker_dynamics.commands.cli import main as run

    try:
        if not IGNORED:
            signal.signal(signal.SIGALRM, interrupt)
            signal.signal(signal.SIGINT, interrupt)
        code = run()
    except BaseException:  # libraries turn an interruption into errors of their own
        if not heard:
            raise
        code = INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    return ended(code, bool(heard))


if __name__ == "__main__":
    sys.exit(main())
