"""What the scissor holds, from how far it makes the arm sag: an inclinometer on a link, or potentiometers at the joints.

A servo told q_cmd that bears G rests at q = q_cmd - offset(G) (``servo.ServoModel.offset``), G that of the sagged pose.  A
reading h(q) is compared with h for m kilograms in the tool; its errors have the covariance (``payload_estimate``)

    V = sd² 1                                                the instrument's noise
      + Σ_j (f_sd)² (∂y/∂G_j)(∂y/∂G_j)ᵀ   at one visit       what dry friction, or a deadband, happens to hold back at joint j
      + offset_sd²           of one instrument, at one place  what zeros, scales and masses leave: cancels with and without
      + Σ_j (sd_K)² (∂y/∂ln K_j)(∂y/∂ln K_j)ᵀ                stiffness, as well as calibration knows it

How much one visit tells:  with K = 10 N·m/rad, 25 g at 0.29 m lower the forearm by 0.7°; an inclinometer (0.1°) is then good for
3.5 g, and friction (1 % of stall at two joints) for 2.8 g.  So weighing to 3 g takes two dozen visits with and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from picker_dynamics.errors import ConfigurationError, InfeasibleError, InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import ServoMap

from .droop import FRICTION_SD, Sight
from .measured import Measured
from .payload_estimate import BLIND_KG, MISREAD, Weighed, least_squares, require_mass, require_payload_place
from .statics import PointMass, gravity_torques, links_of

STIFFNESS_SD, OFFSET_SD = 0.04, 0.3 * np.pi / 180.0
"""What a calibration leaves: of K as a share (8 % at 95 %); of an elevation at rest [rad]."""

POTENTIOMETER_SD = 0.15 * np.pi / 180.0
"""Of one reading through the board's converter: half a step of 10 bits over 270° [rad]."""

LOOSE_NM = 0.1
"""Load below which friction may keep a joint inside its deadband [N·m]."""

WHATEVER = 0.3
"""An offset that no arm has [rad]."""

SLIP = 0.12
"""Distance of a reading from anything that a payload explains, which is a slip [rad]."""

PROBE_KG, PROBE_NM, PROBE_SHARE = 0.01, 1e-3, 1e-2
"""Steps of the differences: mass, friction, stiffness."""

STATIC_ITERATIONS, FIT_ITERATIONS = 12, 6


@dataclass(frozen=True)
class Potentiometer:
    """A joint's angle as measured at the joint [rad]."""

    joint: str
    sd: float = POTENTIOMETER_SD


@dataclass(frozen=True)
class Look:
    """One reading of the arm at rest.

    Args:
        pulses_us: (n,) on the servos' inputs.
        sight: what was read: the elevation of a link, or a potentiometer.
        value: the reading [rad].
        visit: number of the visit to the pose; readings of one visit share its friction.
        loaded: whether the payload was in the tool.
    """

    pulses_us: np.ndarray
    sight: Sight | Potentiometer
    value: float
    visit: int
    loaded: bool


