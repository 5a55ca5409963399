"""The Arduino study for a person: its tables, and one figure of why the full model matters."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

from picker_dynamics.trajectory.profiles import along, profile

from ..terminal import table
from . import arduino_formulas as formulas
from .arduino import JOINTS, exact_model, random_states

STATES = 100_000
MOVE_S = 0.7
FOLDED, REACHING = (-0.6, 1.9, -2.2, 0.2, 0.0), (0.6, 0.5, -0.6, -0.4, 0.0)
"""A quick reach for a berry [rad]."""


def show(summary: dict, console: Console) -> None:
    """Print the tables of a summary."""

    def by_joint(title: str, joints: dict, columns: dict) -> None:
        """Print a table of one row a joint; columns: key -> heading and format."""
        headings = [heading for heading, _ in columns.values()]
        made = table(f"{title} [N·m]", "joint", *headings, left=("joint",), title_justify="left")
        for joint, row in joints.items():
            made.add_row(joint, *(form.format(row[key]) for key, (_, form) in columns.items()))
        console.print(made)

    by_joint(
        f"simplified formulas less the exact model, {summary['samples']:,} random states",
        summary["joints"],
        {
            "rms_error": ("RMS error", "{:.4f}"),
            "largest_error": ("largest", "{:.3f}"),
            "rms_torque": ("RMS torque", "{:.4f}"),
            "error_percent_of_torque": ("error", "{:.1f} %"),
            "error_percent_of_motion_torque": ("of what the motion needs", "{:.0f} %"),
        },
    )
    by_joint(
        "RMS error by part, and with a berry that the formulas do not know",
        summary["joints"],
        {
            "rms_error_of_gravity": ("gravity", "{:.4f}"),
            "rms_error_of_inertia": ("inertia", "{:.4f}"),
            "rms_error_of_coriolis": ("Coriolis", "{:.4f}"),
            "rms_error_with_berry": (f"all, with {1e3 * summary['berry_kg']:.0f} g", "{:.4f}"),
        },
    )
    shares = ", ".join(f"{100 * one['ratio']:.0f} % of the {joint}'s" for joint, one in summary["stretched_out"].items())
    console.print(
        f"Gravity is exact. Inertia is not: stretched out, the formulas have {shares} inertia, and none of the coupling between "
        "joints.",
        soft_wrap=True,
    )
    slip = summary["degrees"]
    pose, coriolis = ", ".join(f"{angle:g}" for angle in slip["start_pose_deg"]), slip["elbow_coriolis_at_1_rad_s"]
    by_joint(
        "degrees where radians belong: gravity torque over servo angles of 0 to 180 degrees, and at the program's "
        f"first pose ({pose})",
        slip["joints"],
        {
            "rms_error_of_gravity": ("RMS error", "{:.3f}"),
            "rms_gravity": ("RMS torque", "{:.3f}"),
            "error_percent_of_gravity": ("error", "{:.0f} %"),
            "start_pose_said": ("first pose: says", "{:+.3f}"),
            "start_pose_needed": ("needs", "{:+.3f}"),
        },
    )
    console.print(
        f"Products of rates in degrees per second are {slip['rate_products_times']:.0f} times too large: at 1 rad/s "
        f"the elbow's Coriolis torque becomes {coriolis['degrees']:.1f} N·m instead of {coriolis['radians']:.4f} N·m.",
        soft_wrap=True,
    )


def draw(summary: dict, out: Path, seed: int) -> None:
    """Write torque.png."""
    figure, panels = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
    model = exact_model()
    _clouds(panels[0], model, summary, seed)
    _reach(panels[1], model)
    figure.suptitle(
        "The notes' simplified Arduino formulas against the exact model\n"
        "above: torque that the motion needs, gravity (which is exact) taken off, in random states; "
        f"below: a reach in {MOVE_S:g} s"
    )
    figure.savefig(out / "torque.png", dpi=120)
    plt.close(figure)


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
