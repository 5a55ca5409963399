"""Check of trajectory points as they arrive: a complaint names point, joint, value and limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import TrajectoryError
from picker_dynamics.robot.model import Array

Point = tuple[Array, Array | None, Array | None]
"""Position, velocity and acceleration of the joints, (n,) each; the last two, or the last, may be absent."""

Rows = Iterable[ArrayLike | None]
"""One field of all points: (n,) each, None where a point does not have it."""

_SINGULAR = {"positions": "position", "velocities": "velocity", "accelerations": "acceleration"}


def checked_points(
    times_s: Iterable[float], positions: Rows, velocities: Rows | None, accelerations: Rows | None, joint_names: Sequence[str]
) -> tuple[list[float], list[Point]]:
    """Times [s], and per point (q, v or None, a or None), (n,) each.

    Raises:
        TrajectoryError: no points; times not finite, negative or not strictly increasing; a field of the
            wrong size or not finite; accelerations without velocities.
    """
    times = [float(t) for t in times_s]
    count = len(times)
    if count == 0:
        raise TrajectoryError("the trajectory has no points", None, 0, 1)
    _check_times(times)
    columns = []
    for what, values in (("positions", positions), ("velocities", velocities), ("accelerations", accelerations)):
        values = [None] * count if values is None else list(values)
        if len(values) != count:
            raise TrajectoryError(f"{len(values)} {what} for {count} points", None, len(values), count)
        columns.append([_field(what, i, value, joint_names) for i, value in enumerate(values)])
    points = list(zip(*columns))
    for i, (q, v, a) in enumerate(points):
        if q is None:
            raise TrajectoryError(f"point {i} has no positions", None, i)
        if a is not None and v is None:
            raise TrajectoryError(f"point {i} has accelerations but no velocities", None, i)
    return times, points


def _check_times(times: list[float]) -> None:
    for i, t in enumerate(times):
        if not np.isfinite(t):
            raise TrajectoryError(f"point {i}: time is {t}, not a finite number", None, t)
        if i == 0 and t < 0.0:
            raise TrajectoryError(f"point 0 is at {t:g} s, before the begin at 0 s", None, t, 0.0)
        if i > 0 and t <= times[i - 1]:
            raise TrajectoryError(
                f"point {i} is at {t:g} s, not after point {i - 1} at {times[i - 1]:g} s", None, t, times[i - 1]
            )


def _field(what: str, index: int, value: ArrayLike | None, joint_names: Sequence[str]) -> Array | None:
    if value is None or np.size(value) == 0:
        return None
    array = np.array(value, dtype=float)
    if array.shape != (len(joint_names),):
        raise TrajectoryError(
            f"point {index}: {array.size} {what} for {len(joint_names)} joints ({', '.join(joint_names)})",
            None,
            array.size,
            len(joint_names),
        )
    finite = np.isfinite(array)
    if not finite.all():
        j = int(finite.argmin())
        raise TrajectoryError(
            f"point {index}: {_SINGULAR[what]} of {joint_names[j]} is {array[j]}, not a finite number",
            joint_names[j],
            float(array[j]),
        )
    return array
