"""Pick and place: a berry is picked and put on a tray, and one that cannot be lifted out is not touched."""

from picker_dynamics import Arm
from picker_dynamics.errors import GoalRefusedError

BERRY, TRAY = (0.26, 0.08, 0.17), (0.10, -0.20, 0.11)  # metres, in the frame of the base

with Arm.simulated(real_time=False) as arm:
    print(arm.pick(BERRY, check=True))  # the legs, and how much torque is left in each; nothing moves

    def tell(leg, share):
        """Called with each leg, again and again."""
        if leg.name == "close" and not share:
            off_mm = 1e3 * sum((a - b) ** 2 for a, b in zip(arm.tip, BERRY)) ** 0.5
            print(f"the jaws close {off_mm:.1f} mm from the berry")

    arm.pick(BERRY, progress=tell)
    arm.place(TRAY)
    try:
        arm.pick(BERRY, mass=0.2)
    except GoalRefusedError as why:
        print(why)
