"""Figure of the poses of a calibration: the arm from its side, and how the inclinometer lies on which link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.recording.figures import REFERENCE, STATE, plt
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses

from .instruments import SensorModel, forward

COLUMNS, SIDE_INCH = 4, 2.6
ABOVE, HALF = 0.06, 0.12
"""Of an inclinometer over its link, and half its length, as shares of the arm's length."""
ASIDE = 0.3
"""A bar whose upper side points so much to one side is named on that side."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Panel of the figure: one pose (n,) [rad or m], and what is read there."""

    title: str
    q: np.ndarray
    sensors: Sequence[SensorModel]


def draw(arm: ArmDescription, panels: Sequence[Panel], path: Path) -> None:
    """Write a figure of all poses, in their order; seen across the vertical plane in which the arm points ahead."""
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(SIDE_INCH * columns, (SIDE_INCH + 0.4) * rows),
        layout="constrained",
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for one in axes.flat:
        one.set_axis_off()
    for one, panel in zip(axes.flat, panels):
        one.set_title(panel.title, fontsize=9)
        _pose(one, arm, panel)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _pose(axes, arm: ArmDescription, panel: Panel) -> None:
    """The links as lines from joint to joint to the tool, each instrument as a bar along its link."""
    poses = link_poses(arm, panel.q)
    ahead = np.append(forward(arm, poses), 0.0)
    ahead /= np.linalg.norm(ahead)

    def seen(points) -> np.ndarray:
        return np.array([np.asarray(points) @ ahead, np.asarray(points)[..., 2]])

    line = np.array([poses[joint.child].position for joint in arm.path_to(arm.tool)])
    length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
    axes.axhline(0.0, color="0.7", lw=0.8)
    axes.plot(*seen(line), color=REFERENCE, lw=2.5, solid_capstyle="round")
    turning = [
        poses[joint.child].position for joint in arm.movable if joint.child in {one.child for one in arm.path_to(arm.tool)}
    ]
    axes.plot(*seen(turning), "o", color=REFERENCE, ms=5, mfc="white")
    axes.plot(*seen(line[-1:]), "s", color=REFERENCE, ms=4)
    path = [joint.child for joint in arm.path_to(arm.tool)]
    for sensor in panel.sensors:
        pose = poses[sensor.link]
        level, up = (pose.rotation @ np.array(one) for one in (sensor.ahead, sensor.up))
        if sensor.kind == "height":
            ends = np.array([pose.position * [1.0, 1.0, 0.0], pose.position])
            told = f"{sensor.link} {1e3 * sensor.of(poses):.0f} mm"
        else:
            after = path.index(sensor.link) + 1 if sensor.link in path else 0
            middle = 0.5 * (pose.position + (line[after] if 0 < after < len(line) else pose.position)) + ABOVE * length * up
            ends = np.array([middle - HALF * length * level, middle + HALF * length * level])
            told = f"{sensor.link} {np.degrees(sensor.of(poses)):.0f}°"
        axes.plot(*seen(ends), color=STATE, lw=1.2 if sensor.kind == "height" else 5.0, alpha=0.8)
        aside = seen(up)
        sides = "right" if aside[0] < -ASIDE else "left" if aside[0] > ASIDE else "center"
        axes.annotate(told, seen(ends.mean(axis=0)), 10.0 * aside, textcoords="offset points", fontsize=7, ha=sides, va="center")
    axes.set_aspect("equal")
    axes.margins(0.15)
