"""What a droop fit is worth before anything is built on it: left-out stations, figures left open, servos beyond their torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.feasibility import Gate
from picker_dynamics.robot.kinematic_tree import link_poses

from .droop_fit import DroopFit, whitening
from .droop_model import FIGURES, PRIORS, DroopModel, Reading, SensorModel, wrapped
from .poses import Station, Weight, candidates, choose

OPEN_SHARE = 0.5
"""A figure whose standard deviation is still more than this share of what it was before anything was read is left open."""

TURNED_SD = 0.02
"""Angles by which the joints may be elsewhere at a visit, for readings that do not tell all of them [rad]."""

SATURATED_SHARE = 0.9
"""A servo that has to give more than this share of its stall torque may not be a spring any more."""


@dataclass(frozen=True)
class LeftOut:
    """How well the readings of a station are foretold by all others.

    Attributes:
        pulses_us: (n,) of the station; weight: hung there [kg].
        tip_m: root mean square over its visits of the distance between the tip as read and as foretold [m].
    """

    pulses_us: np.ndarray
    weight: float
    tip_m: float


@dataclass(frozen=True)
class CrossValidation:
    """Stations in the order of the readings; a tip that is off by millimetres where it was not used for the fit."""

    stations: tuple[LeftOut, ...]

    @property
    def median_m(self) -> float:
        return float(np.median([one.tip_m for one in self.stations]))

    @property
    def worst_m(self) -> float:
        return max(one.tip_m for one in self.stations)


def cross_validation(fit: DroopFit) -> CrossValidation:
    """Leave each station out, foretell its readings from the others, and say in metres at the tip how far off that is.

    The fit is linear enough that leaving out needs no new one: with a station's whitened residuals r and derivatives J, and the
    covariance C with it, they are off by (1 - J C Jᵀ)⁻¹ r without it (e.g. Gelman et al., Bayesian Data Analysis, ch. 14: the
    leverage of a block).  The instruments' errors and the friction of the visits are in it.

    A station's readings become joint angles by least squares, small ones where readings tell little, and these the tip's
    displacement.
    """
    model, readings = fit.model, fit.readings
    expected, jacobian, by_friction = model.linearised(fit.unknowns, readings)
    visits = np.array([one.visit for one in readings])
    whiten = whitening(by_friction * fit.friction, visits, [one.sensor.sd for one in readings])
    off = wrapped(np.array([one.value for one in readings]) - expected, readings)
    scaled, residuals = whiten @ jacobian, whiten @ off
    covariance = np.linalg.inv(scaled.T @ scaled + np.diag(model.prior()[1] ** -2))
    stations: dict[tuple, list[int]] = {}
    for row, one in enumerate(readings):
        stations.setdefault((*np.asarray(one.pulses_us).tolist(), one.weight, one.weight_point), []).append(row)
    found = []
    for rows in stations.values():
        block = scaled[rows]
        left = np.linalg.solve(np.eye(len(rows)) - block @ covariance @ block.T, residuals[rows])
        raw = np.linalg.solve(whiten[np.ix_(rows, rows)], left)
        square = [
            tip_off(model, fit.unknowns, [readings[rows[i]] for i in some], raw[some]) ** 2
            for some in (np.flatnonzero(visits[rows] == visit) for visit in np.unique(visits[rows]))
        ]
        found.append(LeftOut(np.asarray(readings[rows[0]].pulses_us), readings[rows[0]].weight, float(np.sqrt(np.mean(square)))))
    return CrossValidation(tuple(found))


def tip_off(model: DroopModel, unknowns, looks: Sequence[Reading], off) -> float:
    """Distance [m] by which the tip is elsewhere if the readings of one visit are off by ``off`` (r,) [rad or m]."""
    columns = list(model.columns)
    q = model.resting(unknowns, looks[:1])[0]
    poses = link_poses(model.description, q)
    rates = np.array([one.sensor.rates(model.description, poses)[columns] for one in looks])
    sd = np.array([one.sensor.sd for one in looks])
    matrix = np.vstack([rates / sd[:, None], np.eye(len(columns)) / TURNED_SD])
    turned = np.linalg.lstsq(matrix, np.concatenate([off / sd, np.zeros(len(columns))]), rcond=None)[0]
    return float(np.linalg.norm(RigidBody(model.description).jacobian(q)[:, columns] @ turned))


@dataclass(frozen=True)
class OpenFigure:
    """A figure that the readings leave open.

    Attributes:
        joint, figure: whose, and which.
        sd: its standard deviation; limit: what it should be at most.
    """

    joint: str
    figure: str
    sd: float
    limit: float


def open_figures(fit: DroopFit) -> tuple[OpenFigure, ...]:
    """The figures about which the readings say little, the worst first; friction's drag is not asked for."""
    found = [
        OpenFigure(joint, figure, fit.figure(joint, figure).sd, OPEN_SHARE * PRIORS[figure][1])
        for joint in fit.model.joints
        for figure in FIGURES
        if figure != "drag"
    ]
    return tuple(sorted((one for one in found if one.sd > one.limit), key=lambda one: one.limit / one.sd))


def better_station(
    fit: DroopFit, gate: Gate, weights: Sequence[Weight], seen: tuple[SensorModel, ...], seed: int = 0, count: int = 60
) -> Station:
    """A station that tells most about the figures left open (of all figures, where none is).

    Args:
        gate: by which it must be possible to go there.
        weights: that can be hung on; seen: what can be read.
        count: of random stations among which it is chosen.
    """
    model, wanted = fit.model, open_figures(fit)
    towards = np.zeros((len(fit.unknowns), len(fit.unknowns)))
    for one in wanted:
        i = model.names.index(f"{one.joint}.{one.figure}")
        towards[i, i] = one.limit**-2
    stations = candidates(model, gate, weights, seen, count=count, seed=seed)
    return choose(
        model, gate, stations, 1, fit.unknowns, np.linalg.inv(fit.covariance), fit.friction, towards if wanted else None
    )[0]


@dataclass(frozen=True)
class Saturated:
    """At ``visit`` the servo of ``joint`` bears ``torque`` [N·m] by the estimate, more than ``limit``: it may have slipped."""

    visit: int
    joint: str
    torque: float
    limit: float


def saturated(model: DroopModel, unknowns, readings: Sequence[Reading], share: float = SATURATED_SHARE) -> tuple[Saturated, ...]:
    """The visits at which a servo bears more than ``share`` of its stall torque, where these figures have the arm rest.

    Readings there tell nothing of springs: leave them out and hang on less.
    """
    columns, limits, found = list(model.columns), share * model.servos.stall_torque, {}
    load = np.abs(model.rest(unknowns, readings).load)
    for one, row in zip(readings, load):
        for joint, column in zip(model.joints, columns):
            if row[column] > limits[column]:
                found[one.visit, joint] = Saturated(one.visit, joint, float(row[column]), float(limits[column]))
    return tuple(found.values())
