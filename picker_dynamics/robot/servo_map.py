"""Servo map: channel or bus id, the pulse <-> angle map and the figures of each joint's servo, read from YAML and checked.

A pulse sets the angle of the servo's horn; the joint angle follows from how the servo is mounted:

    horn = interp(pulse; pulse_map),     q = direction (horn - zero)

A bus servo, one with an ``id``, counts ticks instead: tick = 2048 + horn 4096 / 2 pi.
The ends of ``pulse_map`` are the pulse range: set-points live in it, while desired positions obey the
URDF's narrower limits, so that compensation has room.  Layout of the file: ``config/servos.yaml``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from picker_dynamics.errors import ConfigurationError, LimitError

from .file_fields import TURN, UNMEASURED, above, figure, keys_of, read_fields, within, written_fields
from .model import Array, as_states, read_only, vector_of
from .servo import FIGURES, ServoModel
from .servo_file import CHANNELS, PER_GAIN, Entry, between_ticks, pulse_map, read_layers, scaled
from .units import told

OSCILLATOR_HZ = 25e6
"""What a PCA9685's oscillator is meant to run at [Hz]."""

FEEDBACK_ADCS = [0, 1, 2, 3]
"""Analogue inputs for feedback potentiometers: A4 and A5 are the I2C bus; for the supply a Nano has A6 and A7 too."""

STIFFNESS_UPPER_BOUND = 25.0
"""K [N·m/rad] of an unmeasured servo: too low a K over-compensates and does harm, so this errs high."""

P_GAINS = range(1, 255)
"""What the register of a bus servo's P gain may hold."""

SERVO_RATE_HZ = 200.0
"""Fastest reference for servos on a board: its queue cannot span the lead with more, and a 50 Hz servo has no use for it."""

STEP_S, RAMP_S = 0.01, 0.1
"""A change of the torque may move a set-point as far at once as its largest speed does in ``STEP_S``; it gathers that speed
in ``RAMP_S`` [s]."""

PULSE_TOLERANCE_US = 1e-6
"""Rounding that a pulse may exceed its range by [us]."""

LIMIT_TOLERANCE = 1e-4
"""How far a URDF's limit may lie beyond the pulses [rad]: 1.5708 is meant to be pi/2."""


@dataclass(frozen=True, kw_only=True)
class Grip:
    """Closing range of a gripper joint: touches at ``contact`` [rad], presses with ``torque`` [N·m] at most."""

    contact: float = figure("contact_rad", (-100.0, True, 100.0))
    torque: float = figure("torque_nm", above(1e4), power=-1)


@dataclass(frozen=True, kw_only=True)
class Electric:
    """Current and heating of a servo's motor: at stall and without load [A]; the rise of its temperature in the long
    run if it stalled [K], and how fast it gets there [s].  ``assumed`` names the figures that are no more than that."""

    stall_a: float = figure("stall_a", above(100.0))
    idle_a: float = figure("idle_a", within(10.0))
    stall_rise_k: float = figure("stall_rise_k", above(10_000.0))
    thermal_s: float = figure("thermal_s", above(100_000.0))
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Supply:
    """Measurement of the servo supply by the board: analogue input, volts in per volt there, least voltage [V]."""

    adc: int = figure("adc", [*FEEDBACK_ADCS, 6, 7])
    divider: float = figure("divider", (1.0, True, 20.0))
    minimum_v: float = figure("minimum_v", above(60.0))


