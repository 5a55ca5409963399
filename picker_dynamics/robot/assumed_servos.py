"""Servos that fit an arm of which nobody says what drives it, for its simulation: strong enough, as fast as its URDF says.

    stall torque   twice the largest gravity torque over the joint's range and the URDF's friction and damping at its speed; at
                   least what lets the joint swing at SWING, or a share of the strongest of its kind: a joint that bears
                   nothing is still shaken by the others
    spring         gives that at 0.1 rad (a sliding joint: 5 mm, on a pinion of 50 mm, a larger one for long ways)
    speed          half as much again as the URDF's, without load; less where the motor would then hardly damp the joint's swing

Friction and play are those of config/servos.sim.yaml, in proportion, or none.  Home is the middle of the limits, or the nearest
pose to it with every joint above the plane of the root; rest is one that bears little, on a straight way from there on which
the arm comes no nearer to itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from picker_dynamics.errors import DescriptionError, MissingDependencyError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from .description import ArmDescription, Joint
from .kinematic_tree import FrameHeights, sample_poses
from .lint import driven_inertia, holding_torque
from .model import Array
from .servo_file import HORN_RANGE_DEG, servo_type
from .servo_map import Servo, ServoMap

SIMULATED_SERVOS = {"typical": "config/servos.sim.yaml", "ideal": "config/servos.ideal.yaml"}
"""Simulated servos by what they are like: files of differences from config/servos.yaml."""

SIMULATED_TYPE = "MG996R"
"""The type of servo whose friction these files have."""

STRONGER, FASTER = 2.0, 1.5
"""Stall torque over the largest gravity torque; speed without load over the URDF's."""

GIVE_RAD, PINION_M = 0.1, 0.05
"""Angle at which the spring gives stall torque, and by what pinion such a servo drives a sliding joint."""

SWING = 20.0
"""Slowest that a joint may swing on its spring [rad/s]: softer ones lag behind what they are told."""

LEAST_STALL, LEAST_SHARE = 0.02, 0.05
"""[N·m], and as a share of the strongest turning or sliding joint."""

LEAST_DAMPING = 0.3
"""Damping ratio that the motor gives the joint on its spring at the least: one that swings comes to rest anywhere in the friction
of its gears."""

FASTEST_SWING = 100.0
"""[rad/s]: a strong servo has a rotor that slows a light joint to this."""

PULSES_US, QUANTUM_US, FRAME_S = (500.0, 2500.0), 0.5, 0.02
DEADBAND, ROTOR_SHARE = 0.08, 0.02
"""Deadband in all as a share of GIVE_RAD, as typical servos have it, and rotor inertia as a share of what the joint moves."""

PEAK_SHARE, HOLD_SHARE = 0.8, 0.6
"""Of stall torque, along a motion and where it ends."""

APART_M, ROUNDED_M = 0.03, 1e-4
"""A rest pose and the way there keep this between links, for the margin and what servos give, or what home leaves but for what
distances are rounded by [m]."""

POSES, SEED = 400, 1
ON_THE_WAY = np.linspace(0.0, 1.0, 21)[:, None, None]


def assumed_servos(arm: ArmDescription, kind: str = "typical") -> ServoMap:
    """A servo for each joint, of that kind; the same for the same arm each time.

    Raises:
        DescriptionError: a joint that ``require_limits`` refuses.
    """
    require_limits(arm)
    q, gravity = _held(arm, arm.middle)
    inertia = driven_inertia(arm, q)
    lever = np.where(arm.slides, PINION_M, 1.0)
    give = GIVE_RAD * lever
    drag = arm.friction + arm.damping * arm.velocity
    stall = np.maximum(STRONGER * (gravity.max(axis=0) + drag), inertia.max(axis=0) * SWING**2 * give)
    strongest = np.array([stall[lever == one].max() for one in lever])
    stall = np.maximum(stall, np.maximum(LEAST_STALL / lever, LEAST_SHARE * strongest))
    home, rest = _home_and_rest(arm, q, gravity / stall)
    swing = np.sqrt(stall / give * inertia.max(axis=0))  # K / w = sqrt(K M) [N·m·s/rad]
    fastest = np.minimum(FASTER * arm.velocity, stall / (2.0 * LEAST_DAMPING * np.maximum(swing, 1e-12)))
    servos = tuple(
        _servo(channel, joint, *figures)
        for channel, (joint, *figures) in enumerate(
            zip(arm.movable, *np.array([stall, give, inertia.mean(axis=0), fastest, rest, home]).tolist())
        )
    )
    return simulated(ServoMap(servos, FRAME_S, QUANTUM_US), kind, arm)


def require_limits(arm: ArmDescription) -> None:
    """Require that servos can be assumed.

    Raises:
        DescriptionError: a joint without a velocity limit, or with an effort limit of 0.
    """
    for joint, unit in zip(arm.movable, arm.effort_units):
        if math.isinf(joint.velocity):
            why = "has no velocity limit: how fast it may move is not known; write <limit velocity=… effort=…>, or a servo map"
            raise DescriptionError(f"joint {joint.name} {why}", joint.name, joint.velocity)
        if joint.effort == 0.0:
            why = f"has an effort limit of 0 {unit}: write the motor's stall torque, <limit effort=…>, or a servo map"
            raise DescriptionError(f"joint {joint.name} {why}", joint.name, joint.effort)


