"""Reordering by joint name, never by index: what a message carries, in the order of the arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, JointNamesError

from .model import Array, checked_number


def order_of(
    names: Sequence[str], expected: Sequence[str], what: str = "message", partial: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the joints that a message names, in any order.

    Args:
        names: joints as the message lists them.
        expected: joints of the arm, in its order.
        what: what carries the names, for the error's text.
        partial: it need not name all of the arm's.

    Returns:
        joints: (k,) indices among ``expected``, increasing.
        order: (k,) such that ``names[order[i]] == expected[joints[i]]``.

    Raises:
        JointNamesError: a joint that is missing, unknown or listed twice.
    """
    listed, has = list(names), ", ".join(expected)
    for name in listed:
        if name not in expected:
            raise JointNamesError(f"{what}: unknown joint {name!r}; the arm has {has}", name)
        if listed.count(name) > 1:
            raise JointNamesError(f"{what}: joint {name} is listed twice", name)
    for name in expected:
        if name not in listed and not (partial and listed):
            raise JointNamesError(f"{what}: joint {name} is missing; the arm has {has}", name)
    joints = [j for j, name in enumerate(expected) if name in listed]
    return np.array(joints, dtype=int), np.array([listed.index(expected[j]) for j in joints], dtype=int)


def ordered(names: Sequence[str], values: ArrayLike, expected: Sequence[str], what: str = "message") -> Array:
    """``values`` (one per entry of ``names``) in the order of the arm, (n,), finite.

    Raises:
        JointNamesError: see :func:`order_of`.
        InputError: another number of values than names, or one that is NaN or infinite.
    """
    array = np.asarray(values, dtype=object)
    if array.shape != (len(names),):
        raise InputError(f"{what}: {len(names)} joint names but {array.size} values", None, array.size, len(names))
    found = array[order_of(names, expected, what)[1]]
    return np.array([checked_number(f"{what}: {joint}", value, subject=joint) for joint, value in zip(expected, found)])
