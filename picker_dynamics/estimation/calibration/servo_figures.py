"""What a calibration found of each servo, and the servo map with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.servo_map import Servo, ServoMap

from .droop_fit import DroopFit
from .droop_model import EXACT, PRIORS, TYPICAL_COULOMB, TYPICAL_LOAD_FRICTION, TYPICAL_PLAY
from .instruments import ANGLE_SD
from .readings import Measured

ALIKE_SD = 0.2
"""How much one servo of an arm gives at stall torque more or less than another, as a share (one standard deviation): assumed."""

ROUGH_SD = 0.3
"""Of a stiffness, as a share (one standard deviation), above which it is mostly assumed: of a joint that bears about the same
everywhere, for one, readings hardly tell its spring from its zero."""

FRICTION_KEYS = ("load_friction", "coulomb_nm", "play_deg")
"""Of the servo map, in the order in which droop tells them."""


@dataclass(frozen=True)
class ServoFigures:
    """Figures found of one servo; None: nothing was found, what was believed stays.

    Args:
        zero: offset of the joint [rad, of a sliding one m].  scale: error of the horn's angle, as a share.
        stiffness: K of the motor's spring [N·m/rad].  gap: half of deadband and play [rad].
        load_friction: x.  coulomb: tau_c [N·m].
        assumed: keys of the servo map of which the readings told little, so that what was assumed stays, mostly.
    """

    zero: Measured | None = None
    scale: Measured | None = None
    stiffness: Measured | None = None
    gap: Measured | None = None
    load_friction: Measured | None = None
    coulomb: Measured | None = None
    assumed: tuple[str, ...] = ()


def figures_from(fit: DroopFit, angles: Mapping[str, ServoFigures]) -> dict[str, ServoFigures]:
    """Figures of all joints: from the fit where gravity loads them, from an angle pair elsewhere."""
    found = dict(angles)
    for joint in fit.model.joints:
        keys = zip(("load_friction", "coulomb", "gap", "compliance"), (*FRICTION_KEYS, "stiffness_nm_rad"))
        assumed, stiffness = {key for figure, key in keys if not fit.told(joint, figure)}, fit.stiffness(joint)
        if stiffness.sd > ROUGH_SD * stiffness.value:
            assumed.add("stiffness_nm_rad")
        names = [name for name in ("zero", "scale") if fit.model.prior[1][fit.model.names.index(f"{joint}.{name}")] > EXACT]
        others = {name: fit.figure(joint, name) for name in (*names, "gap", "load_friction", "coulomb")}
        found[joint] = ServoFigures(stiffness=stiffness, assumed=tuple(sorted(assumed)), **others)
    return found


def angle_figures(servo: Servo, told: ArrayLike, read: ArrayLike, sd: float = ANGLE_SD) -> ServoFigures:
    """Zero and scale of a joint of which no droop tells.

    Args:
        told, read: (k,) set-points, and where the joint went [rad or m].
        sd: standard deviation of one of them [rad or m].
    """
    told, read = np.asarray(told, dtype=float), np.asarray(read, dtype=float)
    away = told + servo.direction * servo.zero  # from mid-travel
    spread = np.array([servo.per_turn * PRIORS["zero"][1], PRIORS["scale"][1]])
    slopes = np.stack([np.ones(len(told)), away], axis=-1)
    covariance = np.linalg.inv(slopes.T @ slopes / sd**2 + np.diag(spread**-2))
    found = covariance @ slopes.T @ (read - told) / sd**2
    zero, scale = (Measured(float(value), float(off)) for value, off in zip(found, np.sqrt(np.diag(covariance))))
    return ServoFigures(zero, scale)


def own_figures(servo: Servo) -> dict[str, float]:
    """Figures of a servo by their keys in the servo map, as its file has them: the servo's own, whatever it drives."""
    written = {name: one.get("value") if isinstance(one, dict) else one for name, one in servo.written().items()}
    return {name: float(f"{value:.6g}") for name, value in written.items() if isinstance(value, float)}


