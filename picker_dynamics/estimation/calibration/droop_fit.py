"""Droop fit: zero, scale, spring, gap and friction of each servo from how far an arm sags, without an encoder.

Least squares on inclinometer and ruler readings (``droop_model``), with what is known beforehand (masses as weighed, a servo's
usual figures) as further readings.  So a figure about which the readings say nothing keeps its prior and its prior's
uncertainty, and the uncertainty of the masses is part of the stiffness's.  The readings of one visit share its friction, and what
skids: their covariance is

    R = sd² 1 + Σ_j f_j² (∂y/∂f_j) (∂y/∂f_j)ᵀ + s_j s_jᵀ

with ∂y/∂f_j, how much the friction at joint j moves the readings of the visit, and s_j how much a skid of usual size does, which
the figures tell (``droop_model``).  The friction's size f_j is found together with the
figures, by restricted maximum likelihood: rounds of expectation (the friction of each visit, and what the figures leave open
of it) and maximisation (its mean square over the visits).

Reference: D. A. Harville, Maximum likelihood approaches to variance component estimation, J. Am. Stat. Assoc. 72, 1977.

Slips that show before any fit are refused: another sign, unit or link, a joint that never moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.kinematic_tree import link_poses

from .. import least_squares
from .droop_model import FIGURES, SOUGHT, DroopModel, Reading, reading_errors, wrapped
from .measured import Measured

FRICTION_SD, FRICTION_VISITS = 0.008, 2.0
"""Standard deviation [N·m] of what dry friction holds back by chance where a servo of usual strength has come to rest, 0.7 % of
stall torque, and how many visits that guess is worth."""

MOST_TIMES = 2.5
"""Friction by chance is never believed to be larger than so many times the guess: a misread instrument would make it so."""

FURTHEST_FRICTION = 3.0
"""No visit counts for more than so many standard deviations: a misread instrument is no friction."""

ROUNDS, STEPS, FRICTION_ROUNDS = 20, 3, 8
FIT_TOLERANCE, TOLERANCE = 2e-3, 1e-4
"""Figures and sizes of the friction are found in turn, so many steps of each, until the figures change by less than a share of
their standard deviations, and the sum of squares by less than one of it."""

BOUNDS = {"compliance": (0.005, np.inf), "gap": (0.0, np.inf), "load_friction": (0.0, 0.85), "coulomb": (0.0, np.inf)}
"""Compliance stays above that of K = 200 N·m/rad; gears of more than x = 0.85 let nothing drive them back."""

STIFFEST = 1.0 / 16.0
"""Of the compliance that is assumed: the bound of servos so strong that theirs may be below the one above."""

TOLD = 0.8
"""A figure whose standard deviation is above this share of what it was before is mostly assumed."""

FEWEST_OF_A_JOINT = 4
"""Readings for each joint, at least, that are worth a fit: what they leave open stays as it was assumed."""

FEWEST_OF_A_SIDE = 0.25
"""Share of the visits that come from either side, at least: friction shows in their difference."""

MISREAD, NORMAL_MEDIAN = 5.0, 0.6745
"""A reading further than so many standard deviations from the fit is shown as an outlier; were all of them larger than stated,
the median of their sizes, 0.67 for a normal distribution, says so."""

FURTHEST = {"elevation": (0.7, "rad"), "height": (0.25, "m")}
"""A reading further than this from what is expected is none that a servo's errors explain."""

TOLD_SPREAD, MOVED_LEAST = 0.2, 0.5
"""Set-points that differ by a standard deviation of so much [rad of the servo] move a joint by at least half of that, or it is
not driven."""


