"""Moving picture of the demo: the arm that sags beside the compensated one, both over the same tour, each with how far it is off.

A berry that is farther from the tip than the scene allows, when the scissor closes, stays where it hangs.  (What it weighs is on
the tool all the same: the errors of both are of one and the same load.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import joint_frames, tool_pose
from picker_dynamics.robot.scene import read_scene

from .measure import ModeResult
from .scene import SURROUNDINGS, Scene

SHOWN = {"none": "#b3261e", "full": "#14703a"}
"""Modes, and the colour of what is said of them."""

PERIOD_S, FASTER, REST_S = 0.1, 2, 0.4
"""Between frames, times faster than real, and how much of each rest is shown [s]."""

VIEW = np.array([[0.951, 0.309, 0.0], [-0.075, 0.230, 0.970]])
"""To the right and up in the picture (2, 3): from the arm's right, a little from above."""

STEM_M, BETWEEN_M = 0.03, 0.03
"""A berry hangs so far below the cut; from one to the next on the tray [m]."""


def draw(scene: Scene, arm: ArmDescription, measured: dict[str, ModeResult], out: Path) -> Path:
    """Write pick.gif; returns its path."""
    films = {mode: list(zip(*berries(scene, arm, measured[mode], measured["full"]))) for mode in SHOWN}
    tray = read_scene(SURROUNDINGS, arm.root)["tray"]
    figure, axes = plt.subplots(1, len(SHOWN), figsize=(8.3, 4.5))
    figure.subplots_adjust(0.01, 0.06, 0.99, 0.86, 0.02)
    figure.text(0.01, 0.015, f"blue: where it was told to be.  Simulated arm, {FASTER} times as fast as real.", color="#4b5563")

    def page(number: int) -> list[Any]:
        for panel, (mode, colour) in zip(axes, SHOWN.items()):
            run, (row, places, got) = measured[mode].recording, films[mode][number]
            panel.clear()
            panel.set(xlim=(-0.18, 0.38), ylim=(-0.08, 0.36), xticks=[], yticks=[], aspect="equal", facecolor="#e8edf4")
            _line(panel, [tray.xyz - [0.5 * tray.size[0], 0, 0], tray.xyz + [0.5 * tray.size[0], 0, 0]], "#9e7651", 8)
            _line(panel, _chain(arm, run.q_ref[row]), "#92a7de", 11)
            _line(panel, _chain(arm, run.q[row])[:2], "#37474f", 26)
            _line(panel, _chain(arm, run.q[row]), "#607d6b", 11, marker="o", markersize=7, markerfacecolor="#263238")
            panel.scatter(*(VIEW @ np.transpose(places)), s=90, c="#d9191f", zorder=3)
            off = f"compensation: {mode}\ntip {1e3 * run.tip_error[row]:.1f} mm off, {got} of {len(places)} berries picked"
            panel.set_title(off, loc="left", color=colour, weight="bold")
        return []

    path = out / "pick.gif"
    FuncAnimation(figure, page, len(films["full"])).save(path, PillowWriter(round(1.0 / PERIOD_S)))
    plt.close(figure)
    return path


def berries(
    scene: Scene, arm: ArmDescription, result: ModeResult, pace: ModeResult
) -> tuple[list[int], list[np.ndarray], list[int]]:
    """Rows of the recording that are shown, where all berries are in each, (k, 3) [m], and how many have been got.

    Legs are shown as long as ``pace`` takes for them, so that several runs stay side by side.
    """
    run, carries = result.recording, [False, *(leg.payload_kg > 0.0 for leg in result.legs)]
    changes = [leg.row for leg, before, now in zip(result.legs, carries, carries[1:]) if before != now]
    step, rest = (round(seconds / float(run.t[1] - run.t[0])) for seconds in (PERIOD_S * FASTER, REST_S))
    rows = [
        min(leg.row + after, leg.over - 1)
        for leg, other in zip(result.legs, pace.legs)
        for after in range(0, min(other.rests + rest, other.over) - other.row, step)
    ]
    tray, picks = read_scene(SURROUNDINGS, arm.root)["tray"], list(zip(changes[::2], changes[1::2]))
    places, got = [], []
    for row in rows:
        there, has = [], [bool(row >= taken and run.tip_error[taken - 1] <= scene.tolerance_m) for taken, _ in picks]
        for number, (taken, left) in enumerate(picks):
            on_tray = tray.xyz + [(number - 0.5 * (len(picks) - 1)) * BETWEEN_M, 0.0, 0.5 * BETWEEN_M]
            cut = run.tip[row] if has[number] else run.tip_ref[taken - 1]
            there.append(on_tray if has[number] and row >= left else cut - [0.0, 0.0, STEM_M])
        places.append(np.array(there))
        got.append(sum(has))
    return rows, places, got


def _chain(arm: ArmDescription, q: np.ndarray) -> np.ndarray:
    """Places of the arm's joints, then of its tool (k, 3) [m]."""
    joints = joint_frames(arm, q)[list(ChainKinematics(arm).columns), :3, 3]
    return np.array([np.zeros(3), *joints, tool_pose(arm, q).position])


def _line(panel: plt.Axes, points: Any, colour: str, width: float, **style: Any) -> None:
    panel.plot(*(VIEW @ np.transpose(points)), color=colour, lw=width, solid_capstyle="round", **style)