@dataclass(frozen=True, kw_only=True)
class Servo:
    """One servo and its joint; rad and SI, pulses in us.  ``unmeasured`` names assumed figures.

    Of a sliding joint, which a ``pinion`` of that radius [m] drives, all figures are the joint's, in m and N.
    ``feedback_adc`` is the board's analogue input for a potentiometer at the joint, None where there is none.
    ``stiffness_sd`` is how well K is known, one standard deviation; None: nobody says.  A bus servo has a ``bus_id``, and where
    they are known the model number that it answers and what its registers of P gain and offset have to hold.
    """

    joint: str
    channel: int = figure("channel", [*range(CHANNELS)])
    bus_id: int | None = figure("id", range(253), None)
    model_number: int | None = figure("model_number", range(65536), None)
    p_gain: int | None = figure("p_gain", P_GAINS, None)
    homing_offset: int | None = figure("homing_offset", range(-2047, 2048), None)
    direction: int = figure("direction", [-1, 1])
    horn_angles: tuple[float, ...]
    pulses_us: tuple[float, ...]
    zero: float = figure("zero_deg", (-360.0, True, 360.0), unit=TURN, power=1)
    stall_torque: float = figure("stall_torque_nm", above(1e4), power=-1)
    no_load_speed: float = figure("no_load_speed_rad_s", above(1e4), power=1)
    stiffness: float = figure("stiffness_nm_rad", above(1e6), power=-2, guess=STIFFNESS_UPPER_BOUND)
    deadband_us: float = figure("deadband_us", within(100.0))
    armature: float = figure("armature_kg_m2", within(1.0), power=-2)
    peak_share: float = figure("peak_share", above(1.0))
    hold_share: float = figure("hold_share", above(1.0))
    rest: float = figure("rest_rad", (-100.0, True, 100.0))
    home: float = figure("home_rad", (-100.0, True, 100.0))
    load_friction: float = figure("load_friction", within(0.9), 0.0)
    coulomb: float = figure("coulomb_nm", within(1e4), 0.0, power=-1)
    play: float = figure("play_deg", within(20.0), 0.0, unit=TURN, power=1)
    fastest_setpoint: float = figure("setpoint_speed_rad_s", above(1e4), math.inf, power=1)
    pinion: float | None = figure("pinion_mm", above(1000.0), None, unit=1e-3)
    stiffness_sd: float | None = None
    grip: Grip | None = figure("grip", Grip, None)
    unmeasured: tuple[str, ...] = ()
    feedback_adc: int | None = figure("feedback_adc", FEEDBACK_ADCS, None)
    electric: Electric | None = figure("electric", Electric, None)

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

    def written(self) -> dict[str, Any]:
        """Its entry in a servo map: figures of the servo itself, whatever it drives."""
        points = [[horn / self.per_turn / TURN, pulse] for horn, pulse in zip(self.horn_angles, self.pulses_us)]
        return written_fields(self, self.per_turn, self.unmeasured) | {"pulse_map": points}

    def to_pulse_us(self, angle: Any) -> Any:
        return _interpolated(self.zero + self.direction * angle, self.horn_angles, self.pulses_us)

    def to_angle(self, pulse_us: Any) -> Any:
        return self.direction * (_interpolated(pulse_us, self.pulses_us, self.horn_angles) - self.zero)


