"""Serial arms in descriptions of all kinds: one chain of joints, and a gripper or none; what else moves is locked or refused.

From the root outwards each body has one moving child, until the last body of the arm, the palm.  Fingers on the palm become
one gripper: the first, or the one that others mimic, moves, the others are locked where they are at 0.  Frames, covers and
tools on fixed joints may be anywhere.  Two arms, and joints of an arm that mimic one another, are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

from picker_dynamics.errors import DescriptionError
from picker_dynamics.files.formats import parse_xml

from .description import ArmDescription, Joint, parse
from .units import told


def serial_arm(description: ArmDescription) -> ArmDescription:
    """Arm with at most one moving finger; ``notes`` say what was locked.  One that is serial already is returned as is.

    Raises:
        DescriptionError: no joint moves, or one has no range, two arms, or a mimic joint that is no finger; says which.
    """
    if not description.n:
        raise DescriptionError(f"{description.source}: no joint of {description.name} moves", description.name)
    mimics = [joint for joint in description.movable if joint.mimic is not None]
    own = [joint for joint in description.movable if joint.mimic is None]
    chain, fingers = _chain(description, own)
    _require_fingers(description, mimics, [*chain[-1:], *fingers])
    locked = [*fingers[1:], *mimics]
    _require_ranges([*chain, *fingers[:1]])
    if not locked:
        return description
    drives = fingers[0].name if fingers else chain[-1].name
    names = ", ".join(joint.name for joint in locked)
    note = f"gripper: joint {drives} drives it, {names} {'is' if len(locked) == 1 else 'are'} locked"
    made = parse(_with_locked(description, locked), description.source)
    return replace(made, notes=(*description.notes, note), tool_frame=description.tool)


def _chain(description: ArmDescription, joints: Sequence[Joint]) -> tuple[list[Joint], list[Joint]]:
    """The arm's joints from the root outwards, and the fingers behind them where there are several, of ``joints`` only."""
    names = {joint.name for joint in joints}
    above = {
        joint.name: next((one.name for one in reversed(description.path_to(joint.parent)) if one.name in names), "")
        for joint in joints
    }
    chain: list[Joint] = []
    while True:
        last = chain[-1].name if chain else ""
        next_ones = [joint for joint in joints if above[joint.name] == last]
        if len(next_ones) == 1:
            chain += next_ones
            continue
        longer = [joint.name for joint in next_ones if joint.name in above.values()]
        if next_ones and (longer or not chain):
            first, second = next_ones[:2]
            where = f"after joint {last}" if last else f"at {description.root}"
            raise DescriptionError(
                f"{description.source}: {description.name} has several arms: joints {first.name} and {second.name} both move "
                f"{where}, and they are no fingers; give each arm a URDF of its own, or make one of them fixed",
                second.name,
                len(next_ones),
                1,
            )
        return chain, next_ones


def _require_fingers(description: ArmDescription, mimics: Sequence[Joint], grippers: Sequence[Joint]) -> None:
    """Let pass mimic joints that hang where a gripper's joint hangs, and mimic it."""
    palm = {joint.name for joint in description.path_to(grippers[-1].parent) if joint.movable} if grippers else set()
    followed = {joint.name for joint in grippers} | {joint.name for joint in mimics}
    for joint in mimics:
        beneath = {one.name for one in description.path_to(joint.parent) if one.movable}
        if joint.mimic in followed and palm <= beneath:
            continue
        raise DescriptionError(
            f"joint {joint.name} mimics {joint.mimic or 'a joint without name'}, and is no finger behind the last joint: coupled "
            "joints of an arm cannot be driven one by one; make it fixed, or a joint of its own",
            joint.name,
            joint.mimic,
        )


def _require_ranges(joints: Sequence[Joint]) -> None:
    for joint in joints:
        if joint.lower == joint.upper:
            both = told(joint.lower, "m" if joint.type == "prismatic" else "rad")
            raise DescriptionError(
                f"joint {joint.name} has no range: lower and upper are both {both}, as where they are left out; write them, or "
                "make it fixed",
                joint.name,
                joint.lower,
                joint.upper,
            )


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
        if name in moved and moved[name].type == "prismatic":
            joint = moved[name]
            origin = element.find("origin")
            origin = ElementTree.SubElement(element, "origin") if origin is None else origin
            origin.set("xyz", " ".join(repr(float(x)) for x in joint.xyz + joint.rotation @ joint.axis * at[joint.name]))
    return ElementTree.tostring(robot, encoding="unicode")
