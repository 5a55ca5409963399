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

Servos that measure tell q - z themselves, to a step of theirs: what they count from is as far off as where they go.  Then the
masses may be sought too, body by body: by the share mu a body is heavier than believed, and d its centre is beside c_0 in effect,

    m = m_0 (1 + mu),   m c = m_0 ((1 + mu) c_0 + d)

in which gravity is linear.  K and masses scale together, but where one mass that hangs on is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.dynamics.lagrangian.bodies import Body
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.resting import resting_position, sag
from picker_dynamics.robot.servo import SIGN_TORQUE, ServoModel
from picker_dynamics.robot.servo_map import ServoMap

from ..identification import inertia
from ..identification.identified_urdf import with_bodies
from .instruments import Encoder, Inclinometer, Sensor

BODY = ("mass", "x", "y", "z")
"""Of a body: mu, and d [m] along the axes of its link."""

MASS_SD, CENTRE_SD = 0.1, 2e-3
"""How well a drawing tells a printed arm's bodies: share of the mass, and d [m]."""

STIFFNESS_SD, EXACT, BEARS_SHARE = 0.15, 1e-6, 0.02
"""Of a stiffness that is by a servo's type, as a share; of what is known; share of stall torque that tells a zero."""

FIGURES = ("zero", "scale", "compliance", "gap", "load_friction", "coulomb", "hop")
"""Of a joint; the last is of no use afterwards: hops are of the way in which the arm came."""

TYPICAL_LOAD_FRICTION, TYPICAL_COULOMB, TYPICAL_PLAY = 0.4, 0.02, np.radians(0.5)
"""What is assumed of a servo that nobody has measured: x, tau_c as a share of stall torque, free play in all [rad]."""

USUAL_STALL_NM = 1.08
"""Of the servo of which ``PRIORS`` has the compliance: weaker ones are softer, as far off at their stall torque."""