def simulated(servos: ServoMap, kind: str, arm: ArmDescription) -> ServoMap:
    """The servos with friction and play of that kind, and a spring, where their map leaves them open."""
    given = read_yaml(resource(SIMULATED_SERVOS[kind]), "servo map", DescriptionError)["defaults"]
    share, play = (
        given.get("coulomb_nm", 0.0) / servo_type(SIMULATED_TYPE).figures["stall_torque_nm"],
        math.radians(given.get("play_deg", 0.0)),
    )
    made = []
    for servo, unit in zip(servos.servos, arm.position_units):
        lever, spring = (PINION_M if unit == "m" else 1.0), "stiffness_nm_rad"
        made.append(
            replace(
                servo,
                load_friction=servo.load_friction or given.get("load_friction", 0.0),
                coulomb=servo.coulomb or share * servo.stall_torque,
                play=servo.play or play * lever,
                stiffness=servo.stall_torque / (GIVE_RAD * lever)
                if spring in servo.unmeasured and servo.stiffness_sd is None
                else servo.stiffness,
                unmeasured=tuple(key for key in servo.unmeasured if key != spring),
            )
        )
    return replace(servos, servos=tuple(made))


def home_and_rest(arm: ArmDescription, stall: Array, near: Array) -> tuple[Array, Array, Array]:
    """Poses for servos of these stall torques, and what the arm asks of them.

    Args:
        stall: (n,) [N·m or N].
        near: (n,) where home should be.

    Returns:
        Home, rest, which is home where the servos do not bear the way there, and the largest gravity torque of each joint over
        its range, (n,) each.
    """
    q, gravity = _held(arm, near)
    home, rest = _home_and_rest(arm, q, gravity / stall)
    way = np.abs(holding_torque(arm, home + ON_THE_WAY[:, 0] * (rest - home))) / stall
    return home, rest if way.max() <= HOLD_SHARE else home, gravity.max(axis=0)


def _held(arm: ArmDescription, near: Array) -> tuple[Array, Array]:
    """Poses (s, n) of the whole range, the last of which is ``near``, and the sizes of their gravity torques."""
    q = np.concatenate([sample_poses(arm, POSES, SEED), [near]])
    return q, np.abs(holding_torque(arm, q))


def _servo(
    channel: int, joint: Joint, stall: float, give: float, inertia: float, fastest: float, rest: float, home: float
) -> Servo:
    """The servo of one joint, in the joint's units; its pulses reach beyond the limits by what its spring gives."""
    turn = math.pi * (give / GIVE_RAD)
    lower, upper = max(joint.lower, -turn) if math.isinf(joint.lower) else joint.lower, joint.upper
    upper = min(upper, turn) if math.isinf(upper) else upper
    farthest = max(abs(lower), abs(upper)) + 2.0 * give
    return Servo(
        joint=joint.name,
        channel=channel,
        direction=1,
        zero=0.0,
        horn_angles=(lower - 2.0 * give, upper + 2.0 * give),
        pulses_us=PULSES_US,
        stall_torque=stall,
        no_load_speed=fastest,
        stiffness=stall / give,
        deadband_us=DEADBAND * give * (PULSES_US[1] - PULSES_US[0]) / (upper - lower + 4.0 * give),
        armature=max(ROTOR_SHARE * inertia, stall / give / FASTEST_SWING**2),
        peak_share=PEAK_SHARE,
        hold_share=HOLD_SHARE,
        rest=rest,
        home=home,
        fastest_setpoint=fastest,
        pinion=max(PINION_M, farthest / math.radians(HORN_RANGE_DEG[1])) if joint.slides else None,
    )


def _home_and_rest(arm: ArmDescription, q: Array, shares: Array) -> tuple[Array, Array]:
    """Of poses (s, n), whose last is the best, and shares (s, n) of stall that they need: home and rest (n,) each.

    They keep what a servo gives away from the limits, or a tenth of the range: where it is held, a joint hangs lower.
    What a sliding joint bears in every pose makes none of them a worse rest.
    """
    heights = FrameHeights(arm)

    def clear(poses: Array) -> NDArray[np.bool_]:
        above: NDArray[np.bool_] = np.all(heights(poses)[..., heights.varies] >= 0.0, axis=-1)
        return above

    span, slides = np.minimum(arm.upper - arm.lower, math.tau), arm.slides
    room = np.minimum(np.where(slides, GIVE_RAD * PINION_M, GIVE_RAD), 0.1 * span)
    inside = ((q >= arm.lower + room) & (q <= arm.upper - room)).all(axis=1)
    up = clear(q) & inside & (shares.max(axis=1) <= HOLD_SHARE)
    if not up.any():
        return q[-1], q[-1]
    away = np.abs((q - q[-1]) / np.where(span > 0.0, span, 1.0)).max(axis=-1)
    home = q[int(np.argmin(np.where(up, away, np.inf)))]
    way = inside & clear(home + ON_THE_WAY * (q - home)).all(axis=0)  # (21, s, n) poses on straight ways from home
    share = (shares - np.where(slides, shares.min(axis=0), 0.0)).max(axis=1)
    worse, apart = np.where(way, share + 0.3 * away, np.inf), _apart(arm, home)
    order = (k for k in np.argsort(worse).tolist() if math.isfinite(worse[k]))
    return home, next((q[k] for k in order if apart(home + ON_THE_WAY[::-1, 0] * (q[k] - home))), home)


def _apart(arm: ArmDescription, home: Array) -> Callable[[Array], bool]:
    """Whether along poses (s, n) links stay as far from each other as at home, or ``APART_M``."""
    if not any(link.solid for link in arm.links.values()):
        return lambda way: True
    try:
        from .collision import CollisionModel  # from here on coal is in memory

        model = CollisionModel(arm, {}, -math.inf, home)
    except (DescriptionError, MissingDependencyError):  # a mesh or coal is missing: who asks for collisions is told
        return lambda way: True
    need = np.where(model.of_payload, -math.inf, np.minimum(model.near - ROUNDED_M, APART_M))
    return lambda way: not len(need) or all((model.distances(q) >= need).all() for q in way)
