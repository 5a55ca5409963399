"""Files of samples: bags (``joint_states`` of MCAP or SQLite), and CSV with units in the names of the columns:

    time_s, position_JOINT_rad, velocity_JOINT_rad_s, effort_JOINT_nm, …        turning joints
            position_JOINT_m,   velocity_JOINT_m_s,   effort_JOINT_n            sliding ones

Velocities may be left out (for all joints).  ``position_JOINT_deg`` and ``velocity_JOINT_deg_s`` are taken too, and
``current_JOINT_a`` in place of an effort where a torque constant is given.  Other columns are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from picker_dynamics.errors import JointNamesError, refuse_if
from picker_dynamics.recording import reader
from picker_dynamics.robot.description import ArmDescription

from . import table
from .samples import Samples

DEGREE = math.radians(1.0)
SUFFIXES = {
    "rad": {"position": {"rad": 1.0, "deg": DEGREE}, "velocity": {"rad_s": 1.0, "deg_s": DEGREE}, "effort": {"nm": 1.0}},
    "m": {"position": {"m": 1.0}, "velocity": {"m_s": 1.0}, "effort": {"n": 1.0}},
}
"""Factors of the units that columns may have, by the unit of the joint's position; the first is written."""


def read(
    path: str | Path, description: ArmDescription, constants: Mapping[str, float] | None = None, namespace: str | None = None
) -> Samples:
    """Read a recording, CSV or bag.

    Args:
        constants: torque constants [N·m/A or N/A, at the joint, gear included] of joints whose current was measured.
        namespace: of the arm, in a bag that has several.

    Raises:
        InputError: no such file, columns that are missing, ``joint_states`` without efforts, a constant that is 0 or not finite.
        JointNamesError: of another arm.  InputError: likewise, by how it is built.
        RecordingError: a bag that cannot be read.
    """
    constants, names = constants or {}, description.joint_names
    for joint, value in constants.items():
        if joint not in names:
            raise JointNamesError(f"torque constant for {joint!r}: no such joint; there are {', '.join(names)}", subject=joint)
        wrong = f"torque constant of {joint} is {value}, must be a finite number other than 0"
        refuse_if(not (math.isfinite(value) and value), wrong, joint, value)
    if Path(path).suffix.lower() == ".csv":
        samples = of_table(table.read(path), description, constants, str(path))
    else:
        samples = _of_bag(path, description, namespace)
    return replace(samples, tau=samples.tau * np.array([constants.get(joint, 1.0) for joint in names]))


def _of_bag(path: str | Path, description: ArmDescription, namespace: str | None) -> Samples:
    """Read one arm of a bag, velocities left out.  A stamp that comes twice counts once."""
    recorded = reader.read_of(path, description, namespace)
    missing = sorted(set(description.joint_names) - set(recorded.joint_names))
    if missing:
        raise JointNamesError(f"{path}: no joint {', '.join(missing)}; it has {', '.join(recorded.joint_names)}", missing[0])
    none = not len(recorded.state_torque)
    refuse_if(none, f"{path}: joint_states have no efforts: this arm does not measure torque", value=str(path))
    order = [recorded.joint_names.index(name) for name in description.joint_names]
    t, at, of = np.intersect1d(recorded.state.t, recorded.state_torque.t, return_indices=True)
    q, tau = recorded.state.values[at][:, order], recorded.state_torque.values[of][:, order]
    return Samples(description.joint_names, t - t[0], q, None, tau, str(path))


def of_table(columns: table.Table, description: ArmDescription, constants: Mapping[str, float], source: str) -> Samples:
    """Samples of the columns of a CSV file, currents [A] in place of efforts of joints with a constant."""
    found: dict[str, list[np.ndarray]] = {"position": [], "velocity": [], "effort": []}
    for joint, unit in zip(description.joint_names, description.position_units):
        for kind, values in found.items():
            names = {f"{kind}_{joint}_{suffix}": factor for suffix, factor in SUFFIXES[unit][kind].items()}
            hint = ""
            if kind == "effort":
                hint = f" (a current_{joint}_a takes --torque-constant {joint}=NM_PER_A)"
                names = {f"current_{joint}_a": 1.0} if joint in constants else names
            if kind != "velocity" or any(name in columns for name in names):
                values.append(table.column(columns, names, hint))
    q, v, tau = (np.stack(each, axis=-1) if len(each) == description.n else None for each in found.values())
    assert q is not None and tau is not None  # a column that is missing was refused
    return Samples(description.joint_names, table.column(columns, {"time_s": 1.0}), q, v, tau, source)


def csv_text(samples: Samples, units: Sequence[str]) -> str:
    """The samples as such a file; ``units`` of the positions, ``rad`` or ``m`` for each joint."""
    columns = {"time_s": samples.t}
    for i, (joint, unit) in enumerate(zip(samples.joint_names, units)):
        for kind, values in (("position", samples.q), ("velocity", samples.v), ("effort", samples.tau)):
            if values is not None:
                columns[f"{kind}_{joint}_{next(iter(SUFFIXES[unit][kind]))}"] = values[:, i]
    return "\n".join([", ".join(columns), *(", ".join(f"{value:.9g}" for value in row) for row in zip(*columns.values())), ""])
