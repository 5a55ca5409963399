"""The control loop of one arm: read, update, write; the only owner of its hardware, on any clock, real or simulated.
Imports ``board``, ``control``, ``dynamics``, ``execution``, ``robot`` and ``sim``.
"""

__all__ = ["controller", "hardware", "laws", "robot", "servo_board", "simulated", "torque_arm"]
