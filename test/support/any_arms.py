"""Arms that this package was not written for: three of our own in test/data, and five of the PyPI package example-robot-data."""

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from picker_dynamics.robot import description
from picker_dynamics.robot.description import ArmDescription

OWN = ("four_joint", "pan_tilt", "gantry")
FOREIGN = {
    "so101": "so_arm_description/urdf/so101.urdf",
    "so100": "so_arm_description/urdf/so100.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "panda": "panda_description/urdf/panda.urdf",
}
NAMES = (*OWN, *FOREIGN)
STRONG = {"kinova": "kinova_description/robots/kinova.urdf", "xarm7": "xarm_description/urdf/xarm7.urdf"}
"""Joints at home at half a turn, servos of 60 N·m and more, friction in the URDF; not among those that go through everything."""


@cache
def urdf(name: str) -> Path:
    """The URDF of that arm; skips the test where example-robot-data is not installed."""
    if name in OWN:
        return Path(__file__).parent.parent / "data" / f"{name}.urdf"
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        pytest.skip("needs example-robot-data")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / (FOREIGN | STRONG)[name]


@cache
def arm(name: str) -> ArmDescription:
    return description.load(urdf(name))
