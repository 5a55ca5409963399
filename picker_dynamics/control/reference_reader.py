"""Reference reader: positions, velocities and accelerations of a message's single point, by joint name, in the arm's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.joint_order import order_of

from .laws.law import Reference


class ReferenceReader:
    """Reads references that come hundreds of times a second; the order is worked out once, as the names hardly ever change.

    Args:
        joint_names: of the arm, in its order.
    """

    def __init__(self, joint_names: Sequence[str]):
        self._joint_names = tuple(joint_names)
        self._names: tuple[str, ...] | None = None
        self._order = np.zeros(0, dtype=int)

    def read(self, names: Sequence[str], points: Sequence[Any]) -> Reference:
        """The reference that a message carries.

        Args:
            names: its joints, in any order.
            points: one, with ``positions``, ``velocities`` and ``accelerations``, each (n,) [rad or m, per s, per s²].

        Raises:
            JointNamesError: other joints than the arm's.
            InputError: not one point, another number of values, or one that is not finite.
        """
        if len(points) != 1:
            raise InputError(f"expected one point, got {len(points)}", value=len(points), limit=1)
        names = tuple(names)
        if names != self._names:
            self._order, self._names = order_of(names, self._joint_names, "reference"), names
        return Reference(*(self._field(points[0], name) for name in ("positions", "velocities", "accelerations")))

    def _field(self, point: Any, name: str) -> np.ndarray:
        values, order = np.asarray(getattr(point, name), dtype=float), self._order
        if values.shape != order.shape:
            raise InputError(f"{values.size} {name} for {order.size} joints", value=values.size, limit=order.size)
        values = values[order]
        if not np.isfinite(values).all():
            joint = self._joint_names[int(np.argmax(~np.isfinite(values)))]
            raise InputError(f"{joint} has a {name[:-1]} that is not finite", subject=joint)
        return values