@dataclass(frozen=True)
class ServoMap:
    """The servos of an arm in the order of its joints; vectors are (n,) and read-only, batches (..., n).

    ``bus`` is the dialect of servos on a bus (``bus.dialects``), None where a servo board drives them;
    ``oscillator_hz`` is what the PCA9685's oscillator was measured to run at [Hz], else its nominal frequency;
    ``supply_a`` what the servos' supply gives [A], None where nobody says, and ``supply_assumed`` whether that is a guess;
    ``supply_v`` the voltage at which the servos' figures hold [V], None where nobody says; ``supply_ohm`` the resistance of the
    source and its wires [ohm].
    """

    servos: tuple[Servo, ...]
    frame_s: float = figure("frame_us", (1000.0, True, 100000.0), unit=1e-6)
    quantum_us: float = figure("quantum_us", above(100.0))
    oscillator_hz: float = figure("oscillator_hz", (20e6, True, 30e6), OSCILLATOR_HZ)
    supply: Supply | None = figure("supply", Supply, None)
    supply_a: float | None = figure("supply_a", above(1000.0), None)
    supply_assumed: bool = False
    supply_v: float | None = figure("supply_v", above(60.0), None)
    supply_ohm: float = figure("supply_ohm", within(10.0), 0.0)
    bus: str | None = figure("bus", ["sts", "scs"], None)

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
    def bus_ids(self) -> tuple[int, ...]:
        """Of bus servos; none on a servo board."""
        return tuple(servo.bus_id for servo in self.servos if servo.bus_id is not None)

    @cached_property
    def unmeasured(self) -> tuple[str, ...]:
        """``joint.key`` of every figure that is an assumption."""
        return tuple(f"{servo.joint}.{key}" for servo in self.servos for key in servo.unmeasured)

    @property
    def assumptions(self) -> str:
        """Figures that are assumed, and of which joints, in words; '' where all were measured."""
        joints: dict[str, list[str]] = {}
        for servo in self.servos:
            for key in servo.unmeasured:
                joints.setdefault(key, []).append(servo.joint)
        keys: dict[str, list[str]] = {}
        for key, names in joints.items():
            keys.setdefault("all joints" if len(names) == self.n else ", ".join(names), []).append(key)
        return "; ".join(f"{', '.join(each)} of {names}" for names, each in keys.items())

    @cached_property
    def model(self) -> ServoModel:
        """The servo model with these figures."""
        figures = {name: [getattr(servo, name) for servo in self.servos] for name in FIGURES if name != "stall_drain"}
        return ServoModel(joint_names=self.joint_names, stall_drain=self.stall_drain, **figures)

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

    def setpoint_turn(self, since_s: float) -> Array:
        """How far set-points may come off the way they were on, (n,) [rad], ``since_s`` [s] after they were on it."""
        return self.setpoint_speed * (STEP_S + 0.5 * since_s**2 / RAMP_S)

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
        outside = np.maximum(lower - value, value - upper)
        if np.count_nonzero(outside > tolerance):
            index = np.unravel_index(np.argmax(outside), outside.shape)
            joint, low, high, found = self.joint_names[index[-1]], lower[index[-1]], upper[index[-1]], float(value[index])
            limit = float(low if found < low else high)
            said = [
                f"{x:.4f} us" if what == "pulse" else told(x, self.position_units[index[-1]], beside)
                for x, beside in ((found, limit), (low, None), (high, None))
            ]
            raise LimitError(f"{joint}: {what} {said[0]} is outside {said[1]} ... {said[2]}", joint, found, limit)


def _interpolated(x: Any, xs: Sequence[float], ys: Sequence[float]) -> Any:
    """``np.interp``, for one number at a third of its cost."""
    if not isinstance(x, float):
        return np.interp(x, xs, ys)
    k = min(max(bisect_right(xs, x), 1), len(xs) - 1)
    return ys[k - 1] + (min(max(x, xs[0]), xs[-1]) - xs[k - 1]) * ((ys[k] - ys[k - 1]) / (xs[k] - xs[k - 1]))


def _by_joint(functions: Sequence[Callable[[ArrayLike], Array]], values: Array) -> Array:
    """Each joint's function of its ``values`` (..., n), as (..., n)."""
    if values.ndim == 1:
        return np.array([function(value) for function, value in zip(functions, values.tolist())])
    return np.stack([function(values[..., i]) for i, function in enumerate(functions)], axis=-1)


# -- on file ---------------------------------------------------------------------------------------------------------------

SLIDING = {"rest_rad": "rest_m", "home_rad": "home_m"}
"""What keys are called for a sliding joint, one with a pinion."""

SERVO_KEYS = ("type", "pulse_map", "ticks", *(key.name for key in keys_of(Servo).values()), *SLIDING.values())


def load(path: str | Path, joint_names: Iterable[str], overlay: str | Path | None = None) -> ServoMap:
    """Read a servo map for the joints ``joint_names``, in that order.

    Args:
        path: YAML file.
        overlay: second YAML file of the same layout whose entries win, or None.

    Raises:
        ConfigurationError: naming file, joint, value and limit.
    """
    board_keys = [key.name for key in keys_of(ServoMap).values()]
    return made_of(*read_layers(path, tuple(joint_names), overlay, board_keys, SERVO_KEYS), str(path))


