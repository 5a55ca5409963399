"""Payload from droop: the mass in the tool from how far it makes the arm sag, by inclinometer, ruler or joint potentiometers.

A servo told q_cmd that bears G, and came to rest on side s, rests at q = q_cmd - offset(tau_m(G, s)), G that of the sagged pose
(``droop_model.balance``).  A reading h(q) is compared with h for m kilograms in the tool; its errors have the covariance

    V = sd² 1                                                the instrument's noise
      + Σ_j (f_sd)² (∂y/∂G_j)(∂y/∂G_j)ᵀ   at one visit       what dry friction, or a deadband, happens to hold back at joint j
      + offset_sd²           of one instrument, at one place  what zeros, scales and masses leave: cancels with and without
      + Σ_j (sd_K)² (∂y/∂ln K_j)(∂y/∂ln K_j)ᵀ                stiffness, as well as calibration knows it
      + Σ_j (sd_x)² (∂y/∂x_j)(∂y/∂x_j)ᵀ                      friction that grows with the load, as well as it is known

How much one visit tells:  with K = 10 N·m/rad, 25 g at 0.29 m lower the forearm by 0.7°; an inclinometer (0.1°) is then good for
3.5 g, and friction (1 % of stall at two joints) for 2.8 g.  So weighing to 3 g takes two dozen visits with and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from picker_dynamics.errors import ConfigurationError, InfeasibleError, InputError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.robot.units import told

from .. import least_squares
from ..calibration.droop_fit import FRICTION_SD
from ..calibration.droop_model import USUAL_STALL_NM, Balance, balance
from ..calibration.instruments import SensorModel
from ..calibration.measured import Measured
from ..calibration.readings import near, near_place, position
from ..calibration.statics import PointMass, links_of, loads, random_poses
from .mass import BLIND_SHARE, HEAVIEST_KG, LIGHTEST_KG, MISREAD, USUAL_KG, Weighed, estimate, require_mass, require_payload_place

STIFFNESS_SD, STIFFNESS_LEAST_SD = {"rad": 0.04, "m": 0.15}, 0.04
"""What a calibration leaves of K, as a share (8 % at 95 %), by the unit of the joint, where the servo map does not say: a ruler
tells less of one that slides.  No K is known better than the latter."""

ROUGHEST_SD = 0.5
"""Of K: what is known to less does not go through the linearised estimate."""

OFFSET_SD = {"rad": 0.3 * np.pi / 180.0, "m": 1e-3}
"""What a calibration leaves of a reading at rest, by its unit."""

LOAD_FRICTION_SD, ASSUMED_SD = 0.03, 0.12
"""Of x: what a calibration leaves, and where nobody has measured it."""

POTENTIOMETER_SD = 0.15 * np.pi / 180.0
"""Of one reading through the board's converter: half a step of 10 bits over 270° [rad]."""

LOOSE_NM = 0.1
"""Load below which friction may keep a joint of a servo of usual strength inside its deadband [N·m]."""

WHATEVER = 60.0
"""Times what a calibration leaves: an offset that no arm has."""

SLIP = {"rad": 0.12, "m": 0.01}
"""Distance of a reading from anything that a payload explains, which is a slip, by its unit."""

NOTHING_KG = 1e3
"""Standard deviation of a mass of which readings tell nothing at all."""

ROUNDS = 3
"""In which the mass, and the covariance of the readings that have it, are found in turn."""


def stiffness_sd(servo: Servo) -> float:
    """How well a servo's K is known, as a share (one standard deviation)."""
    stated = servo.stiffness_sd
    return STIFFNESS_SD[servo.position_unit] if stated is None else max(stated / servo.stiffness, STIFFNESS_LEAST_SD)


@dataclass(frozen=True)
class Potentiometer:
    """A joint's position as measured at its servo [rad or m]; ``sd`` of one reading."""

    joint: str
    sd: float = POTENTIOMETER_SD
    unit: str = "rad"
    kind = "position"

    @property
    def link(self) -> str:
        """Joint that the potentiometer is on, for messages."""
        return self.joint


@dataclass(frozen=True)
class Measurement:
    """Reading of the arm at rest.

    Args:
        pulses_us: (n,) on the servos' inputs.
        sensor: what was read: the elevation of a link, its height, or a potentiometer.
        value: the reading [rad or m].
        visit: number of the visit to the pose; readings of one visit share its friction.
        loaded: whether the payload was in the tool.
        side: from which the arm came: +1 from below, -1 from above, 0 not known.
    """

    pulses_us: np.ndarray
    sensor: SensorModel | Potentiometer
    value: float
    visit: int
    loaded: bool
    side: float = 0.0


