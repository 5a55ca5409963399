"""Simulated arm with hidden numbers, whose scale, ruler, stopwatch and inclinometer are read with the noise of real ones.

The arm is MuJoCo's (``sim.plant``); readings have the noise of the real instruments.  What is hidden: masses, inertias,
stiffness, deadband, damping, friction and play as ``plant_error`` draws them, and on top of that the zero and the scale of
every servo.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.resting import resting_position, sloped
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.sim.plant import Plant

from .droop_model import skid
from .instruments import SensorModel
from .lay import lay
from .mass_properties import RULER_SD, SCALE_SD, STOPWATCH_SD, LinkReadings, swing_slowdown, weighings
from .mover import FRAME_S
from .poses import TRAVEL_SPEED, Station, stand_off, way
from .procedure import ANGLE_SD
from .servo_figures import horn_slope

ZERO_SD, SCALE_ERROR = math.radians(2.0), 0.03
"""Of the hidden servo horns: standard deviation of the zero [rad], bound of the scale error."""

APPROACH_S, SETTLE_S = 3.0, 2.5
HAND_S, HANDS_OFF = 1.0, tuple(np.arange(11) / 10.0)
"""How long a hand takes to let go of a weight [s], and the shares of it that the arm bears meanwhile."""

HOPS, CHANCE_NM = (0.4, 1.6), 0.003
"""Of where joints of ``RestingBench`` stop short of the friction's edge: range, as a share of what a hop of their pulses makes
(``droop_model``), and standard deviation of the rest [N·m].  MuJoCo's arm stops so."""


def hidden_servos(servos: ServoMap, rng: np.random.Generator, horn_error: float = 1.0) -> ServoMap:
    """The servo map as it truly is: each horn mounted askew, each servo turning a little more or less per microsecond.

    Args:
        horn_error: size of both, as a share of what is usual; 0: the horns are as the map says.
    """
    return replace(
        servos,
        servos=tuple(
            mounted(
                servo, rng.normal(0.0, horn_error * ZERO_SD), rng.uniform(-horn_error * SCALE_ERROR, horn_error * SCALE_ERROR)
            )
            for servo in servos.servos
        ),
    )


def mounted(servo: Servo, zero: float, scale: float) -> Servo:
    """The servo whose horn rests at q + zero + scale (q - middle) [rad] where ``servo`` says q."""
    return replace(
        servo,
        zero=servo.zero - servo.direction * zero * servo.per_turn,
        horn_angles=tuple(angle * (1.0 + scale) for angle in servo.horn_angles),
    )


def smooth_line(start, end, duration_s: float) -> Iterator[np.ndarray]:
    """Set-points along a quintic line from ``start`` to ``end`` (n,) [rad], one a servo frame."""
    for share in np.arange(1, 1 + (frames := math.ceil(duration_s / FRAME_S))) / frames:
        yield start + share**3 * (10.0 - 15.0 * share + 6.0 * share**2) * (end - start)


