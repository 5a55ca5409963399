"""Tables of numbers as CSV, by the names of their columns.

A file without names is read with a column map: the names in the order of its columns, ``*`` for all joints in the arm's order,
``-`` for a column to be ignored, as those after the last name are:

    time_s,position_*_rad,velocity_*_rad_s,-,effort_*_nm

A last line that was cut off is left out, and a remark says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.files.reading import TABLE_BYTES, read_text


class Table:
    """A table; entries that are no numbers are NaN.

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
        lines = [line for line in read_text(path, "samples", TABLE_BYTES, encoding="utf-8-sig").splitlines() if line.strip()]
        rows = [[entry.strip(' "') for entry in line.split(",")] for line in lines]
        self.path, self.remarks, self.names = path, (), rows[0] if rows else []
        width, bare = len(self.names), not np.isnan(_numbers(rows[:1])).any()
        if column_map is None:
            why = f"{path}: its first line is numbers: name its columns, for example --columns {example}"
            refuse_if(bare and rows, why, "columns")
        else:
            parts = [part.strip() for part in column_map.split(",")]
            self.names = [name.replace("*", joint, 1) for name in parts for joint in (joints if "*" in name else [""])]
            many = f"{path}: {width} columns, --columns names {len(self.names)}"
            refuse_if(len(self.names) > width, many, value=width, limit=len(self.names))
        rows = rows if bare else rows[1:]
        if rows and (len(rows[-1]) < width or np.isnan(_numbers([rows[-1][-1:]])).any()):
            self.remarks = (f"{path}: its last line, {len(lines)}, was cut off and is left out",)
            rows.pop()
        for number, row in enumerate(rows):
            refuse_if(len(row) != width, f"{path}: {len(row)} entries in sample {number}, the first line has {width}")
        self._values = _numbers(rows).reshape(len(rows), width)

    def column(self, units: Mapping[str, float], otherwise: str | None = "") -> np.ndarray | None:
        """The first column of those names that is there, (k,), times the factor of its unit.

        Args:
            otherwise: what to say of the other ways where there is none; None: then it is not needed.

        Raises:
            InputError: a column that is missing, or there twice.
        """
        name = next((name for name in units if name in self.names), "")
        there = ", ".join(one for one in self.names if one != "-") or "none"
        missing = f"{self.path}: no column {' or '.join(units)}{otherwise}; it has {there}"
        refuse_if(not name and otherwise is not None, missing, next(iter(units)))
        refuse_if(self.names.count(name) > 1, f"{self.path}: {name} is there {self.names.count(name)} times", name)
        return units[name] * self._values[:, self.names.index(name)] if name else None


def _numbers(rows: list[list[str]]) -> np.ndarray:
    def number(entry: str) -> float:
        try:
            return float(entry)
        except ValueError:
            return np.nan

    return np.array([number(entry) for row in rows for entry in row])
