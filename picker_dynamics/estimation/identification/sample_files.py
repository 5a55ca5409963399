"""Files of samples: bags (``joint_states`` of MCAP or SQLite), and CSV with units in the names of the columns:

    time_s, position_JOINT_rad, velocity_JOINT_rad_s, effort_JOINT_nm, …        turning joints
            position_JOINT_m,   velocity_JOINT_m_s,   effort_JOINT_n            sliding ones

Velocities may be left out (for all joints).  ``position_JOINT_deg`` and ``velocity_JOINT_deg_s`` are taken too, and
``current_JOINT_a`` in place of an effort where a torque constant is given.  Other columns are ignored.  A file without such
names is read with a column map: the names in the order of its columns, ``*`` for all joints in the arm's order, ``-`` for a
column to be ignored, as those after the last name are:

    time_s,position_*_rad,velocity_*_rad_s,-,effort_*_nm

A last line that was cut off is left out, and a remark says so.
"""

from __future__ import annotations

import array
import csv
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, refuse_if
from picker_dynamics.files.reading import TABLE_BYTES, read_bytes
from picker_dynamics.recording import reader
from picker_dynamics.robot.description import ArmDescription

from .samples import Samples

COLUMNS_MAX = 1000

MAP = "time_s,position_*_rad,velocity_*_rad_s,effort_*_nm"
"""A column map, for messages."""

_SUFFIXES = {
    "rad": {
        "position": {"rad": 1.0, "deg": math.radians(1.0)},
        "velocity": {"rad_s": 1.0, "deg_s": math.radians(1.0)},
        "effort": {"nm": 1.0},
        "current": {"a": 1.0},
    },
    "m": {"position": {"m": 1.0}, "velocity": {"m_s": 1.0}, "effort": {"n": 1.0}, "current": {"a": 1.0}},
}


def read(
    path: str | Path,
    description: ArmDescription,
    constants: Mapping[str, float],
    namespace: str | None = None,
    column_map: str | None = None,
) -> Samples:
    """Read a recording, CSV or bag; errors are those of ``read_csv`` and ``read_bag``.

    Args:
        constants: torque constants [N·m/A or N/A] of joints whose current was measured.
        namespace: of the arm, in a bag that has several.
        column_map: of a CSV file whose columns have no names.
    """
    if Path(path).suffix.lower() in (".mcap", ".db3") or (column_map is None and Path(path).suffix.lower() != ".csv"):
        return read_bag(path, description, namespace).times_constants(constants)
    return read_csv(path, description, constants, column_map)


def read_bag(path: str | Path, description: ArmDescription, namespace: str | None = None) -> Samples:
    """Read one arm of a bag (MCAP or SQLite), for example of ``picker record``.

    Velocities are taken from the positions.  A stamp that comes twice counts once.

    Raises:
        InputError: ``joint_states`` without efforts.
        JointNamesError: of another arm.
        RecordingError: it cannot be read.
    """
    recorded = reader.read(path, namespace)
    missing = set(description.joint_names) - set(recorded.joint_names)
    if missing:
        raise JointNamesError(
            f"{path}: no joint {', '.join(sorted(missing))}; it has {', '.join(recorded.joint_names)}", subject=min(missing)
        )
    refuse_if(
        not len(recorded.state_torque), f"{path}: joint_states have no efforts: this arm does not measure torque", value=str(path)
    )
    order = [recorded.joint_names.index(name) for name in description.joint_names]
    t, at, of = np.intersect1d(recorded.state.t, recorded.state_torque.t, return_indices=True)
    return Samples(
        description.joint_names,
        t - t[0],
        recorded.state.values[at][:, order],
        None,
        recorded.state_torque.values[of][:, order],
        str(path),
    )


def read_csv(
    path: str | Path, description: ArmDescription, constants: Mapping[str, float] | None = None, column_map: str | None = None
) -> Samples:
    """Read a CSV file, as far as it goes.

    Args:
        constants: torque constants [N·m/A or N/A] of joints whose current was measured.
        column_map: names of its columns in their order; a first line that is none of numbers is passed over then.

    Raises:
        InputError: no such file, columns that are missing, an entry that is no number.
    """
    constants = dict(constants or {})
    table = read_table(path, lambda name: name.split("_")[0] in _SUFFIXES["rad"], column_map, MAP, description.joint_names)
    header = table.header

    def column(kind: str, joint: str, unit: str) -> np.ndarray | None:
        for suffix, factor in _SUFFIXES[unit][kind].items():
            name = f"{kind}_{joint}_{suffix}"
            if name in header:
                return factor * table.columns[name]
        return None

    found: dict[str, list] = {"position": [], "velocity": [], "effort": []}
    for joint, unit in zip(description.joint_names, description.position_units):
        for kind, values in found.items():
            measured, factor = ("current", constants.pop(joint)) if kind == "effort" and joint in constants else (kind, 1.0)
            one = column(measured, joint, unit)
            if one is not None:
                one = factor * one
            elif kind != "velocity":
                names = " or ".join(f"{measured}_{joint}_{suffix}" for suffix in _SUFFIXES[unit][measured])
                raise InputError(f"{path}: no column {names}{_instead(measured, joint, unit, header)}", subject=joint)
            values.append(one)
    if constants:
        joint = next(iter(constants))
        raise InputError(
            f"torque constant for {joint!r}: no such joint; there are {', '.join(description.joint_names)}", subject=joint
        )
    v = None if any(one is None for one in found["velocity"]) else np.stack(found["velocity"], axis=-1)
    return Samples(
        description.joint_names,
        table.columns["time_s"],
        np.stack(found["position"], axis=-1),
        v,
        np.stack(found["effort"], axis=-1),
        str(path),
        table.remarks,
    )


