"""The figure of a servo's fit: goal, measured and modelled position along each log, and the error below."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from picker_dynamics.recording.figures import REFERENCE, SETPOINT, STATE, WIDTH, plt

from .servo_fit import Fit
from .servo_log import ServoLog

MOST = 6
"""Logs that are shown."""


def draw(found: Fit, logs: Mapping[str, ServoLog], path: Path) -> None:
    """Write a figure of the first logs, by their titles."""
    rows = min(len(logs), MOST)
    figure, axes = plt.subplots(
        2 * rows, 1, figsize=(WIDTH, 0.8 + 3.0 * rows), height_ratios=(2.2, 1.0) * rows, layout="constrained"
    )
    for (title, log), above, below in zip(logs.items(), axes[::2], axes[1::2]):
        below.sharex(above)
        above.set_title(title, fontsize=9, loc="left")
        above.plot(log.t, np.degrees(log.goal), color=SETPOINT, lw=0.9, label="goal")
        for piece, model in found.positions(log):
            above.plot(piece.t, np.degrees(piece.q), color=REFERENCE, lw=1.4, label="measured")
            above.plot(piece.t, np.degrees(model), color=STATE, lw=1.2, ls="--", label="model")
            below.plot(piece.t, 1e3 * (model - piece.q), color=STATE, lw=0.9)
        above.set_ylabel("position\n[deg]")
        below.set_ylabel("error\n[mrad]")
        above.grid(True, alpha=0.25)
        below.grid(True, alpha=0.25)
    axes[-1].set_xlabel("time [s]")
    figure.legend(*(one[:3] for one in axes[0].get_legend_handles_labels()), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
