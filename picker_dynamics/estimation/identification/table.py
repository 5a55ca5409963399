"""Tables of numbers as CSV, by the names of their columns.

A file without names is read with a column map: the names in the order of its columns, ``*`` for all joints in the arm's order,
``-`` for a column to be ignored, as those after the last name are:

    time_s,position_*_rad,velocity_*_rad_s,-,effort_*_nm

A last line that was cut off is left out, and a remark says so.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.files.reading import TABLE_BYTES, read_text


class Table:
    """A table whose columns become numbers when they are asked for.

    Args:
        column_map: names of its columns in their order; a first line that is none of numbers is passed over then.
        example: of a column map, for messages.
        joints: what ``*`` in a name stands for.

    Attributes:
        remarks: what a person should know of how it was read.

    Raises:
        InputError: no such file, no names, a line of another length.
    """

    def __init__(self, path: str | Path, column_map: str | None, example: str, joints: Sequence[str] = ()):
        text = read_text(path, "samples", TABLE_BYTES, encoding="utf-8-sig")
        try:
            lines = enumerate(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), 1)
            rows = [(number, [entry.strip() for entry in row]) for number, row in lines if row]
        except csv.Error as error:
            raise InputError(f"cannot read samples {path}: {error}", value=str(path)) from error
        self.path, self.remarks = path, ()
        first = rows[0][1] if rows else []
        bare, width = bool(first) and all(map(_is_number, first)), len(first)
        if column_map is None:
            refuse_if(bare, f"{path}: its first line is numbers: name its columns, for example --columns {example}", "columns")
            self.names = first
        else:
            parts = [part.strip() for part in column_map.split(",")]
            self.names = [name.replace("*", joint, 1) for name in parts for joint in (joints if "*" in name else [""])]
            many = f"{path}: {width} columns, --columns names {len(self.names)}"
            refuse_if(len(self.names) > width, many, value=width, limit=len(self.names))
        self.rows = rows if bare else rows[1:]
        if self.rows and (len(self.rows[-1][1]) < width or not _is_number(self.rows[-1][1][-1])):
            number, _ = self.rows.pop()
            self.remarks = (f"{path}: its last line, {number}, was cut off and is left out",)
        for number, row in self.rows:
            refuse_if(len(row) != width, f"{path}, line {number}: {len(row)} entries, the first line has {width}")

    def column(self, units: Mapping[str, float], otherwise: str | None = "") -> np.ndarray | None:
        """The first column of those names that is there, (k,), times the factor of its unit.

        Args:
            otherwise: what to say of the other ways where there is none; None: then it is not needed.

        Raises:
            InputError: a column that is missing, there twice, or not of numbers.
        """
        name = next((name for name in units if name in self.names), None)
        there = ", ".join(name for name in self.names if name != "-") or "none"
        if name is None:
            names = " or ".join(units)
            refuse_if(otherwise is not None, f"{self.path}: no column {names}{otherwise}; it has {there}", next(iter(units)))
            return None
        refuse_if(self.names.count(name) > 1, f"{self.path}: {name} is there {self.names.count(name)} times", name)
        index = self.names.index(name)
        for number, row in self.rows:
            wrong = f"{self.path}, line {number}: {name} is {row[index]!r}, not a number"
            refuse_if(not _is_number(row[index]), wrong, name, row[index])
        return units[name] * np.array([float(row[index]) for _, row in self.rows])


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True
