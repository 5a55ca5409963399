"""Reordering by joint name, never by index: what a message carries, in the order of the arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, JointNamesError

from .model import Array


def order_of(names: Sequence[str], expected: Sequence[str], what: str = "message") -> NDArray[np.intp]:
    """Indices ``i`` such that ``names[i[k]] == expected[k]`` for every joint of the arm.

    Args:
        names: joints as the message lists them, in any order.
        expected: joints of the arm, in its order.
        what: what carries the names, for the error's text.

    Raises:
        JointNamesError: a joint that is missing, unknown or listed twice.
    """
    listed = list(names)
    for name in (*listed, *expected):
        if name not in expected:
            raise JointNamesError(f"{what}: unknown joint {name!r}; the arm has {', '.join(expected)}", name)
        if listed.count(name) != 1:
            wrong = "is listed twice" if name in listed else f"is missing (all of {', '.join(expected)} are needed)"
            raise JointNamesError(f"{what}: joint {name} {wrong}", name)
    return np.array([listed.index(name) for name in expected], dtype=int)


def some_of(names: Sequence[str], expected: Sequence[str], what: str = "message") -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the joints that a message names, where it need not name all of the arm's.

    Returns:
        joints: (k,) indices among ``expected``, increasing.
        order: (k,) such that ``names[order[i]] == expected[joints[i]]``.

    Raises:
        JointNamesError: no joint at all, or one that is unknown or listed twice.
    """
    if not len(names):
        raise JointNamesError(f"{what}: no joint is named; the arm has {', '.join(expected)}")
    present = [name for name in expected if name in names]
    order = order_of(names, present if set(names) <= set(expected) else expected, what)
    return np.array([list(expected).index(name) for name in present], dtype=int), order


def ordered(names: Sequence[str], values: ArrayLike, expected: Sequence[str], what: str = "message") -> Array:
    """``values`` (one per entry of ``names``) in the order of the arm, (n,), finite.

    Raises:
        JointNamesError: see :func:`order_of`.
        InputError: another number of values than names, or one that is NaN or infinite.
    """
    array = np.asarray(values, dtype=float)
    if array.shape != (len(names),):
        raise InputError(f"{what}: {len(names)} joint names but {array.size} values", None, array.size, len(names))
    result: Array = array[order_of(names, expected, what)]
    for joint, value in zip(expected, result):
        if not np.isfinite(value):
            raise InputError(f"{what}: {joint} is {value}, not a finite number", joint, float(value))
    return result
