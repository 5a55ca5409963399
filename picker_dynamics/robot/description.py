"""URDF parser: text -> ``ArmDescription``, with links, joints and numbers, and nothing that the URDF does not say.

This reader is deliberately its own: Pinocchio reads the same text with another parser, so a mistake
in one shows up in ``cross_check`` as a disagreement.  It needs nothing but the standard library and
NumPy, because every node loads it.  ``lint`` judges what is read here; this module only refuses what
cannot be a fixed-base tree of joints at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from picker_dynamics.errors import DescriptionError, JointNamesError
from picker_dynamics.files.formats import parse_xml
from picker_dynamics.files.reading import XML_BYTES, read_text

from .model import Array, vector_of
from .units import told
from .urdf_elements import MOVABLE_TYPES, Geometry, Joint, Link, element_error, name_of, read_joint, read_link, rotation_from_rpy

__all__ = [
    "MOVABLE_TYPES",
    "ArmDescription",
    "Geometry",
    "Joint",
    "Link",
    "load",
    "parse",
    "require_agreement",
    "rotation_from_rpy",
]

LIMIT_TOLERANCE = 1e-4
"""How far a limit of another description may exceed ours [rad, m, or per second]: 1.5708 is meant to be pi/2."""


SLOW = 1e-3
"""A velocity limit below this [rad/s or m/s] is none: exporters write 0 where nobody gave one."""

LIMITLESS = 1e4
"""A velocity limit above this [rad/s or m/s], or an effort limit [N·m or N], is none: exporters write 1e6."""

FRAME_KG = 1e-6
"""A link of no more than this is a frame: exporters write tiny masses where none are meant."""


MAX_JOINTS = 32
"""Movable joints of the largest arm: the equations of motion grow with their third power."""


class Transforms(NamedTuple):
    """How the frames of the movable joints follow from one another: frame_i = frame_parent · (A + sin q B + (1 - cos q) C + q D).

    Attributes:
        parents: index of the joint that carries joint i, -1 for the root; parents come before children.
        parts: A, B, C and D of each joint, (4, n, 4, 4).
        links: link -> index of the joint that moves it, -1 for none, and its pose in that joint's frame (4, 4).
        carries: (n + 1, n) whether joint j moves what joint i carries; last row: the root.
    """

    parents: tuple[int, ...]
    parts: Array
    links: Mapping[str, tuple[int, Array]]
    carries: NDArray[np.bool_]


@dataclass(frozen=True)
class ArmDescription:
    """A fixed-base arm as its URDF describes it.

    ``joints`` holds all joints, depth first from the root, children in document order; vectors of
    numbers (``lower``, ``upper``, ``velocity``, ``effort``) run over the movable ones in that order.
    ``notes`` say what is otherwise than in the file, whose ``tool_frame`` is kept (``serial_arm``).
    """

    name: str
    root: str
    links: Mapping[str, Link]
    joints: tuple[Joint, ...]
    urdf: str = field(repr=False)
    source: str = "<text>"
    notes: tuple[str, ...] = ()
    tool_frame: str = ""

    @cached_property
    def movable(self) -> tuple[Joint, ...]:
        return tuple(joint for joint in self.joints if joint.movable)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.movable)

    @property
    def n(self) -> int:
        return len(self.movable)

    @cached_property
    def position_units(self) -> tuple[str, ...]:
        """``m`` for each sliding joint, ``rad`` for each turning one."""
        return tuple(joint.unit for joint in self.movable)

    @cached_property
    def effort_units(self) -> tuple[str, ...]:
        """``N`` for each sliding joint, ``N·m`` for each turning one."""
        return tuple("N" if unit == "m" else "N·m" for unit in self.position_units)

    @cached_property
    def transforms(self) -> Transforms:
        """Constants of forward kinematics (``kinematic_tree.joint_frames``)."""
        links, parents, parts = {self.root: (-1, np.eye(4))}, list[int](), list[Array]()
        for joint in self.joints:
            carrier, before = links[joint.parent]
            placed = np.eye(4)
            placed[:3, :3], placed[:3, 3] = joint.rotation, joint.xyz
            placed = before @ placed
            if joint.movable:
                motion = np.zeros((4, 4, 4))
                motion[0] = np.eye(4)
                if joint.slides:
                    motion[3, :3, 3] = joint.axis
                else:
                    cross = np.cross(joint.axis, np.eye(3)).T
                    motion[1, :3, :3], motion[2, :3, :3] = cross, cross @ cross
                parts.append(placed @ motion)
                parents.append(carrier)
                carrier, placed = len(parents) - 1, np.eye(4)
            links[joint.child] = carrier, placed
        carries = np.zeros((len(parents) + 1, len(parents)), dtype=bool)
        for i, parent in enumerate(parents):
            carries[i] = carries[parent]
            carries[i, i] = True
        return Transforms(tuple(parents), np.array(parts).reshape(-1, 4, 4, 4).swapaxes(0, 1), links, carries)

    def joint(self, name: str) -> Joint:
        """The joint of that name.

        Raises:
            JointNamesError: naming the joints there are.
        """
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise JointNamesError(f"{self.name} has no joint {name!r}; it has {', '.join(self.joint_names)}", name)

    axes = vector_of("movable", "axis")
    """(n, 3) unit vectors of the joints' axes, in their own frames."""

    @cached_property
    def slides(self) -> NDArray[np.bool_]:
        """Whether joints slide, (n,)."""
        return np.array([joint.slides for joint in self.movable], dtype=bool)

    lower = vector_of("movable", "lower")
    """(n,) lower position limits [rad or m]."""

    upper = vector_of("movable", "upper")
    """(n,) upper position limits [rad or m]."""

    @cached_property
    def middle(self) -> Array:
        """Middle of the limits, (n,) [rad or m]; 0 of joints without."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        return 0.5 * (np.where(bounded, self.lower, 0.0) + np.where(bounded, self.upper, 0.0))

    velocity = vector_of("movable", "velocity")
    """(n,) velocity limits [rad/s or m/s]."""

    effort = vector_of("movable", "effort")
    """(n,) effort limits [N·m or N]."""

    damping = vector_of("movable", "damping")
    """(n,) viscous friction of <dynamics> [N·m·s/rad]."""

    friction = vector_of("movable", "friction")
    """(n,) Coulomb friction of <dynamics> [N·m]."""

    @cached_property
    def tool(self) -> str:
        """The tool frame: the link ``tool0`` where there is one; else the palm, where fingers or a jaw follow it; else the
        leaf of the tree that most joints move, the last of these.

        Fingers are several joints of one link each on one body, or one such joint on a body with a frame of no mass beside
        it, or what joints carry that mimic one another.  Of the palm's links that frame counts, else the last.
        """
        if self.tool_frame or "tool0" in self.links:
            return self.tool_frame or "tool0"
        parents = {joint.parent for joint in self.joints}
        leaves = [joint.child for joint in self.joints if joint.child not in parents]
        if not leaves:
            return self.root
        coupled = {name for joint in self.joints if joint.mimic is not None for name in (joint.name, joint.mimic)}
        ways = {leaf: [joint for joint in self.path_to(leaf) if joint.movable] for leaf in leaves}
        ranks = [
            (sum(one.name not in coupled for one in way), coupled.isdisjoint(one.name for one in way), len(way))
            for way in ways.values()
        ]
        last = [leaf for leaf, rank in zip(leaves, ranks) if rank == max(ranks)][-1]
        joint = next((one for one in ways[last] if one.name in coupled), self.path_to(last)[-1])
        if not joint.movable or not any(one.movable for one in self.path_to(joint.parent)):
            return last
        links = self.transforms.links
        palm = [link for link, (carrier, _) in links.items() if carrier == links[joint.parent][0]]
        fingers = [one for one in self.movable if one.parent in palm]
        frames = [link for link in palm if link not in parents and self.links[link].mass <= FRAME_KG]
        if joint.name not in coupled and any(finger.child in parents for finger in fingers) or not (frames or len(fingers) > 1):
            return last
        return frames[-1] if frames else palm[-1]

    def path_to(self, link: str) -> tuple[Joint, ...]:
        """Joints from the root to ``link``, in order."""
        by_child = {joint.child: joint for joint in self.joints}
        path = []
        while link in by_child:
            path.append(by_child[link])
            link = by_child[link].parent
        return tuple(reversed(path))


def load(path: str | Path) -> ArmDescription:
    """Read a URDF file.

    Raises:
        DescriptionError: the file cannot be read, or is no fixed-base tree of supported joints.
    """
    return parse(read_text(path, "URDF", XML_BYTES, DescriptionError), source=str(path))


def parse(text: str, source: str = "<text>") -> ArmDescription:
    """Read URDF text; see :func:`load`."""
    robot = parse_xml(text, source, DescriptionError)
    if robot.tag != "robot":
        raise DescriptionError(f"{source}: root element is <{robot.tag}>, expected <robot>")
    name = name_of(robot)
    xacro = {str(element.tag) for element in robot.iter() if "xacro" in str(element.tag)}
    if any("property" not in tag or "${" in text for tag in xacro):  # a property alone changes nothing
        raise DescriptionError(f"{source}: holds xacro macros; expand them first: xacro {source} > arm.urdf")
    links = {}
    for element in robot.findall("link"):
        link = read_link(element)
        if link.name in links:
            raise DescriptionError(f"link {link.name} is defined twice", link.name)
        links[link.name] = link
    joints = [read_joint(element) for element in robot.findall("joint")]
    movable = sum(joint.movable for joint in joints)
    if movable > MAX_JOINTS:
        raise DescriptionError(f"{source}: {movable} movable joints, at most {MAX_JOINTS} are taken", None, movable, MAX_JOINTS)
    root, ordered = _tree(links, joints)
    return ArmDescription(name, root, MappingProxyType(links), ordered, text, source)


def require_agreement(urdf: str, arm: ArmDescription) -> None:
    """Require that another URDF describes the joints of ``arm``; it may have more of them, and narrower limits.

    Args:
        urdf: text of the description.
        arm: the arm of the servo map.

    Raises:
        DescriptionError: it cannot be read, lacks a joint or has it fixed, of another kind, or with wider limits.
    """
    what = "robot_description"
    theirs = {joint.name: joint for joint in parse(urdf, what).joints}
    for ours, unit in zip(arm.movable, arm.position_units):
        joint = theirs.get(ours.name)
        if joint is None or joint.type != ours.type:
            has = "no such joint" if joint is None else joint.type
            raise DescriptionError(f"{what}: joint {ours.name} is {ours.type} here, there {has}", ours.name, has, ours.type)
        for name, sign, per in (("lower", -1.0, ""), ("upper", 1.0, ""), ("velocity", 1.0, "/s")):
            there, here = getattr(joint, name), getattr(ours, name)
            if sign * (there - here) > LIMIT_TOLERANCE:
                value, limit = told(there, unit, here), told(here, unit, there)
                text = f"{what}: {name} limit of {ours.name} is {value}{per}, this arm's is {limit}{per}"
                raise DescriptionError(text, ours.name, there, here)


def _tree(links: dict[str, Link], joints: list[Joint]) -> tuple[str, tuple[Joint, ...]]:
    """Check that the joints form one tree over the links; return its root and the joints depth first."""
    seen_joints: set[str] = set()
    seen_children: set[str] = set()
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        where = f"joint {joint.name}"
        if joint.name in seen_joints:
            raise element_error(where, "is defined twice")
        seen_joints.add(joint.name)
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise element_error(where, f"{end} link {link!r} does not exist", link)
        if joint.child in seen_children:
            raise element_error(where, f"its child {joint.child} has two parents (a closed loop)")
        seen_children.add(joint.child)
        children.setdefault(joint.parent, []).append(joint)
    roots = [name for name in links if name not in seen_children]
    if len(roots) != 1:
        found = ", ".join(roots) or ("none (a loop)" if links else "no links at all")
        raise DescriptionError(f"expected one root link, found {len(roots)}: {found}")
    ordered: list[Joint] = []
    stack = [*reversed(children.get(roots[0], []))]
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(children.get(joint.child, [])))
    if len(ordered) != len(joints):
        loose = sorted(seen_joints - {joint.name for joint in ordered})
        raise DescriptionError(f"joints not connected to the root {roots[0]}: {', '.join(loose)}", loose[0])
    return roots[0], tuple(ordered)