@dataclass(frozen=True, eq=False)
class DroopScale:
    """The arm as a scale.

    Args:
        description, servos: as calibrated.
        com: (3,) where in the tool frame the payload is [m].
        stiffness_sd: uncertainty of K, as a share (one standard deviation).
        offset_sd: of what the figures miss at a pose [rad].

    Raises:
        ConfigurationError: nobody has measured the stiffness of a joint that bears the payload.
        InputError: a centre of mass that cannot be.
    """

    description: ArmDescription
    servos: ServoMap
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    stiffness_sd: float = STIFFNESS_SD
    offset_sd: float = OFFSET_SD
    links: tuple[PointMass, ...] = field(init=False)
    columns: tuple[int, ...] = field(init=False)

    def __post_init__(self):
        require_payload_place(self.com)
        object.__setattr__(self, "links", links_of(self.description))
        rng = np.random.default_rng(0)
        lower, upper = np.maximum(self.description.lower, -np.pi), np.minimum(self.description.upper, np.pi)
        q = rng.uniform(lower, upper, (32, self.servos.n))
        bears = np.abs(gravity_torques(self.description, q, [self._payload(np.ones(32))])).max(axis=0) > 1e-3
        object.__setattr__(self, "columns", tuple(np.flatnonzero(bears)))
        for column in self.columns:
            servo = self.servos.servos[column]
            if "stiffness_nm_rad" in servo.unmeasured:
                raise ConfigurationError(
                    f"the stiffness of {servo.joint} was never measured, so its droop tells no mass: picker calibrate first",
                    subject=servo.joint,
                    value=servo.stiffness,
                )

    def _payload(self, mass) -> PointMass:
        return PointMass(self.description.tool, mass, np.asarray(self.com, dtype=float))

    # -- what readings should be ---------------------------------------------------------------------------------------

    def resting(self, pulses_us, mass, friction=0.0, softer=0.0) -> tuple[np.ndarray, np.ndarray]:
        """Where the joints rest, (r, n) [rad], and what they bear, (r, n) [N·m].

        Args:
            pulses_us: (r, n).  mass: (r,) [kg] in the tool.
            friction: (n,) added to what the servos bear [N·m].  softer: (n,) added to 1/K, as a share.
        """
        told, servo = self.servos.to_angle(pulses_us), self.servos.model
        q, load = np.array(told), np.zeros_like(told)
        for _ in range(STATIC_ITERATIONS):
            load = gravity_torques(self.description, q, [*self.links, self._payload(mass)]) + friction
            q = told - servo.offset(load) - softer * load / servo.stiffness
        return q, load

    def predict(self, looks: Sequence[Look], mass: float, **changed) -> np.ndarray:
        """(r,) readings [rad] with ``mass`` [kg] in the tool at those with payload."""
        q, _ = self.resting([one.pulses_us for one in looks], mass * _loaded(looks), **changed)
        poses, values = link_poses(self.description, q), np.empty(len(looks))
        for row, one in enumerate(looks):
            if isinstance(one.sight, Potentiometer):
                values[row] = q[row, self.description.joint_names.index(one.sight.joint)]
        for sight in {one.sight for one in looks if isinstance(one.sight, Sight)}:
            rows = [row for row, one in enumerate(looks) if one.sight == sight]
            values[rows] = sight.of(poses)[rows]
        return values

    def _by(self, looks, mass: float, base: np.ndarray, **changed) -> np.ndarray:
        return _wrapped(self.predict(looks, mass, **changed) - base)

    def _slope(self, looks, mass: float, base: np.ndarray) -> np.ndarray:
        """(r,) change of the readings per kilogram [rad/kg]."""
        return self._by(looks, mass + PROBE_KG, base) / PROBE_KG

    def _covariance(self, looks, mass: float, base: np.ndarray) -> np.ndarray:
        """V, (r, r) [rad²]."""
        visits = np.array([one.visit for one in looks])
        sights = _numbered([one.sight for one in looks])
        covariance = np.diag([one.sight.sd**2 for one in looks])
        for shared in (sights, self._places(looks)):
            covariance += self.offset_sd**2 * (shared[:, None] == shared)
        held_back = self._held_back(looks, mass)
        for column in self.columns:
            one = np.eye(self.servos.n)[column]
            friction = self._by(looks, mass, base, friction=PROBE_NM * one) / PROBE_NM * held_back[:, column]
            stiffness = self._by(looks, mass, base, softer=PROBE_SHARE * one) / PROBE_SHARE * self.stiffness_sd
            covariance += np.outer(friction, friction) * (visits[:, None] == visits) + np.outer(stiffness, stiffness)
        return covariance

    def _held_back(self, looks, mass: float) -> np.ndarray:
        """f_sd, (r, n) [N·m]: dry friction, and K delta besides where a joint may hang in its deadband."""
        _, load = self.resting([one.pulses_us for one in looks], mass * _loaded(looks))
        servo = self.servos.model
        return FRICTION_SD + servo.stiffness * servo.deadband * (np.abs(load) < LOOSE_NM)

    @staticmethod
    def _places(looks) -> np.ndarray:
        """(r,) numbers of the places: what is read by one instrument at one set-point."""
        return _numbered([(tuple(np.round(one.pulses_us, 3)), one.sight) for one in looks])

    # -- the estimate --------------------------------------------------------------------------------------------------

    def precision(self, looks: Sequence[Look], mass: float = BLIND_KG) -> float:
        """Standard deviation of the mass [kg] that readings like these will have; infinite where they say nothing."""
        base = self.predict(looks, mass)
        return least_squares(np.zeros(len(looks)), self._slope(looks, mass, base), self._covariance(looks, mass, base))[0].sd

    def alone(self, looks: Sequence[Look], mass: float = BLIND_KG) -> np.ndarray:
        """(r,) standard deviation of the mass [kg] from each reading by itself, were everything else known."""
        base = self.predict(looks, mass)
        variance = np.array([one.sight.sd**2 for one in looks])
        held_back = self._held_back(looks, mass)
        for column in self.columns:
            one = np.eye(self.servos.n)[column]
            variance += (self._by(looks, mass, base, friction=PROBE_NM * one) / PROBE_NM * held_back[:, column]) ** 2
        with np.errstate(divide="ignore"):
            return np.sqrt(variance) / np.abs(self._slope(looks, mass, base))

    def weigh(self, looks: Sequence[Look], better: str = "") -> Weighed:
        """The mass in the tool.

        Args:
            better: a pose that tells more, for the message where these say nothing.

        Raises:
            InputError: no reading with payload, readings that cannot be or that say nothing.
            InfeasibleError: a servo that bears more than it can: it does not rest on its spring.
        """
        if not any(one.loaded for one in looks):
            raise InputError("no reading with the payload in the tool", subject="readings", value=0, limit=1)
        self.require_plausible(looks)
        values = np.array([one.value for one in looks])
        mass = BLIND_KG
        for _ in range(FIT_ITERATIONS):
            base = self.predict(looks, mass)
            slope = self._slope(looks, mass, base)
            found, scatter, apart = least_squares(_wrapped(values - base), slope, self._covariance(looks, mass, base))
            least_sd = float(found.sd) / max(1.0, scatter)
            self._require_informative(looks, least_sd, better)
            mass += found.value
            if abs(found.value) < 1e-6:
                break
        misfit = self._misfit(looks, values, mass)
        found = Measured(float(mass), least_sd * max(1.0, misfit))
        worst = int(np.abs(apart).argmax())
        if abs(apart[worst]) > MISREAD * max(1.0, scatter / 2.0):
            one = looks[worst]
            raise InputError(
                f"reading {worst + 1}, {_what(one)}, is {np.degrees(one.value):.2f}°, {abs(apart[worst]):.0f} "
                "standard deviations from what the others say: read it again",
                subject=_where(one),
                value=one.value,
            )
        require_mass(found)
        self._require_resting(looks, max(mass, 0.0))
        return Weighed(found, misfit, len(looks))

    def _misfit(self, looks, values, mass: float) -> float:
        """Of the differences between readings at one place: those that offsets, whatever they are, do not explain."""
        free = len(looks) - 1 - len(set(self._places(looks).tolist()))
        if free < 1:
            return 0.0
        loose = replace(self, offset_sd=WHATEVER)
        base = loose.predict(looks, mass)
        slope = loose._slope(looks, mass, base)
        misfit = least_squares(_wrapped(values - base), slope, loose._covariance(looks, mass, base))[1]
        return misfit * float(np.sqrt((len(looks) - 1) / free))

    # -- what cannot be ------------------------------------------------------------------------------------------------

    def require_plausible(self, looks) -> None:
        """Each reading is near where the arm is without payload, or below, where one of half a kilogram would bring it."""
        empty, full = (self.predict(looks, mass) for mass in (0.0, 0.5))
        for number, (one, light, heavy) in enumerate(zip(looks, empty, full), start=1):
            if not np.isfinite(one.value):
                raise InputError(f"reading {number}, {_what(one)}, is not a finite number", subject=_where(one), value=one.value)

            def off(value, light=light, heavy=heavy) -> float:
                return float(
                    min(abs(_wrapped(value - light)), abs(_wrapped(value - heavy)))
                    if not min(light, heavy) <= value <= max(light, heavy)
                    else 0.0
                )

            if off(one.value) <= SLIP:
                continue
            if abs(one.value) > np.radians(SLIP) and off(np.radians(one.value)) <= SLIP:
                hint = "are these degrees?"
            elif off(np.degrees(one.value)) <= SLIP / 4.0:
                hint = "converted from degrees twice?"
            else:
                hint = "sign, unit or link mixed up?" if off(-one.value) > SLIP else "is its sign turned about?"
            raise InputError(
                f"reading {number}, {_what(one)}, is {one.value:.4g} rad ({np.degrees(one.value):.1f}°), expected "
                f"about {light:.3f} rad ({np.degrees(light):.1f}°): {hint}",
                subject=_where(one),
                value=one.value,
                limit=float(light),
            )

    def _require_informative(self, looks, sd: float, better: str) -> None:
        if sd <= BLIND_KG:
            return
        pose = self.servos.to_angle(next(one for one in looks if one.loaded).pulses_us)
        text = f"{1e3 * sd:.0f} g" if np.isfinite(sd) else "anything"
        raise InputError(
            f"at {self.pose_text(pose)} these readings tell the payload to ± {text}, which says nothing: the load "
            f"hardly moves what is read there; {better or 'stretch the arm further out'}",
            subject="pose",
            value=sd,
            limit=BLIND_KG,
        )

    def _require_resting(self, looks, mass: float) -> None:
        _, load = self.resting([one.pulses_us for one in looks], mass * _loaded(looks))
        share = np.abs(load) / self.servos.model.stall_torque
        row, column = np.unravel_index(int(share.argmax()), share.shape)
        if share[row, column] > 1.0:
            name, stall = self.servos.joint_names[column], float(self.servos.model.stall_torque[column])
            raise InfeasibleError(
                f"{name} would bear {abs(load[row, column]):.2f} N·m at reading {row + 1} and stalls at "
                f"{stall:.2f}: it does not rest on its spring; weigh nearer to the base",
                subject=name,
                value=float(load[row, column]),
                limit=stall,
                time_s=0.0,
            )

    def pose_text(self, q) -> str:
        """The joints that bear the payload, in degrees."""
        return ", ".join(f"{self.servos.joint_names[column]} {np.degrees(q[column]):.0f}°" for column in self.columns)


def _loaded(looks) -> np.ndarray:
    return np.array([one.loaded for one in looks], dtype=float)


def _numbered(keys) -> np.ndarray:
    numbers: dict = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _what(look: Look) -> str:
    sight = look.sight
    return f"position of {sight.joint}" if isinstance(sight, Potentiometer) else f"{sight.kind} of {sight.link}"


def _where(look: Look) -> str:
    return look.sight.joint if isinstance(look.sight, Potentiometer) else look.sight.link


def _wrapped(angle):
    return (np.asarray(angle) + np.pi) % (2.0 * np.pi) - np.pi
