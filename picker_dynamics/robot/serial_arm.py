"""Serial arms in descriptions of all kinds: one chain of joints, and a gripper or none; what else moves is locked or refused.

From the root outwards each body has one moving child, until the last body of the arm, the palm.  Fingers on the palm become
one gripper: the first, or the one that others mimic, moves, the others are locked where they are at 0.  Frames, covers and
tools on fixed joints may be anywhere.  Two arms, and joints of an arm that mimic one another, are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from picker_dynamics.errors import DescriptionError
from picker_dynamics.files.formats import parse_xml

from .description import SLOW, ArmDescription, Joint, parse
from .units import told


def serial_arm(description: ArmDescription) -> ArmDescription:
    """Arm with at most one moving finger; ``notes`` say what was locked.  One that is serial already is returned as is.

    Raises:
        DescriptionError: no joint moves, or one has no range or speed, two arms, or a mimic joint that is no finger; says which.
    """
    if not description.n:
        raise DescriptionError(f"{description.source}: no joint of {description.name} moves", description.name)
    joints, carries = description.movable, description.transforms.carries
    own = [i for i, joint in enumerate(joints) if joint.mimic is None]
    above = {i: max((k for k in own if k != i and carries[i, k]), default=-1) for i in own}
    chain = list[int]()
    while len(after := [i for i in own if above[i] == (chain[-1] if chain else -1)]) == 1:
        chain += after
    if after and (not chain or any(i in above.values() for i in after)):
        first, second = (joints[i].name for i in after[:2])
        where = f"after joint {joints[chain[-1]].name}" if chain else f"at {description.root}"
        raise DescriptionError(
            f"{description.source}: {description.name} has several arms: joints {first} and {second} both move "
            f"{where}, and they are not fingers; give each arm a URDF of its own, or make one of them fixed",
            second,
            len(after),
            1,
        )
    grippers, mimics = [*chain[-1:], *after], [i for i in range(description.n) if i not in own]
    followed = {joints[i].name for i in (*grippers, *mimics)}
    palm = carries[grippers[-1]].copy() if grippers else np.zeros(description.n, dtype=bool)
    palm[grippers[-1:]] = False
    for joint, beneath in ((joints[i], carries[i]) for i in mimics):
        if joint.mimic not in followed or (palm & ~beneath).any():
            raise DescriptionError(
                f"joint {joint.name} mimics {joint.mimic or 'a joint without name'}, and is not a finger behind the last joint: "
                "coupled joints of an arm cannot be driven one by one; make it fixed, or a joint of its own",
                joint.name,
                joint.mimic,
            )
    for joint in (joints[i] for i in (*chain, *after[:1])):
        unit = joint.unit
        if joint.velocity < SLOW:
            raise DescriptionError(
                f"joint {joint.name} has a velocity limit of {joint.velocity:g} {unit}/s: how fast it may move is not known; "
                f"write <limit velocity=…> of at least {SLOW:g} {unit}/s",
                joint.name,
                joint.velocity,
                SLOW,
            )
        if joint.lower == joint.upper:
            both = told(joint.lower, unit)
            raise DescriptionError(
                f"joint {joint.name} has no range: lower and upper are both {both}, as where they are left out; write them, or "
                "make it fixed",
                joint.name,
                joint.lower,
                joint.upper,
            )
    locked = [joints[i] for i in (*after[1:], *mimics)]
    if not locked:
        return description
    names = ", ".join(joint.name for joint in locked)
    note = (
        f"gripper: joint {joints[(after or chain[-1:])[0]].name} drives it, {names} {'is' if len(locked) == 1 else 'are'} locked"
    )
    made = parse(_with_locked(description, locked), description.source)
    return replace(made, notes=(*description.notes, note), tool_frame=description.tool)


def _with_locked(description: ArmDescription, locked: Sequence[Joint]) -> str:
    """The URDF's text with these joints fixed, where they are at 0, or at the limit that is nearest to it."""
    robot = parse_xml(description.urdf, description.source, DescriptionError)
    at = {joint.name: min(max(0.0, joint.lower), joint.upper) for joint in locked}
    moved = {joint.name: joint for joint in locked if at[joint.name]}
    for element in robot.findall("joint"):
        name = element.get("name")
        if name not in at:
            continue
        element.set("type", "fixed")
        for part in ("axis", "limit", "mimic", "dynamics", "safety_controller", "calibration"):
            for child in element.findall(part):
                element.remove(child)
        if name in moved and moved[name].slides:
            joint = moved[name]
            origin = element.find("origin")
            origin = ElementTree.SubElement(element, "origin") if origin is None else origin
            origin.set("xyz", " ".join(repr(float(x)) for x in joint.xyz + joint.rotation @ joint.axis * at[joint.name]))
    return ElementTree.tostring(robot, encoding="unicode")
