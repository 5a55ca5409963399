"""Payload from droop: the mass in the tool from how far it makes the arm sag, by inclinometer or ruler.

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
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import ConfigurationError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.robot.units import told

from ..calibration.droop_model import FRICTION_SD, USUAL_STALL_NM, Balance, balance
from ..calibration.instruments import SensorModel
from ..calibration.measured import Measured
from ..calibration.statics import PointMass, links_of, loads, random_poses
from .mass import HEAVIEST_KG, LIGHTEST_KG, Weighed, estimate, require_payload_place, weighed

USUAL_KG, BLIND_SHARE = 0.1, 0.25
"""What a payload weighs at the most, unless somebody says otherwise, and the standard deviation of the mass, as a share of that,
above which the readings say nothing: a strawberry or none looks the same."""

STIFFNESS_SD, STIFFNESS_LEAST_SD, ROUGHEST_SD = {"rad": 0.04, "m": 0.15}, 0.04, 0.5
"""What a calibration leaves of K, as a share, by the unit of the joint, where the servo map does not say: a ruler tells less of
one that slides.  No K is known better than the second; what is known to less than the third is of no use."""

OFFSET_SD, WHATEVER = {"rad": np.radians(0.3), "m": 1e-3}, 60.0
"""What a calibration leaves of a reading at rest, by its unit; so many times that is an offset that no arm has."""

LOAD_FRICTION_SD, ASSUMED_SD = 0.03, 0.12
"""Of x: what a calibration leaves, and where nobody has measured it."""

LOOSE_NM = 0.1
"""Load below which friction may keep a joint of a servo of usual strength inside its deadband [N·m]."""

SLIP = {"rad": 0.12, "m": 0.01}
"""Distance of a reading from anything that a payload explains, which is a slip, by its unit."""

MISREAD = 5.0
"""Standard deviations from what the other readings say beyond which one is a slip."""

ROUNDS = 6
"""In which the mass, and the readings linearised about it, are found in turn."""


def stiffness_sd(servo: Servo) -> float:
    """How well a servo's K is known, as a share (one standard deviation)."""
    stated = servo.stiffness_sd
    return STIFFNESS_SD[servo.position_unit] if stated is None else max(stated / servo.stiffness, STIFFNESS_LEAST_SD)


@dataclass(frozen=True)
class Measurement:
    """Reading of the arm at rest, or a visit at which it will be read.

    Args:
        pulses_us: (n,) on the servos' inputs.
        sensor: what is read: the elevation of a link, or its height.
        visit: number of the visit to the pose; readings of one visit share its friction.
        loaded: whether the payload is in the tool.
        side: from which the arm comes: +1 from below, -1 from above, 0 not known.
        value: the reading [rad or m].
    """

    pulses_us: np.ndarray
    sensor: SensorModel
    visit: int
    loaded: bool
    side: float = 0.0
    value: float = 0.0

    @property
    def place(self) -> tuple:
        """Pose and instrument, where offsets are the same."""
        return *np.round(self.pulses_us, 3), self.sensor


