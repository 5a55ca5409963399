"""Wall clock that a test can set: for the processes of a graph, while the machine's own stays what it is."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

SOURCE = Path(__file__).with_name("shifted_clock.c")


class WallClock:
    """Clock of the processes that were started while it was there."""

    def __init__(self, path: Path):
        path.write_bytes(struct.pack("d", 0.0))
        with open(path, "r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8)

    def jump(self, seconds: float) -> None:
        """Be so much ahead of where it would have been."""
        before = struct.unpack("d", self._page[:])[0]
        self._page[:] = struct.pack("d", before + seconds)


@contextlib.contextmanager
def settable_wall_clock(directory: Path) -> Iterator[WallClock]:
    """Processes that are started meanwhile go by the clock that this yields; skips where no compiler is installed."""
    library, shift = directory / "shifted_clock.so", directory / "shift"
    try:
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler is installed: the wall clock cannot be set")
    clock = WallClock(shift)
    with mock.patch.dict(os.environ, {"LD_PRELOAD": str(library), "WALL_CLOCK_SHIFT": str(shift)}):
        yield clock