@dataclass(frozen=True, eq=False)
class DroopFit:
    """Fit of the droop model to readings: what they say of the servos.

    Attributes:
        model: that was fitted.
        readings: it was fitted to.
        unknowns: (u,) the estimate, in the order of ``model.names``.
        covariance: (u, u); of the readings' spread where that is larger than the instruments explain.
        residuals: (r,) reading minus fit, in standard deviations.
        misfit: root mean square of the residuals' part that the fit did not use up; about 1 where the model fits.
        outliers: indices of readings further than ``MISREAD`` from the fit.
        friction: (j,) standard deviation of what friction holds back by chance at each sought joint [N·m].
    """

    model: DroopModel
    readings: tuple[Reading, ...]
    unknowns: np.ndarray
    covariance: np.ndarray
    residuals: np.ndarray
    misfit: float
    outliers: tuple[int, ...]
    friction: np.ndarray

    def figure(self, joint: str, name: str) -> Measured:
        """Figure of a joint, one of ``FIGURES``, as fitted."""
        return self._measured(f"{joint}.{name}")

    def told(self, joint: str, name: str) -> bool:
        """Whether the readings say much about a figure, or it is mostly what was assumed."""
        i = self.model.names.index(f"{joint}.{name}")
        return bool(self.covariance[i, i] < (TOLD * self.model.prior()[1][i]) ** 2)

    def stiffness(self, joint: str) -> Measured:
        """Stiffness K = 1/c [N·m/rad]; sd to first order."""
        c = self.figure(joint, "compliance")
        return Measured(1.0 / c.value, c.sd / c.value**2)

    def _measured(self, name: str) -> Measured:
        i = self.model.names.index(name)
        return Measured(float(self.unknowns[i]), float(np.sqrt(self.covariance[i, i])))


def fit(model: DroopModel, readings: Sequence[Reading]) -> DroopFit:
    """Estimate all figures from the readings.

    Raises:
        InputError: too few readings, from one side only, or one that no such arm could give.
    """
    sought, fewest = len(model.joints) * len(SOUGHT), FEWEST_OF_A_JOINT * len(model.joints)
    refuse_if(
        len(readings) < fewest,
        f"{len(readings)} readings for {sought} figures: take {fewest} at least",
        "readings",
        len(readings),
        fewest,
    )
    require_both_sides(readings)

    mean, prior_sd = model.prior()
    require_plausible(model, mean, readings)
    value, visits = (np.array(column) for column in zip(*((one.value, one.visit) for one in readings)))
    sd = reading_errors(readings)
    guess = FRICTION_SD * model.strength
    unknowns, friction, bounds = mean, guess, bounds_of(model)
    linearised = lru_cache(2)(lambda x: model.linearised(np.frombuffer(x), readings))
    for _ in range(ROUNDS):
        before, (expected, jacobian, chance) = unknowns, linearised(unknowns.tobytes())
        off = wrapped(value - expected, readings)
        for _ in range(FRICTION_ROUNDS):
            found = update(off, jacobian, chance.held(friction), mean - unknowns, prior_sd, visits, sd)
            friction = friction_round(friction, chance.by_friction, found, visits, guess)

        def residuals(x, whiten=found.whiten):
            return whiten @ wrapped(value - linearised(x.tobytes())[0], readings)

        def slopes(x, whiten=found.whiten):
            return -whiten @ linearised(x.tobytes())[1]

        solved = least_squares.solve(
            residuals,
            unknowns,
            slopes,
            prior=(mean, np.diag(1.0 / prior_sd)),
            bounds=tuple(bounds),
            x_scale=prior_sd,
            ftol=TOLERANCE,
            max_nfev=STEPS,
        )
        unknowns = solved.x
        if solved.converged and np.abs((unknowns - before) / np.sqrt(np.diag(found.covariance))).max() < FIT_TOLERANCE:
            break
    off = model.off(unknowns, readings)
    whitened, residuals = found.whiten @ off, off / np.sqrt(sd**2 + (chance.held(friction) ** 2).sum(axis=1))
    used = float(np.trace(found.jacobian @ found.covariance @ found.jacobian.T))
    misfit = float(np.sqrt((whitened @ whitened) / max(1.0, len(readings) - used)))
    usual = float(np.median(np.abs(residuals))) / NORMAL_MEDIAN
    worst = tuple(int(i) for i in np.flatnonzero(np.abs(residuals) > MISREAD * max(1.0, usual)))
    covariance = found.covariance * max(1.0, misfit) ** 2
    return DroopFit(model, tuple(readings), unknowns, covariance, residuals, misfit, worst, friction)


