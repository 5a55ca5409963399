"""Own arm: two joints in the words of ``picker new``, as URDF and servo map, and the first motion of what they describe."""

import tempfile
from pathlib import Path

from picker_dynamics import Arm
from picker_dynamics.commands import cli

folder = Path(tempfile.mkdtemp(prefix="picker_example_"))
answers = folder / "answers.yaml"
answers.write_text("""
joints:
  - {name: pan, length_mm: 40, servo: MG996R}
  - {name: tilt, length_mm: 60, mass_g: 150, servo: MG90S}
""")
cli.main(["new", str(folder / "camera"), "--from", str(answers)])  # in a terminal: picker new camera, which asks

with Arm.simulated(folder / "camera/camera.urdf", folder / "camera/servos.yaml", real_time=False) as arm:
    arm.move(pan=30, tilt=-45, unit="deg")
    arm.wait(1.0)
    print(f"pan {57.3 * arm.q[0]:.1f} deg, tilt {57.3 * arm.q[1]:.1f} deg; tilt holds {abs(arm.gravity_torque()[1]):.3f} N·m")
