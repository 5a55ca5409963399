"""Settling from above (an "approach"): a motion ends by lowering the arm to its goal, where friction leaves its side uncertain.

A servo's joint that turned back rests anywhere within the hysteresis of its gears,

    h_j = sag_j(+1) - sag_j(-1)                    sag of the two sides (``robot.servo``): play and friction over stiffness

until it has gone far enough one way: MARGIN of h_j, by when the swing with which it broke loose is over.  How sure that is, the
hysteresis operator of the set-point tells (``robot.friction_side``), of that width, over the references that were sent and those
that are planned.  Where the tip is less sure than LIMIT_M for that reason, the joints that matter are lifted by h_j beside the
last of the motion and lowered by it after, within LONGEST_S: lowering, as that end of the band depends least on the friction,
and heats least.  A joint without load always comes down from positive angles.  A motion that leaves the tip where it is has none.

What of it does not pass the validator is not made.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.friction_side import WIDTH, FrictionSide
from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.trajectory import splines
from picker_dynamics.trajectory.trajectory import Trajectory, part, superposed

from .tip_uncertainty import band, guessed, side_uncertainty
from .validator import MotionValidator, Validated

LIMIT_M, LEAST_M = 1.5e-3, 1.5e-4
"""Uncertainty of the tip from which on an approach is made, and that of one joint's, for which it takes part [m]."""

LONGEST_S = 0.4
"""By which an approach makes a motion longer [s]."""

RISE_S = 0.5
"""How long joints are lifted beside the end of a motion, at the most [s]."""

MARGIN = 1.5
"""Way as a multiple of the hysteresis after which a joint's side is certain; 2 gives twice as many of the demo's one."""

ANY_WIDTH, LEAST_WIDTH = 0.06, 1e-6
"""Half of that way before any motion, and where nothing holds a joint back [rad]."""

SCALES = 1.0, 0.6
"""Shares of the hysteresis by which is tried to lift."""

LENGTHS_S = 0.2, 0.3, 0.35, LONGEST_S
"""What is tried for coming down [s]; the shortest only where all of ``RISE_S`` was there for going up, or it swings too much."""

WAY_PERIOD_S = 0.02
"""Spacing of the references of which the side is foreseen [s]."""


@dataclass(frozen=True, eq=False)
class Approach:
    """Approach of a motion to its goal: how it ends.

    Attributes:
        joints: indices of those that are lowered to the goal; empty: it has no approach.
        duration_s: by which the motion is longer, its last part [s].
        off_m: what the tip is uncertain by as the side is, at the end [m].
        wanted: it needs one; without ``joints``, none passed the validator.
        bounds: (2, n) of the sides at the end.
        width: (n,) of the operator that tells them, until another motion begins [rad].
    """

    joints: tuple[int, ...]
    duration_s: float
    off_m: float
    wanted: bool
    bounds: Array
    width: Array

    def text(self, joint_names: tuple[str, ...]) -> str:
        """Approach in words; empty where there is nothing to say."""
        if self.joints:
            names = " and ".join(joint_names[j] for j in self.joints)
            return f"the last {self.duration_s:.2f} s an approach that lowers {names}"
        return f"no approach fits, friction leaves the tip uncertain by {1e3 * self.off_m:.1f} mm" if self.wanted else ""


def started(q: ArrayLike, effort: ArrayLike | None = None, validator: MotionValidator | None = None) -> FrictionSide:
    """Start with the arm held at ``q`` (n,) [rad] by motors that give ``effort`` (n,) [N·m]; None: not known."""
    pose = np.array(q, dtype=float)
    made, servos = FrictionSide(len(pose), ANY_WIDTH), None if validator is None else validator.limits.servo_map
    if effort is not None and validator is not None and servos is not None:
        made.start(servos.model.side_of(effort, validator.model.gravity(pose)))
    made.advance(pose)
    return made


def take_load(side: FrictionSide, before: DynamicsModel, after: DynamicsModel, servos: ServoMap | None) -> None:
    """Take another load: where friction did not bear the difference, the side is not known any more."""
    q = side.last
    if q is None or servos is None:
        return
    load = before.gravity(q)
    moved = np.abs(after.gravity(q) - load) > servos.model.friction(load)
    side.bounds = np.where(moved, [[-1.0], [1.0]], side.bounds)


