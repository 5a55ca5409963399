"""The control loop of one arm: read, update, write; the only owner of its hardware, on any clock."""

__all__ = ["controller", "hardware", "laws", "servo_board", "servo_loop", "simulated", "torque_arm"]
