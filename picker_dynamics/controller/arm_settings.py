"""Which arm it is: settings that name its files, and the arm that is read from them."""

from __future__ import annotations

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known

from . import parameters
from .settings import Settings


def load_arm(settings: Settings) -> Known:
    """Declare ``control`` and which arm it is, and read it.

    Raises:
        DescriptionError, ConfigurationError: a file that is missing or wrong, no such arm, or joints of another kind.
    """
    settings.declare(parameters.CONTROL)
    if settings["control"] == "servo":
        settings.declare(*parameters.SERVO_ARM)
        return Known(*servo_arm.load(settings["urdf"], settings["servos"], settings["servo_overlay"]))
    settings.declare(*parameters.TORQUE_ARM)
    urdf = settings["urdf"]
    arm = arms.load("" if urdf else settings["arm"], settings["arms"] or None, urdf)
    if arm.control != "torque":
        text = f"arm {arm.name} has {arm.control} joints, control is torque: they would have to take efforts"
        raise ConfigurationError(text, subject="arm", value=arm.name)
    return Known(arm.description, torque=arm)