def bounds_of(model: DroopModel) -> np.ndarray:
    """Bounds between which the unknowns are sought, (2, u)."""
    mean, _ = model.prior()
    bounds = np.full((2, len(mean)), [[-np.inf], [np.inf]])
    for figure, ends in BOUNDS.items():
        columns = slice(FIGURES.index(figure), len(model.joints) * len(FIGURES), len(FIGURES))
        bounds[:, columns] = np.reshape(ends, (2, 1))
        if figure == "compliance":
            bounds[0, columns] = np.minimum(bounds[0, columns], STIFFEST * mean[columns])
    return bounds


# -- friction ----------------------------------------------------------------------------------------------------------


def whitening(held, visits: Sequence[int], sd) -> np.ndarray:
    """(r, r) matrix that makes the readings' errors independent and of size 1: R's inverse Cholesky factor.

    Args:
        held: (r, j) how much a standard deviation of each joint's friction moves each reading.
        visits: (r,) number of the visit at which each was taken.
        sd: (r,) of the instruments.
    """
    held, visits = np.asarray(held), np.asarray(visits)
    covariance = held @ held.T * (visits[:, None] == visits) + np.diag(np.square(np.asarray(sd, dtype=float)))
    return np.linalg.inv(np.linalg.cholesky(covariance))


@dataclass(frozen=True)
class Update:
    """One linear step of the estimate, all whitened: what ``whitening`` left.

    Attributes:
        whiten: (r, r).
        jacobian: (r, u) by the unknowns.
        covariance: (u, u) of the unknowns, the prior's part included.
        step: (u,) to the estimate.
        residuals: (r,) after the step.
    """

    whiten: np.ndarray
    jacobian: np.ndarray
    covariance: np.ndarray
    step: np.ndarray
    residuals: np.ndarray


def update(off, jacobian, held, from_mean, prior_sd, visits, sd) -> Update:
    """The linear estimate for friction of a given size.

    Args:
        off: (r,) readings less what they should be.
        jacobian: (r, u); held: (r, j) as for ``whitening``.
        from_mean: (u,) prior mean less estimate; prior_sd: (u,).
    """
    whiten = whitening(held, visits, sd)
    residuals, jacobian = whiten @ off, whiten @ jacobian
    covariance = np.linalg.inv(jacobian.T @ jacobian + np.diag(prior_sd**-2))
    step = covariance @ (jacobian.T @ residuals + from_mean / prior_sd**2)
    return Update(whiten, jacobian, covariance, step, residuals - jacobian @ step)


def friction_round(friction, by_friction, found: Update, visits, guess=FRICTION_SD) -> np.ndarray:
    """Next sizes of the friction, (j,) [N·m]: the mean square over the visits and the guess.

    Args:
        friction: (j,) with which ``found`` was found.
        by_friction: (r, j) derivatives of the readings by the friction.
        guess: (j,) what was thought of its sizes before.
    """
    held, of_visit = found.whiten @ by_friction, np.unique(visits)[:, None] == visits
    shared = np.einsum("vr,rj,ru->vju", of_visit, held, found.jacobian)
    told = of_visit @ held**2 - ((shared @ found.covariance) * shared).sum(axis=-1)
    expected = friction**2 * (of_visit @ (held * found.residuals[:, None]))
    expected = np.clip(expected, -FURTHEST_FRICTION * friction, FURTHEST_FRICTION * friction)
    squares = (expected**2 + friction**2 * (1.0 - friction**2 * told)).sum(axis=0) + FRICTION_VISITS * np.square(guess)
    return np.minimum(np.sqrt(squares / (FRICTION_VISITS + len(of_visit))), MOST_TIMES * guess)


