"""Droop model: what instruments should read of a sagging arm, for given zero, scale, stiffness and deadband of each servo.

A servo told q_cmd that bears G(q) rests at

    q = q_cmd + z + s (q_cmd - q_mid) - c L - delta tanh(L / 0.01 N·m),        L = G(q) + side phi + f

zero offset z [rad], scale error s, compliance c = 1/K [rad/(N·m)], half deadband delta [rad], and what dry friction holds
back [N·m]: phi on average, whose sign is that of the side from which the joint came (+1 from below), and f by chance, another
one at each visit.  A joint that its servo brakes well stops as it came (phi near its friction); one that comes to rest swinging
may stop anywhere (f).  The servo's pull L, not the load, tells on which side of its deadband it rests.  Weights hung on the
arm, and leaning it over to the other side, tell these figures apart.

Derivatives are exact: with r(q, x) = q -
(right-hand side), dq/dx = -(∂r/∂q)⁻¹ ∂r/∂x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, link_poses
from picker_dynamics.robot.resting import resting_position, sag
from picker_dynamics.robot.servo import SIGN_TORQUE
from picker_dynamics.robot.servo_map import ServoMap

from .mass_properties import LinkProperties
from .statics import AHEAD, UP, Direction, PointMass, elevation, elevation_rates, height_rates, links_of, loads

FIGURES = ("zero", "scale", "compliance", "deadband", "drag")

PRIORS = {
    "zero": (0.0, 0.10),
    "scale": (0.0, 0.05),
    "compliance": (0.08, 0.06),
    "deadband": (0.0039, 0.0020),
    "drag": (0.0, 0.015),
}
"""Mean and standard deviation of a hobby servo's figures before anything is read: zero within 6 degrees at one standard
deviation, scale 5 %, stiffness 7 to 50 N·m/rad, deadband 5 us in all, friction phi 1.5 % of stall torque."""

INCLINOMETER_SD, RULER_SD = 0.1 * np.pi / 180.0, 5e-4
"""Standard deviation of one reading: [rad], [m]."""


@dataclass(frozen=True)
class SensorModel:
    """What is read of an arm at rest: ``elevation`` of a link [rad] by inclinometer, or ``height`` of its origin above the
    base [m] by ruler.  ``ahead`` and ``up`` as for ``statics.elevation``."""

    kind: str
    link: str
    ahead: Direction = AHEAD
    up: Direction = UP

    def __post_init__(self):
        refuse_if(
            self.kind not in ("elevation", "height"),
            f"reading is of {self.kind!r}, must be elevation or height",
            "kind",
            self.kind,
        )

    @property
    def sd(self) -> float:
        """Standard deviation of one reading [rad or m]."""
        return INCLINOMETER_SD if self.kind == "elevation" else RULER_SD

    def of(self, poses: Mapping[str, Pose]) -> np.ndarray:
        """The reading without error [rad or m], (...), with the links at ``poses``."""
        pose = poses[self.link]
        return elevation(pose, self.ahead, self.up) if self.kind == "elevation" else pose.position[..., 2]

    def rates(self, description: ArmDescription, poses: Mapping[str, Pose]) -> np.ndarray:
        """(..., n) derivatives of the reading by the joint positions."""
        if self.kind == "height":
            return height_rates(description, self.link, poses)
        return elevation_rates(description, self.link, poses, self.ahead, self.up)


@dataclass(frozen=True)
class Reading:
    """One look at the arm at rest.

    Args:
        pulses_us: (n,) on the servos' inputs, as the board makes them.
        sensor: what was read.
        value: the reading.
        visit: number of the visit to a pose at which it was taken; readings of one visit share its friction.
        weight: mass [kg] hung at ``weight_point`` (3,) [m] of ``weight_link``; 0: none.
        side: from which the arm came: +1 from below, -1 from above, 0 not known.
    """

    pulses_us: np.ndarray
    sensor: SensorModel
    value: float
    visit: int
    weight: float = 0.0
    weight_link: str = ""
    weight_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    side: float = 0.0

    def __post_init__(self):
        refuse_if(
            not 0.0 <= self.weight <= 1.0,
            f"a weight of {self.weight:g} kg was hung on, must be 0 to 1 kg: are these grams?",
            "weight",
            self.weight,
            1.0,
        )

    @property
    def pose(self) -> tuple:
        """What decides where the arm rests: readings with the same are of one pose."""
        return (*np.asarray(self.pulses_us, dtype=float).tolist(), self.side, self.weight, self.weight_link, self.weight_point)


@dataclass(frozen=True, eq=False)
class Rest:
    """Where the arm rests at some poses, and how that changes.

    Attributes:
        q: (v, n) [rad].
        load: (v, n) gravity torques there [N·m].
        by_unknowns: (v, n, u) derivatives of q; by_friction: (v, n, j) by the friction at each sought joint [rad/(N·m)].
    """

    q: np.ndarray
    load: np.ndarray
    by_unknowns: np.ndarray
    by_friction: np.ndarray


@dataclass(frozen=True, eq=False)
class DroopModel:
    """What the readings should be, for given figures.

    Args:
        description: the arm as drawn: lengths are believed.
        servos: the servo map as believed before; its errors are what is sought.
        joints: names of the joints whose figures are sought: those that gravity loads.
        links: measured mass properties by link, along the link's x axis; others keep the description's, exactly.
    """

    description: ArmDescription
    servos: ServoMap
    joints: tuple[str, ...]
    links: Mapping[str, LinkProperties]
    columns: tuple[int, ...] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "columns", tuple(self.description.joint_names.index(name) for name in self.joints))

    @property
    def _middle(self) -> np.ndarray:
        """(n,) joint angles [rad] at mid-travel of the horns, about which the scale errors count."""
        return np.array([-servo.direction * servo.zero for servo in self.servos.servos])

    # -- the vector of unknowns: figures joint by joint, then mass and distance link by link -----------------------

    @property
    def names(self) -> tuple[str, ...]:
        """What each unknown is, for reports."""
        figures = tuple(f"{joint}.{figure}" for joint in self.joints for figure in FIGURES)
        return figures + tuple(f"{link}.{what}" for link in self.links for what in ("mass", "distance"))

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every unknown before the arm is looked at."""
        figures = [PRIORS[figure] for _ in self.joints for figure in FIGURES]
        masses = [(known.value, known.sd) for link in self.links.values() for known in (link.mass, link.distance)]
        mean, sd = np.array([*figures, *masses], dtype=float).reshape(-1, 2).T
        return mean, sd

    def masses(self, unknowns) -> list[PointMass]:
        """The arm's links as points, with the masses and distances of ``unknowns``."""
        first = len(self.joints) * len(FIGURES)
        found = dict(zip(self.links, np.reshape(unknowns[first:], (-1, 2))))
        return [
            PointMass(one.link, found[one.link][0], np.array([found[one.link][1], 0.0, 0.0]) + one.point * (0.0, 1.0, 1.0))
            if one.link in found
            else one
            for one in links_of(self.description)
        ]

    def resting(self, unknowns, readings: Sequence[Reading]) -> np.ndarray:
        """(r, n) where the joints rest [rad]."""
        poses, rows = _poses(readings)
        return self._balance(unknowns, poses)[0][rows]

    def rest(self, unknowns, readings: Sequence[Reading]) -> Rest:
        """Where the joints rest at the pose of each reading, with derivatives."""
        q, told = self._balance(unknowns, readings)
        figures, columns = self._figures(unknowns), list(self.columns)
        load, pull = self._bearing(unknowns, readings, figures)(q)
        slope = sag(pull, figures["compliance"], figures["deadband"])[1]
        turn = np.linalg.inv(np.eye(len(columns)) + slope[..., None] * load.by_q[:, columns][:, :, columns])
        away, side = told - self._middle[columns], np.array([one.side for one in readings])[:, None]
        direct = np.stack([np.ones_like(told), away, -pull, -np.tanh(pull / SIGN_TORQUE), -slope * side], axis=-1)
        count = len(columns)
        by_figures = np.einsum("vij,vjf->vijf", turn, direct).reshape(len(q), count, -1)
        places = [[one.link for one in links_of(self.description)].index(link) for link in self.links]
        both = np.stack([load.by_mass[:, columns][..., places], load.by_x[:, columns][..., places]], axis=-1)
        by_links = -turn @ (slope[..., None] * both.reshape(len(q), count, -1))
        by_unknowns = np.zeros((len(q), self.description.n, by_figures.shape[-1] + by_links.shape[-1]))
        by_unknowns[:, columns] = np.concatenate([by_figures, by_links], axis=-1)
        by_friction = np.zeros((len(q), self.description.n, count))
        by_friction[:, columns] = -turn * slope[:, None, :]
        return Rest(q, load.torque, by_unknowns, by_friction)

    def predict(self, unknowns, readings: Sequence[Reading]) -> np.ndarray:
        """(r,) the readings as they should be [rad or m]."""
        poses, rows = _poses(readings)
        return self._seen(self._balance(unknowns, poses)[0], rows, readings)

    def linearised(self, unknowns, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The readings as they should be (r,), their derivatives by the unknowns (r, u) and by the friction of its visit at each
        sought joint (r, j)."""
        poses, rows = _poses(readings)
        rest = self.rest(unknowns, poses)
        links = link_poses(self.description, rest.q)
        rates = {sensor: sensor.rates(self.description, links) for sensor in {one.sensor for one in readings}}
        own = np.stack([rates[one.sensor][row] for one, row in zip(readings, rows)])[:, None, :]
        return (self._seen(rest.q, rows, readings), (own @ rest.by_unknowns[rows])[:, 0], (own @ rest.by_friction[rows])[:, 0])

    def off(self, unknowns, readings: Sequence[Reading]) -> np.ndarray:
        """(r,) readings less what they should be [rad or m]."""
        return wrapped(np.array([one.value for one in readings]) - self.predict(unknowns, readings), readings)

    def _balance(self, unknowns, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray]:
        """(v, n) where the joints rest, and (v, j) what they were told."""
        figures, columns = self._figures(unknowns), list(self.columns)
        q = self.servos.to_angle([one.pulses_us for one in readings])
        told = q[:, columns]
        unloaded = told + figures["zero"] + figures["scale"] * (told - self._middle[columns])
        bears = self._bearing(unknowns, readings, figures)

        def pull(some):
            q[:, columns] = some
            load, pulled = bears(q)
            return pulled, load.by_q[:, columns][:, :, columns]

        q[:, columns] = resting_position(unloaded, pull, figures["compliance"], figures["deadband"])
        return q, told

    def _bearing(self, unknowns, readings, figures):
        """Of q (v, n): gravity's loads, and the servos' pull L (v, j) [N·m]."""
        masses = [*self.masses(unknowns), *hung_weights(readings)]
        held_back = np.array([one.side for one in readings])[:, None] * figures["drag"]

        def bears(q):
            load = loads(self.description, q, masses)
            return load, load.torque[:, list(self.columns)] + held_back

        return bears

    def _figures(self, unknowns) -> dict[str, np.ndarray]:
        """(j,) each of ``FIGURES``, joint by joint."""
        return dict(zip(FIGURES, np.reshape(unknowns[: len(self.joints) * len(FIGURES)], (-1, len(FIGURES))).T))

    def _seen(self, q, rows, readings: Sequence[Reading]) -> np.ndarray:
        poses = link_poses(self.description, q)
        seen = {sensor: sensor.of(poses) for sensor in {one.sensor for one in readings}}
        return np.array([seen[one.sensor][row] for one, row in zip(readings, rows)])


def wrapped(difference, readings: Sequence[Reading]) -> np.ndarray:
    """(r,) differences of readings, those of angles within ±pi."""
    turns = np.array([one.sensor.kind == "elevation" for one in readings])
    return np.where(turns, (difference + np.pi) % (2.0 * np.pi) - np.pi, difference)


def _poses(readings: Sequence[Reading]) -> tuple[list[Reading], np.ndarray]:
    """One reading of each pose, and (r,) which of them each reading is of."""
    number: dict[tuple, int] = {}
    rows = np.array([number.setdefault(one.pose, len(number)) for one in readings], dtype=int)
    return [readings[i] for i in np.unique(rows, return_index=True)[1]], rows


def hung_weights(readings: Sequence[Reading]) -> list[PointMass]:
    """The weights of all readings as point masses with one mass per reading."""
    places = sorted({(one.weight_link, one.weight_point) for one in readings if one.weight})
    return [
        PointMass(
            link,
            np.array([one.weight if (one.weight_link, one.weight_point) == (link, point) else 0.0 for one in readings]),
            np.array(point),
        )
        for link, point in places
    ]
