"""Figure of ``picker prove``: how far the tip was off at each pose, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NORMAL_95 = 1.96


def draw(path: Path, told: Mapping[str, Sequence[Mapping[str, Any] | None]]) -> None:
    """Write bars of the tip error at each pose with its 95 % interval [mm]; poses that were not seen have none."""
    figure, axes = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
    for shift, (name, colour) in zip((-0.2, 0.2), (("before", "#c0392b"), ("after", "#1e8449"))):
        rows = [(number, one) for number, one in enumerate(told[name], 1) if one is not None]
        off = [one["off_mm"] for _, one in rows]
        label = f"{name}: {np.median(off):.1f} mm median" if off else name
        axes.bar(
            [number + shift for number, _ in rows],
            off,
            0.4,
            yerr=[NORMAL_95 * one["sd_mm"] for _, one in rows],
            color=colour,
            label=label,
            capsize=2,
        )
    axes.set(xlabel="pose", ylabel="tip error [mm]", title="Distance of the tip from where it should be, as the camera sees it")
    axes.set_xticks(range(1, 1 + len(told["after"])))
    axes.grid(True, axis="y", alpha=0.25)
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
