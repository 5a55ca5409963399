"""Reader of one <link> or one <joint> element of a URDF, with every value checked.

Every value is read once, checked to be finite and of the right count, and refused with the name of the
link or joint it belongs to.  ``description`` puts the pieces together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import NAME_MAX, DescriptionError, shown

from .model import Array, read_only

LARGEST_M, LARGEST_KG, LARGEST = 1e3, 1e6, 1e9
"""Largest length [m], mass [kg], and any other number: beyond these no arm is meant, and sums lose their digits."""

GIVE = {"velocity": ": give the motor's no-load speed", "effort": ": give the motor's stall torque"}
"""What to do about an attribute that is not there, or below 0 for "not enforced"."""

MOVABLE_TYPES = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Geometry:
    """One visual or collision element: kind ``box|cylinder|sphere|mesh``, pose in the link frame.

    ``size`` [m]: edges; radius and length; radius; for a mesh its three scale factors.
    """

    kind: str
    size: tuple[float, ...]
    xyz: Array
    rotation: Array
    filename: str | None = None

    @property
    def figures(self) -> tuple[object, ...]:
        """All that makes it this one, to compare it with another."""
        return self.kind, self.size, self.filename, self.xyz.tolist(), self.rotation.tolist()


@dataclass(frozen=True)
class Link:
    """A rigid body; ``mass`` [kg], ``com`` [m] and ``inertia`` [kg·m²] (3×3, about the COM), in link axes.

    Without ``<inertial>`` all three are zero and ``has_inertial`` is false.
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    has_inertial: bool
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()

    @property
    def solid(self) -> tuple[Geometry, ...]:
        """Its collision shapes; where it has none, what is drawn of it."""
        return self.collisions or self.visuals


@dataclass(frozen=True)
class Joint:
    """A joint; ``xyz`` [m] and ``rotation`` (3×3) place the child frame at q = 0 in the parent's.

    ``axis`` is a unit vector in the child frame.  Limits are rad, rad/s and N·m (m, m/s, N if prismatic);
    absent ones are infinite; ``ignored`` are bounds of a continuous joint, which has none.
    ``damping`` [N·m·s/rad] and ``friction`` [N·m] are those of ``<dynamics>``.
    """

    name: str
    type: str
    parent: str
    child: str
    xyz: Array
    rotation: Array
    axis: Array
    lower: float
    upper: float
    velocity: float
    effort: float
    damping: float
    friction: float
    mimic: str | None = None
    ignored: str = ""

    @property
    def movable(self) -> bool:
        return self.type in MOVABLE_TYPES

    @property
    def slides(self) -> bool:
        return self.type == "prismatic"

    @property
    def unit(self) -> str:
        """Unit of its position, ``m`` or ``rad``."""
        return "m" if self.slides else "rad"


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rz(yaw) Ry(pitch) Rx(roll), 3×3, from (roll, pitch, yaw) [rad]: the URDF's fixed-axis convention."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    first, second = (
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
    )
    return np.array([first, second, [-sp, cp * sr, cp * cr]]) + 0.0  # no negative zeros


def rotation_from_quaternion(xyzw: Array, where: str) -> Array:
    """Rotation, 3×3, of a quaternion (x, y, z, w) of any length but 0: R = 1 + 2 w [u]× + 2 [u]×²."""
    if not xyzw.any():
        raise element_error(where, "quat_xyzw is (0, 0, 0, 0)", 0.0)
    x, y, z, w = xyzw / np.linalg.norm(xyzw)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Array = np.eye(3) + 2.0 * (w * cross + cross @ cross)
    return rotation


def element_error(where: str, message: str, value: Any = None, limit: Any = None) -> DescriptionError:
    """An error about ``where``, which is "link NAME" or "joint NAME"."""
    return DescriptionError(f"{where}: {message}", where.partition(" ")[2], value, limit)


def _numbers(
    element: Element,
    attribute: str,
    where: str,
    default: str | None = None,
    count: int = 3,
    least: float = -math.inf,
    most: float = LARGEST,
) -> Array:
    raw = element.get(attribute, default)
    hint = GIVE.get(attribute, "")
    if raw is None:
        raise element_error(where, f"<{element.tag}> has no {attribute!r}{hint}")
    try:
        values = read_only([float(word) for word in raw.split()])
    except ValueError as error:
        raise element_error(where, f"{attribute}={raw!r} is not numeric", raw) from error
    wrong = ""
    if values.size != count:
        wrong = f"has {values.size} numbers, not {count}"
    elif not np.isfinite(values).all():
        wrong = "is not finite"
    elif np.abs(values).max() > most:
        wrong = f"is beyond {most:g}"
    if wrong:
        raise element_error(where, f"{attribute}={raw!r} {wrong}", raw)
    if values.min() < least:
        value = float(values.min())
        raise element_error(where, f"<{element.tag}> {attribute} is {value:g}, must be >= {least:g}{hint}", value, least)
    return values


def _number(element: Element, attribute: str, where: str, default: str | None = None, **bounds: float) -> float:
    return float(_numbers(element, attribute, where, default, 1, **bounds)[0])


