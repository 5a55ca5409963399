"""Which arm it is: settings that name its files, and the arm that is read from them."""

from __future__ import annotations

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

from . import parameters
from .settings import Settings


def load_servo_arm(settings: Settings) -> tuple[ArmDescription, ServoMap]:
    """Declare which arm on servos it is, and read it.

    Raises:
        DescriptionError, ConfigurationError: a file that is missing or wrong.
    """
    settings.declare(*parameters.SERVO_ARM)
    return servo_arm.load(settings["urdf"], settings["servos"], settings["servo_overlay"])


def load_torque_arm(settings: Settings) -> arms.Arm:
    """Declare which torque-controlled arm it is, and read it.

    Raises:
        ConfigurationError: no such arm, or one whose joints are servos.
    """
    settings.declare(*parameters.TORQUE_ARM)
    urdf = settings["urdf"]
    arm = arms.load("" if urdf else settings["arm"], settings["arms"] or None, urdf)
    if arm.control != "torque":
        raise ConfigurationError(
            f"arm {arm.name} has {arm.control} joints, control is torque: they would have to take efforts",
            subject="arm",
            value=arm.name,
        )
    return arm


def load_arm(settings: Settings) -> Known:
    """Declare ``control`` and which arm it is, and read it; errors as ``load_servo_arm`` and ``load_torque_arm``."""
    settings.declare(parameters.CONTROL)
    if settings["control"] == "torque":
        torque = load_torque_arm(settings)
        return Known(torque.description, torque=torque)
    return Known(*load_servo_arm(settings))