FRICTION_SD, CREEPING_SD = 0.008, 0.003
"""Standard deviation [N·m] of what dry friction holds back by chance where a servo of usual strength has come to rest, 0.7 % of
stall torque; and where its joint creeps there (``measured``)."""

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
class Weight:
    """A mass [kg] that a person can hang at ``point`` (3,) [m] of the tool frame; 0: none."""

    mass: float = 0.0
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Reading:
    """Reading of the arm at rest.

    Args:
        pulses_us: (n,) on the servos' inputs, as the board makes them.
        sensor: what was read.
        value: the reading [rad].
        visit: number of the visit to a pose at which it was taken; readings of one visit share its friction.
        weight: that hung on.
        side: from which the arm came: +1 from below, -1 from above, 0 not known.
        supply: u, share of its nominal voltage that the servos got, to which springs are proportional; 1 where nobody measures.
    """

    pulses_us: np.ndarray
    sensor: Sensor
    value: float
    visit: int
    weight: Weight = Weight()
    side: float = 0.0
    supply: float = 1.0

    def __post_init__(self) -> None:
        mass = self.weight.mass
        why = f"a weight of {mass:g} kg was hung on, must be 0 to 1 kg: are these grams?"
        refuse_if(not 0.0 <= mass <= 1.0, why, "weight", mass, 1.0)

    @property
    def pose(self) -> tuple[object, ...]:
        """What decides where the arm rests; readings with the same are of one pose."""
        return (*map(float, self.pulses_us), self.side, self.supply, self.weight)


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
class DroopModel:
    """Model of the arm's droop: what the readings should be, for given figures.

    The unknowns are ``FIGURES`` joint by joint.

    Args:
        description: the arm with the masses as known: lengths are believed.
        servos: the servo map as believed before; its errors are what is sought.
        joints: names of the joints whose figures are sought: those that gravity loads.
        bodies: links, each moved by a joint, of which ``BODY`` is sought, behind what is sought of joints.
    """

    description: ArmDescription
    servos: ServoMap
    joints: tuple[str, ...]
    bodies: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> list[int]:
        """(j,) of the sought joints."""
        return [self.description.joint_names.index(name) for name in self.joints]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns, for reports."""
        pairs = *product(self.joints, FIGURES), *product(self.bodies, BODY)
        return tuple(f"{name}.{figure}" for name, figure in pairs)

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
        return self.servo_prior()

    def servo_prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the figures of joints and bodies."""
        rows = []
        for times in self.strength:
            unit = {"compliance": 1.0 / times, "coulomb": USUAL_STALL_NM * times}
            rows += [np.array(PRIORS[figure]) * unit.get(figure, 1.0) for figure in FIGURES]
        mean, sd = np.array(rows, dtype=float).reshape(-1, 2).T
        if self.servos.bus is not None:
            mean, sd = self._of_map(mean, sd)
        bodies = len(self.bodies)
        return np.append(mean, np.zeros(bodies * len(BODY))), np.append(sd, np.tile([MASS_SD, *3 * [CENTRE_SD]], bodies))

    def _of_map(self, mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of servos that measure, in whose figures their map is believed; they count without an error of scale."""
        mean = believed(self.servos)[self.columns].ravel()
        c, sd = self.places("compliance"), np.array(sd)
        sd[c], sd[self.places("scale")] = STIFFNESS_SD * mean[c], EXACT
        sd[self.places("zero")] = np.where(self.bears, sd[self.places("zero")], EXACT)
        return mean, sd

    @cached_property
    def bears(self) -> np.ndarray:
        """(j,) whether a joint bears so much somewhere that gravity tells its zero."""
        most = np.abs(self._body.gravity(sample_poses(self.description, 64))).max(axis=0)[self.columns]
        return np.asarray(most > BEARS_SHARE * self._of("stall_torque"))

    def rest(self, unknowns: np.ndarray, readings: Sequence[Reading]) -> Rest:
        """Rest of the joints at the pose of each reading, with derivatives."""
        columns, n, count = self.columns, self.description.n, len(self.joints) * len(FIGURES)
        figures, masses = dict(zip(FIGURES, np.reshape(unknowns[:count], (-1, len(FIGURES))).T)), tuple(unknowns[count:])
        supply, side = np.array([[one.supply] for one in readings]), np.array([[one.side] for one in readings])
        told = self.servos.to_angle([one.pulses_us for one in readings])
        middle = np.array([-servo.direction * servo.zero for servo in self.servos.servos])
        away, side = (told - middle)[:, columns], side * np.ones(len(columns))  # scale errors count from mid-travel
        hop, by_compliance = self._hops(figures["compliance"], told, readings)
        servo = ServoModel(
            1.0 / figures["compliance"],
            figures["gap"],  # a gap is a deadband here
            self._of("no_load_speed"),
            self._of("stall_torque"),
            self.joints,
            load_friction=figures["load_friction"],
            coulomb=figures["coulomb"],
        )
        q, compliance, held = told.copy(), figures["compliance"] / supply, -side * figures["hop"] * hop

        def bears(part: np.ndarray) -> tuple[np.ndarray, ...]:
            q[:, columns] = part
            torque, by_q = self._loads(q, readings, masses)
            motor = servo.motor_for(torque + held, side)
            return torque, motor, servo.motor_slope(motor, side), by_q

        def pull(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            _, motor, gain, by_q = bears(part)
            return motor, gain[..., None] * by_q

        unloaded = told[:, columns] + figures["zero"] + figures["scale"] * away
        torque, motor, gain, by_q = bears(resting_position(unloaded, pull, compliance, servo.gap))
        slope = sag(motor, compliance, servo.gap)[1] * gain  # how far a joint gives by the load
        turn = np.linalg.inv(np.eye(len(columns)) + slope[..., None] * by_q)  # how far joints go where they are moved
        direct = {
            "zero": np.ones_like(away),
            "scale": away,
            "compliance": slope * side * by_compliance * figures["hop"] - motor / supply,
            "gap": -np.tanh(motor / SIGN_TORQUE),
            "load_friction": -slope * side * np.abs(motor),
            "coulomb": -slope * side,
            "hop": slope * side * hop,
        }
        by_figures = np.einsum("vij,vjf->vijf", turn, np.stack([direct[one] for one in FIGURES], axis=-1))
        by_unknowns, by_chance = np.zeros((len(told), n, len(unknowns))), np.zeros((len(told), n, 2 * len(columns)))
        by_unknowns[:, columns, :count] = by_figures.reshape(*away.shape, -1)
        if masses:
            by_unknowns[:, columns, count:] = -turn @ (slope[..., None] * self._by_masses(q))
        edge = torque + side * figures["coulomb"]
        friction_sd = [[CREEPING_SD if isinstance(one.sensor, Encoder) else FRICTION_SD] for one in readings]
        chance = np.concatenate([slope * friction_sd * self.strength, skid(edge, hop, figures["gap"])], axis=-1)
        by_chance[:, columns] = np.tile(turn, 2) * chance[:, None, :]
        return Rest(q, by_unknowns, by_chance)

    def tip_rates(self, unknowns: np.ndarray, readings: Sequence[Reading]) -> np.ndarray:
        """Derivatives (v, 3, u) of the tip [m] by the unknowns, at the pose of each reading."""
        rest = self.rest(unknowns, readings)
        rates: np.ndarray = self._body.jacobian(rest.q) @ rest.by_unknowns
        return rates

    def linearised(self, unknowns: np.ndarray, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The readings as they should be (r,) [rad], their derivatives by the unknowns (r, u), and how much a standard
        deviation of each friction and skid moves them (r, 2 j), which those of one visit share."""
        number: dict[object, int] = {}
        rows = np.array([number.setdefault(one.pose, len(number)) for one in readings])
        rest = self.rest(unknowns, [readings[i] for i in np.unique(rows, return_index=True)[1]])
        poses, values, rates = (
            link_poses(self.description, rest.q),
            np.zeros(len(rows)),
            np.zeros((len(rows), self.description.n)),
        )
        zeros = np.zeros((len(rows), len(unknowns)))
        for sensor in {one.sensor for one in readings}:
            own = np.array([one.sensor == sensor for one in readings])
            if isinstance(sensor, Encoder):
                column, zero = self.description.joint_names.index(sensor.joint), self.names.index(f"{sensor.joint}.zero")
                values[own], rates[own, column] = rest.q[rows[own], column] - unknowns[zero], 1.0
                zeros[own, zero] = 1.0
            elif isinstance(sensor, Inclinometer):
                values[own], rates[own] = sensor.of(poses)[rows[own]], sensor.rates(self.description, poses)[rows[own]]
        by_unknowns, by_chance = ((rates[:, None, :] @ one[rows])[:, 0] for one in (rest.by_unknowns, rest.by_chance))
        return values, by_unknowns - zeros, by_chance

    def _of(self, name: str) -> np.ndarray:
        """(j,) a figure of the servo map."""
        return np.asarray(getattr(self.servos, name))[self.columns]

    def _hops(self, compliance: np.ndarray, told: np.ndarray, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray]:
        """(v, j) torque h [N·m] by which a joint's last hop ends short of the friction's edge, and its derivative by c."""
        inertia = np.zeros((len(readings), len(self.columns)))
        for rows, body in self._bodies(readings):
            inertia[rows] = np.diagonal(body.mass_matrix(told[rows]), axis1=1, axis2=2)[:, self.columns]
        damping = self._of("stall_torque") / self._of("no_load_speed") / (1.0 - TYPICAL_LOAD_FRICTION)
        servos = [self.servos.servos[column] for column in self.columns]
        steps = [np.ptp(one.to_angle([one.pulses_us[0], one.pulses_us[0] + self.servos.quantum_us])) for one in servos]

        def hop(c: np.ndarray) -> np.ndarray:
            zeta = 0.5 * damping * np.sqrt(c / inertia)
            over = np.where(zeta < 1.0, np.exp(-np.pi * zeta / np.sqrt(np.maximum(1.0 - zeta**2, 1e-9))), 0.0)
            torque: np.ndarray = np.array(steps) * over / (1.0 + over) / c
            return torque

        return hop(compliance), (hop(1.001 * compliance) - hop(0.999 * compliance)) / (0.002 * compliance)

    def _loads(self, q: np.ndarray, readings: Sequence[Reading], masses: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Torques (v, j) that the joints bear at q (v, n), weights hung on, and their derivatives (v, j, j)."""
        some = self.columns
        torque, by_q = np.zeros((len(q), len(some))), np.zeros((len(q), len(some), len(some)))
        for rows, body in self._bodies(readings, masses):
            here, still = q[rows], np.zeros_like(q[rows])
            torque[rows] = body.gravity(here)[:, some]
            by_q[rows] = body.torque_derivatives(here, still, still)[0][:, some][:, :, some]
        return torque, by_q

    def _by_masses(self, q: np.ndarray) -> np.ndarray:
        """Derivatives (v, j, b) of those torques by the sought figures of bodies."""
        still, pi = np.zeros_like(q), inertia.of_description(self.description)
        by_pi = self._body.regressor(q, still, still)[:, self.columns].reshape(len(q), len(self.columns), -1, inertia.COUNT)
        found = []
        for body in self._sought:
            by_h = pi[body, 0] * by_pi[:, :, body, 1:4]
            found += [by_pi[:, :, body, 0] * pi[body, 0] + by_pi[:, :, body, 1:4] @ pi[body, 1:4], *np.moveaxis(by_h, -1, 0)]
        return np.stack(found, axis=-1)

    @property
    def _sought(self) -> list[int]:
        """Joints whose bodies are sought."""
        return [index for index, joint in enumerate(self.description.movable) if joint.child in self.bodies]

    def weighed(self, masses: ArrayLike, remark: str = "") -> ArmDescription:
        """The arm with the sought figures of its bodies; ``remark``: beside each in the URDF."""
        arm, found = self.description, inertia.of_description(self.description)
        for index, (share, *beside) in zip(self._sought, np.reshape(masses, (-1, len(BODY))).tolist()):
            one = inertia.body(found[index])
            centre = one.com + np.array(beside) / (1.0 + share)
            found[index] = inertia.standard(Body((1.0 + share) * one.mass, centre, (1.0 + share) * one.inertia))
        return replace(parse(with_bodies(arm, found, arm.damping, arm.friction, remark), arm.source), tool_frame=arm.tool_frame)

    def arm_of(self, unknowns: np.ndarray, remark: str = "") -> ArmDescription:
        """The arm as the unknowns tell it; ``remark``: beside what differs in the URDF."""
        return self.weighed(unknowns[len(self.joints) * len(FIGURES) :], remark)

    def _bodies(self, readings: Sequence[Reading], masses: tuple[float, ...] = ()) -> list[tuple[list[int], RigidBody]]:
        """Rows of the readings with the same weight, and the arm with it."""
        rows: dict[Weight, list[int]] = {}
        for row, one in enumerate(readings):
            rows.setdefault(one.weight, []).append(row)
        body = self._with(masses) if any(masses) else self._body
        return [(some, body.with_payload(one.mass, one.point) if one.mass else body) for one, some in rows.items()]

    @cached_property
    def _body(self) -> RigidBody:
        return RigidBody(self.description, self.servos.armature)

    @cached_property
    def _with(self) -> Callable[[tuple[float, ...]], RigidBody]:
        return lru_cache(2)(lambda masses: RigidBody(self.weighed(masses), self.servos.armature))


def skid(edge: np.ndarray, hop: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Standard deviation of where in its gap a joint comes to rest that a hop carries through it [rad]; all (..., n).

    Args:
        edge: L + s tau_c, the torque at which the joint would rest [N·m]; hop: h [N·m]; gap: [rad].
    """
    sd: np.ndarray = 2.0 * gap * np.exp(-0.5 * (edge / np.maximum(hop, 1e-6)) ** 2)
    return sd


def believed(servos: ServoMap) -> np.ndarray:
    """(n, f) ``FIGURES`` of every servo as its map has them."""
    servo = servos.model
    nothing, usual = np.zeros(servos.n), np.ones(servos.n)
    return np.stack([nothing, nothing, 1.0 / servo.stiffness, servo.gap, servo.load_friction, servo.coulomb, usual], axis=-1)


def wrapped(difference: np.ndarray) -> np.ndarray:
    """Differences of angles [rad], within ±pi."""
    return (difference + np.pi) % (2.0 * np.pi) - np.pi
