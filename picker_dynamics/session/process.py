"""Process of an arm: runs the control loop until a signal, serves the arm's socket, and leaves the arm as its settings say.

As a program it does so without ROS; its arguments are the same as those of the process with nodes:

    process -r __ns:=/left --params-file FILE -p trajectory_controller:rate_hz:=50.0
"""

from __future__ import annotations

import difflib
import gc
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from picker_dynamics.controller import parameters
from picker_dynamics.controller.settings import Settings
from picker_dynamics.errors import ConfigurationError, InputError, PickerError
from picker_dynamics.execution.events import Event
from picker_dynamics.files.formats import parse_json, read_yaml
from picker_dynamics.lifeline import LIMIT_S, end_with_parent, hear_signals

from .address import Claim, listening
from .loop_thread import LoopThread
from .report import Report
from .running_arm import RunningArm
from .server import Server

LOOK_S = 0.1

COLLECTIONS = (20_000, 20, 20)
"""Thresholds of Python's collector: at 200 Hz a young collection every second or so, instead of thirty in it."""

ALIKE = 0.8
"""From which share of equal letters on (difflib's ratio) an unknown parameter is taken for a misspelt one."""


def end_soon() -> None:
    """Have this process end after a failure whatever hangs, Python's own end too: the system kills it after ``LIMIT_S``."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(round(LIMIT_S))


def exit_code_of(error: Exception) -> int:
    """Print the error, as the last line before the end; returns its exit code; one that nobody foresaw is shown whole."""
    if not isinstance(error, PickerError):
        end_soon()
        traceback.print_exception(error)
        error = PickerError(f"{type(error).__name__}: {' '.join(str(error).split())}")
    print(f"error: {error}", file=sys.stderr, flush=True)
    return error.exit_code


def tame_collector() -> None:
    """Let Python's collector leave alone what is there now, as it stays until the end, and look seldom at what comes."""
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)


def run(
    arm: RunningArm,
    report: Report,
    claim: Claim,
    stop: list[int],
    alive: Callable[[], bool] = lambda: True,
    last_words: Callable[[Sequence[Event]], object] = lambda _events: None,
) -> None:
    """Serve an arm and run its control loop until a signal or a failure; at the end leave it as ``on_shutdown`` says.

    Args:
        claim: on the arm's name.
        stop: numbers of the signals that have come; the second one hurries.
        alive: ends it where it is false.
        last_words: called with the last events, while whoever waits can still be answered.

    Raises:
        Exception: that ended the loop; else what failed at the end: everything is done all the same.
    """
    with ExitStack() as at_the_end:  # the last one first
        at_the_end.callback(arm.close)
        at_the_end.callback(Server(arm, report, claim.path, *listening()).close)
        loop = LoopThread(arm.session.cycle, arm.period_s)
        at_the_end.callback(loop.close)
        tame_collector()

        @at_the_end.callback
        def say() -> None:
            with arm.session.turn:
                events = arm.controller.execution.close()
                report.publish_events(events)
            last_words(events)

        @at_the_end.callback
        def leave() -> None:
            if loop.running:
                arm.leave(lambda: len(stop) > 1 or not loop.running)

        lateness, told_s = arm.controller.execution.lateness, 0.0
        while not stop and loop.running and alive():
            time.sleep(LOOK_S)  # a signal ends it at once
            if lateness.worst_s > told_s:
                print(f"warning: {lateness.text}", file=sys.stderr, flush=True)
            told_s = lateness.worst_s
    if loop.failure is not None:
        raise loop.failure


def parameters_in(words: Iterable[str]) -> tuple[str, dict[str, dict[str, Any]]]:
    """Namespace, and parameters of each part, in the arguments of an arm's process.

    Raises:
        ConfigurationError: an argument that is none, or a file that cannot be read.
    """
    values: dict[str, dict[str, Any]] = {part: {} for part in parameters.PARTS}
    namespace, left = "", iter([word for word in words if word != "--ros-args"])
    for word in left:
        what = next(left, "")
        if word == "-r" and what.startswith("__ns:="):
            namespace = what.removeprefix("__ns:=")
        elif word == "--params-file":
            for pattern, section in read_yaml(what, "params_file", ConfigurationError).items():
                part = str(pattern).rpartition("/")[2]
                for one in values if part == "**" else {part} & set(values):
                    values[one] |= _flat(section.get("ros__parameters", {}))
        elif word == "-p":
            name, _, text = what.partition(":=")
            part, _, name = name.rpartition(":")
            for one in [part] if part else values:
                values.setdefault(one, {})[name] = parse_json(text, what, ConfigurationError)
        elif word != "--log-level":
            raise ConfigurationError(f"{word!r} is not an argument of an arm's process", value=word)
    return namespace, values


def _flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in section.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def require_known(settings: Settings, names: Iterable[str]) -> None:
    """Raise a ConfigurationError for a name that looks like a misspelt one of ``settings``."""
    for name in set(names) - set(settings.declared):
        if meant := difflib.get_close_matches(name, settings.declared, 1, ALIKE):
            raise ConfigurationError(f"parameter {name} does not exist, did you mean {meant[0]}?", name)


def log(what: str, content: Any) -> None:
    """Print what the outputs are about, and what becomes of goals."""
    if what in ("hardware", "event"):
        print(f"[{content['name']}]: {content['message']}", flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Run an arm without ROS until SIGINT or SIGTERM; returns the exit code for the shell."""
    stop: list[int] = []
    try:
        hear_signals(stop.append)
        end_with_parent()
        namespace, values = parameters_in(sys.argv[1:] if words is None else words)
        claim = Claim(namespace)
        settings = parameters.settings(values)
        arm = RunningArm(settings)
        for part in parameters.PARTS:
            require_known(settings[part], values[part])
        for note in arm.notes:
            print(note, flush=True)
        report = Report(arm)
        report.listeners.append(log)
        if arm.servos is not None and settings[parameters.HARDWARE]["autostart"]:
            arm.configure()
        run(arm, report, claim, stop)
    except Exception as error:
        if isinstance(error, InputError) and not isinstance(error, ConfigurationError):
            error = ConfigurationError(str(error), error.subject, error.value, error.limit)
        return exit_code_of(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
