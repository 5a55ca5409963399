"""Droop model: what instruments should read of a sagging arm, for given zero, scale, spring, gap and friction of each servo.

A servo told q_cmd that bears G(q) and came to rest on side s (+1 from below, -1 from above) rests at

    q = q_cmd + z + e (q_cmd - q_mid) - c tau_m - g tanh(tau_m / u_s),      tau_m = tau_m(L, s) of ``robot.servo``
    L = G(q) - s eta h + f

zero offset z [rad], scale error e, compliance c = 1/K of the motor's spring [rad/(N·m)], gap g = delta + b/2 [rad] (deadband and
play act alike), and in tau_m(L, s) the friction of the gears: x as a share of the
motor's torque and tau_c without load.  Read from both sides, x follows from the difference and K from the mean; weights hung on
tell both from z, tau_c and g.

A set-point that moves in steps lets the joint hop, and the last hop ends short of the friction's edge by about

    h = K dq o / (1 + o),      o = exp(-pi zeta / sqrt(1 - zeta^2)),      zeta = D / (2 sqrt(K M_jj))

dq the step of the pulses [rad], o how far a hop overshoots (none where zeta > 1); eta, near 1, is sought too.  f is what friction
holds back by chance, another one at each visit.  Derivatives are exact: with r(q, x) = q - (right-hand side),
dq/dx = -(∂r/∂q)⁻¹ ∂r/∂x.

A joint that the friction's edge leaves with less torque than a hop has, |L + s tau_c| < h, is carried on through the gap and may
rest anywhere in it: a *skid*, by chance and without mean, whose standard deviation is

    2 g exp(-(L + s tau_c)² / (2 h²))

A stiff spring in coarse steps skids wherever little load is: counted as exact, such readings make K and x look small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.resting import resting_position, sag
from picker_dynamics.robot.servo import SIGN_TORQUE, ServoModel
from picker_dynamics.robot.servo_map import ServoMap

from .instruments import Inclinometer, lay
from .mass_properties import LinkProperties
from .statics import Loads, PointMass, links_of, loads

FIGURES = ("zero", "scale", "compliance", "gap", "load_friction", "coulomb", "hop")
SOUGHT = FIGURES[:-1]
"""Those that are of use afterwards: hops are of the way in which the arm came."""

TYPICAL_LOAD_FRICTION, TYPICAL_COULOMB, TYPICAL_PLAY = 0.4, 0.02, np.radians(0.5)
"""What is assumed of a servo that nobody has measured: x, tau_c as a share of stall torque, free play in all [rad]."""

USUAL_STALL_NM = 1.08
"""Of the servo of which ``PRIORS`` has the compliance: weaker ones are softer, as far off at their stall torque."""

FRICTION_SD = 0.008
"""Standard deviation [N·m] of what dry friction holds back by chance where a servo of usual strength has come to rest, 0.7 % of
stall torque."""

PRIORS = {
    "zero": (0.0, 0.10),
    "scale": (0.0, 0.05),
    "compliance": (0.08, 0.06),
    "gap": (0.0083, 0.003),
    "load_friction": (TYPICAL_LOAD_FRICTION, 0.12),
    "coulomb": (TYPICAL_COULOMB, 0.006),
    "hop": (1.0, 0.4),
}
"""Mean and standard deviation of a hobby servo's figures before anything is read: zero within 6 degrees at one standard
deviation, scale 5 %, stiffness 7 to 50 N·m/rad, a deadband of 5 us and half a degree of play, friction as recordings of small
servos have it (coulomb as a share of stall torque, compliance by it)."""


@dataclass(frozen=True)
class Reading:
    """Reading of the arm at rest.

    Args:
        pulses_us: (n,) on the servos' inputs, as the board makes them.
        sensor: what was read.
        value: the reading [rad].
        visit: number of the visit to a pose at which it was taken; readings of one visit share its friction.
        weight: mass [kg] hung at ``weight_point`` (3,) [m] of the tool's frame; 0: none.
        side: from which the arm came: +1 from below, -1 from above, 0 not known.
        supply: u, share of its nominal voltage that the servos got, to which springs are proportional; 1 where nobody measures.
    """

    pulses_us: np.ndarray
    sensor: Inclinometer
    value: float
    visit: int
    weight: float = 0.0
    weight_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    side: float = 0.0
    supply: float = 1.0

    def __post_init__(self):
        why = f"a weight of {self.weight:g} kg was hung on, must be 0 to 1 kg: are these grams?"
        refuse_if(not 0.0 <= self.weight <= 1.0, why, "weight", self.weight, 1.0)

    @property
    def pose(self) -> tuple:
        """What decides where the arm rests; readings with the same are of one pose."""
        return (*map(float, self.pulses_us), self.side, self.supply, self.weight, self.weight_point)


@dataclass(frozen=True, eq=False)
class Rest:
    """Rest of the arm at some poses: where its joints are, and how that changes.

    Attributes:
        q: (v, n) [rad or m].
        by_unknowns: (v, n, u) derivatives of q.
        by_chance: (v, n, 2 j) by a standard deviation of what friction holds back at each sought joint, and of its skid.
    """

    q: np.ndarray
    by_unknowns: np.ndarray
    by_chance: np.ndarray


@dataclass(frozen=True, eq=False)
class Balance:
    """Balance of some joints between springs, friction and gravity.

    Attributes:
        q: (v, n) [rad or m].
        load: what joints bear there.
        motor: (v, j) tau_m of those joints [N·m or N].
        slope: (v, j) how far they give by the load [rad/(N·m)].
        turn: (v, j, j) how far they go where they are moved.
    """

    q: np.ndarray
    load: Loads
    motor: np.ndarray
    slope: np.ndarray
    turn: np.ndarray


def balance(
    description: ArmDescription, servo: ServoModel, q, unloaded, columns: Sequence[int], masses, side, held=0.0, supply=1.0
) -> Balance:
    """Where joints come to rest.

    Args:
        servo: of the joints ``columns``.
        q: (v, n) positions of the others.  unloaded: (v, j) where these would be without a load.
        masses: all that has weight.
        side: (v, j) from which they came.  held: (v, j) borne besides [N·m].  supply: (v, 1) share of the nominal voltage.
    """
    q, some, compliance = np.array(q), list(columns), 1.0 / (servo.stiffness * supply)

    def bears(part):
        q[:, some] = part
        load = loads(description, q, masses)
        motor = servo.motor_for(load.torque[:, some] + held, side)
        return load, motor, servo.motor_slope(motor, side), load.by_q[:, some][:, :, some]

    def pull(part):
        _, motor, gain, by_q = bears(part)
        return motor, gain[..., None] * by_q

    load, motor, gain, by_q = bears(resting_position(unloaded, pull, compliance, servo.gap))
    slope = sag(motor, compliance, servo.gap)[1] * gain
    return Balance(q, load, motor, slope, np.linalg.inv(np.eye(len(some)) + slope[..., None] * by_q))


@dataclass(frozen=True, eq=False)
class DroopModel:
    """Model of the arm's droop: what the readings should be, for given figures.

    The unknowns are figures joint by joint, then mass and distance link by link.

    Args:
        description: the arm as drawn: lengths are believed.
        servos: the servo map as believed before; its errors are what is sought.
        joints: names of the joints whose figures are sought: those that gravity loads.
        links: measured mass properties by link, along the link's line (``instruments.Lay``); others keep the description's.
    """

    description: ArmDescription
    servos: ServoMap
    joints: tuple[str, ...]
    links: Mapping[str, LinkProperties]
    _inertias: dict = field(init=False, default_factory=dict)

    @cached_property
    def columns(self) -> list[int]:
        """(j,) of the sought joints."""
        return [self.description.joint_names.index(name) for name in self.joints]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns, for reports."""
        figures = tuple(f"{joint}.{figure}" for joint in self.joints for figure in FIGURES)
        return figures + tuple(f"{link}.{what}" for link in self.links for what in ("mass", "distance"))

    def places(self, figure: str) -> slice:
        """Where a figure of each joint is among the unknowns."""
        return slice(FIGURES.index(figure), len(self.joints) * len(FIGURES), len(FIGURES))

    @property
    def strength(self) -> np.ndarray:
        """(j,) how many times as strong as the usual one each servo is: its torques [N·m or N] are so much larger."""
        return self._of("stall_torque") / USUAL_STALL_NM

    @cached_property
    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (u,) of every unknown before the arm is looked at."""
        rows = []
        for times in self.strength:
            unit = {"compliance": 1.0 / times, "coulomb": USUAL_STALL_NM * times}
            rows += [np.array(PRIORS[figure]) * unit.get(figure, 1.0) for figure in FIGURES]
        rows += [(known.value, known.sd) for link in self.links.values() for known in (link.mass, link.distance)]
        mean, sd = np.array(rows, dtype=float).reshape(-1, 2).T
        return mean, sd

    def masses(self, unknowns) -> list[PointMass]:
        """The arm's links as points, with the masses and distances of ``unknowns``."""
        found = dict(zip(self.links, np.reshape(unknowns[len(self.joints) * len(FIGURES) :], (-1, 2))))
        points = []
        for one in links_of(self.description):
            if one.link in found:
                along, (mass, distance) = self._lays[one.link], found[one.link]
                one = replace(one, mass=mass, point=along.at(one.point, distance), ahead=along.ahead)
            points.append(one)
        return points

    def rest(self, unknowns, readings: Sequence[Reading]) -> Rest:
        """Rest of the joints at the pose of each reading, with derivatives."""
        rows = np.reshape(unknowns[: len(self.joints) * len(FIGURES)], (-1, len(FIGURES)))
        figures, columns, n = dict(zip(FIGURES, rows.T)), self.columns, self.description.n
        supply, side = np.array([[one.supply] for one in readings]), np.array([[one.side] for one in readings])
        told = self.servos.to_angle([one.pulses_us for one in readings])
        middle = np.array([-servo.direction * servo.zero for servo in self.servos.servos])
        away, side = (told - middle)[:, columns], side * np.ones(len(columns))  # scale errors count from mid-travel
        hop, by_compliance = self._hops(figures["compliance"], readings)
        unloaded = told[:, columns] + figures["zero"] + figures["scale"] * away
        servo = ServoModel(
            1.0 / figures["compliance"],
            figures["gap"],  # a gap is a deadband here
            self._of("no_load_speed"),
            self._of("stall_torque"),
            self.joints,
            load_friction=figures["load_friction"],
            coulomb=figures["coulomb"],
        )
        masses, held = [*self.masses(unknowns), *hung_weights(self.description.tool, readings)], -side * figures["hop"] * hop
        at = balance(self.description, servo, told, unloaded, columns, masses, side, held, supply)
        direct = {
            "zero": np.ones_like(away),
            "scale": away,
            "compliance": at.slope * side * by_compliance * figures["hop"] - at.motor / supply,
            "gap": -np.tanh(at.motor / SIGN_TORQUE),
            "load_friction": -at.slope * side * np.abs(at.motor),
            "coulomb": -at.slope * side,
            "hop": at.slope * side * hop,
        }
        by_figures = np.einsum("vij,vjf->vijf", at.turn, np.stack([direct[one] for one in FIGURES], axis=-1))
        order = [one.link for one in links_of(self.description)]
        some = np.ix_(range(len(told)), columns, [order.index(link) for link in self.links])
        both = np.stack([at.load.by_mass[some], at.load.by_distance[some]], axis=-1).reshape(len(told), len(columns), -1)
        by_unknowns = np.zeros((len(told), n, len(unknowns)))
        by_links = -at.turn @ (at.slope[..., None] * both)
        by_unknowns[:, columns] = np.concatenate([by_figures.reshape(*away.shape, -1), by_links], axis=-1)
        edge, by_chance = at.load.torque[:, columns] + side * figures["coulomb"], np.zeros((len(told), n, 2 * len(columns)))
        chance = np.concatenate([at.slope * FRICTION_SD * self.strength, skid(edge, hop, figures["gap"])], axis=-1)
        by_chance[:, columns] = np.tile(at.turn, 2) * chance[:, None, :]
        return Rest(at.q, by_unknowns, by_chance)

    def linearised(self, unknowns, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The readings as they should be (r,) [rad], their derivatives by the unknowns (r, u), and how much a standard
        deviation of each friction and skid moves them (r, 2 j), which those of one visit share."""
        number: dict[tuple, int] = {}
        rows = np.array([number.setdefault(one.pose, len(number)) for one in readings])
        rest = self.rest(unknowns, [readings[i] for i in np.unique(rows, return_index=True)[1]])
        poses, values, rates = (
            link_poses(self.description, rest.q),
            np.zeros(len(rows)),
            np.zeros((len(rows), self.description.n)),
        )
        for sensor in {one.sensor for one in readings}:
            own = np.array([one.sensor == sensor for one in readings])
            values[own], rates[own] = sensor.of(poses)[rows[own]], sensor.rates(self.description, poses)[rows[own]]
        return values, *((rates[:, None, :] @ one[rows])[:, 0] for one in (rest.by_unknowns, rest.by_chance))

    def _of(self, name: str) -> np.ndarray:
        """(j,) a figure of the servo map."""
        return np.asarray(getattr(self.servos, name))[self.columns]

    def _hops(self, compliance: np.ndarray, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray]:
        """(v, j) torque h [N·m] by which a joint's last hop ends short of the friction's edge, and its derivative by c."""
        inertia = np.array([self._inertia(one) for one in readings]).reshape(-1, len(self.columns))
        damping = self._of("stall_torque") / self._of("no_load_speed") / (1.0 - TYPICAL_LOAD_FRICTION)
        servos = [self.servos.servos[column] for column in self.columns]
        steps = [np.ptp(one.to_angle([one.pulses_us[0], one.pulses_us[0] + self.servos.quantum_us])) for one in servos]

        def hop(c: np.ndarray) -> np.ndarray:
            zeta = 0.5 * damping * np.sqrt(c / inertia)
            over = np.where(zeta < 1.0, np.exp(-np.pi * zeta / np.sqrt(np.maximum(1.0 - zeta**2, 1e-9))), 0.0)
            return np.array(steps) * over / (1.0 + over) / c

        return hop(compliance), (hop(1.001 * compliance) - hop(0.999 * compliance)) / (0.002 * compliance)

    def _inertia(self, one: Reading) -> np.ndarray:
        """(j,) about each joint at the pose of a reading [kg·m²], as drawn."""
        if one.pose not in self._inertias:
            body = self._body.with_payload(one.weight, one.weight_point) if one.weight else self._body
            self._inertias[one.pose] = np.diag(body.mass_matrix(self.servos.to_angle(one.pulses_us)))[self.columns]
        return self._inertias[one.pose]

    @cached_property
    def _lays(self) -> dict:
        return {name: lay(self.description, name) for name in self.links}

    @cached_property
    def _body(self) -> RigidBody:
        return RigidBody(self.description, self.servos.armature)


def skid(edge, hop, gap) -> np.ndarray:
    """Standard deviation of where in its gap a joint comes to rest that a hop carries through it [rad]; all (..., n).

    Args:
        edge: L + s tau_c, the torque at which the joint would rest [N·m]; hop: h [N·m]; gap: [rad].
    """
    return 2.0 * gap * np.exp(-0.5 * (edge / np.maximum(hop, 1e-6)) ** 2)


def believed(servos: ServoMap) -> np.ndarray:
    """(n, f) ``FIGURES`` of every servo as its map has them."""
    servo = servos.model
    nothing, usual = np.zeros(servos.n), np.ones(servos.n)
    return np.stack([nothing, nothing, 1.0 / servo.stiffness, servo.gap, servo.load_friction, servo.coulomb, usual], axis=-1)


def wrapped(difference) -> np.ndarray:
    """Differences of angles [rad], within ±pi."""
    return (difference + np.pi) % (2.0 * np.pi) - np.pi


def hung_weights(tool: str, readings: Sequence[Reading]) -> list[PointMass]:
    """The weights of all readings as point masses with one mass per reading."""
    points = sorted({one.weight_point for one in readings if one.weight})
    return [
        PointMass(tool, np.array([one.weight * (one.weight_point == point) for one in readings]), np.array(point))
        for point in points
    ]
