"""Record and plot: what the joints did during a motion, as arrays, as CSV, and as a figure."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from picker_dynamics import Arm

folder = Path(tempfile.mkdtemp(prefix="picker_example_"))
with Arm.simulated(real_time=False) as arm:
    with arm.record() as recorded:
        arm.move(base=30, wrist=-30, unit="deg")
        arm.wait(0.5)
    seen = recorded.arrays
    off_mm = 1e3 * np.linalg.norm(seen["tip"] - seen["tip_ref"], axis=1)
    print(f"{len(seen['t'])} samples of {seen['t'][-1]:.1f} s, the tip at most {off_mm.max():.1f} mm from its reference")
    columns = np.column_stack([seen["t"], seen["q"], seen["q_ref"]])
    header = ",".join(["t", *arm.joint_names, *(f"{name}_ref" for name in arm.joint_names)])
    np.savetxt(folder / "motion.csv", columns, delimiter=",", header=header, comments="")
    plt.plot(seen["t"], np.degrees(seen["q"] - seen["q_ref"]), label=arm.joint_names)
    plt.xlabel("time [s]")
    plt.ylabel("joint less its reference [deg]")
    plt.legend()
    plt.savefig(folder / "motion.png")
    print(folder / "motion.csv", folder / "motion.png")