def made_of(board: Entry, entries: Mapping[str, Entry], where: str) -> ServoMap:
    """The servo map of what is given of the board and of each joint's servo; errors as ``load``."""
    figures, assumed = read_fields(ServoMap, board, "board: ", "board")
    if figures["supply_ohm"] and figures["supply_v"] is None:
        text = f"{where}: board: supply_ohm needs supply_v: the voltage at which the servos' figures hold"
        raise ConfigurationError(text, "supply_v")
    servos = tuple(
        _servo(joint, {"channel": k} | entry if "id" in entry else entry) for k, (joint, entry) in enumerate(entries.items())
    )
    made = ServoMap(servos, supply_assumed="supply_a" in assumed, **figures)
    measured = {made.supply.adc: "the supply"} if made.supply else {}
    for key, field, used in (
        ("channel", "channel", dict[int, str]()),
        ("id", "bus_id", {}),
        ("feedback_adc", "feedback_adc", measured),
    ):
        for servo in made.servos:
            if (taken := getattr(servo, field)) in used:
                does = "measures" if used is measured else "drives"
                raise ConfigurationError(f"{servo.joint}: {key} {taken} already {does} {used[taken]}", servo.joint, taken)
            if taken is not None:
                used[taken] = servo.joint
    if 0 < len(made.bus_ids) < made.n:
        joint = next(servo.joint for servo in made.servos if servo.bus_id is None)
        raise ConfigurationError(f"{joint}: id is missing: the servos of an arm are on one bus, or on a servo board", joint, "id")
    return made


def _servo(joint: str, given: Entry) -> Servo:
    """A servo, whose rest and home are within its set-points."""
    pinion, gain = given.get("pinion_mm"), given.get("p_gain", 0)
    if given.get("stiffness_nm_rad") in (None, UNMEASURED) and PER_GAIN in given and gain in P_GAINS:
        given = given | {"stiffness_nm_rad": scaled(given[PER_GAIN], gain)}
    r = 1e-3 * pinion if isinstance(pinion, (int, float)) and pinion > 0.0 else 1.0
    values, unmeasured = read_fields(Servo, given, f"{joint}: ", joint, r, SLIDING if pinion is not None else None)
    horns, pulses = pulse_map(joint, given.get("pulse_map"))
    if values["bus_id"] is not None and "ticks" in given:
        horns, pulses = between_ticks(joint, given["ticks"], horns, pulses)
    horns = tuple(horn * r for horn in horns)
    servo = Servo(joint=joint, horn_angles=horns, pulses_us=pulses, unmeasured=unmeasured, **values)
    (lower, upper), unit = servo.setpoint_range, servo.position_unit
    if lower >= upper:
        said = f"{joint}: grip leaves no set-points: {told(lower, unit)} ... {told(upper, unit)}"
        raise ConfigurationError(said, joint, lower, upper)
    for key, pose in (("rest_rad", servo.rest), ("home_rad", servo.home)):
        if not lower <= pose <= upper:
            said = f"{joint}: {key} is {pose}, outside its set-points {lower:.4f} ... {upper:.4f}"
            raise ConfigurationError(said, joint, pose, lower if pose < lower else upper)
    return servo


def entries_of(servos: ServoMap) -> tuple[Entry, dict[str, Entry]]:
    """What a file would say of the board, and of each joint's servo: of which ``made_of`` makes this servo map."""
    joints = {}
    for one in servos.servos:
        called = SLIDING if one.slides else {}
        joints[one.joint] = {called.get(key, key): value for key, value in one.written().items()}
    return written_fields(servos, assumed=["supply_a"] if servos.supply_assumed else []), joints


def map_text(servos: ServoMap) -> str:
    """Assumed servos as a servo map's text (YAML), without friction and play, which are the simulation's own."""
    ideal = [replace(one, load_friction=0.0, coulomb=0.0, play=0.0, unmeasured=("stiffness_nm_rad",)) for one in servos.servos]
    board, joints = entries_of(replace(servos, servos=tuple(ideal)))
    said = "# Assumed servos, for a simulation only: nothing of them is measured.\n"
    return said + yaml.safe_dump({"board": board, "joints": joints}, default_flow_style=None, sort_keys=False, width=130)
