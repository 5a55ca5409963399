"""Simulated arm with hidden numbers on the bench: outputs of its board, weights that are hung on, scale, ruler and stopwatch.

The arm is MuJoCo's (``sim.plant``); readings have the noise of the real instruments.  What is hidden: masses, inertias,
stiffness, deadband, damping, friction and play as ``plant_error`` draws them, and on top of that the zero and the scale of
every servo.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.protocol import JointLimits
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.sim.plant import Plant

from .lay import lay
from .mass_properties import RULER_SD, SCALE_SD, STOPWATCH_SD, LinkReadings, swing_slowdown, weighings
from .mover import FRAME_S

ZERO_SD, SCALE_ERROR = math.radians(2.0), 0.03
"""Of the hidden servo horns: standard deviation of the zero [rad], bound of the scale error."""

HAND_S, HANDS_OFF = 1.0, tuple(np.arange(11) / 10.0)
"""How long a hand takes to let go of a weight [s], and the shares of it that the arm bears meanwhile."""


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
    """An arm on the bench: what a person sees and does, and the outputs of its board (for a ``Mover``), whose frames move it.

    Args:
        plant: the arm with its hidden numbers.
        rng: of the readings' noise.
        servos: of the arm that the board was flashed for.
    """

    plant: Plant
    rng: np.random.Generator
    servos: ServoMap
    supply: float = 1.0
    faults: str = ""
    found_live: tuple[str, ...] = ()
    limits: tuple[JointLimits, ...] = field(init=False)

    def __post_init__(self):
        self.limits, self.resolution_us = board_limits(self.servos), self.servos.quantum_us
        self._pulses = np.full(self.servos.n, np.nan)

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
            believed: for which the board was flashed; default ``servos``.
        """
        rng = np.random.default_rng(seed)
        plant = Plant(description, hidden_servos(servos, rng, horn_error), plant_error=plant_error, seed=seed, q=servos.rest)
        return cls(plant, rng, believed or servos)

    # -- what a person sees and does -------------------------------------------------------------------------------

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

    # -- the board's outputs ---------------------------------------------------------------------------------------

    @property
    def pulses_us(self) -> np.ndarray:
        """Pulses on the outputs, (n,) [us]; NaN where an output is off."""
        return self._pulses.copy()

    @property
    def supply_mv(self) -> int:
        """Voltage of the servos' supply [mV], 0 where it is not measured."""
        return round(1e3 * self.plant.supply * self.servos.supply_v) if self.servos.measures_supply else 0

    def switch_on(self, joint: int, pulse_us: float) -> None:
        """Start one output."""
        self._pulses[joint] = pulse_us

    def play(self, rows: np.ndarray) -> None:
        """Play set-points frame by frame."""
        for row in rows:
            self._pulses = np.where(np.isnan(self._pulses), np.nan, self.servos.quantise_us(row))
            self.wait(FRAME_S)

    def travel(self, servos: ServoMap, start, end, duration_s: float) -> None:
        """Play set-points of ``servos`` along a smooth line from ``start`` to ``end`` (n,) [rad]."""
        self.play(servos.to_pulse_us(servos.clamp(np.array(list(smooth_line(start, end, duration_s))))))

    def wait(self, seconds: float) -> None:
        """Let the arm rest."""
        if seconds > 0.0:
            self.plant.advance(tuple(None if np.isnan(pulse) else pulse for pulse in self._pulses.tolist()), seconds)

    def switch_off(self, joint: int | None = None) -> None:
        """Switch one output off, or all of them: the arm falls."""
        self._pulses[slice(None) if joint is None else joint] = np.nan

    def nothing(self) -> None:
        """Nothing has to be done: the board has no port, no faults, and no outputs that ran before."""

    let_go = take = reset = adopt = nothing
