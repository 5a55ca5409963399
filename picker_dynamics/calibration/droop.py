"""Servo figures from how far an arm sags: zero, scale, stiffness and deadband of each joint, without an encoder.

A servo told q_cmd that bears G(q) rests at

    q = q_cmd + z + s (q_cmd - q_mid) - c (G(q) + f) - delta tanh(G(q) / 0.01 N·m)

zero offset z [rad], scale error s, compliance c = 1/K [rad/(N·m)], half deadband delta [rad]; f is what dry friction happens
to hold back: another one at each visit of a pose, as the arm comes to rest swinging.  q is found by iteration, as G is that
of the sagged pose.  Weights hung on the arm, and leaning it over to the other side, tell these figures apart.

The fit is Gauss-Newton on inclinometer and ruler readings, with what is known beforehand (masses as weighed, a servo's usual
figures) as further readings.  So a figure about which the readings say nothing keeps its prior and its prior's uncertainty,
and the uncertainty of the masses is part of the stiffness's.  The readings of one visit share its friction: their covariance is

    R = sd² 1 + Σ_j (c_j f_sd)² (∂y/∂z_j) (∂y/∂z_j)ᵀ
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from picker_dynamics.calibration.mass_properties import LinkProperties
from picker_dynamics.calibration.measured import Measured
from picker_dynamics.calibration.statics import PointMass, elevation, gravity_torques, links_of
from picker_dynamics.description import ArmDescription
from picker_dynamics.errors import InputError
from picker_dynamics.servo import SIGN_TORQUE
from picker_dynamics.servo_map import ServoMap
from picker_dynamics.tree import Pose, link_poses

FIGURES = ("zero", "scale", "compliance", "deadband")

PRIORS = {"zero": (0.0, 0.10), "scale": (0.0, 0.05), "compliance": (0.08, 0.06), "deadband": (0.0039, 0.0020)}
"""Mean and standard deviation of a hobby servo's figures before anything is read: zero within 6 degrees at one standard
deviation, scale 5 %, stiffness 7 to 50 N·m/rad, deadband 5 us in all."""

FRICTION_SD = 0.01
"""Standard deviation [N·m] of what dry friction holds back where a servo has come to rest: 1 % of stall torque."""

INCLINOMETER_SD, RULER_SD = 0.1 * np.pi / 180.0, 5e-4
"""Standard deviation of one reading: [rad], [m]."""

STATIC_ITERATIONS, MORE_ITERATIONS = 12, 5
"""The sag changes the load by about a tenth of itself, so each iteration gains a digit; fewer do from a pose nearby."""

FIT_ITERATIONS, FIT_TOLERANCE = 15, 1e-6
MISREAD = 5.0
"""Standard deviations from the fit beyond which a reading is shown as an outlier."""


@dataclass(frozen=True)
class Sight:
    """What is read of an arm at rest: ``elevation`` of a link [rad] by inclinometer, or ``height`` of its origin above the
    base [m] by ruler."""

    kind: str
    link: str

    def __post_init__(self):
        if self.kind not in ("elevation", "height"):
            raise InputError(f"reading is of {self.kind!r}, must be elevation or height", joint="kind", value=self.kind)

    @property
    def sd(self) -> float:
        """Standard deviation of one reading [rad or m]."""
        return INCLINOMETER_SD if self.kind == "elevation" else RULER_SD

    def of(self, poses: Mapping[str, Pose]) -> np.ndarray:
        """The reading without error [rad or m], (...), with the links at ``poses``."""
        pose = poses[self.link]
        return elevation(pose) if self.kind == "elevation" else pose.position[..., 2]


@dataclass(frozen=True)
class Reading:
    """One look at the arm at rest.

    Args:
        pulses_us: (n,) on the servos' inputs, as the board makes them.
        sight: what was read.
        value: the reading.
        visit: number of the visit to a pose at which it was taken; readings of one visit share its friction.
        weight: mass [kg] hung at ``weight_point`` (3,) [m] of ``weight_link``; 0: none.
    """

    pulses_us: np.ndarray
    sight: Sight
    value: float
    visit: int
    weight: float = 0.0
    weight_link: str = ""
    weight_point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        if not 0.0 <= self.weight <= 1.0:
            raise InputError(f"a weight of {self.weight:g} kg was hung on, must be 0 to 1 kg: are these grams?",
                             joint="weight", value=self.weight, limit=1.0)


@dataclass(frozen=True, eq=False)
class DroopModel:
    """What the readings should be, for given figures.

    Args:
        description: the arm as drawn: lengths are believed.
        servos: the servo map as believed before; its errors are what is sought.
        joints: names of the joints whose figures are sought: those that gravity loads.
        links: measured mass properties by link, along the link's x axis; others keep the description's, exactly.
    """

    description: ArmDescription
    servos: ServoMap
    joints: tuple[str, ...]
    links: Mapping[str, LinkProperties]
    columns: tuple[int, ...] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "columns", tuple(self.description.joint_names.index(name) for name in self.joints))

    @property
    def _middle(self) -> np.ndarray:
        """(n,) joint angles [rad] at mid-travel of the horns, about which the scale errors count."""
        return np.array([-servo.direction * servo.zero for servo in self.servos.servos])

    # -- the vector of unknowns: figures joint by joint, then mass and distance link by link -----------------------

    @property
    def names(self) -> tuple[str, ...]:
        """What each unknown is, for reports."""
        figures = tuple(f"{joint}.{figure}" for joint in self.joints for figure in FIGURES)
        return figures + tuple(f"{link}.{what}" for link in self.links for what in ("mass", "distance"))

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every unknown before the arm is looked at."""
        figures = [PRIORS[figure] for _ in self.joints for figure in FIGURES]
        masses = [(known.value, known.sd) for link in self.links.values() for known in (link.mass, link.distance)]
        mean, sd = np.array([*figures, *masses], dtype=float).reshape(-1, 2).T
        return mean, sd

    def masses(self, unknowns) -> list[PointMass]:
        """The arm's links as points, with the masses and distances of ``unknowns``."""
        first = len(self.joints) * len(FIGURES)
        found = dict(zip(self.links, np.reshape(unknowns[first:], (-1, 2))))
        return [PointMass(one.link, found[one.link][0], np.array([found[one.link][1], 0.0, 0.0]) + one.point * (0.0, 1.0, 1.0))
                if one.link in found else one for one in links_of(self.description)]

    def resting(self, unknowns, readings: Sequence[Reading], near=None) -> np.ndarray:
        """(r, n) where the joints rest [rad]; ``near``: where they do for almost the same unknowns."""
        setpoint = self.servos.to_angle([one.pulses_us for one in readings])
        figures = np.reshape(unknowns[: len(self.joints) * len(FIGURES)], (-1, len(FIGURES)))
        zero, scale, compliance, deadband = figures.T
        columns, masses = list(self.columns), [*self.masses(unknowns), *hung_weights(readings)]
        told = setpoint[:, columns]
        unloaded = told + zero + scale * (told - self._middle[columns])
        q = np.array(setpoint if near is None else near)
        for _ in range(STATIC_ITERATIONS if near is None else MORE_ITERATIONS):
            load = gravity_torques(self.description, q, masses)[:, columns]
            q[:, columns] = unloaded - compliance * load - deadband * np.tanh(load / SIGN_TORQUE)
        return q

    def predict(self, unknowns, readings: Sequence[Reading]) -> np.ndarray:
        """(r,) the readings as they should be [rad or m]."""
        return self._seen(self.resting(unknowns, readings), readings)

    def _seen(self, q, readings: Sequence[Reading]) -> np.ndarray:
        poses, sights = link_poses(self.description, q), {one.sight for one in readings}
        seen = {sight: sight.of(poses) for sight in sights}
        return np.array([seen[one.sight][row] for row, one in enumerate(readings)])

    def sensitivity(self, unknowns, readings: Sequence[Reading]) -> np.ndarray:
        """(r, u) derivatives of the readings by the unknowns, by differences of a hundredth of the prior."""
        q = self.resting(unknowns, readings)
        expected, columns = self._seen(q, readings), []
        for i, step in enumerate(1e-2 * self.prior()[1]):
            shifted = np.array(unknowns, dtype=float)
            shifted[i] += step
            columns.append(_wrapped(self._seen(self.resting(shifted, readings, q), readings) - expected, readings) / step)
        return np.stack(columns, axis=-1)