@dataclass
class SimulatedBench:
    """The arm on the bench, and the person beside it (``procedure.Bench``)."""

    plant: Plant
    rng: np.random.Generator
    supply: float = 1.0

    def __post_init__(self):
        servos = self.plant.servo_map
        self._told = servos.quantise_us(servos.to_pulse_us(servos.rest))

    @classmethod
    def with_errors(
        cls, description: ArmDescription, servos: ServoMap, *, plant_error: float = 0.15, seed: int = 0, horn_error: float = 1.0
    ) -> SimulatedBench:
        """An arm that differs from ``description`` and ``servos`` by hidden errors.

        Args:
            servos: what the simulated servos are built around.
            horn_error: size of the horns' errors, as a share of what is usual.
        """
        rng = np.random.default_rng(seed)
        plant = Plant(description, hidden_servos(servos, rng, horn_error), plant_error=plant_error, seed=seed, q=servos.rest)
        return cls(plant, rng)

    # -- apart, on the table ---------------------------------------------------------------------------------------

    def link(self, name: str, repeats: int = 3, swings: int = 20, amplitude: float = 0.15) -> LinkReadings:
        """Weigh, balance and swing a link about its joint's axis; weigh a light one more often (``weighings``)."""
        link, error = self.plant.description.links[name], self.plant.error
        mass = link.mass * error.mass[name]
        along = lay(self.plant.description, name)
        distance, inertia = along.distance(link.com), along.inertia(link.inertia) * error.inertia[name]
        masses = self.rng.normal(mass, SCALE_SD, max(repeats, weighings(link.mass)))
        if distance < 10 * RULER_SD:  # it balances on its axis, and does not swing
            return LinkReadings(tuple(masses))
        balances = self.rng.normal(distance, RULER_SD, repeats)
        if not along.swings:
            return LinkReadings(tuple(masses), tuple(balances))
        arm = math.hypot(distance, along.aside(link.com))
        period = 2.0 * math.pi * math.sqrt((inertia + mass * arm**2) / (mass * GRAVITY * arm))
        times = self.rng.normal(swings * period * swing_slowdown(amplitude), STOPWATCH_SD, repeats)
        return LinkReadings(tuple(masses), tuple(balances), tuple(times), swings, amplitude)

    # -- put together ----------------------------------------------------------------------------------------------

    def read_station(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> list[float]:
        """Come to the station from one side, hang the weight on, wait, and read its sensors [rad or m]."""
        plant, servos = self.plant, validator.limits.servo_map
        for passed in way(
            validator, servos.to_angle(self._told), stand_off(servos, servos.to_angle(station.pulses_us), side, columns)
        ):
            self._travel(servos, passed)
        self._load(station, HANDS_OFF)
        self._travel(servos, servos.to_angle(station.pulses_us), APPROACH_S)
        self._told = np.array(station.pulses_us)
        plant.advance(tuple(self._told.tolist()), SETTLE_S)
        values = self.sensed(station.sensors, plant.q)
        self.supply = plant.supply if servos.measures_supply else 1.0
        self._load(station, HANDS_OFF[::-1])
        return values

    def angle(self, joint: str, servos: ServoMap, setpoint: float) -> float:
        """Position to which a joint that bears nothing goes for a set-point [rad], told from the tip on a ruler."""
        column = self.plant.joint_names.index(joint)
        true = self.plant.servo_map.servos[column]
        return float(true.to_angle(servos.servos[column].to_pulse_us(setpoint)) + self.rng.normal(0.0, ANGLE_SD))

    def sensed(self, sensors: Sequence[SensorModel], q) -> list[float]:
        """Sensor readings with the joints at q (n,) [rad or m], the instruments' noise in it."""
        poses = link_poses(self.plant.description, q)
        return [float(sensor.of(poses) + self.rng.normal(0.0, sensor.sd)) for sensor in sensors]

    def _load(self, station: Station, shares: Sequence[float]) -> None:
        """Hang the weight on, or take it off, by hand: gently."""
        for share in shares if station.weight.mass else ():
            self.plant.attach(share * station.weight.mass, station.weight.point)
            self.plant.advance(tuple(self._told.tolist()), HAND_S / len(shares))

    def _travel(self, servos: ServoMap, setpoint, duration_s: float = 0.0) -> None:
        """Set-points along a smooth line to ``setpoint``, in the board's frames."""
        start = servos.to_angle(self._told)
        duration_s = duration_s or max(0.5, 2.0 * float(np.abs((setpoint - start) / servos.per_turn).max()) / TRAVEL_SPEED)
        for there in smooth_line(start, setpoint, duration_s):
            self._told = servos.quantise_us(servos.to_pulse_us(servos.clamp(there)))
            self.plant.advance(tuple(self._told.tolist()), FRAME_S)


@dataclass
class RestingBench(SimulatedBench):
    """Bench of an arm already at rest, far faster: where MuJoCo's gravity, the hidden servos' springs and friction balance.

    Joints rest at the edge of their friction on the side from which they came, less what their last hop leaves, which is drawn;
    those that bear so little that a hop carries them through their gap rest about there by chance.
    """

    def read_station(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> list[float]:
        """Be at rest at the station with the weight on, and read its sensors [rad or m]."""
        plant, column, hops = self.plant, list(columns), self.hops(station)
        held = -side * self.rng.uniform(*HOPS, plant.n) * hops
        held += self.rng.normal(0.0, CHANCE_NM, plant.n) / plant.servo_map.per_turn
        q, servo = self.resting(station, columns, side, held), plant.whole_servo
        plant.attach(station.weight.mass, station.weight.point)
        skids = skid(plant.bias(q, np.zeros(plant.n)) + side * servo.coulomb, hops, servo.gap)
        plant.detach()
        q[column] += skids[column] * self.rng.normal(size=len(column))
        return self.sensed(station.sensors, q)

    def hops(self, station: Station) -> np.ndarray:
        """Torques, (n,), by which joints usually stop short of the friction's edge [N·m]."""
        plant = self.plant
        plant.attach(station.weight.mass, station.weight.point)
        inertia = np.diag(plant.mass_matrix(plant.servo_map.to_angle(station.pulses_us)))
        zeta = np.minimum(0.5 * plant.servo.damping / np.sqrt(plant.servo.stiffness * inertia), 0.999)
        over = np.exp(-np.pi * zeta / np.sqrt(1.0 - zeta**2))
        steps = [horn_slope(one) * plant.servo_map.quantum_us for one in plant.servo_map.servos]
        return plant.servo.stiffness * steps * over / (1.0 + over)

    def resting(self, station: Station, columns: Sequence[int], side: float, held=0.0) -> np.ndarray:
        """Rest positions of the joints (n,) [rad], the weight on, come from one side; ``held``: borne besides (n,) [N·m]."""
        plant, column, still = self.plant, list(columns), np.zeros(self.plant.n)
        plant.attach(station.weight.mass, station.weight.point)
        servo = plant.whole_servo
        q = np.array(plant.servo_map.to_angle(station.pulses_us))

        def motor(some):
            q[column] = some
            return servo.motor_for(plant.bias(q, still) + held, side)[column]

        q[column] = resting_position(q[column], sloped(motor), 1.0 / servo.stiffness[column], servo.gap[column])
        plant.detach()
        return q
