"""Servo map: the channel, the pulse <-> angle map and the figures of each joint's servo, read from YAML and checked.

A pulse sets the angle of the servo's horn; the joint angle follows from how the servo is mounted:

    horn = interp(pulse; pulse_map),     q = direction (horn - zero)

The ends of ``pulse_map`` are the pulse range: set-points live in it, while desired positions obey the
URDF's narrower limits, so that compensation has room.  Layout of the file: ``config/servos.yaml``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import ConfigurationError, LimitError

from .model import Array, as_states, read_only, vector_of
from .servo import ServoModel
from .servo_file import OSCILLATOR_HZ, Entry, read_entries
from .units import told

SERVO_RATE_HZ = 200.0
"""Fastest reference for servos on a board: its queue cannot span the lead with more, and a 50 Hz servo has no use for it."""

PULSE_TOLERANCE_US = 1e-6
"""Rounding that a pulse may exceed its range by [us]."""

LIMIT_TOLERANCE = 1e-4
"""How far a URDF's limit may lie beyond the pulses [rad]: 1.5708 is meant to be pi/2."""


@dataclass(frozen=True)
class Grip:
    """Closing range of a gripper joint: touches at ``contact`` [rad], presses with ``torque`` [N·m] at most."""

    contact: float
    torque: float


@dataclass(frozen=True)
class Electric:
    """Current and heating of a servo's motor: at stall and without load [A]; the rise of its temperature in the long
    run if it stalled [K], and how fast it gets there [s].  ``assumed`` names the figures that are no more than that."""

    stall_a: float
    idle_a: float
    stall_rise_k: float
    thermal_s: float
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Supply:
    """Measurement of the servo supply by the board: analogue input, volts in per volt there, least voltage [V]."""

    adc: int
    divider: float
    minimum_v: float


@dataclass(frozen=True)
class Servo:
    """One servo and its joint; rad and SI, pulses in us.  ``unmeasured`` names assumed figures.

    Of a sliding joint, which a ``pinion`` of that radius [m] drives, all figures are the joint's, in m and N.
    ``feedback_adc`` is the board's analogue input for a potentiometer at the joint, None where there is none.
    ``stiffness_sd`` is how well K is known, one standard deviation; None: nobody says.
    """

    joint: str
    channel: int
    direction: int
    zero: float
    horn_angles: tuple[float, ...]
    pulses_us: tuple[float, ...]
    stall_torque: float
    no_load_speed: float
    stiffness: float
    deadband_us: float
    armature: float
    peak_share: float
    hold_share: float
    rest: float
    home: float
    grip: Grip | None = None
    unmeasured: tuple[str, ...] = ()
    feedback_adc: int | None = None
    electric: Electric | None = None
    fastest_setpoint: float = math.inf
    load_friction: float = 0.0
    coulomb: float = 0.0
    play: float = 0.0
    pinion: float | None = None
    stiffness_sd: float | None = None

    @property
    def slides(self) -> bool:
        """Whether the servo drives a sliding joint."""
        return self.pinion is not None

    @property
    def position_unit(self) -> str:
        """``rad``, or ``m`` where the joint slides."""
        return "m" if self.slides else "rad"

    @property
    def per_turn(self) -> float:
        """Travel of the joint for a radian of its servo: 1, of a sliding one its pinion's radius [m]."""
        return self.pinion or 1.0

    @property
    def setpoint_speed(self) -> float:
        """Fastest that a set-point may move [rad/s]; never above what the servo makes without load."""
        return min(self.fastest_setpoint, self.no_load_speed)

    @property
    def deadband(self) -> float:
        """Half the deadband, delta [rad], through the mean slope of the pulse map."""
        slope = (self.horn_angles[-1] - self.horn_angles[0]) / (self.pulses_us[-1] - self.pulses_us[0])
        return 0.5 * self.deadband_us * slope

    @property
    def pulse_range(self) -> tuple[float, float]:
        """Joint angles [rad], lower and upper, of the ends of the pulse map."""
        ends = [self.direction * (horn - self.zero) for horn in (self.horn_angles[0], self.horn_angles[-1])]
        return min(ends), max(ends)

    @property
    def setpoint_range(self) -> tuple[float, float]:
        """Set-points [rad] that may be sent: the pulse range, beyond contact only what the grip allows."""
        lower, upper = self.pulse_range
        if self.grip is not None:
            motor = (self.grip.torque + self.coulomb) / (1.0 - self.load_friction)
            lower = max(lower, self.grip.contact - self.deadband - 0.5 * self.play - motor / self.stiffness)
        return lower, upper

    @cached_property
    def pulse_map(self) -> tuple[Array, Array]:
        """Horn angles [rad] and pulses [us] of its points, each (k,), rising."""
        return read_only(self.horn_angles), read_only(self.pulses_us)

    def to_pulse_us(self, angle: ArrayLike) -> Array:
        return np.interp(self.zero + self.direction * np.asarray(angle), *self.pulse_map)

    def to_angle(self, pulse_us: ArrayLike) -> Array:
        horn_angles, pulses_us = self.pulse_map
        angle: Array = self.direction * (np.interp(np.asarray(pulse_us), pulses_us, horn_angles) - self.zero)
        return angle