def hung_weights(readings: Sequence[Reading]) -> list[PointMass]:
    """The weights of all readings as point masses with one mass per reading."""
    places = sorted({(one.weight_link, one.weight_point) for one in readings if one.weight})
    return [PointMass(link, np.array([one.weight if (one.weight_link, one.weight_point) == (link, point) else 0.0
                                      for one in readings]), np.array(point)) for link, point in places]


@dataclass(frozen=True, eq=False)
class DroopFit:
    """What the readings say.

    Attributes:
        model: that was fitted.
        readings: it was fitted to.
        unknowns: (u,) the estimate, in the order of ``model.names``.
        covariance: (u, u); of the readings' spread where that is larger than the instruments explain.
        residuals: (r,) reading minus fit, in standard deviations.
        misfit: root mean square of the residuals' part that the fit did not use up; about 1 where the model fits.
        outliers: indices of readings further than ``MISREAD`` from the fit.
    """

    model: DroopModel
    readings: tuple[Reading, ...]
    unknowns: np.ndarray
    covariance: np.ndarray
    residuals: np.ndarray
    misfit: float
    outliers: tuple[int, ...]

    def figure(self, joint: str, name: str) -> Measured:
        """One of ``FIGURES`` of a joint."""
        return self._measured(f"{joint}.{name}")

    def stiffness(self, joint: str) -> Measured:
        """K = 1/c [N·m/rad]; sd to first order."""
        c = self.figure(joint, "compliance")
        return Measured(1.0 / c.value, c.sd / c.value**2)

    def _measured(self, name: str) -> Measured:
        i = self.model.names.index(name)
        return Measured(float(self.unknowns[i]), float(np.sqrt(self.covariance[i, i])))


