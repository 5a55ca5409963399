"""``picker``: starts the command so that Ctrl-C ends it without a traceback, from its first moment to its last."""

import os
import signal
import sys

INTERRUPTED = 130
"""Exit code of a command that a person interrupted, as in ``commands.terminal``, which is not loaded yet."""

IGNORED = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""As it is behind & in a script."""

if not IGNORED:
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # while modules are loaded nothing is open yet


def ended(code: int) -> int:
    """The exit code; where ROS was loaded the process ends with it here: all is closed, and Python would wind up for 0.2 s."""
    if "rclpy" in sys.modules:
        import contextlib

        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)
    return code


def main() -> int:
    """Load the commands and run one; returns its exit code, 130 where a person interrupted."""
    heard: list[int] = []

    def interrupt(number, _frame) -> None:
        heard.append(number)
        sys.unraisablehook = lambda _: None  # what destructors say that were interrupted is no news
        raise KeyboardInterrupt

    from picker_dynamics.commands.cli import main as run

    try:
        if not IGNORED:
            signal.signal(signal.SIGINT, interrupt)
        return ended(run())
    except BaseException:  # libraries that are being loaded turn an interruption into errors of their own
        if heard:
            return INTERRUPTED
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
