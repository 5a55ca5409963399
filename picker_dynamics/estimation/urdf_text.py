"""URDF text with other numbers: elements are found by tag and name, and rewritten; comments and all else stay as they are."""

from __future__ import annotations

import re

import numpy as np
from scipy.spatial.transform import Rotation

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<(/?)([\w:.-]+)([^<>]*?)(/?)>")
_MOMENTS = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))


def element(text: str, tag: str, name: str) -> tuple[str, int, int] | None:
    """The text with its comments blanked, and where the inside of an element of the robot begins and ends; None: there is none.

    Not one of that name further in, as ``<ros2_control>`` and ``<transmission>`` have them.  The end is before the begin for an
    element that closes itself.
    """
    blank = _COMMENT.sub(lambda match: " " * len(match.group()), text)
    named, depth, begin = re.compile(rf"""\bname\s*=\s*["']{re.escape(name)}["']"""), 0, None
    for match in _TAG.finditer(blank):
        closing, kind, attributes, alone = match.groups()
        if depth == 1 and begin is None and not closing and kind == tag and named.search(attributes):
            begin = match.end()
            if alone:
                return blank, begin, begin - 2
        depth += -1 if closing else 0 if alone else 1
        if closing and depth == 1 and begin is not None:
            return blank, begin, match.start()
    return None


def places(text: str, tag: str, name: str, kind: str) -> list[tuple[int, int]]:
    """Begin and end of each ``kind`` element inside of an element, comments aside."""
    inner = re.compile(rf"<{kind}\b(?:[^>]*/>|.*?</{kind}>)", re.DOTALL)
    return [match.span() for match in inner.finditer(*inside)] if (inside := element(text, tag, name)) else []


def put(text: str, tag: str, name: str, kind: str, new: str) -> str:
    """The text with ``new`` in place of all ``kind`` elements of an element that is there, at its end."""
    for begin, end in reversed(places(text, tag, name, kind)):
        text = text[:begin] + text[end:]
    (begin, end), closed = (element(text, tag, name) or ("", 0, 0))[1:], ""
    if end < begin:
        closed, text, end = f"</{tag}>", f"{text[:end]}>{text[begin:]}", end + 1
    return f"{text[:end]}  {new}\n  {closed}{text[end:]}"


def inertial(mass: float, com: np.ndarray, inertia: np.ndarray, remark: str, number: str, moment: str) -> str:
    """An ``<inertial>`` element: mass [kg], centre of mass (3,) [m], inertia about it (3, 3) [kg·m²], and a remark, if any.

    Args:
        number, moment: format specifications of masses and lengths, and of moments of inertia.
    """
    entries = " ".join(f'{key}="{inertia[i, j]:{moment}}"' for key, i, j in _MOMENTS)
    comment = f"  <!-- {remark} -->" if remark else ""
    return (
        f'<inertial>{comment}\n      <origin xyz="{" ".join(f"{value:{number}}" for value in com)}"/>\n'
        f'      <mass value="{mass:{number}}"/>\n      <inertia {entries}/>\n    </inertial>'
    )


def placed(text: str, joint: str, xyz: np.ndarray, rotation: np.ndarray, remark: str = "") -> str:
    """The text with a joint at another place (3,) [m], turned by ``rotation`` (3, 3); ``remark``: beside it, if any."""
    rpy = Rotation.from_matrix(rotation).as_euler("xyz")  # about fixed axes
    numbers = (" ".join(f"{value + 0.0:.6f}" for value in row) for row in (xyz, rpy))
    comment = f"  <!-- {remark} -->" if remark else ""
    return put(text, "joint", joint, "origin", '<origin xyz="{}" rpy="{}"/>{}'.format(*numbers, comment))
