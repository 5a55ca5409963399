"""Inverse kinematics by search on arms of many shapes: ``python -m benchmarks.inverse_kinematics``.

Targets are tips of random poses within the limits, with nothing else asked, with the tool's pitch, and with its direction; the
search starts in the middle of the limits.  Times are this thread's, whatever else the machine does.  The arms are those in urdf/,
those in test/data, and where example-robot-data is installed five of its own.
"""

from __future__ import annotations

import json
import time
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from picker_dynamics.errors import UnreachableError
from picker_dynamics.robot import description
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses

ROOT = Path(__file__).parent.parent
OTHERS = (
    "so_arm_description/urdf/so101",
    "so_arm_description/urdf/so100",
    "z1_description/urdf/z1",
    "ur_description/urdf/ur5_robot",
    "panda_description/urdf/panda",
)
FOUND_M = 1e-4


def urdfs() -> dict[str, Path]:
    """The URDFs of all arms, by the names of their files."""
    paths = [*sorted((ROOT / "urdf").glob("*.urdf")), *sorted((ROOT / "test/data").glob("*.urdf"))]
    try:
        robots = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
        paths += [Path(str(robots)) / f"{name}.urdf" for name in OTHERS]
    except PackageNotFoundError:
        pass
    return {path.stem: path for path in paths}


def run(targets: int = 1000) -> dict:
    """Share found within 0.1 mm, and time for each target [ms], of each arm and the worst of all."""
    measured = {
        name: {what: _measured(description.load(path), what, targets) for what in ("position", "pitch", "direction")}
        for name, path in urdfs().items()
    }
    rows = [row for arm in measured.values() for row in arm.values()]
    return {
        "targets": targets,
        "arms": measured,
        "worst": {
            "found": min(row["found"] for row in rows),
            "outside_limits": sum(row["outside_limits"] for row in rows),
            "position_ms": _worst(measured, "position"),
            "pitch_ms": _worst(measured, "pitch"),
            "direction_ms": _worst(measured, "direction"),
        },
    }


def _worst(measured: dict, what: str) -> dict:
    return {key: max(arm[what]["ms"][key] for arm in measured.values()) for key in ("median", "p99")}


def _measured(arm: ArmDescription, what: str, targets: int) -> dict:
    chain, poses = ChainKinematics(arm), sample_poses(arm, targets, seed=5)
    tips, pitches, directions = link_poses(arm, poses)[arm.tool].position, chain.pitch(poses), chain.direction(poses)
    took, found, outside = [], 0, 0
    for tip, pitch, direction in zip(tips, pitches, directions):
        asked = {"position": {}, "pitch": {"pitch_rad": pitch}, "direction": {"direction": direction}}[what]
        begin = time.thread_time()
        try:
            q = chain.inverse(tip, **asked)
        except UnreachableError:
            q = None
        took.append(1e3 * (time.thread_time() - begin))
        if q is not None:
            found += bool(np.linalg.norm(link_poses(arm, q)[arm.tool].position - tip) <= FOUND_M)
            outside += bool((q < arm.lower).any() or (q > arm.upper).any())
    ms = {"median": round(float(np.median(took)), 3), "p99": round(float(np.percentile(took, 99)), 2), "max": round(max(took), 1)}
    return {"found": found / targets, "outside_limits": outside, "ms": ms}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
