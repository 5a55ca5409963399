"""First move: a simulated arm goes home, then puts its tip where it is told, and says where it is."""

from picker_dynamics import Arm

with Arm.simulated(real_time=False) as arm:  # without real_time=False it moves as fast as a real one
    arm.home()
    arm.move(tip=(0.26, 0.08, 0.17))  # metres, in the frame of the base
    arm.wait(1.0)
    off_mm = 1e3 * sum((a - b) ** 2 for a, b in zip(arm.tip, (0.26, 0.08, 0.17))) ** 0.5
    print(f"the tip is {off_mm:.1f} mm from where it was told to be")
