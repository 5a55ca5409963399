"""Simulated arm with hidden numbers on the bench: weights that are hung on it, scale, ruler and stopwatch.

The arm is MuJoCo's (``sim.plant``); readings have the noise of the real instruments.  What is hidden: masses, inertias,
stiffness, deadband, damping, friction and play as ``plant_error`` draws them, and on top of that the zero and the scale of
every servo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.sim.plant import Plant

from .instruments import RULER_SD, SCALE_SD, STOPWATCH_SD, lay
from .mass_properties import SLOWDOWN, LinkReadings, weighings
from .mover import FRAME_S
from .readings import SWINGS

ZERO_SD, SCALE_ERROR = math.radians(2.0), 0.03
"""Of the hidden servo horns: standard deviation of the zero [rad], bound of the scale error."""

HAND_S, HANDS_OFF = 1.0, tuple(np.arange(11) / 10.0)
"""How long a hand takes to let go of a weight [s], and the shares of it that the arm bears meanwhile."""


def hidden_servos(servos: ServoMap, rng: np.random.Generator, horn_error: float = 1.0) -> ServoMap:
    """The servo map as it truly is: each horn mounted askew, each servo turning a little more or less per microsecond.

    Args:
        horn_error: size of both, as a share of what is usual; 0: the horns are as the map says.
    """
    most, true = horn_error * SCALE_ERROR, []
    for servo in servos.servos:
        true.append(mounted(servo, rng.normal(0.0, horn_error * ZERO_SD), rng.uniform(-most, most)))
    return replace(servos, servos=tuple(true))


def mounted(servo: Servo, zero: float, scale: float) -> Servo:
    """The servo whose horn rests at q + zero + scale (q - middle) [rad] where ``servo`` says q."""
    angles = tuple(angle * (1.0 + scale) for angle in servo.horn_angles)
    return replace(servo, zero=servo.zero - servo.direction * zero * servo.per_turn, horn_angles=angles)


@dataclass
class SimulatedBench:
    """An arm on the bench: what a person sees of it and does to it.

    Args:
        plant: the arm with its hidden numbers.
        rng: of the readings' noise.
        servos: as believed.
    """

    plant: Plant
    rng: np.random.Generator
    servos: ServoMap
    supply: float = 1.0

    def __post_init__(self) -> None:
        servos = self.plant.servo_map
        self.pulses_us = servos.quantise_us(servos.to_pulse_us(servos.rest))

    @classmethod
    def with_errors(
        cls,
        description: ArmDescription,
        servos: ServoMap,
        *,
        plant_error: float = 0.15,
        seed: int = 0,
        horn_error: float = 1.0,
        believed: ServoMap | None = None,
    ) -> SimulatedBench:
        """An arm that differs from ``description`` and ``servos`` by hidden errors.

        Args:
            servos: what the simulated servos are built around.
            horn_error: size of the horns' errors, as a share of what is usual.
            believed: in whose rest pose it leans on something, unpowered; None: it rests in that of ``servos``.
        """
        rng = np.random.default_rng(seed)
        plant = Plant(description, hidden_servos(servos, rng, horn_error), plant_error=plant_error, seed=seed, q=servos.rest)
        if believed is not None:
            plant.reset(believed.rest, support=True)
        return cls(plant, rng, believed or servos)

    @property
    def description(self) -> ArmDescription:
        """The arm as drawn."""
        return self.plant.description

    def q(self) -> np.ndarray:
        """True joint positions, (n,) [rad]."""
        return self.plant.q

    def hang(self, mass: float, point: Sequence[float], shares: Sequence[float] = HANDS_OFF, seconds: float = HAND_S) -> None:
        """Hang a weight on, gently; mass 0: take it off.

        Args:
            shares: of the change, that the arm bears one after the other within ``seconds``.
        """
        before = self.plant.payload
        for share in shares:
            self.plant.attach(before + share * (mass - before), point)
            self.wait(seconds / len(shares))

    def link(self, name: str, repeats: int = 3) -> LinkReadings:
        """Weigh, balance and swing a link about its joint's axis; weigh a light one more often (``weighings``)."""
        link, error, along = self.description.links[name], self.plant.error, lay(self.description, name)
        mass, inertia = link.mass * error.mass[name], along.inertia(link.inertia) * error.inertia[name]
        distance = along.distance(link.com)
        masses = tuple(self.rng.normal(mass, SCALE_SD, max(repeats, weighings(link.mass))))
        if distance < 10 * RULER_SD:  # it balances on its axis, and does not swing
            return LinkReadings(masses)
        balances, arm = tuple(self.rng.normal(distance, RULER_SD, repeats)), math.hypot(distance, along.aside(link.com))
        if not along.swings:
            return LinkReadings(masses, balances)
        period = 2.0 * math.pi * math.sqrt((inertia + mass * arm**2) / (mass * GRAVITY * arm))
        return LinkReadings(masses, balances, tuple(self.rng.normal(SWINGS * period * SLOWDOWN, STOPWATCH_SD, repeats)))

    def travel(self, servos: ServoMap, start: np.ndarray, end: np.ndarray, duration_s: float) -> None:
        """Put set-points of ``servos`` along a quintic line from ``start`` to ``end`` (n,) [rad] onto the servos' inputs."""
        for share in np.arange(1, 1 + (frames := math.ceil(duration_s / FRAME_S))) / frames:
            setpoint = start + share**3 * (10.0 - 15.0 * share + 6.0 * share**2) * (end - start)
            self.pulses_us = servos.quantise_us(servos.to_pulse_us(servos.clamp(setpoint)))
            self.wait(FRAME_S)

    def wait(self, seconds: float) -> None:
        """Let the arm rest."""
        self.plant.advance(tuple(self.pulses_us.tolist()), seconds)
