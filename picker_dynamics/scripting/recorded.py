"""What a script's arm did, as arrays: to look at, to plot, to keep as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from picker_dynamics.errors import RecordingError
from picker_dynamics.recording.reader import ArmRecording, Bounds, Series
from picker_dynamics.robot.model import Array
from picker_dynamics.session.hearing import Row

from .equipment import Equipment


class Recorded:
    """States of an arm, as they came; filled while the arm moves or waits within ``with arm.record() as ...``.

    Attributes:
        rows: the states.
    """

    def __init__(self, arm: Equipment):
        self._arm, self.rows = arm, list[Row]()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def arrays(self) -> dict[str, Array]:
        """``t`` (s,) from the first state on [s]; ``q``, ``q_ref`` (s, n) [rad or m]; ``torque`` (s, n) [N·m or N], NaN where
        it is not known; ``tip``, ``tip_ref`` (s, 3) [m], base frame, computed from them.

        Raises:
            RecordingError: nothing was recorded.
        """
        known = {row[0]: row for row in self.rows if row[1] is not None and row[4] is not None}
        if not known:
            raise RecordingError("nothing was recorded: the arm neither moved nor waited meanwhile")
        rows, unknown = list(known.values()), np.full(self._arm.description.n, np.nan)
        t = np.array(list(known))
        torque = np.array([next((one for one in (row[3], row[5]) if one is not None), unknown) for row in rows])
        columns = {"t": t - t[0], "q": np.array([row[1] for row in rows]), "q_ref": np.array([row[4] for row in rows])}
        kinematics = self._arm.model().forward_kinematics
        return columns | {"torque": torque, "tip": kinematics(columns["q"]), "tip_ref": kinematics(columns["q_ref"])}

    def to_csv(self, path: str | Path) -> Path:
        """Write the arrays, one column each, with a header.

        Raises:
            RecordingError: nothing was recorded, or the file cannot be written.
        """
        arrays, names = self.arrays, self._arm.description.joint_names
        parts = {key: ("x", "y", "z") if key.startswith("tip") else names for key in arrays if key != "t"}
        header = ["t", *(f"{key}_{part}" for key in parts for part in parts[key])]
        table = np.column_stack(list(arrays.values()))
        try:
            np.savetxt(path, table, delimiter=",", header=",".join(header), comments="", fmt="%.9g")
        except OSError as error:
            raise RecordingError(f"cannot write {path}: {error.strerror or error}", subject="path", value=str(path)) from error
        return Path(path)

    def plot(self, folder: str | Path = ".", name: str = "arm") -> list[Path]:
        """Draw position, tracking error and torque of each joint, as ``picker plot`` does; returns the PNG files.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            RecordingError: nothing was recorded.
        """
        from picker_dynamics.recording.messages import missing

        try:
            from picker_dynamics.recording import figures
        except ImportError as error:
            raise missing(error) from error
        arrays, limits = self.arrays, self._arm.limits
        t, empty = arrays["t"], Series(np.empty(0), np.empty((0, self._arm.description.n)))
        told = np.isfinite(arrays["torque"]).all()
        recorded = ArmRecording(
            self._arm.description.joint_names,
            Series(t, arrays["q_ref"]),
            Series(t, arrays["q"]),
            empty,
            empty,
            Series(t, arrays["torque"]) if told else empty,
        )
        bounds = Bounds(limits.full, limits.peak, limits.hold, self._arm.description.position_units)
        return figures.draw(recorded, bounds, Path(folder), name)