class Linearised(NamedTuple):
    """Readings (r,) and their changes: (r,) by the mass [rad/kg or m/kg], (r, j) by a standard deviation of what friction
    holds back by chance at each joint, (r, 2 j) of its stiffness, and of its friction that grows with the load."""

    values: np.ndarray
    slope: np.ndarray
    friction: np.ndarray
    known: np.ndarray


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
    columns: tuple[int, ...] = field(init=False)

    def __post_init__(self):
        require_payload_place(self.com)
        most = f"a payload of {1e3 * self.heaviest_kg:g} g at the most, must be {1e3 * LIGHTEST_KG:g} to {1e3 * HEAVIEST_KG:g} g"
        refuse_if(not LIGHTEST_KG <= self.heaviest_kg <= HEAVIEST_KG, most, "heaviest", self.heaviest_kg, HEAVIEST_KG)
        bears = loads(self.description, random_poses(self.description, 32), [self._payload(np.ones(32))]).torque
        object.__setattr__(self, "columns", tuple(np.flatnonzero(np.abs(bears).max(axis=0) > 1e-3)))
        for servo in (self.servos.servos[column] for column in self.columns):
            known, last = stiffness_sd(servo), "picker calibrate first, with weights that it bears"
            rough = f"the stiffness of {servo.joint} is known to {known:.0%} only, at most {ROUGHEST_SD:.0%} is of use: {last}"
            refuse_if(known > ROUGHEST_SD, rough, servo.joint, known, ROUGHEST_SD)
            if "stiffness_nm_rad" in servo.unmeasured and servo.stiffness_sd is None:
                why = f"the stiffness of {servo.joint} was never measured, so its droop tells no mass: {last}"
                raise ConfigurationError(why, subject=servo.joint, value=servo.stiffness)

    @property
    def blind_kg(self) -> float:
        """Standard deviation of the mass above which readings say nothing."""
        return BLIND_SHARE * self.heaviest_kg

    def _payload(self, mass) -> PointMass:
        return PointMass(self.description.tool, mass, np.asarray(self.com, dtype=float))

    def resting(self, readings: Sequence[Measurement], mass: float) -> Balance:
        """Rest of the joints at each reading, with ``mass`` [kg] in the tool at those with payload."""
        q = self.servos.to_angle([one.pulses_us for one in readings])
        masses = [*links_of(self.description), self._payload(np.array([mass * one.loaded for one in readings]))]
        side = np.array([[one.side] for one in readings])
        return balance(self.description, self.servos.model, q, q, range(self.servos.n), masses, side)

    def linearised(self, readings: Sequence[Measurement], mass: float) -> Linearised:
        """Readings with ``mass`` [kg] in the tool at those with payload, and how they change."""
        at, servo, side = self.resting(readings, mass), self.servos.model, np.array([[one.side] for one in readings])
        poses, by_load = link_poses(self.description, at.q), -at.turn * at.slope[:, None, :]
        seen = {one.sensor: (one.sensor.of(poses), one.sensor.rates(self.description, poses)) for one in readings}
        values, rates = (np.array([seen[one.sensor][i][row] for row, one in enumerate(readings)]) for i in (0, 1))
        by_friction = (rates[:, None, :] @ by_load)[:, 0]
        strength = servo.stall_torque / USUAL_STALL_NM
        held_back = FRICTION_SD * strength + servo.stiffness * servo.gap * (np.abs(at.load.torque) < LOOSE_NM * strength)
        k_sd = np.array([stiffness_sd(servo) for servo in self.servos.servos])
        assumed = ["load_friction" in one.unmeasured for one in self.servos.servos]
        x_sd = np.where(assumed, ASSUMED_SD, LOAD_FRICTION_SD) * (servo.load_friction > 0.0)
        known = by_friction / at.slope * at.motor / servo.stiffness * k_sd, by_friction * side * np.abs(at.motor) * x_sd
        return Linearised(
            values,
            (by_friction * at.load.by_mass[..., -1]).sum(axis=-1) * [one.loaded for one in readings],
            (by_friction * held_back)[:, self.columns],
            np.hstack([one[:, self.columns] for one in known]),
        )

    def estimate(self, readings: Sequence[Measurement], mass: float, times: float = 1.0) -> tuple[Measured, float, np.ndarray]:
        """``mass.estimate``, linearised about ``mass``, with ``times`` the usual offsets; of planned readings its sd counts."""
        change = self.linearised(readings, mass)
        offset_sd = times * np.array([OFFSET_SD[one.sensor.unit] for one in readings])
        covariance = np.diag([one.sensor.sd**2 for one in readings]) + change.known @ change.known.T
        covariance += change.friction @ change.friction.T * _same([one.visit for one in readings])
        for shared in ([one.sensor for one in readings], [one.place for one in readings]):
            covariance += np.outer(offset_sd, offset_sd) * _same(shared)
        excess = _less([one.value for one in readings], change.values, readings)
        found, misfit, apart = estimate(excess, change.slope, covariance)
        return Measured(mass + found.value, found.sd), misfit, apart

    def weigh(self, readings: Sequence[Measurement]) -> Weighed:
        """Find the mass in the tool.

        Raises:
            InputError: no reading with payload, readings that cannot be or that say nothing.
        """
        refuse_if(not any(one.loaded for one in readings), "no reading with the payload in the tool", "readings", 0, 1)
        self.require_plausible(readings)
        found = Measured(self.blind_kg, np.inf)
        for _ in range(ROUNDS):
            found, misfit, apart = self.estimate(readings, found.value)
            nothing = (
                f"these readings tell the payload to ± {1e3 * found.sd:.3g} g, which says nothing: stretch the arm further out"
            )
            refuse_if(found.sd > self.blind_kg, nothing, "pose", found.sd, self.blind_kg)
        worst = int(np.abs(apart).argmax())
        slip = f"{_what(readings, worst)} is {abs(apart[worst]):.0f} standard deviations from what the others say: read it again"
        refuse_if(abs(apart[worst]) > MISREAD * max(1.0, misfit / 2.0), slip, readings[worst].sensor.link, readings[worst].value)
        # Only what no offset explains makes the mass more uncertain: differences between readings at one place.
        free = len(readings) - 1 - len({one.place for one in readings})
        unexplained = self.estimate(readings, found.value, WHATEVER)[1] if free > 0 else 0.0
        return weighed(found, unexplained * float(np.sqrt((len(readings) - 1) / max(free, 1))), len(readings))

    def require_plausible(self, readings: Sequence[Measurement]) -> None:
        """Refuse a reading that is neither where the arm is without payload, nor below, as far as half a kilogram goes."""
        light, heavy = (self.linearised(readings, mass).values for mass in (0.0, 0.5))
        values = np.array([one.value for one in readings])
        off = np.abs(_less(values, np.clip(values, np.minimum(light, heavy), np.maximum(light, heavy)), readings))
        for row, one in enumerate(readings):
            expected = (
                f"expected about {told(float(light[row]), one.sensor.unit)}: another link, unit or sign, or not at rest yet?"
            )
            fits = off[row] <= SLIP[one.sensor.unit]
            refuse_if(not fits, f"{_what(readings, row)}, {expected}", one.sensor.link, one.value, float(light[row]))


def _same(keys: list) -> np.ndarray:
    """(r, r) whether two have the same key."""
    return np.array([[one == other for other in keys] for one in keys])


def _less(values, expected, readings: Sequence[Measurement]) -> np.ndarray:
    """Readings less what is expected, (r,), those of angles within ±pi."""
    off, turns = np.subtract(values, expected), np.array([one.sensor.unit == "rad" for one in readings])
    return np.where(turns, (off + np.pi) % (2.0 * np.pi) - np.pi, off)


def _what(readings, row: int) -> str:
    """A reading in words."""
    one = readings[row]
    return f"reading {row + 1}, {one.sensor.kind} of {one.sensor.link}, is {told(one.value, one.sensor.unit)}"
