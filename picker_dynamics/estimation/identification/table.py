"""CSV files of samples: one line of names, with units in them, then numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.files.reading import TABLE_BYTES, read_text

Table = dict[str, np.ndarray]
"""Columns (k,) by name; entries that are no numbers are NaN."""


def read(path: str | Path) -> Table:
    """Read a CSV file.  Columns behind the last name, and a last line that was cut off, are left out.

    Raises:
        InputError: no such file, numbers in place of names, a line with fewer entries than names.
    """
    lines = [line for line in read_text(path, "samples", TABLE_BYTES, encoding="utf-8-sig").splitlines() if line.strip()]
    names, *rows = lines or [""]
    named = [name.strip(' "') for name in names.split(",")]
    bare = named[0][:1] in {*"0123456789.-+"} - {""}
    refuse_if(bare, f"{path}: its first line is numbers, must be the names of its columns: time_s, ...", "columns")
    if rows and (rows[-1].count(",") < names.count(",") or not rows[-1].rpartition(",")[2].strip()):
        rows.pop()
    if not rows:
        return dict.fromkeys(named, np.zeros(0))
    try:
        used = range(len(named))
        values = np.genfromtxt(rows, delimiter=",", comments=None, usecols=used, ndmin=2)  # type: ignore[call-overload]  # None: no comments
    except ValueError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}, its first line has {len(named)}", value=str(path)) from error
    return dict(zip(named, values.T))


def column(table: Table, units: Mapping[str, float], otherwise: str = "") -> np.ndarray:
    """The first column of those names that is there, (k,), times the factor of its unit.

    Args:
        otherwise: what to say of other ways where there is none.

    Raises:
        InputError: there is none.
    """
    name = next((name for name in units if name in table), "")
    missing = f"no column {' or '.join(units)}{otherwise}; there are {', '.join(table) or 'none'}"
    refuse_if(not name, missing, next(iter(units)))
    return units[name] * table[name]
