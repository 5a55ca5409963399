"""The parameters that every node shares: which arm, which servos, and the models made from them."""

from __future__ import annotations

from picker_dynamics import description, servo_map
from picker_dynamics.description import ArmDescription
from picker_dynamics.nodes.runtime import declare
from picker_dynamics.resources import resource
from picker_dynamics.servo_map import ServoMap


def load_arm(node) -> tuple[ArmDescription, ServoMap]:
    """Declare ``urdf``, ``servos`` and ``servo_overlay``, and read what they name.

    Raises:
        DescriptionError, ConfigurationError: a file that is missing or wrong.
    """
    urdf = declare(node, "urdf", "", "URDF file of the arm; empty: the picker's", read_only=True)
    servos = declare(node, "servos", "", "servo map file; empty: config/servos.yaml", read_only=True)
    overlay = declare(node, "servo_overlay", "", "file with differences from the servo map (a simulation, a calibration)",
                      read_only=True)
    arm = description.load(urdf or resource("urdf/picker.urdf"))
    return arm, servo_map.load(servos or resource("config/servos.yaml"), arm.joint_names, overlay or None)
