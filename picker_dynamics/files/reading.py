"""Reader of files that somebody names: regular ones, or a pipe, of a bounded size, decoded.

Whatever is wrong is one error, of the class that the caller names.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from picker_dynamics.errors import InputError, PickerError

YAML_BYTES, JSON_BYTES, XML_BYTES, TABLE_BYTES = 200_000, 8_000_000, 2_000_000, 32_000_000
"""Largest file of each kind [bytes]; a table has a line for each sample."""

Error = type[PickerError]


def read_bytes(path: str | Path, what: str, most: int, error: Error = InputError) -> bytes:
    """Bytes of a whole file.

    Args:
        path: of a regular file, or of a pipe that somebody writes to.
        what: it is, for the error's text.
        most: largest size that is taken.
        error: class of the error.

    Raises:
        PickerError: of that class: no such file, not a file, not readable, too large.
    """
    with opened(path, what, error, pipes=True) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise error(f"{what} {path} is too large: at most {most} bytes are taken", value=str(path), limit=most)
    return data


@contextlib.contextmanager
def opened(path: str | Path, what: str, error: Error = InputError, pipes: bool = False) -> Iterator[BinaryIO]:
    """A file to be read, regular or perhaps a pipe; whatever the system says against it, then or later, is one error."""
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode))):
            raise error(f"cannot read {what} {path}: not a regular file", value=str(path))
        with open(path, "rb") as file:
            yield file
    except (OSError, ValueError) as failure:
        if isinstance(failure, PickerError):
            raise
        raise error(f"cannot read {what} {path}: {getattr(failure, 'strerror', None) or failure}", value=str(path)) from failure


def read_text(path: str | Path, what: str, most: int, error: Error = InputError, encoding: str = "utf-8") -> str:
    """Text of a whole file; arguments and errors as for ``read_bytes``, and for what is no text."""
    data = read_bytes(path, what, most, error)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as failure:
        raise error(f"cannot read {what} {path}: not UTF-8 text at byte {failure.start}", value=failure.start) from failure
