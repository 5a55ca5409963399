"""The picker as the tests use it: description, servo maps, models; built once a process."""

from functools import cache

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import MotionValidator, motion_validator
from picker_dynamics.resources import resource
from picker_dynamics.robot import description, servo_map


@cache
def picker():
    return description.load(resource("urdf/picker.urdf"))


@cache
def servos(simulated: bool = True):
    overlay = resource("config/servos.sim.yaml") if simulated else None
    return servo_map.load(resource("config/servos.yaml"), picker().joint_names, overlay)


@cache
def rigid_body(payload: float = 0.0):
    model = RigidBody(picker(), armature=servos().armature)
    return model.with_payload(payload) if payload else model


def validator(payload: float = 0.0, **options) -> MotionValidator:
    return motion_validator(picker(), TorqueLimits.of_servos(servos()), rigid_body(payload), **options)
