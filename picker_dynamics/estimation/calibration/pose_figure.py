"""Figure of the poses of a calibration: the arm from its side, and how the inclinometer lies on which link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from picker_dynamics.recording.figures import REFERENCE, STATE, plt
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses

from .instruments import SensorModel, forward

COLUMNS, SIDE_INCH = 4, 2.6
ABOVE, HALF = 0.06, 0.12
"""Of an inclinometer over its link, and half its length, as shares of the arm's length."""


def draw(arm: ArmDescription, panels: Sequence[tuple[str, np.ndarray, Sequence[SensorModel]]], path: Path) -> None:
    """Write a figure of all poses, seen across the vertical plane in which the arm points ahead: links as lines from joint to
    joint to the tool, inclinometers as bars along their links, rulers as lines from the mounting plane.

    Args:
        panels: title, pose (n,) [rad or m], and what is read there.
    """
    rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
    size = SIDE_INCH * columns, (SIDE_INCH + 0.4) * rows
    figure, all_axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, sharex=True, sharey=True)
    for axes in all_axes.flat:
        axes.set_axis_off()
    for axes, (title, q, sensors) in zip(all_axes.flat, panels):
        poses = link_poses(arm, q)
        ahead = forward(arm, poses)
        side = np.array([[*ahead / np.linalg.norm(ahead), 0.0], [0.0, 0.0, 1.0]])
        line = np.array([poses[joint.child].position for joint in arm.path_to(arm.tool)])
        length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        axes.set_title(title, fontsize=9)
        axes.axhline(0.0, color="0.7", lw=0.8)
        axes.plot(*side @ line.T, "o-", color=REFERENCE, lw=2.5, ms=4, mfc="white")
        for sensor in sensors:
            pose = poses[sensor.link]
            level, up = (length * pose.rotation @ np.array(one) for one in (sensor.ahead, sensor.up))
            value = f"{1e3 * sensor.of(poses):.0f} mm" if sensor.unit == "m" else f"{np.degrees(sensor.of(poses)):.0f}°"
            ends = np.array([pose.position * [1.0, 1.0, 0.0], pose.position])
            if sensor.unit == "rad":
                ends = pose.position + ABOVE * up + np.outer([0.0, 2.0 * HALF], level)
            axes.plot(*side @ ends.T, color=STATE, lw=1.2 if sensor.unit == "m" else 5.0, alpha=0.8)
            axes.annotate(f"{sensor.link} {value}", side @ ends[-1], fontsize=7)
        axes.set_aspect("equal")
        axes.margins(0.15)
    figure.savefig(path, dpi=110)
    plt.close(figure)
