"""The simulated arm, boards and bus: MuJoCo from the same URDF, a virtual board that speaks the real protocol, the real firmware
on a simulated Uno, and bus servos with their registers.  Imports ``robot``, ``board``, ``bus``, ``camera`` and ``files``; knows
no dynamics and no control of ours (of the servo it has `robot`'s model).
"""

__all__ = [
    "arm_camera",
    "avr_firmware",
    "board",
    "board_in_memory",
    "bus_in_memory",
    "control_socket",
    "firmware_core",
    "mujoco_arm",
    "output_motion",
    "plant",
    "plant_error",
    "pty_port",
    "simulated_board",
    "stage",
    "torque_plant",
    "virtual_board",
]
