"""An excitation as a file: the points that a controller is sent, and the series that they come from (JSON).

``points`` are those of a trajectory_msgs/JointTrajectory: time_from_start [s], positions, velocities, accelerations in the order
of ``joint_names``, rad and m.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.trajectory import trajectory
from picker_dynamics.trajectory.trajectory import Trajectory

from .excitation import Excitation

KEYS = ("time_from_start", "positions", "velocities", "accelerations")


@dataclass(frozen=True, eq=False)
class MotionFile:
    """Motion of a file, as is needed to move through it: t (k,) [s], q, v, a (k, n)."""

    arm: str
    units: tuple[str, ...]
    joint_names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @property
    def trajectory(self) -> Trajectory:
        """Trajectory through the motion's points."""
        return trajectory.from_points(self.t, self.q, self.v, self.a, joint_names=self.joint_names)


def text(found: Excitation, name: str, arm: ArmDescription, **more) -> str:
    """The file's text; ``name`` is the arm's in config/arms.yaml or empty, ``more`` is noted in it."""
    motion = found.motion
    a_k, b_k = motion.coefficients()
    points = [dict(zip(KEYS, (x.round(9).tolist() for x in point))) for point in zip(*motion.points())]
    fourier = {
        "centre": motion.centre.tolist(),
        "a": a_k.tolist(),
        "b": b_k.tolist(),
        "period_s": motion.period,
        "periods": motion.periods,
    }
    head = {
        "arm": name,
        "joint_names": list(arm.joint_names),
        "units": list(arm.position_units),
        "condition": round(found.condition, 2),
        **more,
        "fourier": fourier,
    }
    lines = ",\n".join("  " + json.dumps(point) for point in points)
    return json.dumps(head, indent=1)[:-2] + ',\n "points": [\n' + lines + "\n ]\n}\n"


def read(path: str | Path) -> MotionFile:
    """Read a file of a motion.

    Raises:
        InputError: it is none.
        TrajectoryError: points that are out of order, not finite, incomplete, or that end moving.
    """
    try:
        content = read_json(path, "motion")
        names, points = tuple(content["joint_names"]), content["points"]
        t, q, v, a = (np.array([point[key] for point in points], dtype=float) for key in KEYS)
        arm, units = str(content.get("arm", "")), tuple(content["units"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path} is no motion of `picker identify excite`: {type(error).__name__}: {error}", value=str(path)
        ) from error
    if t.ndim != 1 or len(units) != len(names) or any(x.shape != (len(t), len(names)) for x in (q, v, a)):
        raise TrajectoryError(f"{path}: its points do not have {len(names)} positions, velocities and accelerations each")
    made = MotionFile(arm, units, names, t, q, v, a)
    _ = made.trajectory  # refuses what is no motion
    return made