def name_of(element: Element) -> str:
    """The name of a robot, link or joint.

    Raises:
        DescriptionError: it has none, or one that is too long to be told.
    """
    name = element.get("name")
    if not name:
        raise DescriptionError(f"{'' if element.tag == 'robot' else 'a '}<{element.tag}> has no name")
    if len(name) > NAME_MAX:
        about = f"the name of a {element.tag} has {len(name)} characters, at most {NAME_MAX} are taken: {shown(name, 40)}"
        raise DescriptionError(about, name, len(name), NAME_MAX)
    return name


def _origin(parent: Element, where: str) -> tuple[Array, Array]:
    element = parent.find("origin")
    if element is None:
        element = Element("origin")
    xyz = _numbers(element, "xyz", where, "0 0 0", most=LARGEST_M)
    if element.get("quat_xyzw") is None:
        return xyz, read_only(rotation_from_rpy(_numbers(element, "rpy", where, "0 0 0")))
    if element.get("rpy") is not None:
        raise element_error(where, "<origin> has both rpy and quat_xyzw: which of them counts?")
    return xyz, read_only(rotation_from_quaternion(_numbers(element, "quat_xyzw", where, count=4), where))


def read_link(element: Element) -> Link:
    name = name_of(element)
    where, inertial = f"link {name}", element.find("inertial")
    mass, com, inertia = 0.0, read_only(np.zeros(3)), read_only(np.zeros((3, 3)))
    if inertial is not None:
        mass_element, elements = inertial.find("mass"), inertial.find("inertia")
        if mass_element is None or elements is None:
            raise element_error(where, "<inertial> needs both <mass> and <inertia>")
        com, rotation = _origin(inertial, where)
        xx, xy, xz, yy, yz, zz = (_number(elements, key, where) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        inertia = read_only(rotation @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ rotation.T)
        mass = _number(mass_element, "value", where, least=0.0, most=LARGEST_KG)
    drawn = (tuple(_read_geometry(item, where) for item in element.findall(tag)) for tag in ("visual", "collision"))
    return Link(name, mass, com, inertia, inertial is not None, *drawn)


def _read_geometry(element: Element, where: str) -> Geometry:
    xyz, rotation = _origin(element, where)
    geometry = element.find("geometry")
    if geometry is None or len(geometry) == 0:
        raise element_error(where, f"a <{element.tag}> has no geometry")
    shape = geometry[0]
    if shape.tag == "mesh":
        filename = shape.get("filename")
        if not filename:
            raise element_error(where, f"the mesh of a <{element.tag}> has no filename")
        return Geometry("mesh", tuple(_numbers(shape, "scale", where, "1 1 1")), xyz, rotation, filename)
    sizes = {"box": ("size", 3), "cylinder": ("radius", 1), "sphere": ("radius", 1)}
    if shape.tag not in sizes:
        raise element_error(where, f"geometry <{shape.tag}> is not supported (box, cylinder, sphere, mesh)", shape.tag)
    attribute, count = sizes[shape.tag]
    size = tuple(_numbers(shape, attribute, where, count=count, most=LARGEST_M))
    if shape.tag == "cylinder":
        size += (_number(shape, "length", where, most=LARGEST_M),)
    if min(size) <= 0.0:
        raise element_error(where, f"a <{shape.tag}> has size {min(size):g} m, must be > 0", min(size), 0.0)
    return Geometry(shape.tag, size, xyz, rotation)


def read_joint(element: Element) -> Joint:
    name, kind = name_of(element), element.get("type")
    where = f"joint {name}"
    if kind not in (*MOVABLE_TYPES, "fixed"):
        raise element_error(where, f"is {kind!r}; supported are {', '.join(MOVABLE_TYPES)} and fixed: make it one of these", kind)
    parent, child = (getattr(element.find(end), "attrib", {}).get("link", "") for end in ("parent", "child"))
    for end, link in (("parent", parent), ("child", child)):
        if not link:
            raise element_error(where, f"<{end} link=…> is missing")
    xyz, rotation = _origin(element, where)
    found = element.find("axis")
    axis = np.array([1.0, 0.0, 0.0]) if found is None or kind == "fixed" else _numbers(found, "xyz", where)
    if not axis.any():
        raise element_error(where, "axis is (0, 0, 0)", 0.0)
    limits, bounded = element.find("limit"), kind in ("revolute", "prismatic")
    lower, upper, velocity, effort = -math.inf, math.inf, math.inf, math.inf
    if limits is not None:
        if bounded:
            lower, upper = (_number(limits, key, where, "0") for key in ("lower", "upper"))
        velocity, effort = (_number(limits, key, where, least=0.0) for key in ("velocity", "effort"))
    elif bounded:
        raise element_error(where, f"is {kind} and has no <limit>: give it lower, upper, velocity and effort")
    if lower > upper:
        raise element_error(where, f"lower limit {lower:g} is above upper limit {upper:g}", lower, upper)
    ignored = ""
    if kind == "continuous" and limits is not None:
        bounds = [_number(limits, key, where, "0") for key in ("lower", "upper")]
        ignored = "{:g} to {:g}".format(*bounds) if any(bounds) else ""
    dynamics, mimic = element.find("dynamics"), element.find("mimic")
    damping, friction = (
        0.0 if dynamics is None else _number(dynamics, key, where, "0", least=0.0) for key in ("damping", "friction")
    )
    follows = None if mimic is None else mimic.get("joint", "")
    axis = read_only(axis / np.linalg.norm(axis))
    ends = lower, upper, velocity, effort
    return Joint(name, kind, parent, child, xyz, rotation, axis, *ends, damping, friction, follows, ignored)
