"""SRDF, as MoveIt's setup assistant writes it beside a URDF: here its pairs of links that may touch, and nothing else of it.

<disable_collisions link1="upper_arm" link2="hand" reason="Never"/>
"""

from __future__ import annotations

from pathlib import Path

from picker_dynamics.errors import ConfigurationError, shown
from picker_dynamics.files.formats import parse_xml
from picker_dynamics.files.reading import XML_BYTES, read_text

from .description import ArmDescription

Allowed = frozenset[frozenset[str]]
"""Pairs of links that are not looked at."""


def read_srdf(path: str | Path, arm: ArmDescription) -> Allowed:
    """The pairs of an SRDF file.

    Raises:
        ConfigurationError: no such file, no SRDF, or one with links that the arm has not.
    """
    where = f"SRDF {path}"
    robot = parse_xml(read_text(path, "SRDF", XML_BYTES, ConfigurationError), where, ConfigurationError)
    if robot.tag != "robot":
        raise ConfigurationError(f"{where}: root element is <{shown(robot.tag, 40)}>, expected <robot>", "srdf")
    pairs = set()
    for element in robot.findall("disable_collisions"):
        names = element.get("link1", ""), element.get("link2", "")
        for name in names:
            if name not in arm.links:
                raise ConfigurationError(
                    f"{where}: disable_collisions of {shown(repr(name), 60)}, no link of {arm.name}: is it of another arm?",
                    "srdf",
                    name,
                )
        pairs.add(frozenset(names))
    return frozenset(pairs)


def srdf_beside(arm: ArmDescription) -> str:
    """The SRDF of the URDF's name, in its folder; empty: there is none."""
    urdf = Path(arm.source)
    beside = urdf.with_suffix(".srdf")
    return str(beside) if urdf.suffix and beside.is_file() else ""
