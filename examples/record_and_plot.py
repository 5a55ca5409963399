"""Record and plot: what the joints did during a motion, as arrays, as CSV, and as figures."""

import tempfile
from pathlib import Path

import numpy as np

from picker_dynamics import Arm

folder = Path(tempfile.mkdtemp(prefix="picker_example_"))
with Arm.simulated(real_time=False) as arm:
    with arm.record() as recorded:
        arm.move(base=30, wrist=-30, unit="deg")
        arm.wait(0.5)
    seen = recorded.arrays
    off_mm = 1e3 * np.linalg.norm(seen["tip"] - seen["tip_ref"], axis=1)
    print(f"{len(recorded)} samples of {seen['t'][-1]:.1f} s, the tip at most {off_mm.max():.1f} mm from its reference")
    print(recorded.to_csv(folder / "motion.csv"), *recorded.plot(folder))
