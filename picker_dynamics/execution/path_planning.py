"""Time-parametrisation of a path under all limits of a validator at once: joint speed, tip speed, torque and motors' speed.

With tau the torque of a motion along q(s), sides of the servo's speed-torque line taken from the direction of q',

    tau = M q' u + (M q'' + C(q, q') q') z + b |q'| sqrt(z) + g + F_c sign q'
    |tau_j| <= most_j(supply),      sign(q'_j) tau_j + (1 - x_j) D_j |q'_j| sqrt(z) <= u tau_ms,j (1 - x_j) - tau_c,j

``trajectory.progress`` finds the fastest way to go along, and smooths it; the validator has the last word.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import ImpassableError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, times, tip_speeds
from picker_dynamics.trajectory.progress import PathLimits, Progress, fastest
from picker_dynamics.trajectory.trajectory import Trajectory, from_points

from .checks import speed_limit
from .validator import MotionValidator, Validated

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

KEPT = 0.995
"""Share of each limit that is planned with: between the places that are looked at a little more is used."""

RESOLUTION = 1.002
"""Of the factor by which a motion is slowed that the validator does not let pass."""


def timed(
    path: Trajectory, validator: MotionValidator, description: ArmDescription, tip_acceleration: float = TIP_ACCELERATION
) -> Validated:
    """The motion along a path q(s) from rest to rest, as fast as the validator's limits allow.

    Args:
        tip_acceleration: largest acceleration of the tool along its path [m/s²]; infinite: what the torques allow.

    Raises:
        PickerError: why it cannot be made, as ``MotionValidator.scale_time``.
    """
    validator.require_holdable(path.end)
    supply = float(validator.limits.supply(validator.model.gravity(path.sample(_grid(path))[0])).min())
    try:
        progress = fastest(path_limits(path, validator, description, tip_acceleration, supply), WINDOW_S)
    except ImpassableError as error:
        validator.require_holdable(path.sample(error.place)[0])
        raise
    return validator.scaled(along(path, progress), RESOLUTION)


def _grid(path: Trajectory) -> Array:
    """Places (g,) along a path: its knots, and between them as many as it takes."""
    each = max(1, -(-GRID // len(path.coefficients)))
    share = np.arange(each) / each
    places = (path.breaks[:-1, None] + share * np.diff(path.breaks)[:, None]).ravel()
    return np.append(places, path.duration)


def path_limits(
    path: Trajectory, validator: MotionValidator, description: ArmDescription, tip_acceleration: float, supply: float
) -> PathLimits:
    """The validator's limits along a path q(s), servos at the share ``supply`` of their nominal voltage."""
    s = _grid(path)
    q, slope, bend = path.sample(s)
    model, torques = validator.model, validator.limits
    servos = torques.servo_map
    speed = speed_limit(description, servos, SPEED_SHARE)
    way = tip_speeds(model, q, slope)
    with np.errstate(divide="ignore"):
        fastest_joint = (KEPT * speed / np.abs(slope)).min(axis=-1)
        z_max = np.minimum(fastest_joint, KEPT * validator.tip_speed / way) ** 2
    gravity, zero, one = model.gravity(q), np.zeros_like(slope), np.ones_like(slope)
    a = times(model.mass_matrix(q), slope)
    b = model.inverse_dynamics(q, slope, bend) - gravity
    rest = gravity + model.coulomb * np.sign(slope)
    drag = model.viscous * np.abs(slope)
    most = KEPT * torques.most(torques.peak_share * supply)
    rows = []
    for sign in (1.0, -1.0):
        rows.append((sign * a, sign * b, np.where(sign * slope > 0.0, drag, 0.0), most - sign * rest))
        rows.append((sign * slope, sign * bend, zero, JOINT_ACCELERATION * one))
        rows.append((sign * way[:, None], zero[:, :1], zero[:, :1], tip_acceleration * one[:, :1]))
    if servos is not None:
        motor, way_on = servos.model, np.sign(slope)
        kept = 1.0 - motor.load_friction
        room = KEPT * supply * motor.motor_stall * kept - motor.coulomb - way_on * rest
        slows = drag + kept * motor.damping * np.abs(slope)
        rows.append((way_on * a, way_on * b, slows, np.where(way_on == 0.0, np.inf, room)))
    a, b, c, d = (np.concatenate(parts, axis=1) for parts in zip(*rows))
    return PathLimits(s, a, b, c, d, z_max)


def along(path: Trajectory, progress: Progress, knot_s: float = KNOT_S) -> Trajectory:
    """The motion q(s(t)), by quintics from knot to knot; there is one where pieces of the path meet, unless others are near."""
    t = np.linspace(0.0, progress.duration, max(2, int(np.ceil(progress.duration / knot_s)) + 1))
    met = progress.when(path.breaks[1:-1])
    met = met[np.diff(met, prepend=0.0, append=progress.duration)[:-1] > knot_s / 4.0]
    near = np.abs(t[1:-1, None] - met).min(axis=1, initial=np.inf) < knot_s / 4.0
    t = np.sort(np.concatenate([t[[0, -1]], t[1:-1][~near], met]))
    s, speed, rate = (x[:, None] for x in progress.at(t))
    q, slope, bend = path.sample(np.clip(s[:, 0], 0.0, path.duration))
    v, a = slope * speed, slope * rate + bend * speed**2
    v[[0, -1]] = 0.0
    return from_points(t, q, v, a, joint_names=path.joint_names)