@dataclass(frozen=True)
class ServoMap:
    """The servos of an arm in the order of its joints; vectors are (n,) and read-only, batches (..., n).

    ``oscillator_hz`` is what the PCA9685's oscillator was measured to run at [Hz], else its nominal frequency;
    ``supply_a`` what the servos' supply gives [A], None where nobody says, and ``supply_assumed`` whether that is a guess;
    ``supply_v`` the voltage at which the servos' figures hold [V], None where nobody says; ``supply_ohm`` the resistance of the
    source and its wires [ohm].
    """

    servos: tuple[Servo, ...]
    frame_s: float
    quantum_us: float
    oscillator_hz: float = OSCILLATOR_HZ
    supply: Supply | None = None
    supply_a: float | None = None
    supply_assumed: bool = False
    supply_v: float | None = None
    supply_ohm: float = 0.0

    @property
    def n(self) -> int:
        return len(self.servos)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(servo.joint for servo in self.servos)

    @cached_property
    def position_units(self) -> tuple[str, ...]:
        return tuple(servo.position_unit for servo in self.servos)

    @cached_property
    def channels(self) -> tuple[int, ...]:
        return tuple(servo.channel for servo in self.servos)

    @cached_property
    def unmeasured(self) -> tuple[str, ...]:
        """``joint.key`` of every figure that is an assumption."""
        return tuple(f"{servo.joint}.{key}" for servo in self.servos for key in servo.unmeasured)

    @cached_property
    def model(self) -> ServoModel:
        """The servo model with these figures."""
        figures = ("stiffness", "deadband", "no_load_speed", "stall_torque", "load_friction", "coulomb", "play")
        return ServoModel(
            joint_names=self.joint_names,
            stall_drain=self.stall_drain,
            **{name: [getattr(servo, name) for servo in self.servos] for name in figures},
        )

    @cached_property
    def stall_drain(self) -> Array:
        """Share, (n,), of the nominal voltage that the source loses to each servo at stall; 0 where nothing electric is known."""
        lost = self.supply_ohm / self.supply_v if self.supply_v else 0.0
        return read_only([lost * servo.electric.stall_a if servo.electric else 0.0 for servo in self.servos])

    @property
    def measures_supply(self) -> bool:
        """Whether the board measures the servos' supply, and what it should be is known."""
        return self.supply is not None and self.supply_v is not None

    stall_torque = vector_of("servos", "stall_torque")
    """[N·m]"""

    no_load_speed = vector_of("servos", "no_load_speed")
    """[rad/s]"""

    setpoint_speed = vector_of("servos", "setpoint_speed")
    """Fastest that a set-point may move [rad/s]."""

    armature = vector_of("servos", "armature")
    """Rotor inertia at the joint [kg·m²]."""

    peak_share = vector_of("servos", "peak_share")
    """Share of stall torque allowed along a motion."""

    hold_share = vector_of("servos", "hold_share")
    """Share of stall torque allowed where a motion ends."""

    rest = vector_of("servos", "rest")
    """Folded pose that needs little torque [rad]."""

    home = vector_of("servos", "home")
    """Pose in which work starts [rad]."""

    per_turn = vector_of("servos", "per_turn")
    """How far each joint goes for a radian of its servo [rad/rad or m/rad]."""

    setpoint_lower = vector_of("servos", "setpoint_range", 0)
    """Smallest set-point [rad] that may be sent."""

    setpoint_upper = vector_of("servos", "setpoint_range", 1)
    """Largest set-point [rad] that may be sent."""

    pulse_lower_us = vector_of("servos", "pulses_us", 0)
    """Shortest pulse of each servo's map [us]."""

    pulse_upper_us = vector_of("servos", "pulses_us", -1)
    """Longest pulse of each servo's map [us]."""

    def clamp(self, q_cmd: ArrayLike) -> Array:
        """``q_cmd`` [rad] moved into the set-point range."""
        return np.clip(as_states("set-point", q_cmd, self.n), self.setpoint_lower, self.setpoint_upper)

    def to_pulse_us(self, q_cmd: ArrayLike) -> Array:
        """Pulses [us], not yet quantised, of set-points [rad].

        Raises:
            LimitError: a set-point outside its range; ``clamp`` first where that is meant.
        """
        q_cmd = as_states("set-point", q_cmd, self.n)
        self._require("set-point", q_cmd, self.setpoint_lower, self.setpoint_upper, 1e-9)
        return _by_joint([servo.to_pulse_us for servo in self.servos], q_cmd)

    def to_angle(self, pulse_us: ArrayLike) -> Array:
        """Set-points [rad] of pulses [us].

        Raises:
            LimitError: a pulse outside its servo's map.
        """
        pulse_us = as_states("pulse", pulse_us, self.n)
        self._require("pulse", pulse_us, self.pulse_lower_us, self.pulse_upper_us, self.quantum_us + PULSE_TOLERANCE_US)
        return _by_joint([servo.to_angle for servo in self.servos], pulse_us)

    def quantise_us(self, pulse_us: ArrayLike) -> Array:
        """Pulses [us] as the board can make them: whole quanta."""
        return np.round(np.asarray(pulse_us, dtype=float) / self.quantum_us) * self.quantum_us

    def _require(self, what: str, value: Array, lower: Array, upper: Array, tolerance: float) -> None:
        outside = np.maximum(lower - value, value - upper) - tolerance
        if (outside > 0.0).any():
            index = np.unravel_index(np.argmax(outside), outside.shape)
            joint, low, high, found = self.joint_names[index[-1]], lower[index[-1]], upper[index[-1]], float(value[index])
            limit = float(low if found < low else high)
            said = [
                f"{x:.4f} us" if what == "pulse" else told(x, self.position_units[index[-1]], beside)
                for x, beside in ((found, limit), (low, None), (high, None))
            ]
            raise LimitError(f"{joint}: {what} {said[0]} is outside {said[1]} ... {said[2]}", joint, found, limit)


