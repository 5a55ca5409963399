"""Motions through waypoints, as a person says them: the tip or the joints, straight or not, with stops or blends, timed.

Every leg is the line of the joints to the waypoint's pose, or the straight line of the tool.  What comes out is a goal like any
other: points over time that the controller checks, and follows as they are.

Along its path a motion is as fast as the speeds, accelerations and torques of the joints and speed and acceleration of the tip
allow at each place (``trajectory.progress``); where motors' speed or the supply want it slower, the validator slows all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.model import Array, as_vector, checked_number, tip_speeds
from picker_dynamics.robot.tip_target import tip_target
from picker_dynamics.robot.units import TIP_M
from picker_dynamics.trajectory.progress import Progress, fastest
from picker_dynamics.trajectory.straight_line import HELD, straight_line
from picker_dynamics.trajectory.trajectory import Trajectory, chained, from_points, standing
from picker_dynamics.trajectory.via_path import joined, joint_leg

from .checks import speed_limit
from .validator import MotionValidator, Validated

STAND_S = 0.02
"""A motion whose end is a straight line stands so long in its last pose: the goal says so, and no approach leaves the line."""

MOST = 50
"""Waypoints of one motion, at the most."""

LEAST_BLEND_M = 1e-4
"""Smallest radius of a blend [m]: no arm of this kind repeats its place more closely."""

GRID = 100
"""Places along a path at which limits are looked at, at least."""

KNOT_S = 0.02
"""Spacing of the points of the motion [s]."""

TIP_ACCELERATION = 2.0
"""Largest acceleration of the tool along its path [m/s²]: servos are springs, and swing after what is harder."""

JOINT_ACCELERATION = 20.0
"""Largest acceleration of a joint [rad/s² or m/s²]: what a light joint's torque would do to its set-point no board follows."""

SPEED_SHARE = 0.75
"""Of the speed of a servo's set-point that its joint is planned to move with: D a / K and changes of torque add to it."""

WINDOW_S = 0.06
"""Over which the acceleration is averaged [s]."""

LEAST_TORQUE = 0.02
"""Share of a joint's torque that a motion is timed with; where gravity and friction leave less, the validator alone judges."""

KEPT = 0.995
"""Share of each limit that is planned with: between the places that are looked at a little more is used."""

RESOLUTION = 1.002
"""Of the factor by which a motion is slowed that the validator does not let pass."""


@dataclass(frozen=True, eq=False)
class Waypoint:
    """Waypoint of a motion: ``tip`` or ``q``.

    Args:
        tip: (3,) of the tool [m], base frame.
        q: (n,) joint positions [rad or m].
        pitch: elevation of the tool's direction there [rad]; None: on a straight line what it is, or any where that cannot be
            followed; else as ``robot.tip_target``.
        direction: (3,) in which the tool points there, instead.
        straight: the tool goes there on a straight line.
        blend: the motion may pass at this distance of the tool [m] instead of stopping there; 0: it stops.
    """

    tip: Sequence[float] | None = None
    q: ArrayLike | None = None
    pitch: float | None = None
    direction: ArrayLike | None = None
    straight: bool = False
    blend: float = 0.0


def motion_through(
    start: ArrayLike,
    waypoints: Sequence[Waypoint],
    validator: MotionValidator,
    description: ArmDescription,
    tip_acceleration: float = TIP_ACCELERATION,
) -> Trajectory:
    """The motion from rest at ``start`` (n,) [rad or m] through waypoints, as fast as the validator lets it.

    Raises:
        InputError: invalid waypoints, or blends that are longer than their legs.
        UnreachableError, SingularityError: a place where the tool cannot be led; LimitError, InfeasibleError: what the arm may
            not do.
    """
    if not 0 < len(waypoints) <= MOST:
        raise InputError(f"{len(waypoints)} waypoints, must be 1 to {MOST}", "via", len(waypoints), MOST)
    radii = [checked_number("blend", one.blend, "m", least=0.0) for one in waypoints]
    widest = max(radii)
    text = f"blend is {widest:g} m, must be within {TIP_M:g} m: are these millimetres?"
    refuse_if(widest > TIP_M, text, "blend", widest, TIP_M)
    for radius in filter(None, radii):
        checked_number("blend (0: it stops)", radius, "m", least=LEAST_BLEND_M, subject="blend")
    kinematics, q0 = ChainKinematics(description), as_vector("start", start, description.n)
    lines = any(one.straight and one.pitch is None and one.direction is None for one in waypoints)
    for held in (True, False) if lines else (False,):
        try:
            legs = _legs(q0, waypoints, description, kinematics, held)
            parts = [timed(path, validator, description, tip_acceleration) for path in joined(legs, radii[:-1], kinematics)]
            break
        except PickerError:
            if not held:
                raise
    made = chained([one.trajectory for one in parts])
    if waypoints[-1].straight:
        made = chained([made, standing(made.joint_names, made.end, STAND_S)])
    if len(parts) > 1:
        validator.validate(made)
    return made


