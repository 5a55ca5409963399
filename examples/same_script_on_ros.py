"""The same script on the running graph: start ``picker up --sim`` in another terminal, then this with ``--ros``."""

import sys

from picker_dynamics import Arm

with Arm.connect() if "--ros" in sys.argv else Arm.simulated(real_time=False) as arm:
    arm.home()
    moving = arm.move(base=40, unit="deg", duration=3.0, wait=False)
    while not moving.done():
        if moving.progress > 0.5:
            moving.cancel()
            break
    print(f"stopped half-way, at {arm.q[0] * 57.3:.0f} deg; going back")
    arm.home()
