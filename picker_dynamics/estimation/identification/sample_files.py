"""Files of samples: bags (``joint_states`` of MCAP or SQLite), and CSV with units in the names of the columns:

    time_s, position_JOINT_rad, velocity_JOINT_rad_s, effort_JOINT_nm, …        turning joints
            position_JOINT_m,   velocity_JOINT_m_s,   effort_JOINT_n            sliding ones

Velocities may be left out (for all joints).  ``position_JOINT_deg`` and ``velocity_JOINT_deg_s`` are taken too, and
``current_JOINT_a`` in place of an effort where a torque constant is given.  Other columns are ignored.
"""

from __future__ import annotations

import array
import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.files.reading import TABLE_BYTES, read_bytes
from picker_dynamics.recording import reader
from picker_dynamics.robot.description import ArmDescription

from .samples import Samples

COLUMNS_MAX = 1000

_SUFFIXES = {
    "rad": {
        "position": {"rad": 1.0, "deg": math.radians(1.0)},
        "velocity": {"rad_s": 1.0, "deg_s": math.radians(1.0)},
        "effort": {"nm": 1.0},
        "current": {"a": 1.0},
    },
    "m": {"position": {"m": 1.0}, "velocity": {"m_s": 1.0}, "effort": {"n": 1.0}, "current": {"a": 1.0}},
}


def read(path: str | Path, description: ArmDescription, constants: Mapping[str, float], namespace: str | None = None) -> Samples:
    """Read a recording, CSV or bag; errors are those of ``read_csv`` and ``read_bag``.

    Args:
        constants: torque constants [N·m/A or N/A] of joints whose current was measured.
        namespace: of the arm, in a bag that has several.
    """
    if Path(path).suffix.lower() == ".csv":
        return read_csv(path, description, constants)
    return read_bag(path, description, namespace).times_constants(constants)


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
    if not len(recorded.state_torque):
        raise InputError(f"{path}: joint_states have no efforts: this arm does not measure torque", value=str(path))
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


def read_csv(path: str | Path, description: ArmDescription, constants: Mapping[str, float] | None = None) -> Samples:
    """Read a CSV file.

    Args:
        constants: torque constants [N·m/A or N/A] of joints whose current was measured.

    Raises:
        InputError: no such file, columns that are missing, an entry that is no number.
    """
    constants = dict(constants or {})
    rows = _rows(path, read_bytes(path, "samples", TABLE_BYTES))
    header = [name.strip() for name in next(rows, [])]
    if len(header) > COLUMNS_MAX:
        raise InputError(f"{path}: {len(header)} columns, at most {COLUMNS_MAX} are taken", value=len(header), limit=COLUMNS_MAX)
    if "time_s" not in header:
        raise InputError(f"{path}: no column time_s; it has {', '.join(header) or 'none'}", subject="time_s")
    ours, table = _numbers(path, header, rows)

    def column(kind: str, joint: str, unit: str) -> np.ndarray | None:
        for suffix, factor in _SUFFIXES[unit][kind].items():
            name = f"{kind}_{joint}_{suffix}"
            if name in header:
                return factor * table[:, ours.index(header.index(name))]
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
                raise InputError(f"{path}: no column {names}", subject=joint)
            values.append(one)
    if constants:
        joint = next(iter(constants))
        raise InputError(
            f"torque constant for {joint!r}: no such joint; there are {', '.join(description.joint_names)}", subject=joint
        )
    v = None if any(one is None for one in found["velocity"]) else np.stack(found["velocity"], axis=-1)
    return Samples(
        description.joint_names,
        table[:, ours.index(header.index("time_s"))],
        np.stack(found["position"], axis=-1),
        v,
        np.stack(found["effort"], axis=-1),
        str(path),
    )


def _rows(path, data: bytes) -> Iterator[list[str]]:
    """Line by line."""
    try:
        yield from csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""), skipinitialspace=True)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"cannot read samples {path}: {error}", value=str(path)) from error


def _numbers(path, header: list[str], rows: Iterator[list[str]]) -> tuple[list[int], np.ndarray]:
    """Which columns matter, and their numbers (k, columns)."""
    ours = [i for i, name in enumerate(header) if name == "time_s" or name.split("_")[0] in _SUFFIXES["rad"]]
    numbers = array.array("d")
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(
                f"{path}, line {line}: {len(row)} entries, the first line has {len(header)}", value=len(row), limit=len(header)
            )
        for i in ours:
            try:
                numbers.append(float(row[i]))
            except ValueError as error:
                raise InputError(
                    f"{path}, line {line}: {header[i]} is {row[i]!r}, not a number", subject=header[i], value=row[i]
                ) from error
    return ours, np.array(numbers).reshape(-1, len(ours))


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