# -- slips -------------------------------------------------------------------------------------------------------------


def require_both_sides(readings: Sequence[Reading]) -> None:
    """Refuse readings that were taken from one side only.

    Raises:
        InputError: saying which side is missing.
    """
    sides = np.array(list({one.visit: one.side for one in readings}.values()))
    for side, name in ((1.0, "below"), (-1.0, "above")):
        count = int((sides == side).sum())
        refuse_if(
            count < FEWEST_OF_A_SIDE * len(sides),
            f"{count} of {len(sides)} visits came from {name}: the friction of gears shows only in the difference between both "
            f"sides; come to the same poses from {name} too, and read them",
            "side",
            count,
            math.ceil(FEWEST_OF_A_SIDE * len(sides)),
        )


def require_plausible(model: DroopModel, unknowns, readings: Sequence[Reading]) -> None:
    """Refuse readings that no such arm could give.

    Raises:
        InputError: naming the joint that does not follow its set-points, or the reading that is too far off.
    """
    off = model.off(unknowns, readings)
    for joint, share in moved_shares(model, unknowns, readings).items():
        refuse_if(
            share < MOVED_LEAST,
            f"{joint} moved {100 * share:.0f} % of what it was told: is its servo powered, on the right channel "
            "and turning the right way, its horn tight?",
            joint,
            share,
            MOVED_LEAST,
        )
    for number, (one, error) in enumerate(zip(readings, off), start=1):
        limit, unit = FURTHEST[one.sensor.kind]
        refuse_if(
            abs(error) > limit,
            f"reading {number}, {one.sensor.kind} of {one.sensor.link}, is {one.value:.3f} {unit}, expected about "
            f"{one.value - error:.3f} {unit}: sign, unit or link mixed up?",
            one.sensor.link,
            one.value,
            limit,
        )


def moved_shares(model: DroopModel, unknowns, readings: Sequence[Reading]) -> dict[str, float]:
    """How far each joint followed its set-points: slope of where it was over what it was told; 1 for a servo that works.

    Told by the median of the slopes between visits, so that a misread elevation does not accuse a joint.  Only of joints whose
    set-points differ, and only from visits at which the elevations, of an arm of which one slides the heights too, tell every
    sought joint.
    """
    columns = list(model.columns)
    slides = any(model.servos.servos[column].slides for column in columns)
    looks = [one for one in readings if slides or one.sensor.kind == "elevation"]
    if not looks:
        return {}
    q = model.resting(unknowns, looks)
    poses, visits = link_poses(model.description, q), np.array([one.visit for one in looks])
    seen = {
        sensor: (sensor.of(poses), sensor.rates(model.description, poses)[:, columns]) for sensor in {one.sensor for one in looks}
    }
    off = wrapped(np.array([one.value - seen[one.sensor][0][row] for row, one in enumerate(looks)]), looks)
    rates = np.array([seen[one.sensor][1][row] for row, one in enumerate(looks)])
    told, been = [], []
    for visit in np.unique(visits):
        rows = np.flatnonzero(visits == visit)
        if np.linalg.matrix_rank(rates[rows], 1e-6) == len(columns):
            told.append(model.servos.to_angle(looks[rows[0]].pulses_us)[columns])
            been.append(q[rows[0], columns] + np.linalg.lstsq(rates[rows], off[rows], rcond=None)[0])
    shares, spread = {}, TOLD_SPREAD * model.servos.per_turn[columns]
    for joint, setpoint, position, least in zip(model.joints, np.transpose(told), np.transpose(been), spread):
        apart = np.subtract.outer(setpoint, setpoint)
        far = apart > least
        if setpoint.std() > least and far.any():
            shares[joint] = float(np.median(np.subtract.outer(position, position)[far] / apart[far]))
    return shares