def foreseen(side: FrictionSide, pose_at: Callable[[float], Array], begin_s: float, end_s: float) -> FrictionSide:
    """The sides at ``end_s``, with references (n,) from ``begin_s`` on as ``pose_at`` tells; a copy that is the caller's."""
    made, left_s = copy.copy(side), end_s - begin_s
    if 0.0 < left_s < np.inf:
        times = np.linspace(begin_s, end_s, max(2, round(left_s / WAY_PERIOD_S)))
        made.follow(np.array([pose_at(time_s) for time_s in times]))
    return made


def settle_downward(
    validated: Validated,
    end_s: float,
    begin_s: float,
    joints: ArrayLike,
    side: FrictionSide,
    validator: MotionValidator,
    description: ArmDescription,
    allowed: bool = True,
) -> tuple[Validated, Approach | None]:
    """End a motion by lowering, where that is needed, ``allowed`` and possible; None: friction does not matter.

    Args:
        validated: the motion.
        end_s: when the joints that may be lifted have arrived [s].
        begin_s: from when on its path may be left [s].
        joints: (k,) that may be lifted.
        side: where the motion begins; it is taken along.
        validator: of motions.
        description: beyond its position limits no joint is lifted.
    """
    servos, motion = validator.limits.servo_map, validated.motion
    if servos is None or servos.model.frictionless:
        return validated, None
    model, q = validator.model, validated.trajectory.sample(end_s)[0]
    load, lever, share = model.gravity(q), np.linalg.norm(model.jacobian(q), axis=0), guessed(servos)
    height = band(servos.model, load)
    side.width = width = np.maximum(0.5 * MARGIN * height, LEAST_WIDTH)
    side.follow(motion.q[motion.times <= end_s])
    lifts = np.where(np.abs(load) > servos.model.coulomb, np.sign(load), 1.0)

    def off(bounds: Array) -> Array:
        found: Array = lever * side_uncertainty(servos.model, load, bounds, share)
        return found

    gain = np.where(np.isin(np.arange(len(q)), joints), off(side.bounds) - off(np.array([-lifts, -lifts])), 0.0)
    room = np.where(lifts > 0.0, description.upper - q, q - description.lower)
    chosen, room_s = gain > LEAST_M, min(RISE_S, end_s - begin_s)
    moves = bool((np.ptp(motion.q, axis=0)[lever > 0.0] > WIDTH).any())
    wanted = allowed and moves and float(gain[chosen].sum()) > LIMIT_M
    for scale, added_s, earlier_s in product(SCALES, LENGTHS_S, (room_s, 0.0)) if wanted else ():
        fits = chosen & (room >= scale * height)
        if gain[fits].sum() < 0.5 * gain[chosen].sum() or (added_s == LENGTHS_S[0] and earlier_s < RISE_S):
            continue
        made = _lifted(validated.trajectory, end_s, np.where(fits, scale * lifts * height, 0.0), added_s, earlier_s)
        try:
            validator.validate(part(made, end_s - earlier_s))
        except PickerError:
            continue
        bounds = np.where(fits, -lifts, side.bounds)
        lowered = Approach(tuple(np.flatnonzero(fits).tolist()), added_s, float(off(bounds).sum()), True, bounds, width)
        return replace(validated, trajectory=made), lowered
    return validated, Approach((), 0.0, float(off(side.bounds).sum()), wanted, side.bounds, width)


def _lifted(trajectory: Trajectory, end_s: float, by: Array, added_s: float, earlier_s: float) -> Trajectory:
    """The motion lifted ``by`` (n,) [rad] from ``earlier_s`` before its end, lowered until ``added_s`` after it."""
    still = np.zeros_like(by)
    late_s = 0.5 * max(added_s - earlier_s, 0.0)  # with little time before the end, as long for going up as for coming down
    lengths = earlier_s + late_s, added_s - late_s
    dip = [splines.quintic(h, p0, still, still, p1, still, still) for h, p0, p1 in zip(lengths, (still, by), (by, still))]
    return superposed(trajectory, Trajectory(trajectory.joint_names, np.cumsum([0.0, *lengths]), dip), end_s - earlier_s)
