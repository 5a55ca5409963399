"""Files of samples: bags (``joint_states`` of MCAP or SQLite), and CSV with units in the names of the columns:

    time_s, position_JOINT_rad, velocity_JOINT_rad_s, effort_JOINT_nm, …        turning joints
            position_JOINT_m,   velocity_JOINT_m_s,   effort_JOINT_n            sliding ones

Velocities may be left out (for all joints).  ``position_JOINT_deg`` and ``velocity_JOINT_deg_s`` are taken too, and
``current_JOINT_a`` in place of an effort where a torque constant is given.  Other columns are ignored.  A file without such
names is read with a column map (``table``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from picker_dynamics.errors import JointNamesError, refuse_if
from picker_dynamics.recording import reader
from picker_dynamics.robot.description import ArmDescription

from .samples import Samples
from .table import read_table

MAP = "time_s,position_*_rad,velocity_*_rad_s,effort_*_nm"
"""A column map, for messages."""

SUFFIXES = {
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
    constants: Mapping[str, float] | None = None,
    namespace: str | None = None,
    column_map: str | None = None,
) -> Samples:
    """Read a recording, CSV or bag.

    Args:
        constants: torque constants [N·m/A or N/A] of joints whose current was measured.
        namespace: of the arm, in a bag that has several.
        column_map: of a CSV file whose columns have no names.

    Raises:
        InputError: no such file, columns that are missing, an entry that is no number, ``joint_states`` without efforts.
        JointNamesError: of another arm.
        RecordingError: a bag that cannot be read.
    """
    constants, suffix = constants or {}, Path(path).suffix.lower()
    if suffix in (".mcap", ".db3") or (column_map is None and suffix != ".csv"):
        return _read_bag(path, description, namespace).times_constants(constants)
    return _read_csv(path, description, constants, column_map).times_constants(constants)


def _read_bag(path: str | Path, description: ArmDescription, namespace: str | None) -> Samples:
    """Read one arm of a bag, velocities left out.  A stamp that comes twice counts once."""
    recorded = reader.read(path, namespace)
    missing = sorted(set(description.joint_names) - set(recorded.joint_names))
    if missing:
        raise JointNamesError(f"{path}: no joint {', '.join(missing)}; it has {', '.join(recorded.joint_names)}", missing[0])
    refuse_if(
        not len(recorded.state_torque), f"{path}: joint_states have no efforts: this arm does not measure torque", value=str(path)
    )
    order = [recorded.joint_names.index(name) for name in description.joint_names]
    t, at, of = np.intersect1d(recorded.state.t, recorded.state_torque.t, return_indices=True)
    q, tau = recorded.state.values[at][:, order], recorded.state_torque.values[of][:, order]
    return Samples(description.joint_names, t - t[0], q, None, tau, str(path))


def _read_csv(path: str | Path, description: ArmDescription, constants: Mapping[str, float], column_map: str | None) -> Samples:
    """Read a CSV file as far as it goes, currents [A] in place of efforts of joints with a constant."""
    table = read_table(path, lambda name: name.split("_")[0] in SUFFIXES["rad"], column_map, MAP, description.joint_names)
    found: dict[str, list] = {"position": [], "velocity": [], "effort": []}
    for joint, unit in zip(description.joint_names, description.position_units):
        for kind, columns in found.items():
            kind = "current" if kind == "effort" and joint in constants else kind
            names = {f"{kind}_{joint}_{suffix}": factor for suffix, factor in SUFFIXES[unit][kind].items()}
            there = [factor * table.columns[name] for name, factor in names.items() if name in table.columns]
            per_ampere = "N·m" if unit == "rad" else "N"
            other = {
                "effort": f", or current_{joint}_a with --torque-constant {joint}=({per_ampere} per A)",
                "current": f", for which --torque-constant {joint} is given",
            }.get(kind, "")
            refuse_if(
                not there and kind != "velocity", f"{path}: no column {' or '.join(names)}{other}; it has {table.there}", joint
            )
            columns += there[:1]
    q, v, tau = (np.stack(columns, axis=-1) if len(columns) == description.n else None for columns in found.values())
    return Samples(description.joint_names, table.columns["time_s"], q, v, tau, str(path), table.remarks)


def csv_text(samples: Samples, units) -> str:
    """The samples as such a file; ``units`` of the positions, ``rad`` or ``m`` for each joint."""
    columns = {"time_s": samples.t}
    for i, (joint, unit) in enumerate(zip(samples.joint_names, units)):
        for kind, values in (("position", samples.q), ("velocity", samples.v), ("effort", samples.tau)):
            if values is not None:
                columns[f"{kind}_{joint}_{next(iter(SUFFIXES[unit][kind]))}"] = values[:, i]
    return "\n".join([", ".join(columns), *(", ".join(f"{value:.9g}" for value in row) for row in zip(*columns.values())), ""])
