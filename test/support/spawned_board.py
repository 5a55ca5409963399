"""Virtual boards for tests: as a process of its own, or in a thread of this one."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from picker_dynamics import lifeline
from picker_dynamics.errors import LinkError
from picker_dynamics.sim.control_socket import BoardControl
from picker_dynamics.sim.virtual_board import VirtualBoard

READY_S = 20.0


@contextmanager
def running(board: VirtualBoard) -> Iterator[VirtualBoard]:
    """The board, run by a thread for the duration of a ``with`` block."""
    thread = threading.Thread(target=board.run, daemon=True)
    thread.start()
    try:
        yield board
    finally:
        board.stop()
        thread.join()


@contextmanager
def spawn_board(link: str | Path, *arguments: str) -> Iterator[BoardControl]:
    """A virtual board as a process of its own, for the duration of a ``with`` block; yields its ``BoardControl``.

    Args:
        link: name of the port to make.
        arguments: more arguments of the command line.

    Raises:
        LinkError: it ended, or is not ready in time; says why.
    """
    control = f"{link}.control"
    command = [sys.executable, "-m", "picker_dynamics.sim.board", "--link", str(link), "--control", str(control), *arguments]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=os.environ | lifeline.children(), **pipes)
    try:
        with _ready(process, control) as client:
            yield client
    finally:
        process.terminate()
        try:
            process.communicate(timeout=5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _ready(process: subprocess.Popen, control: str) -> BoardControl:
    deadline = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return BoardControl(control)
        except LinkError:
            time.sleep(0.02)
    if process.poll() is None:
        raise LinkError(f"the virtual board is not ready after {READY_S:g} s")
    _, errors = process.communicate()
    raise LinkError(f"the virtual board ended with exit code {process.returncode}: {errors.strip()}", value=process.returncode)
