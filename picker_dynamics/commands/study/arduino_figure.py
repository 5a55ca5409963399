"""Why the full model matters, in one figure."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from picker_dynamics.trajectory.profiles import along, profile

from . import arduino_formulas as formulas
from .arduino import JOINTS, exact_model, random_states

STATES = 100_000
MOVE_S = 0.7
FOLDED, REACHING = (-0.6, 1.9, -2.2, 0.2, 0.0), (0.6, 0.5, -0.6, -0.4, 0.0)
"""A quick reach for a berry [rad]."""


def draw(summary: dict, out: Path, seed: int) -> Path:
    """Write torque.png; returns its path."""
    figure, panels = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
    model = exact_model()
    _clouds(panels[0], model, summary, seed)
    _reach(panels[1], model)
    figure.suptitle(
        "The notes' simplified Arduino formulas against the exact model\n"
        "above: torque that the motion needs, gravity (which is exact) taken off, in random states; "
        f"below: a reach in {MOVE_S:g} s"
    )
    path = out / "torque.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _clouds(panels, model, summary: dict, seed: int) -> None:
    q, v, a = random_states(min(STATES, summary["samples"]), seed)
    inertial, coriolis, _ = formulas.parts(q, v, a)
    said, needed = inertial + coriolis, model.inverse_dynamics(q, v, a) - model.gravity(q)
    for axes, i in zip(panels, (1, 2, 3)):
        reach = float(np.quantile(np.abs(needed[:, i]), 0.999))
        axes.hexbin(
            needed[:, i], said[:, i], gridsize=60, extent=(-reach, reach, -reach, reach), bins="log", cmap="Blues", mincnt=1
        )
        axes.plot([-reach, reach], [-reach, reach], color="k", lw=1, label="right")
        row = summary["joints"][JOINTS[i]]
        axes.set(
            title=f"{JOINTS[i]}: off by {row['error_percent_of_torque']:.1f} % of all torque (RMS),\n"
            f"{row['error_percent_of_motion_torque']:.0f} % of this part of it",
            xlabel="exact [N·m]",
            ylabel="simplified [N·m]",
            xlim=(-reach, reach),
            ylim=(-reach, reach),
        )
        axes.locator_params(axis="x", nbins=5)
        axes.legend(loc="upper left")


def _reach(panels, model) -> None:
    motion = along(profile("quintic"), FOLDED, REACHING, MOVE_S, model.joint_names)
    t = np.linspace(0.0, MOVE_S, 501)
    q, v, a = motion.sample(t)
    standing = np.zeros_like(a)
    curves = {
        "exact": (model.inverse_dynamics(q, v, a), {"color": "k", "lw": 2}),
        "simplified": (formulas.compute_joint_torques(q, v, a), {"color": "#2471a3", "lw": 1.5}),
        "gravity only": (model.gravity(q), {"color": "#e6a117", "lw": 1.5, "ls": "--"}),
        "simplified, in degrees": (
            formulas.compute_joint_torques(np.degrees(q), np.degrees(v), standing),
            {"color": "#c0392b", "lw": 0.8, "alpha": 0.45, "zorder": 1},
        ),
    }
    for axes, i in zip(panels, (1, 2, 3)):
        sound = [curves[name][0][:, i] for name in ("exact", "simplified", "gravity only")]
        low, high = min(x.min() for x in sound), max(x.max() for x in sound)
        for name, (tau, style) in curves.items():
            axes.plot(t, tau[:, i], label=name, **style)
        axes.set(
            xlabel="time [s]",
            ylabel=f"{JOINTS[i]} [N·m]",
            xlim=(0, MOVE_S),
            ylim=(low - 0.35 * (high - low), high + 0.35 * (high - low)),
        )
        axes.grid(True, alpha=0.25)
    panels[0].legend(fontsize=9, loc="lower right", framealpha=0.95)
