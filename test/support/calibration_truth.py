"""The picker's droop joints, and what is hidden of their servos on a simulated arm."""

from arm_fixtures import picker, servos

JOINTS = ("shoulder", "elbow", "wrist")
COLUMNS = tuple(picker().joint_names.index(name) for name in JOINTS)


def hidden(plant, joint):
    """The truth about zero [rad], scale, compliance [rad/(N·m)] and deadband [rad] of a joint."""
    column = picker().joint_names.index(joint)
    true, was = plant.servo_map.servos[column], servos(simulated=False).servos[column]
    return (
        -was.direction * (true.zero - was.zero),
        true.horn_angles[-1] / was.horn_angles[-1] - 1.0,
        1.0 / plant.servo.stiffness[column],
        plant.servo.deadband[column],
    )
