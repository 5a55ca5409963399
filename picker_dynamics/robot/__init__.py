"""Description of the arm: its URDF, its joints and their order, its servos and what they can give, forward and inverse
kinematics, and the interface that every dynamics model offers.  Imports ``files``, to read what users
name, and no other room.
"""

__all__ = [
    "arm_text",
    "arm_design",
    "arms",
    "assumed_servos",
    "collision",
    "description",
    "dry_friction",
    "friction_side",
    "inverse_kinematics",
    "joint_order",
    "kinematic_tree",
    "lint",
    "meshes",
    "model",
    "picker_shape",
    "resting",
    "scene",
    "serial_arm",
    "servo",
    "servo_arm",
    "servo_budget",
    "servo_file",
    "servo_map",
    "shapes",
    "sighting",
    "tip_target",
    "units",
]
