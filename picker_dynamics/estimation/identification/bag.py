"""Samples from a recording: the positions and efforts of ``joint_states``, at the times in their stamps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.recording import reader
from picker_dynamics.robot.description import ArmDescription

from .samples import Samples


def read(path: str | Path, description: ArmDescription, namespace: str | None = None) -> Samples:
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
