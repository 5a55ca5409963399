"""The arms as the tests use them: descriptions, and of the picker servo maps and models; built once a process."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.validator import TIP_SPEED, MotionValidator
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, description, servo_map


@cache
def picker():
    return description.load(resource("urdf/picker.urdf"))


@cache
def shipped_arm(name: str) -> arms.Arm:
    """One of config/arms.yaml."""
    return arms.load(name)


def servos(simulated: bool = True, ideal: bool = False, *, overlay: Path | str | None = None) -> servo_map.ServoMap:
    """Of the shipped map, or of the simulated arm; typical ones, or the same without friction and play on a stiff supply.

    ``overlay``: of the shipped map with this file over it instead, which is read every time.
    """
    return _servos(simulated, ideal) if overlay is None else _shipped_servos(overlay)


def _shipped_servos(overlay: Path | str | None) -> servo_map.ServoMap:
    return servo_map.load(resource("config/servos.yaml"), picker().joint_names, overlay)


@cache
def _servos(simulated: bool, ideal: bool) -> servo_map.ServoMap:
    loaded = _shipped_servos(resource("config/servos.sim.yaml") if simulated else None)
    if not ideal:
        return loaded
    frictionless = tuple(replace(one, load_friction=0.0, coulomb=0.0, play=0.0) for one in loaded.servos)
    return replace(loaded, servos=frictionless, supply_ohm=0.0)


@cache
def rigid_body(payload: float = 0.0):
    model = RigidBody(picker(), armature=servos().armature)
    return model.with_payload(payload) if payload else model


def validator(payload: float = 0.0, **options) -> MotionValidator:
    return MotionValidator(rigid_body(payload), TorqueLimits.of_servos(servos()), picker(), **{"tip_speed": TIP_SPEED} | options)


def torque_share(made: MotionValidator, q, v, a) -> float:
    """Largest share of an allowed peak torque that states (s, n) need."""
    return float(made.limits.peak_use(made.model.required_torque(q, v, a)).max())


def tip_speeds(q: np.ndarray, v: np.ndarray, model: RigidBody | None = None) -> np.ndarray:
    """(s,) of the tool, over samples (s, n) of a motion [m/s]."""
    return np.linalg.norm(np.einsum("sij,sj->si", (model or rigid_body()).jacobian(q), v), axis=1)