def horn_slope(servo: Servo) -> float:
    """Mean angle of the horn per microsecond [rad/us], of a sliding joint its way [m/us]."""
    return (servo.horn_angles[-1] - servo.horn_angles[0]) / (servo.pulses_us[-1] - servo.pulses_us[0])


def calibrated(servo: Servo, found: ServoFigures) -> Servo:
    """The servo with what was found: q = q_cmd + zero + scale (q_cmd - middle) becomes its new pulse map."""
    changed, known = dict[str, Any](), list[str]()
    scale = 0.0 if found.scale is None else found.scale.value
    if found.zero is not None:
        changed["zero"] = servo.zero - servo.direction * found.zero.value
    if found.scale is not None:
        changed["horn_angles"] = tuple(angle * (1.0 + scale) for angle in servo.horn_angles)
    if found.gap is not None:  # droop does not tell deadband from play: what is more than the deadband is play
        deadband = servo.deadband * (1.0 + scale)
        changed["deadband_us"] = servo.deadband_us * min(1.0, found.gap.value / max(deadband, 1e-9))
        changed["play"] = 2.0 * max(0.0, found.gap.value - deadband)
        known.append("play_deg")
    for key, name in (("stiffness_nm_rad", "stiffness"), ("load_friction", "load_friction"), ("coulomb_nm", "coulomb")):
        one = getattr(found, name)
        if one is not None:
            changed[name] = one.value
            known.append(key)
    if found.stiffness is not None:
        changed["stiffness_sd"] = _known_to(found.stiffness)
    return replace(servo, **changed, unmeasured=(*(key for key in servo.unmeasured if key not in known), *found.assumed))


def _known_to(stiffness: Measured) -> float | None:
    """Its standard deviation; None where that is as large as itself: nothing is known."""
    return stiffness.sd if stiffness.sd < stiffness.value else None


def with_friction(servo: Servo) -> Servo:
    """The servo with typical friction and play, assumed, where its map has none."""
    if servo.load_friction or servo.coulomb or servo.play:
        return servo
    coulomb = TYPICAL_COULOMB * servo.stall_torque
    assumed = {"load_friction": TYPICAL_LOAD_FRICTION, "coulomb": coulomb, "play": TYPICAL_PLAY * servo.per_turn}
    return replace(servo, **assumed, unmeasured=(*servo.unmeasured, *FRICTION_KEYS))


def usual_give(servos: ServoMap, found: Mapping[str, ServoFigures]) -> Measured | None:
    """Usual give at stall torque [rad] of a servo of which no stiffness was found: the mean of those that turn their joint and of
    which one was, and how far another one may be from that; None: of none of them."""
    torque = {servo.joint: servo.stall_torque for servo in servos.servos if not servo.slides}
    read = [(torque[joint], one.stiffness) for joint, one in found.items() if one.stiffness is not None and joint in torque]
    if not read:
        return None
    gives, off = np.array([(stall / k.value, stall * k.sd / k.value**2) for stall, k in read]).T
    mean = float(np.mean(gives))
    return Measured(mean, float(np.hypot(ALIKE_SD * mean, np.linalg.norm(off) / len(off))))


def calibrated_servos(servos: ServoMap, found: Mapping[str, ServoFigures]) -> ServoMap:
    """The servo map with what was found.

    Servos of which no stiffness was found, nor measured before, give as much at stall torque as the others do on average, if they
    drive no rack; all of which no droop tells have friction and play that are typical where the map has none, as their zeros were
    read with: assumed, all of it.
    """
    give, made = usual_give(servos, found), []
    for servo in servos.servos:
        servo = calibrated(servo, found[servo.joint]) if servo.joint in found else servo
        one = found.get(servo.joint, ServoFigures())
        if one.stiffness is None and (give is not None or one.zero is not None):
            if give is not None and not servo.slides and "stiffness_nm_rad" in servo.unmeasured:
                alike = Measured(servo.stall_torque / give.value, servo.stall_torque * give.sd / give.value**2)
                servo = replace(servo, stiffness=alike.value, stiffness_sd=_known_to(alike))
            servo = with_friction(servo)
        made.append(servo)
    return replace(servos, servos=tuple(made))