def sensed(description: ArmDescription, sensor: SensorModel | Potentiometer, q, poses) -> tuple[np.ndarray, np.ndarray]:
    """Sensor's reading without error at q (..., n) with the links at ``poses`` (...) [rad or m], and how the joints change
    it (n,) or (..., n)."""
    if isinstance(sensor, Potentiometer):
        column = description.joint_names.index(sensor.joint)
        return q[..., column], np.eye(description.n)[column]
    return sensor.of(poses), sensor.rates(description, poses)


@dataclass(frozen=True)
class _Linearised:
    """Readings (r,) and their changes: (r,) by the mass [rad/kg or m/kg], (r, j) by a standard deviation of what friction
    holds back by chance at each joint, of its stiffness, and of its friction that grows with the load."""

    values: np.ndarray
    slope: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    load_friction: np.ndarray


@dataclass(frozen=True, eq=False)
class DroopScale:
    """The arm as a scale.

    Args:
        description, servos: as calibrated.
        com: (3,) where in the tool frame the payload is [m].
        heaviest_kg: that the payload may be.

    Raises:
        ConfigurationError: nobody has measured the stiffness of a joint that bears the payload, or says how well it is known.
        InputError: a centre of mass that cannot be, or a stiffness that is known too roughly.
    """

    description: ArmDescription
    servos: ServoMap
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    heaviest_kg: float = USUAL_KG
    links: tuple[PointMass, ...] = field(init=False)
    columns: tuple[int, ...] = field(init=False)

    def __post_init__(self):
        require_payload_place(self.com)
        refuse_if(
            not LIGHTEST_KG <= self.heaviest_kg <= HEAVIEST_KG,
            f"a payload of {1e3 * self.heaviest_kg:g} g at the most: that must be {1e3 * LIGHTEST_KG:g} to "
            f"{1e3 * HEAVIEST_KG:g} g" + (": are these kilograms?" if 0.0 < self.heaviest_kg < LIGHTEST_KG else ""),
            "heaviest",
            self.heaviest_kg,
            HEAVIEST_KG,
        )
        object.__setattr__(self, "links", links_of(self.description))
        bears = loads(self.description, random_poses(self.description, 32), [self._payload(np.ones(32))]).torque
        object.__setattr__(self, "columns", tuple(np.flatnonzero(np.abs(bears).max(axis=0) > 1e-3)))
        for column in self.columns:
            servo = self.servos.servos[column]
            known = stiffness_sd(servo)
            refuse_if(
                known > ROUGHEST_SD,
                f"the stiffness of {servo.joint} is known to {known:.0%} only, at most {ROUGHEST_SD:.0%} is of use: "
                "a whole picker calibrate first, with weights that it bears",
                servo.joint,
                known,
                ROUGHEST_SD,
            )
            if "stiffness_nm_rad" in servo.unmeasured and servo.stiffness_sd is None:
                raise ConfigurationError(
                    f"the stiffness of {servo.joint} was never measured, so its droop tells no mass: picker calibrate first",
                    subject=servo.joint,
                    value=servo.stiffness,
                )

    @property
    def blind_kg(self) -> float:
        """Standard deviation of the mass above which readings say nothing."""
        return BLIND_SHARE * self.heaviest_kg

    def _payload(self, mass) -> PointMass:
        return PointMass(self.description.tool, mass, np.asarray(self.com, dtype=float))

    # -- what readings should be ---------------------------------------------------------------------------------------

    def resting(self, pulses_us, mass, side=0.0) -> Balance:
        """Rest of the joints.

        Args:
            pulses_us: (r, n).  mass: (r,) in the tool [kg].  side: (r,) from which they came.
        """
        told, masses = self.servos.to_angle(pulses_us), [*self.links, self._payload(mass)]
        side, columns = np.reshape(side, (-1, 1)), range(self.servos.n)
        return balance(self.description, self.servos.model, told, told, columns, masses, side)

    def predict(self, readings: Sequence[Measurement], mass: float) -> np.ndarray:
        """Readings, (r,) [rad or m], with ``mass`` [kg] in the tool at those with payload."""
        return self._linearised(readings, mass).values

    def _linearised(self, readings: Sequence[Measurement], mass: float) -> _Linearised:
        loaded = np.array([one.loaded for one in readings], dtype=float)
        side = np.array([one.side for one in readings])[:, None]
        at = self.resting([one.pulses_us for one in readings], mass * loaded, side)
        q, load, motor, slope = at.q, at.load, at.motor, at.slope
        servo, poses, by_load = self.servos.model, link_poses(self.description, q), -at.turn * slope[:, None, :]
        values, rates = np.empty(len(readings)), np.zeros((len(readings), 1, self.servos.n))
        for sensor in {one.sensor for one in readings}:
            rows = [row for row, one in enumerate(readings) if one.sensor == sensor]
            seen, rate = sensed(self.description, sensor, q, poses)
            values[rows], rates[rows, 0] = seen[rows], np.broadcast_to(rate, q.shape)[rows]
        by_friction = (rates @ by_load)[:, 0]
        strength = servo.stall_torque / USUAL_STALL_NM
        held_back = FRICTION_SD * strength + servo.stiffness * servo.gap * (np.abs(load.torque) < LOOSE_NM * strength)
        assumed = ["load_friction" in one.unmeasured for one in self.servos.servos]
        k_sd = [stiffness_sd(servo) for servo in self.servos.servos]
        x_sd = np.where(assumed, ASSUMED_SD, LOAD_FRICTION_SD) * (servo.load_friction > 0.0)
        return _Linearised(
            values,
            (by_friction * load.by_mass[..., -1]).sum(axis=-1) * loaded,
            (by_friction * held_back)[:, self.columns],
            (by_friction / slope * motor / servo.stiffness * k_sd)[:, self.columns],
            (by_friction * side * np.abs(motor) * x_sd)[:, self.columns],
        )

    def _covariance(self, readings, change: _Linearised, times: float = 1.0) -> np.ndarray:
        """V, (r, r) [rad² or m²], with ``times`` the usual offsets."""
        offset_sd = times * np.array([OFFSET_SD[one.sensor.unit] for one in readings])
        visits, sensors = np.array([one.visit for one in readings]), _numbered([one.sensor for one in readings])
        covariance = np.diag([one.sensor.sd**2 for one in readings])
        for shared in (sensors, self._places(readings)):
            covariance += np.outer(offset_sd, offset_sd) * (shared[:, None] == shared)
        for known in (change.stiffness, change.load_friction):
            covariance += known @ known.T
        return covariance + change.friction @ change.friction.T * (visits[:, None] == visits)

    @staticmethod
    def _places(readings) -> np.ndarray:
        """(r,) numbers of the places: what is read by one instrument at one set-point."""
        return _numbered([(tuple(np.round(one.pulses_us, 3)), one.sensor) for one in readings])

    def _estimate(self, readings, values, mass: float, times: float = 1.0):
        """``mass.estimate`` of what ``values`` (r,) say beyond ``mass``; ``times`` as for ``_covariance``."""
        change = self._linearised(readings, mass)
        return estimate(_wrapped(values - change.values), change.slope, self._covariance(readings, change, times))

    # -- the estimate --------------------------------------------------------------------------------------------------

    def precision(self, readings: Sequence[Measurement]) -> float:
        """Standard deviation of the mass [kg] that readings like these will have; infinite where they say nothing."""
        change = self._linearised(readings, self.blind_kg)
        return estimate(np.zeros(len(readings)), change.slope, self._covariance(readings, change))[0].sd

    def alone(self, readings: Sequence[Measurement]) -> np.ndarray:
        """Standard deviation of the mass, (r,) [kg], from each reading by itself, were everything else known."""
        change = self._linearised(readings, self.blind_kg)
        with np.errstate(divide="ignore"):
            return np.sqrt([one.sensor.sd**2 for one in readings] + (change.friction**2).sum(axis=-1)) / np.abs(change.slope)

    def weigh(self, readings: Sequence[Measurement], better: str = "") -> Weighed:
        """The mass in the tool.

        Args:
            better: a pose that tells more, for the message where these say nothing.

        Raises:
            InputError: no reading with payload, readings that cannot be or that say nothing.
            InfeasibleError: a servo that bears more than it can: it does not rest on its spring.
        """
        refuse_if(not any(one.loaded for one in readings), "no reading with the payload in the tool", "readings", 0, 1)
        self.require_sides(readings)
        self.require_plausible(readings)
        values, mass = np.array([one.value for one in readings]), self.blind_kg
        for _ in range(ROUNDS):
            change = self._linearised(readings, mass)
            whiten = np.linalg.inv(np.linalg.cholesky(self._covariance(readings, change)))
            self._require_informative(readings, 1.0 / max(float(np.linalg.norm(whiten @ change.slope)), 1e-300), better)
            mass = least_squares.solve(
                lambda x, whiten=whiten: whiten @ _wrapped(values - self.predict(readings, x[0])),
                [mass],
                lambda x, whiten=whiten: -whiten @ self._linearised(readings, x[0]).slope[:, None],
                x_scale=self.blind_kg,
            ).x[0]
        found, scatter, apart = self._estimate(readings, values, mass)
        least_sd = found.sd / max(1.0, scatter)
        misfit = self._misfit(readings, values, mass)
        found = Measured(float(mass), least_sd * max(1.0, misfit))
        worst = int(np.abs(apart).argmax())
        if abs(apart[worst]) > MISREAD * max(1.0, scatter / 2.0):
            one = readings[worst]
            raise InputError(
                f"reading {worst + 1}, {_what(one)}, is {told(one.value, one.sensor.unit)}, {abs(apart[worst]):.0f} standard "
                "deviations from what the others say: read it again",
                subject=one.sensor.link,
                value=one.value,
            )
        require_mass(found)
        self._require_resting(readings, max(mass, 0.0))
        return Weighed(found, misfit, len(readings))

    def _misfit(self, readings, values, mass: float) -> float:
        """Of the differences between readings at one place: those that offsets, whatever they are, do not explain."""
        free = len(readings) - 1 - len(set(self._places(readings).tolist()))
        if free < 1:
            return 0.0
        misfit = self._estimate(readings, values, mass, WHATEVER)[1]
        return misfit * float(np.sqrt((len(readings) - 1) / free))

    # -- what cannot be ------------------------------------------------------------------------------------------------

    def require_sides(self, readings) -> None:
        """Require that it is known from which side the arm came, where gears hold something back."""
        unknown = sum(one.side == 0.0 for one in readings)
        refuse_if(
            unknown and not self.servos.model.frictionless,
            f"{unknown} of {len(readings)} readings do not say from which side the arm came to the pose, and the gears hold back "
            f"up to {100.0 * self.servos.model.load_friction.max():.0f} % of what the motors give: come to it from one side, by "
            "6 deg of its servos at least, and say which",
            "side",
            unknown,
            0,
        )

    def require_plausible(self, readings) -> None:
        """Require that each reading is near where the arm is without payload, or below, where half a kilogram would bring it."""
        expected = np.stack([self.predict(readings, mass) for mass in (0.0, 0.5)])
        nearest = np.clip([one.value for one in readings], *np.sort(expected, axis=0))
        for number, (one, light, there) in enumerate(zip(readings, expected[0], nearest), start=1):
            which = f"reading {number}, {_what(one)}," if len(readings) > 1 else _what(one)
            refuse_if(not np.isfinite(one.value), f"{which} is not a finite number", one.sensor.link, one.value)
            tall, slip = one.sensor.unit == "m", SLIP[one.sensor.unit]
            off = abs(one.value - there if tall else _wrapped(one.value - there))
            why = off > slip and (near_place if tall else near)(which, one.value, float(light), slip)
            refuse_if(why, why, one.sensor.link, one.value, float(light))

    def _require_informative(self, readings, sd: float, better: str) -> None:
        if sd <= self.blind_kg:
            return
        pose = self.servos.to_angle(next(one for one in readings if one.loaded).pulses_us)
        text = f"{1e3 * sd:.0f} g" if sd < NOTHING_KG else "anything"
        raise InputError(
            f"at {self.pose_text(pose)} these readings tell the payload to ± {text}, which says nothing: the load "
            f"hardly moves what is read there; {better or 'stretch the arm further out'}",
            subject="pose",
            value=sd,
            limit=self.blind_kg,
        )

    def _require_resting(self, readings, mass: float) -> None:
        sides, masses = [one.side for one in readings], [mass * one.loaded for one in readings]
        load = self.resting([one.pulses_us for one in readings], masses, sides).load.torque
        share = np.abs(load) / self.servos.model.stall_torque
        row, column = np.unravel_index(int(share.argmax()), share.shape)
        if share[row, column] > 1.0:
            name, stall = self.servos.joint_names[column], float(self.servos.model.stall_torque[column])
            bears = f"{abs(load[row, column]):.2f} {self.description.effort_units[column]}"
            raise InfeasibleError(
                f"{name} would bear {bears} at reading {row + 1} and stalls at {stall:.2f}: it does not rest on its spring; "
                "weigh nearer to the base",
                subject=name,
                value=float(load[row, column]),
                limit=stall,
                time_s=0.0,
            )

    def pose_text(self, q) -> str:
        """The joints that bear the payload, in degrees or mm."""
        servos = [(self.servos.servos[column], q[column]) for column in self.columns]
        return ", ".join(f"{one.joint} {position(value, one.slides, '.0f')}" for one, value in servos)


def _numbered(keys) -> np.ndarray:
    numbers: dict = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _what(one: Measurement) -> str:
    return f"{one.sensor.kind} of {one.sensor.link}"


def _wrapped(angle):
    return (np.asarray(angle) + np.pi) % (2.0 * np.pi) - np.pi