def fit(model: DroopModel, readings: Sequence[Reading]) -> DroopFit:
    """Estimate all figures from the readings.

    Raises:
        InputError: too few readings, or one that no such arm could give.
    """
    if len(readings) < len(model.joints) * len(FIGURES):
        raise InputError(f"{len(readings)} readings for {len(model.joints) * len(FIGURES)} figures: take more",
                         joint="readings", value=len(readings), limit=len(model.joints) * len(FIGURES))
    mean, prior_sd = model.prior()
    _require_plausible(model, mean, readings)
    value = np.array([one.value for one in readings])
    unknowns = mean.copy()
    for _ in range(FIT_ITERATIONS):
        raw = model.sensitivity(unknowns, readings)
        whiten = whitening(model, unknowns, raw, readings)
        residuals, jacobian = whiten @ _wrapped(value - model.predict(unknowns, readings), readings), whiten @ raw
        information = jacobian.T @ jacobian + np.diag(prior_sd**-2)
        step = np.linalg.solve(information, jacobian.T @ residuals + (mean - unknowns) / prior_sd**2)
        unknowns = _physical(model, unknowns + step)
        if np.abs(step / prior_sd).max() < FIT_TOLERANCE:
            break
    residuals = whiten @ _wrapped(value - model.predict(unknowns, readings), readings)
    covariance = np.linalg.inv(information)
    used = float(np.trace(jacobian @ covariance @ jacobian.T))
    misfit = float(np.sqrt((residuals @ residuals) / max(1.0, len(readings) - used)))
    worst = tuple(int(i) for i in np.flatnonzero(np.abs(residuals) > MISREAD * max(1.0, misfit)))
    return DroopFit(model, tuple(readings), unknowns, covariance * max(1.0, misfit) ** 2, residuals, misfit, worst)


def whitening(model: DroopModel, unknowns, sensitivity, readings: Sequence[Reading]) -> np.ndarray:
    """(r, r) matrix that makes the readings' errors independent and of size 1: R's inverse Cholesky factor, visit by visit."""
    zero, compliance = (np.arange(len(model.joints)) * len(FIGURES) + FIGURES.index(name) for name in ("zero", "compliance"))
    friction = sensitivity[:, zero] * (np.asarray(unknowns)[compliance] * FRICTION_SD)
    whiten, visits = np.zeros((len(readings), len(readings))), np.array([one.visit for one in readings])
    for visit in np.unique(visits):
        rows = np.flatnonzero(visits == visit)
        covariance = friction[rows] @ friction[rows].T + np.diag([readings[row].sight.sd ** 2 for row in rows])
        whiten[np.ix_(rows, rows)] = np.linalg.inv(np.linalg.cholesky(covariance))
    return whiten


def _physical(model: DroopModel, unknowns: np.ndarray) -> np.ndarray:
    """Compliance stays above that of K = 200 N·m/rad, the deadband at or above 0."""
    figures = unknowns[: len(model.joints) * len(FIGURES)].reshape(-1, len(FIGURES))
    figures[:, 2] = np.maximum(figures[:, 2], 0.005)
    figures[:, 3] = np.maximum(figures[:, 3], 0.0)
    return unknowns


def _require_plausible(model: DroopModel, mean, readings) -> None:
    """A reading further from what is expected than any servo explains is a slip: of sign, unit or link."""
    off = _wrapped(np.array([one.value for one in readings]) - model.predict(mean, readings), readings)
    for number, (one, error) in enumerate(zip(readings, off), start=1):
        limit, unit = (0.7, "rad") if one.sight.kind == "elevation" else (0.25, "m")
        if abs(error) > limit:
            raise InputError(f"reading {number}, {one.sight.kind} of {one.sight.link}, is {one.value:.3f} {unit}, expected about "
                             f"{one.value - error:.3f} {unit}: sign, unit or link mixed up?", joint=one.sight.link,
                             value=one.value, limit=limit)


def _wrapped(difference: np.ndarray, readings) -> np.ndarray:
    turns = np.array([one.sight.kind == "elevation" for one in readings])
    return np.where(turns, (difference + np.pi) % (2.0 * np.pi) - np.pi, difference)