def _by_joint(functions: Sequence[Callable[[ArrayLike], Array]], values: Array) -> Array:
    """Each joint's function of its ``values`` (..., n), as (..., n)."""
    if values.ndim == 1:
        return np.array([function(value) for function, value in zip(functions, values.tolist())])
    return np.stack([function(values[..., i]) for i, function in enumerate(functions)], axis=-1)


def load(path: str | Path, joint_names: Iterable[str], overlay: str | Path | None = None) -> ServoMap:
    """Read a servo map for the joints ``joint_names``, in that order.

    Args:
        path: YAML file.
        overlay: second YAML file of the same layout whose entries win, or None.

    Raises:
        ConfigurationError: naming file, joint, value and limit.
    """
    board, entries = read_entries(path, tuple(joint_names), overlay)
    supply = board.pop("supply")
    return ServoMap(tuple(map(_servo, entries.values())), supply=supply and Supply(**supply), **board)


def _servo(fields: Entry) -> Servo:
    """A servo, whose rest and home are within its set-points."""
    grip, electric = fields.pop("grip"), fields.pop("electric")
    servo = Servo(**fields, grip=grip and Grip(**grip), electric=electric and Electric(**electric))
    joint, (lower, upper) = servo.joint, servo.setpoint_range
    if lower >= upper:
        said = f"{told(lower, servo.position_unit)} ... {told(upper, servo.position_unit)}"
        raise ConfigurationError(f"{joint}: grip leaves no set-points: {said}", joint, lower, upper)
    for key, pose in (("rest_rad", servo.rest), ("home_rad", servo.home)):
        if not lower <= pose <= upper:
            said = f"{joint}: {key} is {pose}, outside its set-points {lower:.4f} ... {upper:.4f}"
            raise ConfigurationError(said, joint, pose, lower if pose < lower else upper)
    return servo