def _legs(
    q0: Array, waypoints: Sequence[Waypoint], arm: ArmDescription, kinematics: ChainKinematics, held: bool
) -> list[Trajectory]:
    """A path to each waypoint; ``held``: on straight lines the tool keeps its pitch where nothing else is asked."""
    legs, q = list[Trajectory](), q0
    for one in waypoints:
        if (one.tip is None) == (one.q is None):
            raise InputError("a waypoint needs its tip or its joints, one of them", "via")
        if one.straight and one.tip is not None:
            pitch: float | str | None = None if one.pitch is None else checked_number("pitch", one.pitch, "rad")
            pitch = HELD if held and pitch is None and one.direction is None else pitch
            leg = straight_line(arm, kinematics, q, one.tip, pitch_rad=pitch, direction=one.direction)
        else:
            target = one.q if one.tip is None else tip_target(arm, one.tip, near=q, pitch_rad=one.pitch, direction=one.direction)
            assert target is not None
            leg = joint_leg(arm.joint_names, kinematics, q, as_vector("q", target, arm.n))
        legs.append(leg)
        q = leg.end
    return legs


def timed(
    path: Trajectory, validator: MotionValidator, arm: ArmDescription, tip_acceleration: float = TIP_ACCELERATION
) -> Validated:
    """The motion along a path q(s) from rest to rest, as fast as the validator's limits allow.

    Args:
        tip_acceleration: largest acceleration of the tool along its path [m/s²].

    Raises:
        PickerError: why it cannot be made, as ``MotionValidator.scale_time``.
    """
    validator.require_holdable(path.end)
    each = max(1, -(-GRID // len(path.coefficients)))
    s = np.append((path.breaks[:-1, None] + np.arange(each) / each * np.diff(path.breaks)[:, None]).ravel(), path.duration)
    q, slope, bend = path.sample(s)
    model, limits, still = validator.model, validator.limits, np.zeros_like(q)
    way, gravity = tip_speeds(model, q, slope)[:, None], model.gravity(q)
    speeds = np.append(speed_limit(arm, limits.servo_map, SPEED_SHARE), validator.tip_speed)
    with np.errstate(divide="ignore"):
        z_max = (KEPT * speeds / np.abs(np.hstack([slope, way]))).min(axis=1) ** 2
    # Accelerations of joints and tip, and torques: a u + b z + gravity.
    a = np.hstack([slope, way, model.inverse_dynamics(q, still, slope) - gravity])
    b = np.hstack([bend, 0.0 * way, model.inverse_dynamics(q, slope, bend) - gravity])
    torque = limits.most(limits.peak_share * limits.supply(gravity).min()) - model.coulomb
    accelerations = np.broadcast_to(np.append(np.full(arm.n, JOINT_ACCELERATION), tip_acceleration), (len(s), arm.n + 1))
    low, high, least = -torque - gravity, torque - gravity, LEAST_TORQUE * np.abs(torque)
    lower = np.hstack([-accelerations, np.where(low < -least, low, -np.inf)])
    upper = np.hstack([accelerations, np.where(high > least, high, np.inf)])
    return validator.scaled(along(path, fastest(s, a, b, lower, upper, z_max, WINDOW_S)), RESOLUTION)


def along(path: Trajectory, progress: Progress) -> Trajectory:
    """The motion q(s(t)), by quintics from knot to knot."""
    t = np.linspace(0.0, progress.duration, max(2, int(np.ceil(progress.duration / KNOT_S)) + 1))
    s, speed, rate = (x[:, None] for x in progress.at(t))
    q, slope, bend = path.sample(np.clip(s[:, 0], 0.0, path.duration))
    v, a = slope * speed, slope * rate + bend * speed**2
    v[[0, -1]] = 0.0
    return from_points(t, q, v, a, joint_names=path.joint_names)
