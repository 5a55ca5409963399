"""Samples of positions, velocities and efforts along a motion; checks that units and times are plausible; tables in CSV files.

Files of samples: bags (``joint_states`` of MCAP or SQLite), and CSV with units in the names of the columns:

    time_s, position_JOINT_rad, velocity_JOINT_rad_s, effort_JOINT_nm, …        turning joints
            position_JOINT_m,   velocity_JOINT_m_s,   effort_JOINT_n            sliding ones

Velocities may be left out (for all joints).  ``position_JOINT_deg`` and ``velocity_JOINT_deg_s`` are taken too, and
``current_JOINT_a`` in place of an effort where a torque constant is given.  Other columns are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, LimitError, refuse_if
from picker_dynamics.files.reading import TABLE_BYTES, read_text
from picker_dynamics.recording import reader
from picker_dynamics.robot.description import ArmDescription

LEAST_S, LEAST_SAMPLES, LEAST_HZ = 1.0, 100, 20.0
"""Less says nothing of accelerations."""

BEYOND = 0.05
"""How far beyond a position limit a reading may be, as a share of the range."""

TOO_STRONG = 2.0
"""Effort beyond this multiple of the limit is in another unit."""

SLOPE = 0.3
"""How far the measured velocity may differ in scale from the positions' differences, as a share."""

SLIPPED = 10.0
"""Readings beyond this are in another unit rather than a little off [rad or m]."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Measured values along time.

    Attributes:
        joint_names: of the arm, in its order.
        t: (k,) [s].
        q: (k, n) [rad or m].
        v: (k, n) [rad/s or m/s], or None: not measured.
        tau: (k, n) [N·m or N].
        source: for messages.
    """

    joint_names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray
    source: str = "samples"


def checked(samples: Samples, description: ArmDescription) -> Samples:
    """The samples, if they can be what they say.

    Raises:
        InputError: not finite, time not increasing, too few or too slow, no effort, velocities that are none.
        LimitError: positions or efforts in another unit, or beyond what the arm can do.
    """
    t, source = samples.t, samples.source
    require_times(t, source)
    for what, values in (("q", samples.q), ("v", np.zeros(0) if samples.v is None else samples.v), ("tau", samples.tau)):
        for row, column in np.argwhere(~np.isfinite(values))[:1]:
            joint, value = samples.joint_names[column], float(values[row, column])
            refuse_if(True, f"{source}: {what} of {joint} is {value} in sample {row}", joint, value)
    for column, (joint, most) in enumerate(zip(description.movable, description.effort.tolist())):
        name, q, tau = joint.name, samples.q[:, column], np.abs(samples.tau[:, column])
        slack = BEYOND * (joint.upper - joint.lower)
        worst = float(q[np.argmax(np.maximum(joint.lower - q, q - joint.upper))])
        if joint.type != "continuous" and not joint.lower - slack <= worst <= joint.upper + slack:
            units = "millimetres for metres" if joint.slides else "degrees for radians"
            raise LimitError(
                f"{source}: {name} reads {worst:.3f}, its limits are {joint.lower:.3f} to {joint.upper:.3f} ({units}?)",
                *(name, worst, joint.upper if worst > joint.upper else joint.lower),
            )
        refuse_if(not tau.any(), f"{source}: the effort of {name} is 0 all the time: is it measured?", name, 0.0)
        if np.quantile(tau, 0.9) > TOO_STRONG * most:
            why = f"{source}: the effort of {name} reaches {tau.max():.3g}, its limit is {most:.3g} (another unit, or a current?)"
            raise LimitError(why, name, float(tau.max()), most)
        if samples.v is not None and np.ptp(q) > 1e-2:
            # Differences of noisy positions are noisier still: the slope is taken of them on the velocities.
            v = samples.v[:, column]
            slope = float(v @ np.gradient(q, t)) / max(float(v @ v), 1e-300)
            why = f"{source}: the positions of {name} move {slope:.3g} times as fast as its velocity (degrees for radians?)"
            refuse_if(abs(slope - 1.0) > SLOPE, why, name, slope, 1.0)
    return samples


def require_times(t: np.ndarray, source: str) -> None:
    """Times (k,) [s] that samples can have; ``source`` is for messages.

    Raises:
        InputError: not finite, not increasing, too few, too short or too slow.
    """
    few = f"{source}: {len(t)} samples, at least {LEAST_SAMPLES} are needed"
    refuse_if(len(t) < LEAST_SAMPLES, few, "time", len(t), LEAST_SAMPLES)
    steps = np.diff(t)
    k = int(np.argmin(steps > 0.0))  # not above 0: NaN too
    back = f"{source}: time does not increase at sample {k + 1}: {t[k]:.6f} s, then {t[k + 1]:.6f} s"
    refuse_if(not steps[k] > 0.0, back, "time", float(t[k + 1]))
    length, rate = float(t[-1] - t[0]), 1.0 / float(np.median(steps))
    slow = f"{source}: {length:.3f} s at {rate:.3g} samples a second, at least {LEAST_S} s at {LEAST_HZ:g} are needed"
    refuse_if(
        not (LEAST_S <= length < math.inf and rate >= LEAST_HZ), f"{slow} (milliseconds for seconds?)", "time", rate, LEAST_HZ
    )


# -- CSV files of samples: one line of names, with units in them, then numbers ----------------------------------------------

Table = dict[str, np.ndarray]
"""Columns (k,) by name; entries that are no numbers are NaN."""


def read_table(path: str | Path) -> Table:
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


# -- files -----------------------------------------------------------------------------------------------------------------

DEGREE = math.radians(1.0)
SUFFIXES = {
    "rad": {"position": {"rad": 1.0, "deg": DEGREE}, "velocity": {"rad_s": 1.0, "deg_s": DEGREE}, "effort": {"nm": 1.0}},
    "m": {"position": {"m": 1.0}, "velocity": {"m_s": 1.0}, "effort": {"n": 1.0}},
}
"""Factors of the units that columns may have, by the unit of the joint's position; the first is written."""


def read_samples(
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
            raise JointNamesError(f"torque constant for {joint!r}: no such joint; there are {', '.join(names)}", joint)
        wrong = f"torque constant of {joint} is {value}, must be a finite number other than 0"
        refuse_if(not (math.isfinite(value) and value), wrong, joint, value)
    if Path(path).suffix.lower() == ".csv":
        samples = of_table(read_table(path), description, constants, str(path))
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


def of_table(columns: Table, description: ArmDescription, constants: Mapping[str, float], source: str) -> Samples:
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
                values.append(column(columns, names, hint))
    q, v, tau = (np.stack(each, axis=-1) if len(each) == description.n else None for each in found.values())
    assert q is not None and tau is not None  # a column that is missing was refused
    return Samples(description.joint_names, column(columns, {"time_s": 1.0}), q, v, tau, source)


def csv_text(samples: Samples, units: Sequence[str]) -> str:
    """The samples as such a file; ``units`` of the positions, ``rad`` or ``m`` for each joint."""
    columns = {"time_s": samples.t}
    for i, (joint, unit) in enumerate(zip(samples.joint_names, units)):
        for kind, values in (("position", samples.q), ("velocity", samples.v), ("effort", samples.tau)):
            if values is not None:
                columns[f"{kind}_{joint}_{next(iter(SUFFIXES[unit][kind]))}"] = values[:, i]
    return "\n".join([", ".join(columns), *(", ".join(f"{value:.9g}" for value in row) for row in zip(*columns.values())), ""])
