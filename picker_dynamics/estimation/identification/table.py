"""Tables of numbers as CSV, by the names of their columns.

A file without names is read with a column map: the names in the order of its columns, ``*`` for all joints in the arm's order,
``-`` for a column to be ignored, as those after the last name are:

    time_s,position_*_rad,velocity_*_rad_s,-,effort_*_nm

A last line that was cut off is left out, and a remark says so.
"""

from __future__ import annotations

import array
import csv
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.files.reading import TABLE_BYTES, read_text

COLUMNS_MAX = 1000


class Table(NamedTuple):
    """A table: names of all its columns, numbers (k,) of those that were wanted, what is to be said of them."""

    header: list[str]
    columns: dict[str, np.ndarray]
    remarks: tuple[str, ...]

    @property
    def there(self) -> str:
        """The names, for messages."""
        return ", ".join(name for name in self.header if name != "-")


def read_table(
    path: str | Path, wanted: Callable[[str], bool], column_map: str | None, example: str, joints: Sequence[str] = ()
) -> Table:
    """Read ``time_s`` and the other columns that are ``wanted``, as far as the file goes.

    Args:
        column_map: names of its columns in their order; a first line that is none of numbers is passed over then.
        example: of a column map, for messages.
        joints: what ``*`` in a name stands for.

    Raises:
        InputError: no such file, no column ``time_s``, an entry that is no number.
    """
    text = read_text(path, "samples", TABLE_BYTES, encoding="utf-8-sig")
    rows = _rows(path, text)
    line, first = next(rows, (1, []))
    bare = bool(first) and all(map(_is_number, first))
    if column_map is None:
        refuse_if(
            bare,
            f"{path}: its first line is numbers, not the names of {len(first)} columns: name them, for example "
            f"--columns {example}",
            "columns",
        )
        header = first
    else:
        header = []
        for name in (part.strip() for part in column_map.split(",")):
            header += [name.replace("*", joint, 1) for joint in joints] if "*" in name else [name]
        many = f"{path}: {len(first)} columns, --columns names {len(header)} ({', '.join(header)})"
        refuse_if(len(header) > len(first), many, value=len(first), limit=len(header))
        header += ["-"] * (len(first) - len(header))
    count = len(header)
    refuse_if(count > COLUMNS_MAX, f"{path}: {count} columns, at most {COLUMNS_MAX} are taken", value=count, limit=COLUMNS_MAX)
    refuse_if("time_s" not in header, f"{path}: no column time_s; it has {', '.join(header) or 'none'}", "time_s")
    ours = [i for i, name in enumerate(header) if name == "time_s" or wanted(name)]
    for i in ours:
        refuse_if(header.count(header[i]) > 1, f"{path}: {header[i]} is there {header.count(header[i])} times", header[i])
    numbers, remarks = array.array("d"), []
    for number, row in itertools.chain([(line, first)] if bare else [], rows):
        try:
            numbers.extend(_numbers(f"{path}, line {number}", row, header, ours))
        except InputError:
            cut = len(row) < count or (len(row) == count and not _is_number(row[-1]))
            if not cut or next(rows, None):
                raise
            remarks.append(f"{path}: its last line, {number}, was cut off and is left out")
    columns = np.array(numbers).reshape(-1, len(ours)).T
    return Table(header, {header[i]: values for i, values in zip(ours, columns)}, tuple(remarks))


def _rows(path: str | Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not empty, numbered."""
    try:
        for line, row in enumerate(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), 1):
            if row:
                yield line, [entry.strip() for entry in row]
    except csv.Error as error:
        raise InputError(f"cannot read samples {path}: {error}", value=str(path)) from error


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def _numbers(where: str, row: list[str], header: list[str], ours: list[int]) -> list[float]:
    refuse_if(
        len(row) != len(header),
        f"{where}: {len(row)} entries, the first line has {len(header)}",
        value=len(row),
        limit=len(header),
    )
    try:
        return [float(row[i]) for i in ours]
    except ValueError as error:
        i = next(i for i in ours if not _is_number(row[i]))
        raise InputError(f"{where}: {header[i]} is {row[i]!r}, not a number", subject=header[i], value=row[i]) from error