class Table(NamedTuple):
    """A CSV file: names of all its columns, numbers (k,) of those that were wanted, what is to be said of them."""

    header: list[str]
    columns: dict[str, np.ndarray]
    remarks: tuple[str, ...]


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
    rows = _rows(path, read_bytes(path, "samples", TABLE_BYTES))
    header, rows, begin = _named(path, rows, joints, column_map, example)
    refuse_if(
        len(header) > COLUMNS_MAX,
        f"{path}: {len(header)} columns, at most {COLUMNS_MAX} are taken",
        value=len(header),
        limit=COLUMNS_MAX,
    )
    refuse_if("time_s" not in header, f"{path}: no column time_s; it has {', '.join(header) or 'none'}", "time_s")
    ours = [i for i, name in enumerate(header) if name == "time_s" or wanted(name)]
    numbers, remarks = _numbers(path, header, ours, rows, begin)
    return Table(header, {header[i]: numbers[:, ours.index(header.index(header[i]))] for i in ours}, remarks)


def _rows(path, data: bytes) -> Iterator[list[str]]:
    """Line by line."""
    try:
        yield from csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""), skipinitialspace=True)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"cannot read samples {path}: {error}", value=str(path)) from error


def _named(
    path, rows: Iterator[list[str]], joints: Sequence[str], column_map: str | None, example: str
) -> tuple[list[str], Iterator[list[str]], int]:
    """Names of the columns, the rows of numbers, and in which line they begin."""
    first = [entry.strip() for entry in next(rows, [])]
    bare = bool(first) and all(_is_number(entry) for entry in first)
    if column_map is None:
        refuse_if(
            bare,
            f"{path}: its first line is numbers, not the names of {len(first)} columns: name them, for example "
            f"--columns {example}",
            "columns",
        )
        return first, rows, 2
    names = []
    for name in (part.strip() for part in column_map.split(",")):
        names += [name.replace("*", joint, 1) for joint in joints] if "*" in name else [name]
    for name in sorted(set(names) - {"-"}):
        refuse_if(names.count(name) > 1, f"--columns {column_map}: {name} is there {names.count(name)} times", name)
    refuse_if(
        len(names) > len(first),
        f"{path}: {len(first)} columns, --columns names {len(names)} ({', '.join(names)})",
        value=len(first),
        limit=len(names),
    )
    names += ["-"] * (len(first) - len(names))
    return names, itertools.chain([first], rows) if bare else rows, 1 if bare else 2


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def _instead(measured: str, joint: str, unit: str, header: list[str]) -> str:
    """What else would do for an effort that is missing, and what there is."""
    there = f"; it has {', '.join(name for name in header if name != '-')}"
    if measured == "current":
        return f", for which --torque-constant {joint} is given{there}"
    newton = "N·m" if unit == "rad" else "N"
    other = f", or current_{joint}_a with --torque-constant {joint}=({newton} per A)" if measured == "effort" else ""
    return f"{other}{there}"


def _numbers(
    path, header: list[str], ours: list[int], rows: Iterator[list[str]], begin: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers (k, columns) of the columns that matter, and what is to be said of them."""
    numbers = array.array("d")
    cut: tuple[int, InputError] | None = None
    for line, row in enumerate(rows, start=begin):
        if not row:
            continue
        if cut is not None:
            raise cut[1]  # it was not the last
        try:
            numbers.extend(_of_row(path, line, row, header, ours))
        except InputError as error:
            if len(row) > len(header) or (len(row) == len(header) and _is_number(row[-1])):
                raise
            cut = line, error
    remarks = () if cut is None else (f"{path}: its last line, {cut[0]}, was cut off and is left out",)
    return np.array(numbers).reshape(-1, len(ours)), remarks


def _of_row(path, line: int, row: list[str], header: list[str], ours: list[int]) -> list[float]:
    if len(row) != len(header):
        message = f"{path}, line {line}: {len(row)} entries, the first line has {len(header)}"
        raise InputError(message, value=len(row), limit=len(header))
    values = []
    for i in ours:
        try:
            values.append(float(row[i]))
        except ValueError as error:
            raise InputError(
                f"{path}, line {line}: {header[i]} is {row[i]!r}, not a number", subject=header[i], value=row[i]
            ) from error
    return values


def csv_text(samples: Samples, units) -> str:
    """The samples as such a file; ``units`` of the positions, ``rad`` or ``m`` for each joint."""
    names, columns = ["time_s"], [samples.t]
    for i, (joint, unit) in enumerate(zip(samples.joint_names, units)):
        for kind, values in (("position", samples.q), ("velocity", samples.v), ("effort", samples.tau)):
            if values is not None:
                names.append(f"{kind}_{joint}_{next(iter(_SUFFIXES[unit][kind]))}")
                columns.append(values[:, i])
    lines = [", ".join(names), *(", ".join(f"{value:.9g}" for value in row) for row in zip(*columns))]
    return "\n".join(lines) + "\n"
