"""Payload: what a berry in the scissor costs, and that the tip stays where it is when the arm is told of it."""

import numpy as np

from picker_dynamics import Arm

TIP = (0.24, 0.0, 0.16)
with Arm.simulated(real_time=False) as arm:
    arm.move(tip=TIP)
    arm.wait(1.0)
    for grams in (0, 10, 25):
        arm.payload = grams / 1000  # the simulated scissor holds it from now on, and the arm is told
        arm.wait(1.5)
        off_mm = 1e3 * np.linalg.norm(arm.tip - TIP)
        print(f"{grams:2d} g: shoulder holds {arm.gravity_torque()[1]:.3f} N·m, the tip is {off_mm:.1f} mm off")
